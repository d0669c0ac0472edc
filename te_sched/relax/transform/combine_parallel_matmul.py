"""The pass `CombineParallelMatmul`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from te_sched.arith.analyzer import Analyzer
from te_sched.ir.expr import Expr, IntImm
from te_sched.ir.graph import (
    Binding,
    BindingBlock,
    DataflowBlock,
    DataflowVar,
    GraphCall,
    GraphExpr,
    GraphFunction,
    GraphValue,
    GraphVar,
    TupleGetItem,
    VarBinding,
)
from te_sched.relax.analysis.unused import remove_all_unused
from te_sched.relax.analysis.variables import uses_of
from te_sched.relax.core.sizes import are_equal_sizes, constant_sizes
from te_sched.relax.core.values import is_call_of, shape_of_value, tensor_info
from te_sched.relax.dpl.rewrite import with_new_values
from te_sched.relax.expr_functor import PyExprMutator
from te_sched.relax.op import add, concat, matmul, split
from te_sched.relax.transform.base import FunctionPass

Values = Mapping[GraphVar, GraphValue]
Check = Callable[[GraphVar, list[GraphExpr], list[GraphExpr], Values], bool]
_ACTIVATIONS = ("relax.nn.relu", "relax.nn.gelu", "relax.nn.silu")


class CombineParallelMatmul(FunctionPass):
    """The pass that computes the products of one value with several matrices as one product.

    Biases, and activations, follow the joined product if each of the products has one, the same.

    Parameters
    ----------
    check : whether products are combined: of the value, the matrices, the biases and the bindings.

    >>> from te_sched import relax
    >>> x, v, w = (relax.Var(name, relax.TensorStructInfo([4, 4], "float32")) for name in "xvw")
    >>> builder = relax.BlockBuilder()
    >>> with builder.function("main", [x, v, w]):
    ...     with builder.dataflow():
    ...         y, z = [builder.emit(relax.op.matmul(x, one)) for one in (v, w)]
    ...         out = builder.emit_output(relax.op.add(y, z))
    ...     gv = builder.emit_func_output(out)
    >>> func = CombineParallelMatmul()(builder.get())["main"]
    >>> [getattr(one.value, "op", "item") for one in func.body.blocks[0].bindings]
    ['relax.concat', 'relax.matmul', 'relax.split', 'item', 'item', 'relax.add']
    """

    def __init__(self, check: Check | None = None) -> None:
        self.check = check

    def transform_function(self, func: GraphFunction, *_: object) -> GraphFunction:
        return _Combination(self.check).rewrite(func) if func.body is not None else func


@dataclass
class _Branch:
    """A product, and the bias and activation that follow it; `var` is bound to the last of them."""

    product: GraphVar
    weight: GraphExpr
    var: GraphVar
    bias: GraphExpr | None = None
    activation: str = ""

    @property
    def columns(self) -> Expr:
        """The number of columns of the matrix."""
        return (shape_of_value(self.weight) or ())[-1]


class _User(NamedTuple):
    """A variable, and the call that it is bound to."""

    var: GraphVar
    call: GraphCall


class _Combination(PyExprMutator):
    def __init__(self, check: Check | None) -> None:
        super().__init__()
        self._check = check
        self._changed = False

    def rewrite(self, func: GraphFunction) -> GraphFunction:
        """The function with joined products."""
        new = self.visit_expr(func)
        return remove_all_unused(new) if self._changed else func

    def visit_dataflow_block_(self, block: DataflowBlock) -> BindingBlock:
        """The block with joined products."""
        values = {
            binding.var: binding.value
            for binding in block.bindings
            if isinstance(binding, VarBinding)
        }
        new: dict[GraphVar, GraphValue] = {}
        for source, branches in _products(block).items():
            for group in _compatible(branches):
                for joined in self._joined(source, group, block, values):
                    new.update(joined)
        if not new:
            return block
        self._changed = True
        return DataflowBlock(tuple(with_new_values(block.bindings, new, self.builder_)))

    def _joined(
        self, source: GraphVar, branches: list[_Branch], block: DataflowBlock, values: Values
    ) -> list[dict[GraphVar, GraphValue]]:
        """The new values for products of one shape, if they are combined."""
        fixed = [branch for branch in branches if isinstance(branch.columns, IntImm)]
        open_ones = [branch for branch in branches if branch not in fixed]
        order = [*fixed, *open_ones[:1]]  # sizes at which a result is split are constants
        order = _independent(order, block)
        if len(order) < 2:
            return []
        biases = [branch.bias for branch in order if branch.bias is not None]
        with_bias = len(biases) == len(order)
        weights = [branch.weight for branch in order]
        if self._check and not self._check(source, weights, biases if with_bias else [], values):
            return []
        rank = len(shape_of_value(weights[0]) or ())
        info = tensor_info(order[0].product)
        out = matmul(source, concat(weights, rank - 1), info.dtype)
        activations = {branch.activation for branch in order}
        if with_bias:
            out = add(out, concat(biases, 0))
        is_activated = len(activations) == 1 and activations != {""}
        has_bias_of_some = bool(biases) and not with_bias
        if is_activated and not has_bias_of_some:
            activation = values[order[0].var]
            assert isinstance(activation, GraphCall)
            out = GraphCall(activation.op, (out,), activation.attrs)
        else:
            is_activated = False
        places, at = [], 0
        for count in constant_sizes([branch.columns for branch in order[:-1]]) or ():
            at += count
            places.append(at)
        parts = split(out, places, info.ndim - 1)
        return [
            {
                _last(branch, with_bias, is_activated, values): TupleGetItem(parts, index)
                for index, branch in enumerate(order)
            }
        ]


def _last(branch: _Branch, with_bias: bool, is_activated: bool, values: Values) -> GraphVar:
    """The variable of a branch that the joined product gives."""
    is_whole = is_activated or not branch.activation
    if branch.bias is not None and not with_bias:
        return branch.product
    activation = values[branch.var]
    if is_whole or not isinstance(activation, GraphCall):
        return branch.var
    source: GraphVar = activation.args[0]
    return source


def _products(block: DataflowBlock) -> dict[GraphVar, list[_Branch]]:
    """The products of a block, by what is multiplied."""
    users: dict[GraphVar, list[Binding]] = {}
    for binding in block.bindings:
        for var in uses_of(binding):
            users.setdefault(var, []).append(binding)
    branches: dict[GraphVar, list[_Branch]] = {}
    for binding in block.bindings:
        value = binding.value
        if not is_call_of(value, "relax.matmul") or not isinstance(binding, VarBinding):
            continue
        shape = shape_of_value(value.args[1])
        dtype = getattr(binding.var.struct_info, "dtype", "")
        if shape is None or len(shape) < 2 or not dtype or not isinstance(value.args[0], GraphVar):
            continue
        branches.setdefault(value.args[0], []).append(_branch(binding.var, value.args[1], users))
    return branches


def _branch(var: GraphVar, weight: GraphExpr, users: dict[GraphVar, list[Binding]]) -> _Branch:
    branch = _Branch(var, weight, var)
    following = _only_user(var, users, ("relax.add",))
    if following is not None and following.call.args[0] is var:
        bias = following.call.args[1]
        if len(shape_of_value(bias) or ()) == 1:
            branch.bias, branch.var = bias, following.var
    following = _only_user(branch.var, users, _ACTIVATIONS)
    if following is not None:
        branch.activation, branch.var = str(following.call.op), following.var
    return branch


def _only_user(
    var: GraphVar, users: dict[GraphVar, list[Binding]], names: Sequence[str]
) -> _User | None:
    """The binding that alone uses a variable, if it calls one of these operators."""
    uses = users.get(var, [])
    if len(uses) != 1 or not isinstance(var, DataflowVar):
        return None
    call = uses[0].value
    return _User(uses[0].var, call) if is_call_of(call, *names) else None


def _compatible(branches: list[_Branch]) -> list[list[_Branch]]:
    """The branches by the rank of the matrix; none of a rank of which the batches differ."""
    analyzer = Analyzer()
    by_rank: dict[int, list[_Branch]] = {}
    for branch in branches:
        by_rank.setdefault(len(shape_of_value(branch.weight) or ()), []).append(branch)
    return [
        same
        for same in by_rank.values()
        if all(
            are_equal_sizes(_around(member), _around(same[0]), analyzer)
            and _dtypes(member) == _dtypes(same[0])
            for member in same
        )
    ]


def _around(branch: _Branch) -> tuple[Expr, ...]:
    return (shape_of_value(branch.weight) or ())[:-1]


def _dtypes(branch: _Branch) -> tuple[str, str]:
    return tensor_info(branch.weight).dtype, tensor_info(branch.product).dtype


def _independent(branches: list[_Branch], block: DataflowBlock) -> list[_Branch]:
    """The branches whose matrix and bias do not depend on the product of another one."""
    products = {branch.product for branch in branches}
    needs: dict[GraphVar, set[GraphVar]] = {}
    for binding in block.bindings:
        sources = {binding.var} & products
        for var in uses_of(binding):
            sources |= needs.get(var, set())
        needs[binding.var] = sources
    return [
        branch
        for branch in branches
        if not any(
            needs.get(value)
            for value in (branch.weight, branch.bias)
            if isinstance(value, GraphVar)
        )
    ]
