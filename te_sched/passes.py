"""What passes share: the base class, which asks the instruments of the pass context around a call.

A pass maps an IRModule to another. Its `info` has a name and an optimization level; the context
(`te_sched.transform.PassContext`) may disable it by name, and has instruments that are called
before and after it (`te_sched.instrument`). Must not know any pass.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, final, overload

from te_sched.deep_recursion import walks_deeply
from te_sched.errors import DeclarationError, LoweringError, kind_of
from te_sched.ir.stmt import IRModule
from te_sched.public_members import PublicObject

# The pass context around the code that runs; None without one.
SCOPE: ContextVar[Any] = ContextVar("te_sched_pass_context", default=None)


@dataclass(frozen=True)
class PassInfo:
    """The name of a pass and its optimization level.

    >>> from te_sched import tir
    >>> print(tir.transform.Simplify().info)
    The meta data of the pass - pass name: tir.Simplify, opt_level: 0, required passes: []
    """

    opt_level: int = 0
    name: str = ""
    required: tuple[str, ...] = ()
    traceable: bool = False

    def __str__(self) -> str:
        return (
            f"The meta data of the pass - pass name: {self.name}, opt_level: {self.opt_level}, "
            f"required passes: [{', '.join(self.required)}]"
        )


def info_of(
    function: Any,
    opt_level: int | None,
    name: str | None,
    required: Sequence[str] | None,
    traceable: bool = False,
) -> PassInfo:
    """The PassInfo of a user's pass, from the arguments of its decorator."""
    return PassInfo(
        opt_level or 0,
        name or str(getattr(function, "__name__", "pass")),
        tuple(() if required is None else required),
        traceable,
    )


class ModulePass(PublicObject):
    """The base of passes: an object with `info`, called with a module. Subclasses define `run`.

    >>> from te_sched import tir
    >>> isinstance(tir.transform.Simplify(), ModulePass)
    True
    """

    info: PassInfo
    kind = "Module"

    def __init_subclass__(cls, **kwargs: Any) -> None:
        if "__call__" in cls.__dict__:
            raise DeclarationError(
                f"class {cls.__name__} of passes defines __call__",
                "the instruments of the pass context are called there",
                "define run(self, mod), which __call__ calls",
            )
        super().__init_subclass__(**kwargs)

    @overload
    def __call__(self, mod: IRModule) -> IRModule: ...
    @overload
    def __call__(self, mod: Any) -> Any: ...
    @final
    def __call__(self, mod: Any) -> Any:
        """The module after the pass."""
        if not isinstance(mod, IRModule):
            return self.run_on_other(mod)
        scope = SCOPE.get()
        instruments: list[Any] = [] if scope is None else scope.instruments
        if not instruments:
            return _run(self, mod)
        if not all([one.should_run(mod, self.info) for one in instruments]):
            return mod
        for one in instruments:
            one.run_before_pass(mod, self.info)
        new = _run(self, mod)
        for one in instruments:
            one.run_after_pass(new, self.info)
        return new

    def run(self, mod: IRModule) -> IRModule:
        """The module after the pass, without instruments."""
        raise NotImplementedError

    def run_on_other(self, other: Any) -> Any:
        """The result of a call with something else than a module; LoweringError by default."""
        raise LoweringError(
            f"pass {self.info.name} expects a module, got {kind_of(other)}",
            "",
            "pass an IRModule: IRModule.from_expr(function)",
        )

    def __repr__(self) -> str:
        return f"Run {self.kind} pass: {self.info.name} at the optimization level " + str(
            self.info.opt_level
        )


@walks_deeply("run a pass")
def _run(one: ModulePass, mod: IRModule) -> IRModule:
    return one.run(mod)


class FunctionsPass(ModulePass):
    """A pass made of a function (module, context) -> functions by name; the attributes, global
    infos and name of the module are kept.
    """

    def __init__(
        self, transform: Callable[[IRModule, Any], Mapping[str, Any]], info: PassInfo
    ) -> None:
        self.transform = transform
        self.info = info

    def run(self, mod: IRModule) -> IRModule:
        """The module with the new functions; the module itself if none changed."""
        return mod.with_exactly(self.transform(mod, current_context()))


class ModuleTransform(ModulePass):
    """A pass made of a function (module, context) -> module."""

    def __init__(self, transform: Callable[[IRModule, Any], IRModule], info: PassInfo) -> None:
        self.transform = transform
        self.info = info

    def run(self, mod: IRModule) -> IRModule:
        """What the function returns; LoweringError if it is not a module."""
        new = self.transform(mod, current_context())
        if not isinstance(new, IRModule):
            raise LoweringError(
                f"pass {self.info.name} must return a module, got {kind_of(new)}",
                "",
                "return the module, even if the pass changes nothing",
            )
        return new


def current_context() -> Any:
    """The pass context around the code that runs, or the default one."""
    from te_sched.transform import PassContext  # it is made of what stands here

    return PassContext.current()


def pass_of(cls: type[Any], given: Any, method: str, info: PassInfo) -> Any:
    """A pass of a class of passes, from a user's function; or a class of them, from a user's class
    with a method.

    Attributes of the user's object are found on the pass.
    """
    if not inspect.isclass(given):
        return cls(given, info)
    if not hasattr(given, method):
        raise DeclarationError(
            f"class {given.__name__} of a pass has no method {method}",
            "",
            f"define it: def {method}(self, ...), which returns what it is given, rewritten",
        )

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        made = given(*args, **kwargs)
        self._made = made
        cls.__init__(self, getattr(made, method), info)

    def __getattr__(self: Any, name: str) -> Any:
        if name == "_made":
            raise AttributeError(name)
        return getattr(self._made, name)

    names = {name: getattr(given, name) for name in ("__module__", "__qualname__", "__doc__")}
    return type(given.__name__, (cls,), {"__init__": __init__, "__getattr__": __getattr__, **names})
