"""Functions of data types and values: `DataType`, `convert`, `enabled`."""

from __future__ import annotations

from typing import Any

from te_sched.codegen.target import Target, check_available
from te_sched.deep_recursion import walks_deeply
from te_sched.errors import BuildError, DeclarationError
from te_sched.ir import dtypes, ops


class DataType(str):
    """A data type: a string that knows its parts.

    >>> DataType("float32x4").bits, DataType("float32x4").lanes
    (32, 4)
    """

    __slots__ = ()

    def __new__(cls, text: Any) -> DataType:
        return super().__new__(cls, dtypes.spelled(text))

    @property
    def type_code(self) -> int:
        """The number of its kind, as in DLPack."""
        return dtypes.type_code(self)

    @property
    def bits(self) -> int:
        """Bits of one lane."""
        return dtypes.bits(dtypes.element(self))

    @property
    def lanes(self) -> int:
        """Lanes: 1 unless it is a vector."""
        return dtypes.lanes(self)

    def itemsize(self) -> int:
        """Bytes of one value."""
        return (self.bits * self.lanes + 7) // 8


@walks_deeply("convert a value", DeclarationError)
def convert(value: Any) -> Any:
    """A value as programs hold it: numbers as constants, lists as tuples of such."""
    if value is None or isinstance(value, str) or callable(value):
        return value
    if isinstance(value, list | tuple):
        return tuple([convert(item) for item in value])
    if isinstance(value, dict):
        return {key: convert(item) for key, item in value.items()}
    if isinstance(value, bool | int | float):
        return ops.convert(value)
    return value


def enabled(target: str) -> bool:
    """Whether code for a kind of target can be compiled and executed on this machine."""
    try:
        check_available(Target(target))
    except BuildError:
        return False
    return True
