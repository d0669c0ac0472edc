"""DataflowUseInplaceCalls: element-wise operators write over an argument that nothing else uses.

    c = R.add(a, b)      ->      c = R.call_tir_inplace(cls.add_inplace, (a, b), [0], ...)

In a dataflow block, the ranges in which values are used and the variables that may be the same
value tell whether an argument may be overwritten. Arguments of the function are kept.
"""

from __future__ import annotations

from collections.abc import Sequence

from te_sched.errors import GraphError
from te_sched.ir import ops
from te_sched.ir.expr import Buffer, BufferLoad, IntImm
from te_sched.ir.graph import (
    BindingBlock,
    DataflowBlock,
    DataflowVar,
    GraphCall,
    GraphExpr,
    GraphFunction,
    GraphValue,
    GraphVar,
    Tuple,
    TupleGetItem,
)
from te_sched.ir.op import Op
from te_sched.ir.stmt import BufferStore, Evaluate, For, IRModule, PrimFunc, SeqStmt, Stmt
from te_sched.ir.struct_info import StructInfo, TensorStructInfo, TupleStructInfo
from te_sched.ir.structural import structural_equal
from te_sched.ir.visitor import ReferenceMapper, StatementMapper, replace
from te_sched.passes import ModulePass
from te_sched.relax.analysis.variables import used_vars
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.core.sizes import sizes_of
from te_sched.relax.core.values import is_call_of
from te_sched.relax.expr_functor import PyExprMutator, map_call
from te_sched.relax.operators.calls import call_tir_inplace
from te_sched.relax.operators.registry import OPERATORS, legalization_of

_EXTERNAL = -1  # a value from outside of the block
# Calls whose result may be one of their arguments.
_UNKNOWN = ("relax.call_pure_packed", "relax.invoke_pure_closure")


class DataflowUseInplaceCalls(ModulePass, name="DataflowInsertInPlaceCalls"):
    """The pass that lets operators write their result over an argument.

    >>> from te_sched import relax
    >>> x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    >>> builder = relax.BlockBuilder()
    >>> with builder.function("main", [x]):
    ...     with builder.dataflow():
    ...         y = builder.emit(relax.op.add(x, x))
    ...         gv = builder.emit_output(relax.op.multiply(y, x))
    ...     name = builder.emit_func_output(gv)
    >>> module = DataflowUseInplaceCalls()(builder.get())
    >>> [str(name) for name in module.functions]
    ['main', 'multiply_inplace']
    """

    def transform_module(self, mod: IRModule, *_: object) -> IRModule:
        rewriter = _InplaceRewriter(mod)
        for name, func in mod.functions.items():
            if isinstance(func, GraphFunction):
                rewriter.params = func.params
                new = rewriter.visit_expr(func)
                if new is not func:
                    rewriter.builder_.update_func(name, new)
        return rewriter.builder_.finalize()


class _InplaceRewriter(PyExprMutator):
    def __init__(self, mod: IRModule) -> None:
        super().__init__(mod)
        self.params: Sequence[GraphVar] = ()
        self._chosen: dict[GraphCall, int] = {}

    def visit_dataflow_block_(self, block: DataflowBlock) -> BindingBlock:
        """The block with calls that overwrite an argument."""
        _, exact = dataflow_inplace_analysis(block, self.params)
        for index, candidates in exact:
            call = block.bindings[index].value
            if isinstance(call, GraphCall):
                self._chosen[call] = max(candidates)
        return super().visit_dataflow_block_(block)

    def visit_call_(self, op: GraphCall) -> GraphExpr:
        """The call, or one that overwrites an argument."""
        chosen = self._chosen.get(op)
        if chosen is None:
            return map_call(self, op)
        return inplace_call(self.builder_, self.visit_expr_post_order(op), [chosen])


def dataflow_liveness_analysis(block: BindingBlock) -> dict[GraphVar, tuple[int, int]]:
    """For each variable the places of its binding and of its last use in the block.

    The first is -1 for variables from outside, the second the number of bindings for variables that
    are visible outside of the block.
    """
    count = len(block.bindings)
    starts = {binding.var: position for position, binding in enumerate(block.bindings)}
    ends: dict[GraphVar, int] = {}
    for index, binding in enumerate(block.bindings):
        ends[binding.var] = index if isinstance(binding.var, DataflowVar) else count
        for var in used_vars(binding.value):
            is_inside = isinstance(var, DataflowVar) and var in starts
            ends[var] = index if is_inside else count
    return {var: (starts.get(var, -1), end) for var, end in ends.items()}


