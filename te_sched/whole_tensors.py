"""Python's operators on whole tensors, `A + B`: they load te_sched.topi, which implements them.

Loading it replaces these operators of tensors by its own. A tensor without dimensions acts as its
element, without topi. Must not know the operators.
"""

from __future__ import annotations

import importlib
from typing import Any

from te_sched.te.tensor import Tensor

OPERATORS = (
    *("__add__", "__radd__", "__sub__", "__rsub__", "__mul__", "__rmul__"),
    *("__truediv__", "__rtruediv__", "__neg__", "astype"),
)


def give_operators() -> None:
    """Add operators to tensors that load topi at their first use with dimensions."""
    for name in OPERATORS:
        setattr(Tensor, name, _loading(name))


def _loading(name: str) -> Any:
    on_element = getattr(Tensor, name)

    def operator(self: Tensor, *args: Any, **options: Any) -> Any:
        if self.ndim:
            importlib.import_module("te_sched.topi")
            return getattr(self, name)(*args, **options)
        return on_element(self, *args, **options)

    operator.__doc__ = on_element.__doc__
    return operator
