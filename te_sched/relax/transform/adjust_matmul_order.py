"""The pass `AdjustMatmulOrder`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from te_sched.ir import expr as E
from te_sched.ir.expr import Expr, IntImm, Var
from te_sched.ir.graph import GraphCall, GraphExpr, GraphFunction
from te_sched.relax.analysis.compile_time import computable_at_compile_time
from te_sched.relax.core.values import shape_of_value
from te_sched.relax.dpl.pattern import DFPattern, Matches, is_op, wildcard
from te_sched.relax.op import matmul, permute_dims
from te_sched.relax.transform.rewriting import Rules, RulesPass, swaps_last_axes

# A polynomial of sizes: the coefficient of each product of variables, which are at least 1.
Product = tuple[Expr, ...]
Polynomial = dict[Product, int]
# The sizes M, N, P, Q of a product of three matrices, (M, N) by (N, P) by (P, Q).
Extents = tuple[Expr, Expr, Expr, Expr]


class AdjustMatmulOrder(RulesPass):
    """The pass that computes a product of three matrices with fewer multiplications.

        matmul(x, matmul(a, b))  ->  matmul(matmul(x, a), b)

    and the other way round, also if the inner product is transposed; only if it is better for all
    values of the sizes. The attribute "tir_var_upper_bound" of a function limits variables by name.
    Products of parameters that are known before a model runs stay. The sizes of batches do not
    count.
    """

    def rules(self, func: GraphFunction) -> Rules:
        """The rules for a function."""
        return _rules(func)


def _rules(func: GraphFunction) -> Rules:
    constant_vars = set(computable_at_compile_time(func)) if "num_input" in func.attrs else set()
    bounds = {str(k): int(v) for k, v in (func.attrs.get("tir_var_upper_bound") or {}).items()}
    a, b, c = wildcard(), wildcard(), wildcard()
    left, right = is_op("relax.matmul")(a, b), is_op("relax.matmul")(b, c)
    left_turned, right_turned = (is_op("relax.permute_dims")(operand) for operand in (left, right))

    def inner(
        matches: Matches, pair: tuple[DFPattern, DFPattern], turned: DFPattern
    ) -> tuple[GraphExpr, GraphExpr] | None:
        """The factors of the inner product, and those of its transposition."""
        operand, other = (matches[factor] for factor in pair)
        if turned not in matches:
            return operand, other
        axes = matches[turned].attrs["axes"]
        if not all(swaps_last_axes(axes, value.struct_info.ndim) for value in (operand, other)):
            return None
        return permute_dims(other, axes), permute_dims(operand, axes)

    def left_first(expr: GraphCall, matches: Matches) -> GraphExpr:
        """matmul(a, matmul(b, c)) as matmul(matmul(a, b), c)."""
        factors = [matches[b], matches[c]]
        operands = inner(matches, (b, c), right_turned)
        if operands is None or all(factor in constant_vars for factor in factors):
            return expr
        sizes = _matrices(matches[a], factors, right_turned in matches, is_left=False)
        if sizes is None:
            return expr
        as_written, other = _costs(*sizes)
        if not _is_less(other, as_written, bounds):
            return expr
        dtype = expr.attrs["out_dtype"] or None
        return matmul(matmul(matches[a], operands[0], dtype), operands[1], dtype)

    def right_first(expr: GraphCall, matches: Matches) -> GraphExpr:
        """matmul(matmul(a, b), c) as matmul(a, matmul(b, c))."""
        factors = [matches[a], matches[b]]
        operands = inner(matches, (a, b), left_turned)
        if operands is None or all(factor in constant_vars for factor in factors):
            return expr
        sizes = _matrices(matches[c], factors, left_turned in matches, is_left=True)
        if sizes is None:
            return expr
        other, as_written = _costs(*sizes)
        if not _is_less(other, as_written, bounds):
            return expr
        dtype = expr.attrs["out_dtype"] or None
        return matmul(operands[0], matmul(operands[1], matches[c], dtype), dtype)

    return [
        (is_op("relax.matmul")(a, right | right_turned), left_first),
        (is_op("relax.matmul")(left | left_turned, c), right_first),
    ]


def _matrices(
    outer: GraphExpr, inner: list[GraphExpr], is_turned: bool, is_left: bool
) -> Extents | None:
    """The sizes of the matrices; None if they are not known."""
    shapes = [[*shape] for value in (outer, *inner) if (shape := shape_of_value(value)) is not None]
    if len(shapes) < 3:
        return None
    around, first, second = shapes
    if is_turned:
        if len(first) < 2 or len(second) < 2:
            return None
        first, second = second[-2:][::-1], first[-2:][::-1]
    factors = [first, second, around] if is_left else [around, first, second]
    if len(factors[1]) < 2:
        return None
    if len(factors[0]) == 1:
        factors[0].insert(0, IntImm(1, "int64"))
    if len(factors[2]) == 1:
        factors[2].append(IntImm(1, "int64"))
    return factors[0][-2], factors[0][-1], factors[2][-2], factors[2][-1]


def _costs(m: Expr, n: Expr, p: Expr, q: Expr) -> tuple[Polynomial, Polynomial]:
    """The multiplications with the right product first, and with the left one first."""
    rows, inner, middle, columns = (_polynomial(dim) for dim in (m, n, p, q))
    right = _sum(_product(inner, middle, columns), _product(rows, inner, columns))
    left = _sum(_product(rows, inner, middle), _product(rows, middle, columns))
    return right, left


def _polynomial(size: Expr) -> Polynomial:
    if isinstance(size, IntImm):
        return {(): size.value}
    if isinstance(size, E.Add):
        return _sum(_polynomial(size.a), _polynomial(size.b))
    if isinstance(size, E.Mul):
        return _product(_polynomial(size.a), _polynomial(size.b))
    return {(size,): 1}


def _sum(*terms: Polynomial) -> Polynomial:
    total: Counter[Product] = Counter()
    for term in terms:
        total.update(term)
    return dict(total)


def _product(*factors: Polynomial) -> Polynomial:
    product: Polynomial = {(): 1}
    for factor in factors:
        terms: Counter[Product] = Counter()
        for left, a in product.items():
            for right, b in factor.items():
                terms[tuple(sorted((*left, *right), key=id))] += a * b
        product = dict(terms)
    return product


def _is_less(a: Polynomial, b: Polynomial, bounds: Mapping[str, int]) -> bool:
    """Whether a < b for all values of the variables: each term of a is at most one of b."""
    rest = Counter(b)
    rest.subtract(a)
    if bounds:
        rest = _bounded(rest, bounds)
    positive = {key: value for key, value in rest.items() if value > 0}
    for key, value in rest.items():
        missing = -value
        for larger in [term for term in positive if not Counter(key) - Counter(term)]:
            taken = max(0, min(missing, positive[larger]))
            positive[larger] -= taken
            missing -= taken
        if missing > 0:
            return False
    return any(value > 0 for value in positive.values())


def _bounded(terms: Counter[Product], bounds: Mapping[str, int]) -> Counter[Product]:
    """A polynomial that is at most as large: with upper bounds of variables in negative terms."""
    bound_terms: Counter[Product] = Counter()
    for key, value in terms.items():
        if value < 0:
            limits = [bounds.get(var.name) if type(var) is Var else None for var in key]
            for limit in limits:
                value *= 1 if limit is None else limit
            key = tuple([var for var, limit in zip(key, limits, strict=True) if limit is None])
        bound_terms[key] += value
    return bound_terms
