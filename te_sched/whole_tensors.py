"""Python's operators on whole tensors, `A + B`: they load te_sched.topi, which knows what they do.

Loading it gives tensors its own operators, in place of these. A tensor without dimensions stands
for its element and needs no topi. Must not know what an operator does.
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
    """Let the first operator that a tensor with dimensions meets load topi."""
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
