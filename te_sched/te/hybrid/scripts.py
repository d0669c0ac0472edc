"""Functions of loops over elements: operations for tensors, Python for arrays."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

from te_sched.deep_recursion import walks_deeply
from te_sched.errors import DeclarationError, repr_of
from te_sched.ir.expr import Expr
from te_sched.signatures import checked
from te_sched.te.hybrid.runtime import HYBRID_GLOBALS
from te_sched.te.hybrid.translate import WrittenLoops, translate
from te_sched.te.tensor import Tensor

__all__ = ["Script", "script"]


class Script(WrittenLoops):
    """A function made by `te.hybrid.script`."""

    @checked
    def __init__(self, function: FunctionType, source: str = "") -> None:
        super().__init__(function, source)
        self.__globals__ = function.__globals__
        functools.update_wrapper(self, function)
        self.signature = inspect.signature(function)

    @walks_deeply("call a hybrid script", DeclarationError, again=False)
    def __call__(self, *args: Any, **named: Any) -> Any:
        """The output tensors for tensors and variables; for arrays and numbers what it computes."""
        if named or len(args) != len(self.signature.parameters):
            args = self._in_order(args, named)
        if any(map(_is_symbolic, args)):
            return translate(self, args)
        return self._emulate(args)

    def __repr__(self) -> str:
        return f"<te.hybrid.script {self.function.__name__}{self.signature}>"

    def _in_order(self, args: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
        try:
            bound = self.signature.bind(*args, **named)
        except TypeError as error:
            raise DeclarationError(
                f"wrong arguments of hybrid script {self.function.__name__}: {error}",
                "",
                f"its parameters are {', '.join(self.signature.parameters)}",
            ) from None
        bound.apply_defaults()
        return bound.args

    def _emulate(self, args: tuple[Any, ...]) -> Any:
        function = self.function
        names = {**function.__globals__, **HYBRID_GLOBALS}
        copy = FunctionType(
            function.__code__, names, function.__name__, function.__defaults__, function.__closure__
        )
        return copy(*args)


def script(function: Callable[..., Any]) -> Script:
    """A function of loops over elements as an operation; `te.hybrid` says how it is written.

    >>> @te.hybrid.script
    ... def double(a):
    ...     b = output_tensor((4,), "float32")
    ...     for i in range(4):
    ...         b[i] = a[i] * 2.0
    ...     return b
    ...
    >>> double(te.placeholder((4,), name="A"))
    Tensor(shape=[4], op.name=double)
    """
    is_lambda = isinstance(function, FunctionType) and function.__code__.co_name == "<lambda>"
    if not isinstance(function, FunctionType) or is_lambda:
        kind = "a lambda" if is_lambda else repr_of(function)
        raise DeclarationError(
            f"te.hybrid.script needs a Python function, got {kind}",
            "",
            "decorate a `def`",
        )
    return Script(function)


def _is_symbolic(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(map(_is_symbolic, value))
    return isinstance(value, Tensor | Expr)
