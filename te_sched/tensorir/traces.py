"""Traces of schedules of blocks, with TVM's names: instructions, their kinds, and decisions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from te_sched.deep_recursion import walks_deeply
from te_sched.errors import ScheduleError, did_you_mean, kind_of, repr_of
from te_sched.ir.index_map import IndexMap
from te_sched.ir.visitor import variables_of
from te_sched.public_members import PublicObject
from te_sched.signatures import checked_as
from te_sched.tensorir.handles import PRIMITIVES, BlockHandles, instruction_name
from te_sched.trace.entries import Entry
from te_sched.trace.listing import Listing
from te_sched.trace.primitive import Primitive
from te_sched.trace.trace import Trace


class InstructionKind(PublicObject):
    """A primitive, as the kind of an instruction.

    >>> tir.schedule.InstructionKind.get("GetLoops").is_pure
    True
    """

    __slots__ = ("primitive",)

    def __init__(self, primitive: Primitive) -> None:
        self.primitive = primitive

    @staticmethod
    def get(name: str) -> InstructionKind:
        """The kind with a name, such as "ComputeInline".

        >>> tir.schedule.InstructionKind.get("Split").name
        'Split'
        """
        primitive = PRIMITIVES.get(name) if isinstance(name, str) else None
        if primitive is None:
            raise ScheduleError(
                f"there is no kind of instruction {repr_of(name)}",
                "",
                f"use {', '.join(sorted(PRIMITIVES))}{did_you_mean(name, PRIMITIVES)}",
            )
        return InstructionKind(primitive)

    @property
    def name(self) -> str:
        """Its name."""
        return instruction_name(self.primitive.name)

    @property
    def is_pure(self) -> bool:
        """Whether it only has results, and changes nothing."""
        return self.primitive.is_naming

    def same_as(self, other: object) -> bool:
        """Whether both are the same kind."""
        return isinstance(other, InstructionKind) and other.primitive is self.primitive

    def __repr__(self) -> str:
        return self.name


class Instruction(PublicObject):
    """A call of a primitive: its kind, its inputs (handles and values), its attributes, and the
    handles that it returned.

    >>> block = tir.BlockRV()
    >>> kind = tir.schedule.InstructionKind.get("ComputeInline")
    >>> tir.schedule.Instruction(kind, [block], [], [])
    sch.compute_inline(block=_)
    """

    __slots__ = ("entry",)

    def __init__(
        self,
        kind: InstructionKind,
        inputs: Sequence[Any],
        attrs: Sequence[Any],
        outputs: Sequence[Any],
    ) -> None:
        if not isinstance(kind, InstructionKind):
            raise ScheduleError(
                f"the kind of an instruction cannot be {kind_of(kind)}",
                "",
                'InstructionKind.get("Split")',
            )
        attributes = [_constant(attribute) for attribute in attrs]
        arguments = kind.primitive.joined(inputs, attributes)
        self.entry = Entry(kind.primitive, None, arguments, tuple(outputs))

    @classmethod
    def of(cls, entry: Entry) -> Instruction:
        """The instruction of an entry."""
        instruction = cls.__new__(cls)
        instruction.entry = entry
        return instruction

    @property
    def kind(self) -> InstructionKind:
        """The kind."""
        return InstructionKind(self.entry.primitive)

    @property
    def inputs(self) -> list[Any]:
        """Handles and values."""
        return self.entry.primitive.divided(self.entry.arguments)[0]

    @property
    def attrs(self) -> list[Any]:
        """Constants."""
        return self.entry.primitive.divided(self.entry.arguments)[1]

    @property
    def outputs(self) -> list[Any]:
        """The results."""
        return list(self.entry.results)

    def same_as(self, other: object) -> bool:
        """Whether both are the same instruction."""
        return isinstance(other, Instruction) and other.entry is self.entry

    def __eq__(self, other: object) -> bool:
        return self.same_as(other)

    def __hash__(self) -> int:
        return hash(self.entry)

    def __repr__(self) -> str:
        (call,) = Listing(_Unnamed(), [self.entry]).calls
        return call


class _Unnamed(BlockHandles):
    """Handles without numbers."""

    __slots__ = ()

    is_named = False


class BlockTrace(Trace):
    """The history of a schedule of blocks.

    Parameters
    ----------
    insts : instructions.
    decisions : what was sampled, by instruction; instructions that it does not have are sampled
        anew when the trace is replayed. None keeps what the instructions had sampled.

    >>> sch = tir.Schedule(matmul_relu)
    >>> i, j = sch.get_loops("D")
    >>> sch.parallel(i)
    >>> [inst.kind.name for inst in sch.trace.insts]
    ['GetBlock', 'GetLoops', 'Parallel']
    """

    __slots__ = ()
    _internal_members = ("entries", "extend", "handles", "known", "records")

    def __init__(
        self, insts: Iterable[Instruction] = (), decisions: Mapping[Instruction, Any] | None = None
    ) -> None:
        super().__init__(BlockHandles())
        for instruction in insts:
            entry = instruction.entry
            decision = entry.decision if decisions is None else decisions.get(instruction)
            self.extend((), entry if decision is entry.decision else _decided(entry, decision))

    def copy(self) -> BlockTrace:
        """A copy of the trace."""
        return self._of(self.entries)

    @property
    def insts(self) -> list[Instruction]:
        """The instructions."""
        return [Instruction.of(entry) for entry in self.entries]

    @property
    def decisions(self) -> dict[Instruction, Any]:
        """What was sampled, by instruction."""
        return {
            instruction: instruction.entry.decision
            for instruction in self.insts
            if instruction.entry.decision is not None
        }

    @checked_as(ScheduleError)
    def get_decision(self, inst: Instruction) -> Any:
        """What an instruction sampled; None for others.

        >>> sch = tir.Schedule(matmul_relu)
        >>> v = sch.sample_categorical([1, 2], [0.5, 0.5], decision=1)
        >>> sch.trace.get_decision(sch.trace.insts[-1])
        1
        """
        return inst.entry.decision

    @checked_as(ScheduleError)
    def append(self, inst: Instruction, decision: Any = None) -> None:
        """Append an instruction, with what it sampled.

        >>> sch = tir.Schedule(matmul_relu)
        >>> i, j = sch.get_loops("D")
        >>> trace = tir.schedule.Trace()
        >>> for inst in sch.trace.insts:
        ...     trace.append(inst)
        >>> len(trace)
        2
        """
        entry = inst.entry
        if decision is not None:
            entry = _decided(entry, decision)
        self.extend((), entry)

    def pop(self) -> Instruction | None:  # type: ignore[override]
        """Remove the last instruction and return it; None if there is none.

        >>> sch = tir.Schedule(matmul_relu)
        >>> i, j = sch.get_loops("D")
        >>> sch.trace.pop()
        _, _ = sch.get_loops(block=_)
        """
        entry = super().pop()
        return None if entry is None else Instruction.of(entry)

    @checked_as(ScheduleError)
    def with_decision(self, inst: Instruction, decision: Any, remove_postproc: bool) -> BlockTrace:
        """A trace in which one instruction has sampled something else.

        >>> sch = tir.Schedule(matmul_relu)
        >>> v = sch.sample_categorical([1, 2], [0.5, 0.5], decision=1)
        >>> print(sch.trace.with_decision(sch.trace.insts[0], 0, False).as_python()[0])
        v0 = sch.sample_categorical(candidates=[1, 2], probs=[0.5, 0.5], decision=0)
        """
        return self._of(
            [
                _decided(entry, decision) if entry is inst.entry else entry
                for entry in self._before_postproc(remove_postproc)
            ]
        )

    @walks_deeply("simplify a trace", ScheduleError)
    def simplified(self, remove_postproc: bool) -> BlockTrace:
        """The trace without instructions that only have results which no other one uses.

        >>> sch = tir.Schedule(matmul_relu)
        >>> i, j = sch.get_loops("D")
        >>> len(sch.trace.simplified(False))
        0
        """
        kept: list[Entry] = []
        used: set[Any] = set()
        for entry in reversed(self._before_postproc(remove_postproc)):
            inst = Instruction.of(entry)
            if inst.kind.is_pure and not used & {*entry.results}:
                continue
            kept.append(entry)
            used |= {handle for handle in _handles(inst.inputs)}
        return self._of(kept[::-1])

    def _of(self, entries: Iterable[Entry]) -> BlockTrace:
        twin = BlockTrace()
        for entry in entries:
            twin.extend((), entry)
        return twin

    def show(self) -> None:
        """Print the program of the trace.

        >>> tir.schedule.Trace().show()
        # from tvm import tir
        def apply_trace(sch: tir.Schedule) -> None:
          pass
        """
        print(self)


@walks_deeply("read a trace", ScheduleError)
def _constant(value: Any) -> Any:
    """The value of a constant, also in lists."""
    if isinstance(value, list | tuple):
        return [*map(_constant, value)]
    return getattr(value, "value", value)


def _decided(entry: Entry, decision: Any) -> Entry:
    return Entry(
        entry.primitive, entry.target, entry.arguments, entry.results, entry.place, decision
    )


def _handles(values: Iterable[Any]) -> Iterable[Any]:
    """The handles among inputs, also in lists."""
    for value in values:
        if isinstance(value, list | tuple):
            yield from _handles(value)
        elif _NAMES.name_of(value, 0) is not None:
            yield value
        elif isinstance(value, IndexMap):
            yield from variables_of(value)


_NAMES = BlockHandles()
