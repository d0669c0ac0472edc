"""Reverse-mode automatic differentiation of tensors.

The adjoint of a tensor is the derivative of the output with respect to its elements, times the
head. It is a sum over the elements computed from it: their adjoints times the derivatives of their
expressions (`derivative`). `arith.solve` determines which of them read element t, and the loops of
an adjoint run over these alone. Must not know schedules.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from te_sched.arith.analyzer import Analyzer
from te_sched.arith.solve import Equation, solve
from te_sched.deep_recursion import walks_deeply
from te_sched.errors import DeclarationError, Subject
from te_sched.ir import intrinsics, ops
from te_sched.ir.expr import (
    CommReducer,
    Expr,
    IterVar,
    Max,
    Min,
    ProducerLoad,
    Reduce,
    Select,
    Var,
)
from te_sched.ir.term_keys import term_key
from te_sched.ir.visitor import reads_data, replace, substitute, variables_of, walk
from te_sched.signatures import checked
from te_sched.te.declare import axis_of
from te_sched.te.derivative import derivative, guard_of, is_differentiable, plus, scaled, times
from te_sched.te.operation import ComputeOp, Operation, domain_of, loaded_tensors
from te_sched.te.reducer import comm_reducer
from te_sched.te.reducer import sum as reduce_sum
from te_sched.te.tag import tag_or_current
from te_sched.te.tensor import Tensor, tensor_label


@walks_deeply("differentiate a tensor", DeclarationError)
@checked
def gradient(
    output: Tensor, inputs: Tensor | Sequence[Tensor], head: Tensor | None = None
) -> list[Tensor]:
    """The derivatives of a tensor with respect to others, by reverse-mode differentiation.

    The derivatives, and the adjoints of the tensors between, are tensors of te.compute, which can
    be scheduled as any others. Where values are equal, the derivative of a maximum or minimum is
    that of the first of them.

    Parameters
    ----------
    output : the tensor to differentiate, of a float dtype.
    inputs : the tensors with respect to which it is differentiated: placeholders, or tensors on
        the way to the output.
    head : the adjoint of the output, of shape `prefix + output.shape`. By default the identity,
        which gives Jacobians.

    Returns
    -------
    For each input a tensor of shape `prefix + input.shape`; without a head, of shape
    `output.shape + input.shape`.

    Raises
    ------
    DeclarationError for tensors of integers, and if the output depends on an input through te.scan,
    te.extern or a function without a derivative.

    Example
    -------
    >>> A, W = te.placeholder((8, 4), name="A"), te.placeholder((4,), name="W")
    >>> k = te.reduce_axis((0, 4), name="k")
    >>> B = te.compute((8,), lambda i: te.sum(te.exp(A[i, k]) * W[k], axis=k), name="B")
    >>> head = te.placeholder((8,), name="head")
    >>> dA, dW = te.gradient(B, [A, W], head)
    >>> dA.shape, dA.op.body
    ([8, 4], [T.exp(A[i0, i1]) * W[i1] * head[i0]])
    >>> dW.shape, dW.op.body[0].source
    ([4], (T.exp(A[i, i0]) * head[i],))
    """
    wanted = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    _check_dtype(output, "cannot differentiate tensor")
    for tensor in wanted:
        _check_dtype(tensor, "cannot differentiate with respect to tensor")
    start = _Adjoint(output, head)
    relevant = _dependents(output, wanted)
    adjoints: dict[Tensor, _Adjoint | None] = {}
    uses: dict[Tensor, list[_Use]] = {}
    for tensor in reversed(relevant):
        adjoint = start if tensor is output else _summed(tensor, uses.get(tensor, ()), start.prefix)
        adjoints[tensor] = adjoint
        if adjoint is not None:
            for use in _uses(tensor, relevant, adjoint):
                uses.setdefault(use.tensor, []).append(use)
    return [_tensor_of(tensor, adjoints.get(tensor), start.prefix) for tensor in wanted]


def _check_dtype(tensor: Tensor, fault: str) -> None:
    if not is_differentiable(tensor.dtype):
        raise DeclarationError(
            f"{fault} {tensor.name} of dtype {tensor.dtype}",
            "only floats have derivatives",
            "give a tensor of a float dtype",
            tensor_label(tensor),
        )


def _dependents(output: Tensor, inputs: Collection[Tensor]) -> dict[Tensor, None]:
    """The inputs and the tensors computed from them, each after those that it reads."""
    dependents: dict[Tensor, None] = {}
    seen: set[Operation] = set()
    stack = [(output.op, False)]
    while stack:
        op, is_below_done = stack.pop()
        if is_below_done:
            depends = any(tensor in dependents for tensor in op.input_tensors)
            dependents.update(
                dict.fromkeys(tensor for tensor in op.outputs if depends or tensor in inputs)
            )
        elif op not in seen:
            seen.add(op)
            stack.append((op, True))
            stack += [(tensor.op, False) for tensor in op.input_tensors]
    return dependents


class _Adjoint:
    """The adjoint of a tensor: another tensor, or where there is none the identity."""

    def __init__(self, of: Tensor, tensor: Tensor | None) -> None:
        self.tensor = tensor
        self.prefix = tuple(of.shape)
        if tensor is not None:
            count = tensor.ndim - of.ndim
            self.prefix = tuple(tensor.shape[: max(count, 0)])
            equal = Analyzer().can_prove_equal
            if count < 0 or not all(map(equal, tensor.shape[count:], of.shape)):
                raise DeclarationError(
                    f"head {tensor.name} has shape {tensor.shape}, expected one that ends with "
                    f"{of.shape}",
                    "the head has a value for each element of the output",
                    "give a tensor of the shape of the output, or with more dimensions before",
                    tensor_label(of),
                )

    def at(
        self, prefix: Sequence[Expr], indices: Sequence[Expr], dtype: str
    ) -> tuple[Expr, list[Equation]]:
        """An element, and the equations without which it is 0."""
        if self.tensor is None:
            return ops.const(1, dtype), list(zip(indices, prefix, strict=True))
        return self.tensor(*prefix, *indices), []


class _Use(NamedTuple):
    """A read of a tensor by a computation, and the derivative of the computed value by it."""

    op: ComputeOp
    read: ProducerLoad
    partial: Expr
    condition: Expr  # under which a reduction has the value
    adjoint: _Adjoint  # of the computed tensor

    @property
    def tensor(self) -> Tensor:
        """The tensor that is read."""
        assert isinstance(self.read.producer, Tensor)
        return self.read.producer


# -- derivatives of a computation ------------------------------------------------------------------


def _uses(tensor: Tensor, relevant: Collection[Tensor], adjoint: _Adjoint) -> Iterator[_Use]:
    """The reads of relevant tensors on which a tensor depends."""
    op = tensor.op
    if not any(tensor in relevant for tensor in op.input_tensors):
        return
    if not isinstance(op, ComputeOp):
        raise DeclarationError(
            f"cannot differentiate tensor {tensor.name}: it is not of te.compute",
            "only expressions have derivatives",
            "compute it with te.compute, or give it as an input of te.gradient",
            tensor_label(tensor),
        )
    body = op.body[tensor.value_index]
    sources: tuple[Expr, ...] = (body,)
    factors: list[Expr | None] = [ops.const(1, body.dtype)]
    condition: Expr = ops.TRUE
    if isinstance(body, Reduce):
        if any(tensor in relevant for tensor in loaded_tensors(body.init)):
            raise DeclarationError(
                f"cannot differentiate the initial value of reduction {tensor.name}",
                "it depends on an input",
                "add it to the reduction in another te.compute",
                tensor_label(tensor),
            )
        sources, condition, factors = body.source, body.condition, _factors(op, body)
    for source, factor in zip(sources, factors, strict=True):
        reads = [node for node in walk(source) if type(node) is ProducerLoad]
        for read in {term_key(load): load for load in reads}.values():
            if read.producer not in relevant or factor is None:
                continue
            partial = times(derivative(source, read), factor)
            if partial is not None:
                yield _Use(op, read, partial, condition, adjoint)


def _factors(op: ComputeOp, body: Reduce) -> list[Expr | None]:
    """The derivatives of a reduction by each value of its source.

    A reduction is combine(combine(before, source), after), where `before` and `after` are the
    reductions of the values before and after one. Computing these takes time quadratic in the
    length of the reduction; the derivative of a sum does not contain them.
    """
    combiner = body.combiner
    if _is_extremum(combiner):
        return [_of_extremum(op, body)]
    before = tuple([Var("before", variable.dtype) for variable in combiner.lhs])
    after = tuple([Var("after", variable.dtype) for variable in combiner.lhs])

    def inner(e: Expr) -> Expr:
        return substitute(e, _mapping(combiner, before, body.source))

    middle = tuple(map(inner, combiner.result))
    factors: list[Expr | None] = []
    for right in combiner.rhs:
        total: Expr | None = None
        for left, result in zip(combiner.lhs, combiner.result, strict=True):
            outer = derivative(combiner.result[body.value_index], left)
            partial = derivative(result, right)
            if outer is not None and partial is not None:
                outer = substitute(outer, _mapping(combiner, middle, after))
                total = plus(total, times(inner(partial), outer))
        factors.append(total)
    used = variables_of(*[factor for factor in factors if factor is not None])
    values: dict[Var, Expr] = {}
    for names, label, compare in ((before, "before", ops.less), (after, "after", ops.greater)):
        if not used.isdisjoint(names):
            loads = _partial_reduction(op, body, label, compare)
            values.update(zip(names, loads, strict=True))
    return [None if factor is None else substitute(factor, values) for factor in factors]


def _mapping(combiner: CommReducer, lhs: Sequence[Expr], rhs: Sequence[Expr]) -> dict[Var, Expr]:
    return dict(zip((*combiner.lhs, *combiner.rhs), (*lhs, *rhs), strict=True))


def _partial_reduction(
    op: ComputeOp, body: Reduce, name: str, compare: Callable[[Expr, Expr], Expr]
) -> list[Expr]:
    """For a value of a reduction, the reduction of the values before it, or after it."""
    for axis in body.axis:
        extent = domain_of(axis).extent
        if reads_data(extent) or not variables_of(extent).isdisjoint(_variables(op.axis)):
            raise DeclarationError(
                f"cannot differentiate reduction {op.name} over axis {axis.var.name}",
                f"its extent {extent} depends on the element or on data",
                "use te.sum, te.max or te.min, whose derivative needs no array of that extent",
                Subject("axis", axis.var.name),
            )
    fresh = _fresh((*op.axis, *body.axis))
    inner = substitute(body, fresh)
    outer = _renewed(op.axis, fresh)
    places = [
        axis_of(domain_of(reduce_axis).extent, reduce_axis.var.name) for reduce_axis in body.axis
    ]
    here = _position(places)
    condition = ops.logical_and(inner.condition, compare(_position(inner.axis), here))
    first = replace(inner, condition=condition, init=inner.init if name == "before" else ())
    parts = [replace(first, value_index=index) for index in range(len(body.source))]
    indices = [
        *_variables(op.axis),
        *[reduce_axis.var - domain_of(reduce_axis).min for reduce_axis in body.axis],
    ]
    return [tensor(*indices) for tensor in _computed(f"{op.name}.{name}", [*outer, *places], parts)]


def _is_extremum(combiner: CommReducer) -> bool:
    """Whether a reduction is a maximum or minimum."""
    result = combiner.result[0]
    return isinstance(result, Max | Min) and {result.a, result.b} == {
        *combiner.lhs,
        *combiner.rhs,
    }


def _of_extremum(op: ComputeOp, body: Reduce) -> Expr:
    """1 for the first of the greatest (or least) values of a reduction, 0 for the others."""
    is_better = ops.greater if isinstance(body.combiner.result[0], Max) else ops.less
    fresh = _fresh((*op.axis, *body.axis))
    inner = substitute(body, fresh)
    position = _position(inner.axis)
    nowhere = intrinsics.max_value(position.dtype)

    def combine(x: Any, y: Any) -> tuple[Expr, Expr]:
        is_earlier = ops.logical_and(ops.equal(x[1], y[1]), x[0] < y[0])
        is_first = ops.logical_or(is_better(x[1], y[1]), is_earlier)
        return Select(is_first, x[0], y[0]), Select(is_first, x[1], y[1])

    first = comm_reducer(combine, lambda *_: (nowhere, *body.combiner.identity), "first")
    init = (nowhere, *inner.init) if inner.init else None
    extremum = first((position, *inner.source), axis=inner.axis, where=inner.condition, init=init)
    first_position = _computed(f"{op.name}.position", _renewed(op.axis, fresh), extremum)[0]
    is_here = ops.equal(_position(body.axis), first_position(*_variables(op.axis)))
    return Select(is_here, ops.const(1, body.dtype), ops.const(0, body.dtype))


def _position(axes: Sequence[IterVar]) -> Expr:
    """The number of an iteration of a loop nest."""
    total: Expr = ops.const(0, axes[0].dtype)
    for axis in axes:
        domain = domain_of(axis)
        total = total * domain.extent + (axis.var - domain.min)
    return total


def _fresh(axes: Iterable[IterVar]) -> dict[Var, Expr]:
    """New variables for axes: operations do not share them."""
    return {axis.var: Var(axis.var.name, axis.dtype) for axis in axes}


def _renewed(axes: Iterable[IterVar], fresh: dict[Var, Expr]) -> list[IterVar]:
    return [substitute(axis, fresh) for axis in axes]


def _variables(axes: Iterable[IterVar]) -> list[Var]:
    return [axis.var for axis in axes]


def _computed(name: str, axis: Sequence[IterVar], body: Sequence[Expr]) -> tuple[Tensor, ...]:
    return ComputeOp(name, tag_or_current(""), None, tuple(axis), tuple(body)).outputs


# -- adjoints --------------------------------------------------------------------------------------


def _summed(tensor: Tensor, uses: Iterable[_Use], prefix: tuple[Expr, ...]) -> _Adjoint | None:
    """The adjoint of a tensor from all reads of it; None where it is 0.

    It is one stage, with a stage more for each reduction where there are several terms.
    """
    name = f"{tensor.name}.grad"
    axes = _axes(prefix, tensor)
    terms = [term for use in uses if (term := _term(use, axes, len(prefix))) is not None]
    total: Expr | None = None
    for term in terms:
        if isinstance(term, Reduce) and (len(terms) > 1 or term.dtype != tensor.dtype):
            own = _fresh(axes)
            (part,) = _computed(f"{name}.part", _renewed(axes, own), [substitute(term, own)])
            total = plus(total, ops.cast(tensor.dtype, part(*_variables(axes))))
        else:
            total = plus(total, ops.cast(tensor.dtype, term))
    if total is None:
        return None
    return _Adjoint(tensor, _computed(name, axes, [total])[0])


def _axes(prefix: Sequence[Expr], tensor: Tensor) -> list[IterVar]:
    return [axis_of(extent, f"i{n}") for n, extent in enumerate((*prefix, *tensor.shape))]


def _term(use: _Use, axes: Sequence[IterVar], prefix: int) -> Expr | None:
    """The part of an adjoint that comes from one read, as an expression of its axes."""
    op = use.op
    fresh = _fresh((*op.axis, *op.reduce_axis))
    domains = {axis.var: domain_of(axis) for axis in axes}
    places = _variables(axes)
    element, equations = use.adjoint.at(
        places[:prefix], [fresh[axis.var] for axis in op.axis], use.partial.dtype
    )
    indices = [substitute(index, fresh) for index in use.read.indices]
    equations += zip(indices, places[prefix:], strict=True)
    loops = _renewed((*op.axis, *op.reduce_axis), fresh)
    solution = solve(equations, {loop.var: domain_of(loop) for loop in loops}, domains)

    value, guards = substitute(use.partial, fresh), [substitute(use.condition, fresh)]
    value = scaled(value, element)
    while (guard := guard_of(value)) is not None:
        if type(value) is Select and reads_data(guard[0]):
            break  # a loop without branches is faster
        guards.append(guard[0])
        value = guard[1]
    analyzer = Analyzer()
    for var, domain in (domains | solution.free).items():
        analyzer.bind(var, domain)
    guards = [analyzer.simplify(substitute(predicate, solution.values)) for predicate in guards]
    condition: Expr = ops.TRUE
    # Indices of data are within bounds only where the conditions before them hold.
    for conjunct in sorted((*solution.conditions, *guards, *solution.unsolved), key=reads_data):
        condition = ops.logical_and(condition, conjunct)
    if ops.is_const(condition, 0):
        return None
    value = analyzer.simplify(substitute(value, solution.values))
    if solution.free:
        sums = [IterVar(domain, var, "CommReduce") for var, domain in solution.free.items()]
        return reduce_sum(value, axis=sums, where=condition)
    return intrinsics.if_then_else(condition, value, ops.const(0, value.dtype))


def _tensor_of(tensor: Tensor, adjoint: _Adjoint | None, prefix: tuple[Expr, ...]) -> Tensor:
    """The derivative by an input, from its adjoint."""
    if adjoint is not None and adjoint.tensor is not None:
        return adjoint.tensor
    axes = _axes(prefix, tensor)
    value: Expr = ops.const(0, tensor.dtype)
    if adjoint is not None:
        places = _variables(axes)
        pairs = zip(places[: len(prefix)], places[len(prefix) :], strict=True)
        is_same = [ops.equal(a, b) for a, b in pairs]
        value = Select(intrinsics.all(ops.TRUE, *is_same), ops.const(1, tensor.dtype), value)
    return _computed(f"{tensor.name}.grad", axes, [value])[0]
