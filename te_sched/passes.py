"""The one mechanism of passes: whatever a pass maps, its call is `Pass.__call__`.

A pass maps an IRModule to another. It is a class of one of the kinds: `ModulePass` maps whole
modules, `PrimFuncPass` each PrimFunc of one; those of graphs are in `relax.transform.base`.
Decorators make passes of functions, and classes of passes of classes (`pass_of`). The passes of
`lower` and `build` are functions of a PrimFunc and the settings of lowering (`LoweringPass`), which
`apply_passes` applies in order. Here alone are

- the instruments of the pass context called, before and after each pass (`te_sched.instrument`);
- programs verified at the level of the IR that a pass promises (`ir.verify`), if the switches ask;
- the attributes, global infos and name of a module kept, by passes that return functions.

Must not know any pass.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import FunctionType, ModuleType
from typing import Any, Protocol, Self, cast, final, overload

from te_sched import config
from te_sched.config import Config, Lowering
from te_sched.deep_recursion import walks_deeply
from te_sched.errors import (
    DeclarationError,
    LoweringError,
    ParameterError,
    TeSchedError,
    kind_of,
)
from te_sched.ir.graph import GraphFunction
from te_sched.ir.stmt import IRModule, PrimFunc
from te_sched.ir.verify import verify
from te_sched.lazy_loading import load
from te_sched.pass_context import FUNCTIONS, SCOPE, STAND_INS, PassContext
from te_sched.pass_context import PassInfo as PassInfo
from te_sched.public_members import PublicObject, missing_method
from te_sched.signatures import check_function, checked_value, raise_unbound

_NAMES = {function: name for name, function in reversed(FUNCTIONS.items())}


class Pass(PublicObject):
    """The base of passes: an object with `info`, called with a module.

    A pass is a class of one of the kinds below, which defines the function of that kind
    (`transform_module`, `transform_function`, ...); `opt_level` and `name` of its info are keywords
    of the class, by default 0 and the name of the class. A kind defines `run`, which calls that
    function. `level` is that of the IR of the PrimFuncs that it makes; a pass without one promises
    none.

    >>> from te_sched import tir
    >>> isinstance(tir.transform.Simplify(), Pass)
    True
    """

    info: PassInfo
    _face = ""  # the public module of a class, in messages
    kind = "Module"
    level = ""

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        if (args or kwargs) and cls.__module__.startswith("te_sched."):
            name = cls._face + cls.__name__
            _refuse_programs(cls, name, args, kwargs)
            if cls.__init__ is Pass.__init__:
                raise_unbound(Pass.__init__, name, (cls, *args), kwargs)
        return super().__new__(cls)

    def __init__(self) -> None:
        """A pass without options."""

    def __init_subclass__(cls, opt_level: int = 0, name: str = "", **kwargs: Any) -> None:
        if "__call__" in cls.__dict__:
            raise DeclarationError(
                f"class {cls.__name__} of passes defines __call__",
                "the instruments of the pass context are called there",
                "define run(self, mod), which __call__ calls",
            )
        super().__init_subclass__(**kwargs)
        if "info" not in cls.__dict__:
            cls.info = PassInfo(opt_level, name or cls.__name__)

    @overload
    def __call__(self, mod: IRModule) -> IRModule: ...
    @overload
    def __call__(self, mod: Any) -> Any: ...
    @final
    def __call__(self, mod: Any) -> Any:
        """The module after the pass."""
        if not isinstance(mod, IRModule):
            return self.run_on_other(mod)
        return _observed(self.info, mod, self._applied)

    def _applied(self, mod: IRModule) -> IRModule:
        """The module after the pass; instruments are not called."""
        new = _run(self, mod)
        functions = new if isinstance(new, IRModule) else mod.with_exactly(new)
        if self.level and config.current().verify_passes:
            for name, func in functions.functions_of_loops.items():
                if func is not mod.functions.get(name):
                    verify(func, self.level)
        return functions

    def run(self, mod: IRModule) -> IRModule | Mapping[str, Any]:
        """The module after the pass, or its functions by name: then the rest of the module is
        kept, and the module itself if none changed.
        """
        raise NotImplementedError

    def run_on_other(self, other: Any) -> Any:
        """The result of a call with something else than a module; LoweringError by default."""
        raise LoweringError(
            f"pass {self.info.name} expects a module, got {kind_of(other)}",
            "",
            f"pass an IRModule: {_MODULE_OF_FUNCTION}",
        )

    def __repr__(self) -> str:
        return f"Run {self.kind} pass: {self.info.name} at the optimization level " + str(
            self.info.opt_level
        )


def is_maker(value: Any) -> bool:
    """Whether a value makes passes: it is a class of them, or a function annotated so."""
    if isinstance(value, type):
        return issubclass(value, Pass)
    function = inspect.unwrap(value) if isinstance(value, FunctionType) else None
    hint = getattr(function, "__annotations__", {}).get("return")
    kind = getattr(function, "__globals__", {}).get(hint) if isinstance(hint, str) else hint
    return isinstance(kind, type) and issubclass(kind, Pass)


def checked_maker(value: Any, error: type[TeSchedError], face: str) -> Any:
    """What makes passes, with its arguments checked: a program in place of options is refused.

    A class of passes refuses programs by itself; other values are checked as `checked_value` does.
    """
    checked = checked_value(value, error, face)
    if isinstance(value, type) and issubclass(value, Pass):
        value._face = face
    if not is_maker(value) or isinstance(value, type):
        return checked

    @functools.wraps(checked)
    def make(*args: Any, **kwargs: Any) -> Any:
        _refuse_programs(value, face + value.__name__, args, kwargs)
        return checked(*args, **kwargs)

    return make


def check_makers(module: ModuleType) -> None:
    """Replace the functions of a module that make passes by their checked versions."""
    face = module.__name__.removeprefix("te_sched.") + "."
    for name in module.__all__:
        value = vars(module)[name]
        if isinstance(value, FunctionType) and is_maker(value):
            setattr(module, name, checked_maker(value, DeclarationError, face))


def _refuse_programs(maker: Any, name: str, args: Sequence[Any], named: Mapping[str, Any]) -> None:
    """Refuse a module or a function of one as an argument of what makes a pass."""
    program = next((v for v in (*args, *named.values()) if isinstance(v, _PROGRAMS)), None)
    if program is None:
        return
    options = ", ".join(parameter.name for parameter in _options(maker))
    is_module = isinstance(program, IRModule)
    call = f"{call_of(maker, name)}({'module' if is_module else _MODULE_OF_FUNCTION})"
    raise ParameterError(
        f"{name} makes a pass, and cannot be called with {kind_of(program)}",
        f"its arguments are the options of the pass: {options}" if options else "it has no options",
        f"make the pass, then call it: {call}",
    )


def call_of(maker: Any, name: str) -> str:
    """The call that makes a pass, with the options that it needs.

    >>> from te_sched import relax
    >>> call_of(relax.transform.BindParams, "BindParams")
    'BindParams(func_name, params)'
    """
    needed = [option.name for option in _options(maker) if option.default is option.empty]
    return f"{name}({', '.join(needed)})"


def _options(maker: Any) -> list[inspect.Parameter]:
    several = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    parameters = inspect.signature(maker).parameters.values()
    return [parameter for parameter in parameters if parameter.kind not in several]


_MODULE_OF_FUNCTION = "te_sched.IRModule.from_expr(function)"
_PROGRAMS = (IRModule, PrimFunc, GraphFunction)


@walks_deeply("run a pass")
def _run(transform: Pass, mod: IRModule) -> IRModule | Mapping[str, Any]:
    return transform.run(mod)


def _observed(info: PassInfo, mod: IRModule, run: Callable[[IRModule], IRModule]) -> IRModule:
    """The module after a pass, around which the instruments of the context are called."""
    context = SCOPE.get()
    instruments: list[Any] = [] if context is None else context.instruments
    if not instruments:
        return run(mod)
    if not all([instrument.should_run(mod, info) for instrument in instruments]):
        return mod
    for instrument in instruments:
        instrument.run_before_pass(mod, info)
    new = run(mod)
    for instrument in instruments:
        instrument.run_after_pass(new, info)
    return new


class ModulePass(Pass):
    """A pass over whole modules: a class with a method `transform_module`.

    >>> from te_sched import transform
    >>> isinstance(transform.PrintIR(), ModulePass)
    True
    """

    def run(self, mod: IRModule) -> IRModule | Mapping[str, Any]:
        """What `transform_module` returns."""
        return self.transform_module(mod, PassContext.current())

    def transform_module(
        self, mod: IRModule, context: PassContext, /
    ) -> IRModule | Mapping[str, Any]:
        """The module after the pass, or its functions by name, as of `run`."""
        raise missing_method(self, "transform_module")


class PrimFuncPass(Pass):
    """A pass that maps each PrimFunc of a module: a class with a method `transform_function`.

    >>> from te_sched import tir
    >>> isinstance(tir.transform.Simplify(), PrimFuncPass)
    True
    """

    kind = "PrimFunc"

    def run(self, mod: IRModule) -> Mapping[str, Any]:
        """The functions of the module, with the results instead of its PrimFuncs."""
        context = PassContext.current()
        functions = dict(mod.functions)
        for name, func in mod.functions_of_loops.items():
            new = self.transform_function(func, mod, context)
            if new is None:
                del functions[name]
            elif isinstance(new, PrimFunc):
                functions[name] = new
            else:
                raise LoweringError(
                    f"pass {self.info.name} must return a PrimFunc, got {kind_of(new)}",
                    f"it was called with function {name}",
                    "return the function, even if the pass changes nothing",
                )
        return functions

    def transform_function(
        self, func: PrimFunc, mod: IRModule, context: PassContext, /
    ) -> PrimFunc | None:
        """The function after the pass, or None to remove it."""
        raise missing_method(self, "transform_function")

    def __repr__(self) -> str:
        return f"PrimFuncPass({self.info.name}, opt_level={self.info.opt_level})"


class LoweringPass(PrimFuncPass):
    """A pass of `lower` and `build`: a function (function, settings) -> function.

    Parameters
    ----------
    function : it gets the settings of the switches in force.
    level : the level of the IR of its results.
    phase : the last of the phases of `config.Lowering.added_passes` that are applied before it.
    info : its name and level of optimization; by default with TVM's name, if it has one.
    """

    def __init__(
        self,
        function: Callable[[PrimFunc, Lowering], PrimFunc],
        level: str = "",
        phase: int = 0,
        info: PassInfo | None = None,
    ) -> None:
        self.function, self.level, self.phase = function, level, phase
        self._stand_in = STAND_INS.get(self.name)
        self.info = info or PassInfo(name=_NAMES.get(self.name, self.name))

    def transform_function(self, func: PrimFunc, *_: object) -> PrimFunc:
        """The function after the pass, with the settings of the switches in force."""
        settings = config.current().lowering
        return self.under(settings)(func, settings)

    @property
    def name(self) -> str:
        """The name of its function."""
        return getattr(self.function, "__name__", "")

    def under(self, settings: Lowering) -> Callable[[PrimFunc, Lowering], PrimFunc]:
        """The function under settings: options of TVM let another one stand in for it."""
        if self._stand_in is None or settings.to_run:
            return self.function
        options, path = self._stand_in
        if not any(getattr(settings, option) for option in options):
            return self.function
        return cast("Callable[[PrimFunc, Lowering], PrimFunc]", load(path))

    def applied(self, func: PrimFunc, settings: Lowering) -> PrimFunc:
        """The function after the pass, which instruments see as a module of its own."""

        def run(mod: IRModule) -> IRModule:
            return mod.with_exactly({name: self.under(settings)(mod[name], settings)})

        name = func.__name__
        after: PrimFunc = _observed(self.info, IRModule({name: func}), run)[name]
        return after


class Watcher(Protocol):
    """Observes a program before the passes and after each of them."""

    def begin(self, func: PrimFunc, title: str) -> None:
        """Called with the program before the first pass."""

    def after(self, function: Callable[..., Any], func: PrimFunc) -> None:
        """Called with the result of a pass."""


def apply_passes(
    passes: Iterable[LoweringPass],
    func: PrimFunc,
    switches: Config,
    watcher: Watcher | None = None,
) -> PrimFunc:
    """The function after the passes; `switches.verify_passes` verifies what each has changed."""
    context, settings, level = SCOPE.get(), switches.lowering, ""
    has_instruments = context is not None and bool(context.instruments)
    for step in passes:
        before = func
        run = step.applied if has_instruments else step.under(settings)
        func = run(func, settings)
        if watcher is not None:
            watcher.after(step.function, func)
        if switches.verify_passes and (func is not before or step.level != level):
            verify(func, step.level)
        level = step.level
    return func


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


def pass_of(kind: type[Any], transform: Any, method: str, info: PassInfo) -> Any:
    """A pass of a kind, from a user's function; or a class of them, from a user's class with the
    method of the kind.

    Attributes of the user's object are found on the pass.
    """
    words = ["mod", "ctx"] if method == "transform_module" else ["func", "mod", "ctx"]
    example = f"lambda {', '.join(words)}: {words[0]}"
    what = f"pass {info.name}"
    if not inspect.isclass(transform):
        check_function(transform, len(words), what, example)
        return _with_method(kind(), method, transform, info)
    if not hasattr(transform, method):
        raise DeclarationError(
            f"class {transform.__name__} of a pass has no method {method}",
            "",
            f"define it: def {method}(self, ...), which returns what it is given, rewritten",
        )

    @functools.wraps(transform.__init__)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        self._instance = transform(*args, **kwargs)
        function = getattr(self._instance, method)
        check_function(function, len(words), what, example)
        _with_method(self, method, function, info)

    def __getattr__(self: Any, name: str) -> Any:
        if name == "_instance":
            raise AttributeError(name)
        return getattr(self._instance, name)

    names = ("__module__", "__qualname__", "__doc__")
    members = {name: getattr(transform, name) for name in names}
    members |= {"__init__": __init__, "__getattr__": __getattr__, "info": info}
    return type(transform.__name__, (kind,), members)


def _with_method(instance: Any, method: str, function: Callable[..., Any], info: PassInfo) -> Any:
    """A pass whose method is a user's function; one for modules must return a module."""
    instance.info = info
    setattr(
        instance, method, function if method != "transform_module" else _of_modules(function, info)
    )
    return instance


def _of_modules(function: Callable[..., Any], info: PassInfo) -> Callable[..., IRModule]:
    def transform_module(mod: IRModule, context: PassContext) -> IRModule:
        new = function(mod, context)
        if not isinstance(new, IRModule):
            raise LoweringError(
                f"pass {info.name} must return a module, got {kind_of(new)}",
                "",
                "return the module, even if the pass changes nothing",
            )
        return new

    return transform_module
