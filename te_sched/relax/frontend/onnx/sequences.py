"""Sequences and optional values of ONNX, whose structure is known while a model is read.

    SequenceConstruct(a, b)     OnnxSequence([a, b]), of which the graph has the elements
    Optional(a)                 a
    Optional()                  ABSENT

Must not know rows of operators.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from te_sched.errors import GraphError, counted

if TYPE_CHECKING:
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
