"""Python operators on tensors: `A + B` is topi.add(A, B), as in TVM.

Importing this module installs them. In an operator, a tensor of rank 0 stands for its element, as
in te.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.te.tensor import Tensor
from te_sched.topi import broadcast, elementwise

_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": broadcast.add,
    "sub": broadcast.subtract,
    "mul": broadcast.multiply,
    "truediv": broadcast.divide,
}


def _operator(
    name: str, function: Callable[[Any, Any], Any], is_reflected: bool = False
) -> Callable[[Any, Any], Any]:
    on_element = getattr(Tensor, name)

    def operator(self: Tensor, other: Any) -> Any:
        if not self.ndim:
            return on_element(self, other)
        return function(other, self) if is_reflected else function(self, other)

    return operator


def _astype(on_element: Callable[..., Any]) -> Callable[..., Any]:
    def astype(self: Tensor, dtype: str, span: object = None) -> Any:
        """The tensor, or the element of one of rank 0, converted to a dtype."""
        return elementwise.cast(self, dtype) if self.ndim else on_element(self, dtype)

    return astype


def _negative(on_element: Callable[..., Any]) -> Callable[[Tensor], Any]:
    return lambda self: broadcast.multiply(self, -1) if self.ndim else on_element(self)


def give_operators() -> None:
    """Make +, -, *, /, unary - and astype of tensors elementwise operators."""
    for name, function in _BINARY.items():
        setattr(Tensor, f"__{name}__", _operator(f"__{name}__", function))
        setattr(Tensor, f"__r{name}__", _operator(f"__r{name}__", function, True))
    setattr(Tensor, "__neg__", _negative(Tensor.__neg__))  # noqa: B010 (its type is that of te)
    setattr(Tensor, "astype", _astype(Tensor.astype))  # noqa: B010


give_operators()

_tell_of_absent_names(__name__)