class _Aliases:
    """Numbers of values; the numbers that each variable may be, and the elements of tuples."""

    def __init__(self, params: Sequence[GraphVar]) -> None:
        self.sets: dict[GraphVar, set[int]] = {}
        self.tuples: dict[int, list[set[int]]] = {}
        self._count = 0
        for param in params:
            self.sets[param] = {self._new(param.struct_info_)}

    def _new(self, info: StructInfo | None = None) -> int:
        """The number of a new value; the elements of a tuple are new, too."""
        number = self._count
        self._count += 1
        if isinstance(info, TupleStructInfo):
            self.tuples[number] = [{self._new(field)} for field in info.fields]
        return number

    def of(self, value: GraphValue) -> set[int]:
        """The numbers that a value may be."""
        if isinstance(value, GraphVar):
            return self.sets.get(value, {_EXTERNAL})
        if isinstance(value, Tuple):
            number = self._new()
            self.tuples[number] = [self.of(field) for field in value.fields]
            return {number}
        if isinstance(value, TupleGetItem):
            return self._item(value)
        if isinstance(value, GraphCall):
            return self._call(value)
        return {self._new()}

    def _item(self, value: TupleGetItem) -> set[int]:
        numbers: set[int] = set()
        for number in self.of(value.tuple_value):
            if number == _EXTERNAL:
                return {_EXTERNAL}
            items = self.tuples.get(number, [])
            numbers |= items[value.index] if value.index < len(items) else set()
        return numbers or {_EXTERNAL}

    def _call(self, call: GraphCall) -> set[int]:
        if isinstance(call.op, Op) and str(call.op) not in _UNKNOWN:
            return {self._new(call.struct_info_)}
        worklist = [
            alias
            for arg in call.args
            if isinstance(arg, GraphVar | Tuple)
            for alias in self.of(arg)
        ]
        numbers: set[int] = set()
        while worklist:
            number = worklist.pop()
            if number not in numbers:
                numbers.add(number)
                worklist += [alias for item in self.tuples.get(number, []) for alias in item]
        number = self._new(call.struct_info_)
        numbers.add(number)
        if number in self.tuples:
            numbers |= {alias for item in self.tuples[number] for alias in item}
            self.tuples[number] = [set(numbers) for _ in self.tuples[number]]
        return numbers


def dataflow_alias_analysis(
    block: BindingBlock, params: Sequence[GraphVar]
) -> tuple[dict[GraphVar, set[int]], dict[int, list[set[int]]]]:
    """The numbers of the values that each variable may be, and of the elements of tuples.

    -1 is any value from outside of the block that is not a parameter.
    """
    aliases = _Aliases(params)
    for binding in block.bindings:
        aliases.sets[binding.var] = aliases.of(binding.value)
    return aliases.sets, aliases.tuples


def dataflow_inplace_analysis(
    block: BindingBlock, params: Sequence[GraphVar], mod: IRModule | None = None
) -> tuple[list[tuple[int, set[int]]], list[tuple[int, set[int]]]]:
    """The places of calls that may overwrite an argument, each with the places of such arguments.

    The first list has arguments of as many bytes as the result, the second one of the same shape.
    """
    del mod
    ranges = dataflow_liveness_analysis(block)
    sets, tuples = dataflow_alias_analysis(block, params)
    sizes: list[tuple[int, set[int]]] = []
    exact: list[tuple[int, set[int]]] = []
    for index, binding in enumerate(block.bindings):
        call = binding.value
        if not isinstance(call, GraphCall) or str(call.op) not in _elementwise():
            continue
        free = {
            position
            for position, arg in enumerate(call.args)
            if isinstance(arg, GraphVar)
            and _is_free(arg, index, ranges, sets, tuples)
            and not _is_given_twice(arg, call, sets)
        }
        same = {arg_index for arg_index in free if _has_shape_of(call.args[arg_index], call)}
        if same:
            sizes.append((index, same))
            exact.append((index, set(same)))
    return sizes, exact


def _is_free(
    var: GraphVar,
    index: int,
    ranges: dict[GraphVar, tuple[int, int]],
    sets: dict[GraphVar, set[int]],
    tuples: dict[int, list[set[int]]],
) -> bool:
    """Whether no variable that may be the value is used after a place."""
    own = sets.get(var, {_EXTERNAL})
    if _EXTERNAL in own:
        return False
    for other, aliases in sets.items():
        reached = set(aliases)
        for number in aliases:
            reached |= {alias for item in tuples.get(number, []) for alias in item}
        is_param = other not in ranges
        if reached & own and (is_param or ranges[other][1] > index):
            return False
    return True


