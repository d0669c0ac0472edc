"""Sequences and optional values of ONNX.

    SequenceConstruct(a, b)     OnnxSequence([a, b]), of which the graph has the elements
    Loop(SequenceInsert)        OnnxList(elements), a list of the virtual machine
    Optional(a)                 a
    Optional()                  ABSENT

Must not know rows of operators.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from te_sched.errors import GraphError, counted

if TYPE_CHECKING:
    from te_sched.ir.graph import GraphExpr
    from te_sched.ir.struct_info import TensorStructInfo
    from te_sched.relax.frontend.onnx.sizes import Value


class OnnxSequence:
    """A sequence of values; `dtype` is that of elements, where there are none."""

    __slots__ = ("dtype", "elements")

    def __init__(self, elements: Sequence[Value], dtype: str = "float32") -> None:
        self.elements, self.dtype = tuple(elements), dtype

    def __len__(self) -> int:
        return len(self.elements)

    def __str__(self) -> str:
        return f"a sequence of {counted(len(self), 'element')}"


class OnnxList:
    """A sequence whose length a call knows: those of a list of the virtual machine, then `tail`.

    In the step of a loop that extends the list, it has no value (`elements`), only a `tail`; lists
    with the same `origin` are the same but for that.
    """

    __slots__ = ("elements", "info", "origin", "tail")

    def __init__(
        self,
        elements: GraphExpr | None,
        info: TensorStructInfo | None,
        tail: Sequence[Value] = (),
        origin: object = None,
    ) -> None:
        self.elements, self.info, self.tail = elements, info, tuple(tail)
        self.origin = object() if origin is None else origin

    def with_tail(self, tail: Sequence[Value]) -> OnnxList:
        """The list with another tail."""
        return OnnxList(self.elements, self.info, tail, self.origin)

    def __str__(self) -> str:
        return "a sequence whose length a call knows"


class OnnxAbsent:
    """An optional value that is absent."""

    __slots__ = ()

    def __str__(self) -> str:
        return "an optional value without an element"


ABSENT = OnnxAbsent()


def position_in(sequence: OnnxSequence, index: int, is_insertion: bool = False) -> int:
    """A position in a sequence that may count from its end; GraphError outside of it.

    >>> position_in(OnnxSequence([1, 2, 3]), -1)
    2
    >>> position_in(OnnxSequence([1, 2, 3]), 3, is_insertion=True)
    3
    """
    count = len(sequence)
    if not -count <= index < count + is_insertion:
        raise GraphError(
            f"position {index} is outside of {sequence}",
            f"positions are from {-count} to {count - (not is_insertion)}",
            "give a position in the sequence",
        )
    return index % count if index < 0 else index
