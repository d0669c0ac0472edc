"""The handles of the trace of a schedule: tensors, axes, stages, groups. Must not know what any
primitive does.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import index
from typing import Any, ClassVar, SupportsIndex

from te_sched.ir.expr import Expr, FloatImm, IntImm, IterVar, Var
from te_sched.schedule.state import StageState
from te_sched.te.declare import thread_axis
from te_sched.te.intrin_call import TensorIntrin
from te_sched.te.operation import Operation
from te_sched.te.tensor import Tensor
from te_sched.trace.entries import Entry, HandleReference
from te_sched.trace.listing import Listing
from te_sched.trace.primitive import ArgumentKind, Primitive, PrimitiveParameter

# Types of arguments. SupportsIndex accepts integers of Python and numpy, but neither str nor float.
Integer = SupportsIndex | IntImm
IntegerExpr = SupportsIndex | Expr
Operations = Tensor | Operation | Sequence[Tensor | Operation]


@dataclass(frozen=True, slots=True, eq=False)
class StageOf(HandleReference):
    """The stage of a tensor, as an argument or the target of a call."""

    tensor: Tensor

    @property
    def handle(self) -> Tensor:
        """The tensor."""
        return self.tensor

    @property
    def name(self) -> str:
        """The name of the stage."""
        return self.tensor.op.name

    def text(self, name: str) -> str:
        """`s[B]`."""
        return f"s[{name}]"

    def resolve(self, schedule: Any, handle: Any) -> Any:
        """The stage."""
        return schedule[handle]


class _Naming(Primitive):
    """A primitive that only names axes; there is one of each name."""

    __slots__ = ()

    def __reduce__(self) -> Any:
        """Pickle writes the name."""
        return _naming, (self.name,)


class OwnAxes(_Naming):
    """The axes of an operation: a trace entry that defines them and changes nothing."""

    __slots__ = ()

    @property
    def gives_tuple(self) -> bool:
        """Whether the attribute is a tuple of axes; that of a scan is a single axis."""
        return self.name != "scan_axis"

    def of(self, op: Operation) -> tuple[IterVar, ...]:
        """The axes of an operation."""
        axes = getattr(op, self.name, ())
        return (axes,) if isinstance(axes, IterVar) else axes

    def call_text(self, owner: str, entry: Entry, text_of: Callable[[Any], str]) -> str:
        """`s[B].op.axis`."""
        return f"{owner}.op.{self.name}"

    def call(self, owner: Any, entry: Entry) -> Any:
        """The axes of the operation that a stage computes."""
        return self.of(owner.op)


class ThreadAxis(_Naming):
    """A new thread axis: a trace entry that defines it and changes nothing."""

    __slots__ = ()

    def call_text(self, owner: str, entry: Entry, text_of: Callable[[Any], str]) -> str:
        """`te.thread_axis((0, 8), 'threadIdx.x')`."""
        dom, tag, name = entry.arguments.values()
        arguments = [] if dom is None else [text_of(dom)]
        arguments.append(repr(tag) if arguments else f"tag={tag!r}")
        arguments += [f"name={name!r}"] if name != tag else []
        return f"te.thread_axis({', '.join(arguments)})"

    def call(self, owner: Any, entry: Entry) -> IterVar:
        """A thread axis like that of the entry."""
        return thread_axis(*entry.arguments.values())


_PLAIN = ArgumentKind()
_OWN_AXES = [
    OwnAxes(name, has_target=True, is_naming=True) for name in ("axis", "reduce_axis", "scan_axis")
]
_THREAD_AXIS = ThreadAxis(
    "thread_axis",
    [PrimitiveParameter(name, _PLAIN, None, False) for name in ("dom", "tag", "name")],
    is_naming=True,
)
_NAMING: dict[str, Primitive] = {
    primitive.name: primitive for primitive in (*_OWN_AXES, _THREAD_AXIS)
}


def _naming(name: str) -> Primitive:
    return _NAMING[name]


class TensorHandles:
    """The handles of a schedule of `outputs`; `declared` are its operations at its creation."""

    __slots__ = ("declared", "outputs", "roots")

    reserved = ("s", "te")
    indent = empty = ""
    is_named = True
    references: ClassVar[Mapping[str, type[StageOf]]] = {"StageOf": StageOf}

    def __init__(
        self, outputs: Iterable[Operation] = (), declared: Iterable[Operation] = ()
    ) -> None:
        self.outputs, self.declared = tuple(outputs), tuple(declared)
        self.roots = tuple(
            [
                part
                for op in self.declared
                for output in op.outputs
                for part in (output, *output.shape)
            ]
        )

    @property
    def signature(self) -> list[tuple[str, str, list[int]]]:
        """The name, kind and ranks of each operation."""
        return [
            (op.name, type(op).__name__, [output.ndim for output in op.outputs])
            for op in self.declared
        ]

    def head(self, name: Callable[[Any], str]) -> list[str]:
        """How the schedule was created."""
        ends = ", ".join([f"{name(op.output(0))}.op" for op in self.outputs])
        return ["from te_sched import te", "", f"s = te.create_schedule([{ends}])"]

    def name_of(self, value: Any, number: int) -> str | None:
        """The name that the user gave to a value, or None."""
        if isinstance(value, IterVar):
            return value.var.name
        if isinstance(value, Tensor | TensorIntrin):
            return value.name
        if isinstance(value, StageState):
            return "group"
        return "mapping" if inspect.isfunction(value) else None

    def literal(self, value: Any) -> str:
        """A constant of Python, or `te.const(0, 'int32')`."""
        is_node = isinstance(value, IntImm | FloatImm)
        return f"te.const({value.value!r}, {value.dtype!r})" if is_node else repr(value)

    def results_text(self, names: list[str], is_several: bool) -> str:
        """`outer, inner`, or `(i,)` of a tuple of one."""
        return f"({names[0]},)" if is_several and len(names) == 1 else ", ".join(names)

    def instruction_name(self, method: str) -> str:
        """The name of the primitive."""
        return method

    def variable_of(self, handle: Any) -> Var | None:
        """The variable of an axis, or the handle if it is a variable."""
        if isinstance(handle, IterVar):
            return handle.var
        return handle if isinstance(handle, Var) else None

    def title(self, entry: Entry, line: str) -> str:
        """The call, without its results."""
        return line.partition(" = ")[2] or line

    def reference(self, target: StageState) -> Any:
        """A reference to a stage by its declared tensor, which never changes; a group itself."""
        return target if target.is_group else StageOf(target.origin_op.output(0))

    def introduced(self, schedule: Any, entry: Entry, defined_axes: set[Any]) -> list[Entry]:
        """Entries that define the axes that an entry uses first: axes of the operation of one of
        its stages, or new thread axes.
        """
        new = [axis for axis in _axes(entry) if axis not in defined_axes]
        if not new:
            return []
        values = (entry.target, *entry.arguments.values())
        entries: list[Entry] = []
        for axis in new:
            if not any(axis in origin.results for origin in entries):
                entries.append(_origin(schedule, values, axis))
        return entries

    def primitive(self, schedule: Any, name: str) -> Primitive | None:
        """The primitive of a stage or of the schedule that has this name."""
        for kind in (type(schedule), type(schedule.stages[0])):
            primitive = getattr(getattr(kind, name, None), "declared", None)
            if isinstance(primitive, Primitive):
                return primitive
        return _NAMING.get(name)


def _origin(schedule: Any, values: Iterable[Any], axis: IterVar) -> Entry:
    for value in values:
        tensor = value.tensor if isinstance(value, StageOf) else value
        if isinstance(tensor, Tensor):
            stage = schedule.stages_by_op[tensor.op]
            for own in _OWN_AXES:
                axes = own.of(stage.op)
                if any(axis is other for other in axes):
                    return Entry(own, StageOf(stage.origin_op.output(0)), {}, axes)
    dom = None if axis.dom is None else (axis.dom.min, axis.dom.min + axis.dom.extent)
    arguments = {"dom": dom, "tag": axis.thread_tag, "name": axis.var.name}
    return Entry(_THREAD_AXIS, None, arguments, (axis,))


def _axes(entry: Entry) -> list[IterVar]:
    """The axes that an entry takes, alone or in lists."""
    axes: list[IterVar] = []
    for value in entry.arguments.values():
        if type(value) is IterVar:
            axes.append(value)
        elif type(value) is tuple or type(value) is list:
            axes += [element for element in value if type(element) is IterVar]
    return axes


def entry_text(entry: Entry) -> str:
    """The line of an entry in the printed program."""
    return Listing(TensorHandles(), [entry]).calls[0]


def as_items(value: Any) -> tuple[Any, ...]:
    """The items of a list or tuple, or a single argument, as a tuple."""
    return tuple(value) if isinstance(value, (list, tuple)) else (value,)


def _declared(schedule: Any, tensor: Tensor) -> Tensor:
    output: Tensor = schedule.stages_by_op[tensor.op].origin_op.output(tensor.value_index)
    return output


def _declared_all(schedule: Any, tensors: Any) -> Any:
    if isinstance(tensors, (list, tuple)):
        return [_declared(schedule, tensor) for tensor in tensors]
    return _declared(schedule, tensors)


def _first_outputs(schedule: Any, tensors: Any) -> list[Tensor]:
    items: Sequence[Any] = as_items(tensors)
    ops = [item.op if isinstance(item, Tensor) else item for item in items]
    return [schedule.stages_by_op[op].origin_op.output(0) for op in ops]


def _integer(schedule: Any, value: Any) -> int:
    return value.value if isinstance(value, IntImm) else index(value)


STAGE = ArgumentKind(lambda schedule, stage: schedule.trace.handles.reference(stage))
TENSOR = ArgumentKind(_declared)
TENSORS = ArgumentKind(_declared_all)
STAGES = ArgumentKind(_first_outputs)
THREADS = ArgumentKind(lambda schedule, threads: list(as_items(threads)))
INTEGER = ArgumentKind(_integer, is_attribute=True)
FLAG = ArgumentKind(lambda schedule, value: bool(value), is_attribute=True)
NAME = ArgumentKind(is_attribute=True)
BY_NAME = ArgumentKind(by_name=True)
