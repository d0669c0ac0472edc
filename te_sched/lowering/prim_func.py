"""`te.create_prim_func`: tensor expressions become a function of blocks (TensorIR).

Each computed operation is a loop nest around a block, producers first. Must not know schedules.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from te_sched.arith.analyzer import Analyzer
from te_sched.arith.complete import complete
from te_sched.config import AS_TVM, Lowering
from te_sched.errors import DeclarationError, OperandError, Subject, kind_of, with_article
from te_sched.ir import dtypes, intrinsics, ops
from te_sched.ir.blocks import DETECT_ACCESS, Block, BlockRealize
from te_sched.ir.buffer import decl_buffer
from te_sched.ir.expr import (
    Buffer,
    BufferLoad,
    Expr,
    FloatImm,
    IntImm,
    IterVar,
    ProducerLoad,
    Range,
    Reduce,
    Var,
)
from te_sched.ir.index_dtype import with_index_dtype
from te_sched.ir.printer.names import UniqueNames
from te_sched.ir.source_lines import SourceLines
from te_sched.ir.stmt import BufferStore, For, LetStmt, PrimFunc, Stmt
from te_sched.ir.term_keys import same
from te_sched.ir.visitor import AccessMapper, Mapper, substitute, variables_of
from te_sched.lowering.statements import sequence
from te_sched.signatures import bound, is_sequence
from te_sched.te.operation import ComputeOp, ExternOp, Operation, PlaceholderOp, domain_of
from te_sched.te.tensor import Tensor

# Attributes of operations that only tools use.
_DROPPED = ("workload", "const_matrix", "auto_scheduler_simplify_const_tensor_indices")
_FREE_LAYOUT = "layout_free_placeholders"


@bound
def create_prim_func(
    ops: Sequence[Tensor | Var] | Tensor, index_dtype_override: str | None = None
) -> PrimFunc:
    """A function of blocks that computes tensors.

    Parameters
    ----------
    ops : the parameters, tensors and variables: all placeholders that are read, and the results.
        Computed tensors that are not among them become buffers of the function.
    index_dtype_override : the dtype of all loops, indices and shapes, such as "int64".

    Errors: DeclarationError for a placeholder that is not a parameter, and for operations that
    blocks cannot express (te.scan).

    >>> A = te.placeholder((8,), name="A")
    >>> B = te.compute((8,), lambda i: A[i] * 2, name="B")
    >>> print(create_prim_func([A, B]))
    # from tvm.script import tir as T
    <BLANKLINE>
    @T.prim_func
    def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        T.func_attr({"tir.noalias": T.bool(True)})
        # with T.block("root"):
        for i in range(8):
            with T.block("B"):
                v_i = T.axis.spatial(8, i)
                T.reads(A[v_i])
                T.writes(B[v_i])
                B[v_i] = A[v_i] * T.float32(2)
    """
    return function_of_tensors(ops, index_dtype_override, AS_TVM)


def function_of_tensors(
    ops: Sequence[Tensor | Var] | Tensor, index_dtype_override: str | None, settings: Lowering
) -> PrimFunc:
    """`create_prim_func` with the settings of the simplifier. With those of programs to run, floats
    are not simplified as if they were real numbers, and extrema begin at an infinity.
    """
    params: list[Any] = [ops] if isinstance(ops, Tensor) or not is_sequence(ops) else list(ops)
    for param in params:
        if not isinstance(param, Tensor | Var):
            raise DeclarationError(
                f"a parameter of create_prim_func is {kind_of(param)}, expected a tensor",
                "",
                "give a list of tensors, and of variables",
            )
    builder = _Builder([tensor for tensor in params if isinstance(tensor, Tensor)], settings)
    func = builder.function(params)
    if index_dtype_override is not None:
        func = with_index_dtype(func, dtypes.spelled(index_dtype_override))
    return func


def operations_of(tensors: Iterable[Tensor]) -> list[Operation]:
    """The operations that compute tensors, each after those that it reads."""
    operations: dict[Operation, None] = {}
    stack: list[tuple[Operation, bool]] = [(tensor.op, False) for tensor in reversed(list(tensors))]
    while stack:
        op, is_after = stack.pop()
        if is_after:
            operations.setdefault(op)
        elif op not in operations:
            stack.append((op, True))
            stack += [(tensor.op, False) for tensor in reversed(op.input_tensors)]
    return list(operations)


def _infinite(identity: Expr) -> Expr:
    """The identity of an extremum, which is infinite where it is the largest finite number."""
    for limit in (intrinsics.min_value, intrinsics.max_value):
        if isinstance(identity, FloatImm) and same(identity, limit(identity.dtype)):
            return FloatImm(math.copysign(math.inf, identity.value), identity.dtype)
    return identity


class _Builder:
    """Builds the body of one function."""

    def __init__(self, arguments: list[Tensor], settings: Lowering) -> None:
        self.arguments, self.settings = arguments, settings
        self.operations = operations_of(arguments)
        self.names = UniqueNames()
        self.buffers: dict[Tensor, Buffer] = {}
        self.allocated: list[Buffer] = []
        self.lines = SourceLines()
        for op in self.operations:  # buffers that the user declared
            if isinstance(op, ExternOp):
                for tensor, buffer in zip(op.inputs, op.input_placeholders, strict=True):
                    self.buffers.setdefault(tensor, buffer)
                for tensor, buffer in zip(op.outputs, op.output_placeholders, strict=True):
                    self.buffers.setdefault(tensor, buffer)

    def function(self, params: list[Any]) -> PrimFunc:
        """The function with these parameters."""
        statements: list[Stmt] = []
        for op in self.operations:
            if not isinstance(op, PlaceholderOp | ComputeOp | ExternOp):
                raise OperandError(
                    f"operation {op.name} has no form in blocks",
                    f"it is {with_article(type(op).__name__)}; blocks compute elements, or call "
                    "functions",
                    "use te.compute and te.extern, or schedule it with te.create_schedule",
                    Subject("operation", op.name),
                    in_tvm=f"Unsupported Operation: {type(op).__name__}.",
                )
        for op in self.operations:
            if isinstance(op, PlaceholderOp):
                self._placeholder(op)
            elif isinstance(op, ComputeOp):
                statements.append(self._compute(op))
            elif isinstance(op, ExternOp):
                statements.append(self._extern(op))
        variables, buffer_map = [], {}
        for argument in params:
            if isinstance(argument, Var):
                variables.append(argument)
                continue
            buffer = self.buffers[argument]
            param = Var(f"var_{_name_of(argument)}", "handle")
            buffer_map[param] = buffer
            variables.append(param)
        attrs: dict[str, Any] = {"global_symbol": "main", "tir.noalias": True}
        free = self._free_layouts(params)
        if free:
            attrs["layout_free_buffers"] = free
        body = sequence(statements)
        for tensor, buffer in self.buffers.items():
            self.lines.add("buffer", buffer.name, tensor.op.place)
        func = PrimFunc(tuple(variables), body, buffer_map, attrs, lines=self.lines)
        return complete(func, self.allocated)

    def _free_layouts(self, params: list[Any]) -> list[int]:
        """The positions of the parameters whose layout is free."""
        free = [t for op in self.operations for t in (op.attrs or {}).get(_FREE_LAYOUT, ())]
        return sorted(
            {position for position, param in enumerate(params) if any(param is t for t in free)}
        )

    def _is_argument(self, tensor: Any) -> bool:
        """Whether a tensor is a parameter of the function."""
        return any(tensor is argument for argument in self.arguments)

    def _placeholder(self, op: PlaceholderOp) -> None:
        tensor = op.output(0)
        if not self._is_argument(tensor):
            names = ", ".join([argument.name for argument in self.arguments])
            raise DeclarationError(
                f"placeholder {op.name} is not a parameter",
                f"it is read, and the parameters are {names}",
                "give it to create_prim_func too",
                Subject("tensor", op.name),
            )
        self.buffers.setdefault(tensor, decl_buffer(tensor.shape, tensor.dtype, op.name))

    # Computed operations

    def _outputs(self, op: Operation) -> list[Buffer]:
        """The buffers of the outputs of an operation, allocated if they are not parameters."""
        buffers = []
        for tensor in op.outputs:
            param_buffer = self.buffers.get(tensor)
            buffer = param_buffer or decl_buffer(tensor.shape, tensor.dtype, _name_of(tensor))
            self.buffers[tensor] = buffer
            buffers.append(buffer)
            if not self._is_argument(tensor):
                self.allocated.append(buffer)
        return buffers

    def _compute(self, op: ComputeOp) -> Stmt:
        buffers = self._outputs(op)
        if isinstance(op.body[0], Reduce):
            return self._reduced(op, buffers)
        loops = [_Loop(axis) for axis in op.axis]
        realized = []
        for buffer, value in zip(buffers, op.body, strict=True):
            axes = [_block_axis(axis) for axis in op.axis]
            mapping = _variables(op.axis, axes)
            store = self._store(op, buffer, self._value(value, mapping), mapping)
            realized.append(self._realize(op, buffer.name, axes, loops, None, store))
        return _in_loops(loops, sequence(realized))

    def _reduced(self, op: ComputeOp, buffers: list[Buffer]) -> Stmt:
        """The nest of a reduction. Axes whose ranges depend on other axes are in a nested block."""
        levels = _levels(op.root_iter_vars())
        loops = {axis: _Loop(axis) for level in levels for axis in level}
        kinds = {axis.var: axis.kind for axis in op.root_iter_vars()}
        outer: dict[Var, Var] = {}  # outer axes as iterators of the enclosing block
        nests: list[tuple[list[_Loop], list[IterVar], list[Expr], Stmt]] = []
        for level in levels:
            own = [_block_axis(axis, outer) for axis in level]
            passed = [(axis, _one_of(var, kinds[axis])) for axis, var in outer.items()]
            mapping = {axis: at.var for axis, at in passed} | _variables(level, own)
            in_loops = [loops[axis].within(outer) for axis in level]
            values: list[Expr] = [*outer.values(), *[loop.var for loop in in_loops]]
            axes = [*[at for _, at in passed], *own]
            init, update = self._reduction(op, buffers, mapping)
            nests.append((in_loops, axes, values, init))
            outer = mapping
        body = update
        has_reduction = [any(at.kind == "CommReduce" for at in axes) for _, axes, _, _ in nests]
        first = has_reduction.index(True)
        for depth in range(len(nests) - 1, -1, -1):
            in_loops, axes, values, init = nests[depth]
            name = op.name if depth == len(nests) - 1 else f"{op.name}_l{depth + 1}"
            # Initialized once: TVM does so in all blocks with reduction iterators, and loses
            # partial sums.
            is_first = depth == first
            block = self._block(op, name, axes, init if is_first else None, body)
            body = _in_loops(in_loops, BlockRealize(tuple(values), ops.TRUE, block))
        return body

    def _realize(
        self,
        op: Operation,
        name: str,
        axes: list[IterVar],
        loops: list[_Loop],
        init: Stmt | None,
        body: Stmt,
    ) -> Stmt:
        values: list[Expr] = [loop.var for loop in loops]
        if not axes:
            axes = [IterVar(Range(IntImm(0), IntImm(1)), Var("vi"), "DataPar")]
            values = [IntImm(0)]
        return BlockRealize(tuple(values), ops.TRUE, self._block(op, name, axes, init, body))

    def _store(
        self, op: ComputeOp, buffer: Buffer, value: Expr, mapping: Mapping[Var, Expr]
    ) -> Stmt:
        return BufferStore(buffer, value, tuple([mapping[axis.var] for axis in op.axis]))

    def _value(self, value: Expr, mapping: Mapping[Var, Expr]) -> Expr:
        """An expression of a body in terms of the iterators of a block and of buffers."""
        loads: Expr = _ToBuffers(self.buffers).visit(value)
        return Analyzer(settings=self.settings).simplify(substitute(loads, dict(mapping)))

    def _reduction(
        self, op: ComputeOp, buffers: list[Buffer], mapping: Mapping[Var, Expr]
    ) -> tuple[Stmt, Stmt]:
        """The initialization and the update of a reduction."""
        reduce = op.body[0]
        assert isinstance(reduce, Reduce)
        indices = tuple([mapping[axis.var] for axis in op.axis])
        combiner = reduce.combiner
        starts = reduce.init or combiner.identity
        if self.settings.to_run and not reduce.init:
            starts = tuple([_infinite(start) for start in starts])
        stores = [
            BufferStore(buffer, self._value(start, mapping), indices)
            for buffer, start in zip(buffers, starts, strict=True)
        ]
        before = [BufferLoad(buffer, indices) for buffer in buffers]
        sources = [self._value(source, mapping) for source in reduce.source]
        arguments: dict[Var, Expr] = {
            **mapping,  # a combiner may use the axes
            **dict(zip(combiner.lhs, before, strict=True)),
            **dict(zip(combiner.rhs, sources, strict=True)),
        }
        results = [
            substitute(_ToBuffers(self.buffers).visit(result), arguments)
            for result in combiner.result
        ]
        condition = self._value(reduce.condition, mapping)
        if not ops.is_const(condition, 1):
            results = [
                intrinsics.if_then_else(condition, new, old)
                for new, old in zip(results, before, strict=True)
            ]
        if len(buffers) == 1:
            update: Stmt = BufferStore(buffers[0], results[0], indices)
        else:  # all results are computed before one is stored
            variables = [Var(f"v_{buffer.name}", buffer.dtype) for buffer in buffers]
            update = sequence(
                [
                    BufferStore(buffer, var, indices)
                    for buffer, var in zip(buffers, variables, strict=True)
                ]
            )
            for var, value in zip(reversed(variables), reversed(results), strict=True):
                update = LetStmt(var, value, update)
        return sequence(stores), update

    def _block(
        self, op: Operation, name: str, axes: list[IterVar], init: Stmt | None, body: Stmt
    ) -> Block:
        attrs = dict(op.attrs or {})
        free = [t for t in attrs.pop(_FREE_LAYOUT, ()) if not self._is_argument(t)]
        if free:  # the layouts of parameters are attributes of the function
            attrs[_FREE_LAYOUT] = free
        notes = {key: self._note(value) for key, value in attrs.items() if key not in _DROPPED}
        if not isinstance(op, ExternOp):
            notes[DETECT_ACCESS] = IntImm(3, "int64")
        shown = self.names.take(name.replace(".", "_"))
        self.lines.add("block", shown, op.place)
        return Block(tuple(axes), (), (), shown, init, body, annotations=notes)

    def _note(self, value: Any) -> Any:
        """An attribute with tensors replaced by buffers."""
        if isinstance(value, Tensor):
            return self.buffers.get(value, value.name)
        if isinstance(value, list | tuple):
            return [self._note(element) for element in value]
        return ops.const(value) if isinstance(value, float) else value

    def _extern(self, op: ExternOp) -> Stmt:
        outputs = self._outputs(op)
        moved = {
            placeholder: self.buffers[tensor]
            for tensor, placeholder in zip(op.inputs, op.input_placeholders, strict=True)
        }
        moved |= dict(zip(op.output_placeholders, outputs, strict=True))
        body = _ToOther(moved).visit(op.statement)
        return BlockRealize((), ops.TRUE, self._block(op, op.name, [], None, body))


def _name_of(tensor: Tensor) -> str:
    op = tensor.op
    return op.name if op.num_outputs == 1 else f"{op.name}_v{tensor.value_index}"


class _Loop:
    """The loop of an axis."""

    def __init__(self, axis: IterVar) -> None:
        domain = _simplified(axis)
        self.var = Var(axis.var.name, axis.var.dtype)
        self.low, self.extent = domain.min, domain.extent

    def within(self, outer: Mapping[Var, Expr]) -> _Loop:
        """The loop with bounds in terms of the iterators of the enclosing block."""
        self.low, self.extent = [substitute(e, dict(outer)) for e in (self.low, self.extent)]
        return self


def _in_loops(loops: list[_Loop], body: Stmt) -> Stmt:
    for loop in reversed(loops):
        body = For(loop.var, loop.low, loop.extent, "serial", body)
    return body


def _block_axis(axis: IterVar, outer: Mapping[Var, Expr] | None = None) -> IterVar:
    """The iterator of a block for an axis."""
    domain = _simplified(axis)
    ends = [substitute(e, dict(outer or {})) for e in (domain.min, domain.extent)]
    return IterVar(Range(*ends), Var(f"v_{axis.var.name}", axis.var.dtype), axis.kind)


def _simplified(axis: IterVar) -> Range:
    """The domain of an axis, simplified, in the dtype of its variable."""
    domain = domain_of(axis)
    ends = [domain.min, domain.extent]
    if not all(isinstance(end, IntImm) for end in ends):
        analyzer = Analyzer(settings=AS_TVM)
        ends = [analyzer.simplify(end) for end in ends]
    return Range(*[ops.cast(axis.var.dtype, end) for end in ends])


def _one_of(var: Var, kind: str = "DataPar") -> IterVar:
    """An iterator with the value of an iterator of the enclosing block."""
    return IterVar(Range(var, IntImm(1, var.dtype)), Var(var.name, var.dtype), kind)


def _variables(axes: Sequence[IterVar], own: Sequence[IterVar]) -> dict[Var, Var]:
    return {axis.var: at.var for axis, at in zip(axes, own, strict=True)}


def _levels(axes: Sequence[IterVar]) -> list[list[IterVar]]:
    """The axes in groups: the ranges of a group depend only on the groups before."""
    levels: list[list[IterVar]] = [[]]
    for axis in axes:
        domain = _simplified(axis)
        used = variables_of(domain.min, domain.extent)
        if any(outer_axis.var in used for outer_axis in levels[-1]):
            levels.append([])
        levels[-1].append(axis)
    return levels


class _ToBuffers(Mapper):
    """Replaces loads of tensors by loads of their buffers."""

    def __init__(self, buffers: Mapping[Tensor, Buffer]) -> None:
        self.buffers = buffers

    def visit_ProducerLoad(self, node: ProducerLoad) -> Expr:
        indices = tuple([self.visit(index) for index in node.indices])
        assert isinstance(node.producer, Tensor)
        return BufferLoad(self.buffers[node.producer], indices)


class _ToOther(AccessMapper):
    """Replaces buffers and their pointers."""

    def __init__(self, moved: Mapping[Buffer, Buffer]) -> None:
        self.moved_to = moved
        self.data = {old.data: new.data for old, new in moved.items()}

    def renewed(self, node: Any) -> Any:
        return self.moved_to.get(node) or self.generic(node)

    def visit_Var(self, node: Var) -> Var:
        return self.data.get(node, node)