def _is_given_twice(var: GraphVar, call: GraphCall, sets: dict[GraphVar, set[int]]) -> bool:
    """Whether another variable that is an argument may be the same value."""
    others = [arg for arg in call.args if isinstance(arg, GraphVar) and arg is not var]
    return any(sets.get(other, {_EXTERNAL}) & sets.get(var, {_EXTERNAL}) for other in others)


def _has_shape_of(arg: GraphValue, call: GraphCall) -> bool:
    arg_info, result = arg.struct_info_, call.struct_info_
    if not isinstance(arg_info, TensorStructInfo) or not isinstance(result, TensorStructInfo):
        return False
    sizes, others = sizes_of(arg_info), sizes_of(result)
    if arg_info.dtype != result.dtype or sizes is None or others is None:
        return False
    return len(sizes) == len(others) and all(map(structural_equal, sizes, others))


def dataflow_single_inplace_call(
    mod: IRModule, call: GraphCall, inplace_indices: Sequence[int]
) -> tuple[GraphCall, IRModule]:
    """A call that writes its results over arguments, and the module with the function for it."""
    builder = BlockBuilder(mod)
    new = inplace_call(builder, call, inplace_indices)
    return new, builder.get()


def _elementwise() -> list[str]:
    """The operators that may write over an argument."""
    return [operator.name for operator in OPERATORS.values() if operator.is_elementwise]


def inplace_call(
    builder: BlockBuilder, call: GraphCall, inplace_indices: Sequence[int]
) -> GraphCall:
    """The call of an operator that writes its result over an argument.

    The function is added to the module of the builder.
    """
    rule = legalization_of(call.op)
    scratch = BlockBuilder()
    legal = rule(scratch, call) if rule is not None else None
    if not is_call_of(legal, "relax.call_tir"):
        raise GraphError(
            f"{call.op} has no legalization to one function",
            "its result cannot be written over an argument",
            f"use one of {', '.join(_elementwise())}",
        )
    name = legal.args[0]
    func: PrimFunc = scratch.get()[name]
    count = len(legal.args[1].fields)
    outputs = list(func.params[count : count + len(inplace_indices)])
    targets = [func.buffer_map[func.params[index]] for index in inplace_indices]
    moved = {func.buffer_map[out]: target for out, target in zip(outputs, targets, strict=True)}
    body = _WithoutOwnCopies().visit(_Moved(moved).visit(func.body))
    params = tuple([param for param in func.params if param not in outputs])
    kept = {param: buffer for param, buffer in func.buffer_map.items() if param not in outputs}
    new = replace(func, params=params, body=body, buffer_map=kept)
    added = builder.add_func(new, f"{name}_inplace")
    return call_tir_inplace(added, legal.args[1], list(inplace_indices), list(legal.sinfo_args))


class _Moved(ReferenceMapper):
    """Puts buffers in the place of others."""

    def __init__(self, buffers: dict[Buffer, Buffer]) -> None:
        self._buffers = buffers

    def visit_Buffer(self, node: Buffer) -> Buffer:
        buffer: Buffer = self._buffers.get(node, node)
        return buffer


class _WithoutOwnCopies(StatementMapper):
    """Removes stores of elements at the places they are read from, and loops of nothing else."""

    def visit_BufferStore(self, node: BufferStore) -> Stmt:
        value = node.value
        is_own = (
            isinstance(value, BufferLoad)
            and value.buffer is node.buffer
            and all(map(structural_equal, value.indices, node.indices))
        )
        return Evaluate(ops.const(0)) if is_own else node

    def visit_For(self, node: For) -> Stmt:
        new = self.generic(node)
        return new.body if _is_nothing(new.body) else new

    def visit_SeqStmt(self, node: SeqStmt) -> Stmt:
        new = self.generic(node)
        kept = tuple([stmt for stmt in new.seq if not _is_nothing(stmt)])
        if len(kept) == len(new.seq):
            return new
        return kept[0] if len(kept) == 1 else SeqStmt(kept)


def _is_nothing(stmt: Stmt) -> bool:
    return isinstance(stmt, Evaluate) and isinstance(stmt.value, IntImm)
