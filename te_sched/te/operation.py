"""Operations: the computations that produce tensors.

Each operation knows its outputs, the tensors it reads and the axes it runs over. Operations are
immutable and equal only to themselves; `op.output(i)` is always the same tensor. Must not know
schedules.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.arith.analyzer import Analyzer
from te_sched.errors import (
    DeclarationError,
    PositionError,
    ScheduleError,
    Subject,
    repr_of,
    user_place,
)
from te_sched.ir.expr import Buffer, BufferLoad, Expr, IntImm, IterVar, ProducerLoad, Range, Reduce
from te_sched.ir.stmt import (
    BufferRealize,
    BufferStore,
    For,
    ProducerRealize,
    ProducerStore,
    Stmt,
)  # fmt: skip
from te_sched.ir.visitor import Mapper, children, parts_of, replace, walk
from te_sched.nested_copies import DeeplyNested
from te_sched.public_members import PublicObject
from te_sched.te.tensor import Array, Tensor


class _NoAxes(Array):
    """The axes of an operation that has none: the error for an index tells the reason."""

    def __new__(cls, op: Operation, kind: str) -> _NoAxes:
        return super().__new__(cls)

    def __init__(self, op: Operation, kind: str) -> None:
        self.op, self.kind = op, kind

    def _out_of_range(self, index: Any) -> PositionError:
        op = self.op
        what = "placeholder" if isinstance(op, PlaceholderOp) else "operation"
        where = Subject(what, op.name, f"{what} {op.name} (declared at {op.place})")
        return PositionError(f"{what} {op.name} has no {self.kind}", *op._why_no(self.kind), where)


class Operation(DeeplyNested, PublicObject):
    """Base of all operations.

    `name`, `tag` and `attrs` are the user's; shapes and dtypes are those of the tensors. `place` is
    the user's line that made it.

    >>> A = te.placeholder((4,), name="A")
    >>> B = te.compute((4,), lambda i: A[i] + 1, name="B")
    >>> B.op.name, B.op.input_tensors, B.op.axis
    ('B', [Tensor(shape=[4], op.name=A)], [T.iter_var(i, T.Range(0, 4), "DataPar", "")])
    """

    _advice_for_items = "its tensors are outputs, its axes axis and reduce_axis"
    _inputs: tuple[Tensor, ...] = Array()
    _axis: tuple[IterVar, ...] = ()

    def __init__(
        self,
        name: str,
        tag: str,
        attrs: Mapping[str, Any] | None,
        outputs: Iterable[tuple[tuple[Expr, ...], str]],
    ) -> None:
        self.name, self.tag, self.attrs = name, tag, dict(attrs or {})
        self.place = user_place()
        self._outputs = tuple(
            [Tensor(shape, dtype, self, index) for index, (shape, dtype) in enumerate(outputs)]
        )

    @property
    def num_outputs(self) -> int:
        """Number of output tensors."""
        return len(self._outputs)

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        """The output tensors."""
        return self._outputs

    def output(self, index: int) -> Tensor:
        """Output tensor number `index`.

        >>> A = te.placeholder((4,), name="A")
        >>> A.op.output(0) is A
        True
        """
        if not isinstance(index, int) or not 0 <= index < len(self._outputs):
            raise DeclarationError(
                f"operation {self.name} has no output {repr_of(index)}",
                f"it has {len(self._outputs)} outputs",
                f"use a number from 0 to {len(self._outputs) - 1}",
                Subject("operation", self.name),
            )
        return self._outputs[index]

    @property
    def input_tensors(self) -> tuple[Tensor, ...]:
        """The tensors that the operation reads, in the order of their first use."""
        return self._inputs

    @property
    def axis(self) -> tuple[IterVar, ...]:
        """The axes of the output, or the loops of a script."""
        return self._axis or _NoAxes(self, "axes")

    @property
    def reduce_axis(self) -> tuple[IterVar, ...]:
        """The axes of the reduction, none for an elementwise computation."""
        return self._reduced() or _NoAxes(self, "reduction axes")

    def _reduced(self) -> tuple[IterVar, ...]:
        """The axes of the reduction."""
        return ()

    def _why_no(self, kind: str) -> tuple[str, str]:
        """The reason why there are no axes or reduction axes, and help."""
        if kind == "axes":
            return "a statement computes it", "declare it with te.compute, whose axes are scheduled"
        named = ", ".join([axis.var.name for axis in self._axis])
        why = f"it is not a reduction; its axes are {named}" if named else "it is not a reduction"
        return why, f"use {self.name}.op.axis; te.sum over te.reduce_axis makes a reduction"

    def root_iter_vars(self) -> tuple[IterVar, ...]:
        """The axes that a stage of this operation starts with.

        >>> A = te.placeholder((8, 4), name="A")
        >>> k = te.reduce_axis((0, 4), name="k")
        >>> B = te.compute((8,), lambda i: te.sum(A[i, k], axis=k), name="B")
        >>> [axis.var for axis in B.op.root_iter_vars()]
        [i, k]
        """
        return self.axis + self.reduce_axis

    def replace_inputs(self, mapping: Mapping[Tensor, Tensor]) -> Operation:
        """The operation reading other tensors; itself when it reads none of `mapping`.

        >>> A = te.placeholder((4,), name="A")
        >>> B = te.compute((4,), lambda i: A[i] + 1, name="B")
        >>> B.op.replace_inputs({A: te.placeholder((4,), name="C")}).body
        [C[i] + T.float32(1)]
        """
        if not any(tensor in mapping for tensor in self._inputs):
            return self
        return self._reading(mapping)

    def _reading(self, mapping: Mapping[Tensor, Tensor]) -> Operation:
        raise NotImplementedError

    def __repr__(self) -> str:
        outputs = self._outputs
        fields = {
            "shape": outputs[0].shape,
            "dtype": ", ".join([tensor.dtype for tensor in outputs]),
            "inputs": f"[{', '.join([tensor.name for tensor in self.input_tensors])}]",
        }
        described = ", ".join([f"{label}={value}" for label, value in fields.items()])
        return f"{type(self).__name__}({self.name}, {described})"


class PlaceholderOp(Operation):
    """An input of the program.

    >>> te.placeholder((4,), name="A").op
    PlaceholderOp(A, shape=[4], dtype=float32, inputs=[])
    """

    def __init__(self, name: str, shape: tuple[Expr, ...], dtype: str) -> None:
        super().__init__(name, "", None, [(shape, dtype)])
        self.shape, self.dtype = shape, dtype

    def _why_no(self, kind: str) -> tuple[str, str]:
        help = f"use the axes of an operation that reads {self.name}; {self.name}.shape has sizes"
        return "it is an input, which is not computed", help


class ComputeOp(Operation):
    """Computes each element of the outputs by an expression of its indices, `axis`.

    `body` has one expression for each output. In a reduction each is a `Reduce` over the same axes.

    >>> A = te.placeholder((4,), name="A")
    >>> B = te.compute((4,), lambda i: A[i] + 1, name="B")
    >>> B.op.body
    [A[i] + T.float32(1)]
    """

    def __init__(
        self,
        name: str,
        tag: str,
        attrs: Mapping[str, Any] | None,
        axis: tuple[IterVar, ...],
        body: tuple[Expr, ...],
    ) -> None:
        shape = tuple([domain_of(axis).extent for axis in axis])
        super().__init__(name, tag, attrs, [(shape, value.dtype) for value in body])
        self._axis, self.body = Array(axis), Array(body)
        self._inputs = Array(dict.fromkeys(loaded_tensors(self.body)))

    def _reduced(self) -> tuple[IterVar, ...]:
        first = self.body[0]
        return Array(first.axis) if isinstance(first, Reduce) else ()

    def _why_no(self, kind: str) -> tuple[str, str]:
        if kind != "axes":
            return super()._why_no(kind)
        help = f"use {self.name}.op.reduce_axis" if self.reduce_axis else "its stage has no loops"
        return "it has no dimensions", help

    def _reading(self, mapping: Mapping[Tensor, Tensor]) -> Operation:
        body = replace_tensors(self.body, mapping)
        return ComputeOp(self.name, self.tag, self.attrs, self._axis, body)


class ScanOp(Operation):
    """A recurrence along `scan_axis`, the first dimension of its states.

    The first entries come from `init`, each next one from `update`, which reads the entries before
    it through `state_placeholder`.

    >>> S = te.placeholder((8, 4), name="S")
    >>> init = te.compute((1, 4), lambda _, i: 0.0, name="init")
    >>> update = te.compute((8, 4), lambda t, i: S[t - 1, i] + 1, name="update")
    >>> te.scan(init, update, S, name="scan").op.scan_axis
    T.iter_var(scan_idx, T.Range(1, 8), "Ordered", "")
    """

    def __init__(
        self,
        name: str,
        tag: str,
        attrs: Mapping[str, Any] | None,
        scan_axis: IterVar,
        spatial_axis: tuple[IterVar, ...],
        init: tuple[Tensor, ...],
        update: tuple[Tensor, ...],
        state_placeholder: tuple[Tensor, ...],
        inputs: tuple[Tensor, ...],
    ) -> None:
        super().__init__(
            name, tag, attrs, [(state.shape, state.dtype) for state in state_placeholder]
        )
        self.scan_axis, self.spatial_axis_ = scan_axis, spatial_axis
        self.init, self.update, self.state_placeholder = init, update, state_placeholder
        self.inputs = inputs
        self._inputs = init + update

    def root_iter_vars(self) -> tuple[IterVar, ...]:
        """The scan axis, then the other axes of each state."""
        return (self.scan_axis, *self.spatial_axis_)

    def _why_no(self, kind: str) -> tuple[str, str]:
        return "it is a scan", "use its scan_axis and spatial_axis_"

    def _reading(self, mapping: Mapping[Tensor, Tensor]) -> Operation:
        axes = (self.scan_axis, self.spatial_axis_)
        init, update = with_replaced(self.init, mapping), with_replaced(self.update, mapping)
        others = (self.state_placeholder, self.inputs)
        return ScanOp(self.name, self.tag, self.attrs, *axes, init, update, *others)


class ExternOp(Operation):
    """Outputs computed by a statement over buffers: a call of a function, or hand-written loops.

    >>> A = te.placeholder((4,), name="A")
    >>> te.extern((4,), [A], lambda ins, outs: tir.call_packed("f", ins[0], outs[0]), name="C").op
    ExternOp(C, shape=[4], dtype=float32, inputs=[A])
    """

    def __init__(
        self,
        name: str,
        tag: str,
        attrs: Mapping[str, Any] | None,
        inputs: tuple[Tensor, ...],
        input_placeholders: tuple[Buffer, ...],
        output_placeholders: tuple[Buffer, ...],
        body: Stmt,
    ) -> None:
        super().__init__(
            name, tag, attrs, [(buffer.shape, buffer.dtype) for buffer in output_placeholders]
        )
        self.inputs, self.statement = inputs, body
        self._inputs = inputs
        self.input_placeholders, self.output_placeholders = input_placeholders, output_placeholders

    @property
    def body(self) -> Stmt:
        """The statement that computes the outputs."""
        return self.statement

    def _reading(self, mapping: Mapping[Tensor, Tensor], **more: Any) -> Operation:
        inputs = with_replaced(self.inputs, mapping)
        fields = (self.name, self.tag, self.attrs, inputs, self.input_placeholders)
        return type(self)(*fields, self.output_placeholders, self.statement, **more)


class HybridOp(ExternOp):
    """Outputs computed by user-written loops over the tensors themselves, not over views.

    `axis` are these loops, of statements in sequence the last one's first, as in TVM.

    >>> @te.hybrid.script
    ... def double(a):
    ...     b = output_tensor((4,), "float32")
    ...     for i in range(4):
    ...         b[i] = a[i] * 2.0
    ...     return b
    ...
    >>> double(te.placeholder((4,), name="A")).op.axis
    [T.iter_var(i, T.Range(0, 4), "DataPar", "")]
    """

    def __init__(self, *fields: Any, axis: tuple[IterVar, ...] | None = None) -> None:
        super().__init__(*fields)
        self._axis = Array(_loops(self.statement) if axis is None else axis)

    @cached_property
    def body(self) -> Stmt:
        """The loops over tensors: the inputs, and a placeholder for each output and variable.

        >>> @te.hybrid.script
        ... def double(a):
        ...     b = output_tensor((4,), "float32")
        ...     for i in range(4):
        ...         b[i] = a[i] * 2.0
        ...     return b
        ...
        >>> double(te.placeholder((4,), name="A")).op.body
        for i in range(4):
            b[i] = A[i] * T.float32(2)
        """
        tensors = dict(zip(self.input_placeholders, self.inputs, strict=True))
        return _OverTensors(tensors).visit(self.statement)

    @cached_property
    def _read(self) -> tuple[Tensor, ...]:
        tensor_of = dict(zip(self.input_placeholders, self.inputs, strict=True))
        used = dict.fromkeys(_loaded_buffers(self.statement))
        return tuple([tensor_of[buffer] for buffer in used if buffer in tensor_of])

    def _reading(self, mapping: Mapping[Tensor, Tensor], **more: Any) -> Operation:
        return super()._reading(mapping, axis=self._axis)

    @property
    def input_tensors(self) -> tuple[Tensor, ...]:
        """The tensors that the loops read, in the order of their first use."""
        return self._read


def with_replaced(
    tensors: tuple[Tensor, ...], mapping: Mapping[Tensor, Tensor]
) -> tuple[Tensor, ...]:
    """Tensors, some of them replaced."""
    return tuple([mapping.get(tensor, tensor) for tensor in tensors])


def _loops(body: Stmt) -> list[IterVar]:
    """An axis for each loop of a script."""
    axes: list[IterVar] = []
    stack: list[Any] = [body]
    while stack:
        node = stack.pop()
        if type(node) is For:
            axes.append(IterVar(Range(node.min, node.extent), node.loop_var, _AXIS_KIND[node.kind]))
        stack += parts_of(node)
    return axes


class _OverTensors(Mapper):
    """Replaces accesses of buffers by those of tensors, and simplifies the values that are
    stored.
    """

    def __init__(self, tensors: dict[Buffer, Tensor]) -> None:
        self.tensors, self.analyzer = tensors, Analyzer()

    def _tensor(self, buffer: Buffer) -> Tensor:
        tensor = self.tensors.get(buffer)
        if tensor is None:
            op = PlaceholderOp(buffer.name, buffer.shape, buffer.dtype)
            tensor = self.tensors[buffer] = op.output(0)
        return tensor

    def visit_BufferLoad(self, node: BufferLoad) -> Expr:
        new = self.generic(node)
        return ProducerLoad(self._tensor(node.buffer), new.indices)

    def visit_BufferStore(self, node: BufferStore) -> Stmt:
        new = self.generic(node)
        value = self.analyzer.simplify(new.value)
        return ProducerStore(self._tensor(node.buffer), value, new.indices)

    def visit_BufferRealize(self, node: BufferRealize) -> Stmt:
        new = self.generic(node)
        scope = node.buffer.data.scope or ""
        tensor = self._tensor(node.buffer)
        return ProducerRealize(tensor, new.bounds, new.condition, new.body, scope)


MOST_NODES = 1 << 18  # of an expression; lowering takes about 20 us for each

_AXIS_KIND = {
    "serial": "DataPar",
    "parallel": "Parallelized",
    "vectorized": "Vectorized",
    "unrolled": "Unrolled",
}


def _loaded_buffers(node: Any) -> Iterator[Buffer]:
    """The buffers that a statement reads, the innermost loads first, with repetitions."""
    stack = [(node, False)]
    while stack:
        part, is_finished = stack.pop()
        if is_finished:
            yield part.buffer
            continue
        if type(part) is BufferLoad:
            stack.append((part, True))
        below = (*part.indices, part.value) if type(part) is BufferStore else children(part)
        stack += [(child, False) for child in reversed([*below])]


def domain_of(axis: IterVar) -> Range:
    """The range of an axis that an operation was declared with."""
    assert axis.dom is not None
    return axis.dom


def domains(axes: Iterable[IterVar]) -> dict[IterVar, Range]:
    """The ranges of axes that an operation was declared with."""
    return {axis: domain_of(axis) for axis in axes}


def loaded_tensors(roots: Iterable[Expr]) -> Iterator[Tensor]:
    """The tensors that expressions read, the innermost loads first, with repetitions."""
    seen: set[Any] = set()
    stack: list[tuple[Any, bool]] = [(root, False) for root in reversed(tuple(roots))]
    while stack:
        current, is_below_done = stack.pop()
        if is_below_done:
            if isinstance(current.producer, Tensor):
                yield current.producer
            continue
        if current in seen:
            continue
        seen.add(current)
        kind = type(current)
        if kind is ProducerLoad:
            stack.append((current, True))
        below: list[Any] = []
        if kind is Reduce:
            below += [axis.dom for axis in current.axis if axis.dom is not None]
        below += children(current)
        stack += [(child, False) for child in reversed(below)]


class _ReplaceTensors(Mapper):
    """Replaces the tensors of loads."""

    def __init__(self, mapping: Mapping[Any, Tensor]) -> None:
        self.mapping = mapping

    def visit_ProducerLoad(self, node: ProducerLoad) -> ProducerLoad:
        load: ProducerLoad = self.generic(node)
        other = self.mapping.get(load.producer)
        return load if other is None else ProducerLoad(other, load.indices)


def domain_loads(body: Expr) -> list[ProducerLoad]:
    """The loads in the bounds of reduction loops."""
    if type(body) is not Reduce:
        return []
    bounds = [
        bound
        for axis in body.axis
        for bound in (domain_of(axis).min, domain_of(axis).extent)
        if type(bound) is not IntImm
    ]
    return [load for bound in bounds for load in walk(bound) if type(load) is ProducerLoad]


def replace_tensors(body: tuple[Expr, ...], mapping: Mapping[Tensor, Tensor]) -> tuple[Expr, ...]:
    """The body reading other tensors; the components of a reduction go on sharing their sources."""
    for load in domain_loads(body[0]):
        if load.producer in mapping:
            name = load.producer.name
            raise ScheduleError(
                f"cannot replace tensor {name}: {load} is the extent of a reduction axis",
                "the extent of an axis does not change",
                f"do not use cache_read, cache_write or rfactor on {name}, nor compute_inline on "
                "its producers",
                Subject("tensor", name),
            )
    mapper = _ReplaceTensors(mapping)
    first = mapper.visit(body[0])
    if isinstance(first, Reduce):
        return (first, *[replace(first, value_index=index) for index in range(1, len(body))])
    return (first, *[mapper.visit(value) for value in body[1:]])


_tell_of_absent_names(__name__)
