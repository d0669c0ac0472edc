"""te_sched.transform: sequences and decorators of passes, their context, as in TVM.

`with PassContext(config={"tir.disable_vectorize": True}):` sets options of `lower` and `build`
inside it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from typing import Any

from te_sched.errors import DeclarationError, LoweringError, kind_of, repr_of
from te_sched.ir.stmt import IRModule
from te_sched.pass_context import PassContext, PassInfo
from te_sched.passes import (
    ModulePass,
    Pass,
    call_of,
    info_of,
    is_maker,
    pass_of,
)
from te_sched.public_members import is_function
from te_sched.signatures import checked

__all__ = [
    "ApplyPassToFunction",
    "ModulePass",
    "Pass",
    "PassContext",
    "PassInfo",
    "PrintIR",
    "Sequential",
    "module_pass",
]


class Sequential(ModulePass):
    """A pass that applies passes in order, but for those that the context omits.

    >>> from te_sched import IRModule, tir
    >>> i = tir.Var("i")
    >>> module = IRModule.from_expr(tir.PrimFunc((i,), tir.Evaluate(i + 1 - i), {}))
    >>> Sequential([tir.transform.Simplify(), tir.transform.RemoveNoOp()])(module)["main"].body
    T.evaluate(1)
    """

    @checked
    def __init__(
        self,
        passes: Sequence[Callable[[IRModule], IRModule]] | None = None,
        opt_level: int = 0,
        name: str = "sequential",
        required: Sequence[str] | None = None,
        traceable: bool = False,
    ) -> None:
        self.passes = list(() if passes is None else passes)
        for transform in self.passes:
            if (
                is_function(transform)
                and not isinstance(transform, type)
                and not is_maker(transform)
            ):
                continue
            name = getattr(transform, "__name__", "")
            raise DeclarationError(
                f"{name or repr_of(transform)} is not a pass",
                "it makes passes" if is_maker(transform) else f"it is {kind_of(transform)}",
                f"give a pass that it makes: {call_of(transform, name)}"
                if is_maker(transform)
                else "give passes, such as tir.transform.Simplify()",
            )
        self.info = info_of(None, opt_level, name, required, traceable)

    def transform_module(self, mod: IRModule, context: PassContext, /) -> IRModule:
        """The module after all passes."""
        for transform in self.passes:
            info = getattr(transform, "info", None)
            if info is None or context.is_enabled(info):
                mod = transform(mod)
        return mod

    def __repr__(self) -> str:
        names = " ".join(
            transform.info.name for transform in self.passes if isinstance(transform, Pass)
        )
        return (
            f"Run Sequential pass: {self.info.name} at the optimization level "
            f"{self.info.opt_level}. The passes will be executed are: [{names} ]"
        )


class ApplyPassToFunction(ModulePass):
    """The pass that applies another one to some functions of a module, as if it had no others.

    Parameters
    ----------
    transform : the pass.
    func_name_regex : a regular expression that the whole name of a function matches.
    error_if_no_function_matches_regex : raise LoweringError if there is no such function.

    >>> from te_sched import IRModule, tir
    >>> i = tir.Var("i")
    >>> func = tir.PrimFunc((i,), tir.Evaluate(i + 1 - i), {})
    >>> module = IRModule({"f": func, "g": func})
    >>> module = ApplyPassToFunction(tir.transform.Simplify(), "f")(module)
    >>> print(module["f"].body)
    T.evaluate(1)
    """

    @checked
    def __init__(
        self,
        transform: Pass,
        func_name_regex: str,
        error_if_no_function_matches_regex: bool = False,
    ) -> None:
        self.transform, self.func_name_regex = transform, func_name_regex
        self.error_if_no_function_matches_regex = error_if_no_function_matches_regex
        self.info = PassInfo(0, f"ApplyPassTo{func_name_regex}")

    def transform_module(self, mod: IRModule, *_: object) -> IRModule:
        """The module with the functions of the pass in place of those that it was applied to."""
        chosen = {
            name: func
            for name, func in mod.functions.items()
            if re.fullmatch(self.func_name_regex, str(name))
        }
        if not chosen and self.error_if_no_function_matches_regex:
            raise LoweringError(
                f"no function has a name that matches {self.func_name_regex!r}",
                f"the module has {', '.join(mod.functions)}",
                "give a regular expression for the whole name",
            )
        new = self.transform(mod.with_exactly(chosen))
        kept = {name: func for name, func in mod.functions.items() if name not in chosen}
        present = {**kept, **new.functions}
        in_order = {name: present[name] for name in mod.functions if name in present}
        return new.with_exactly({**in_order, **present})


@checked
def module_pass(
    pass_func: Callable[..., Any] | None = None,
    opt_level: int = 0,
    name: str | None = None,
    required: Sequence[str] | None = None,
    traceable: bool = False,
) -> Any:
    """A decorator that makes a pass of a function (module, context) -> module, or a class of passes
    of a class with such a method `transform_module`.

    >>> from te_sched import IRModule, tir
    >>> @module_pass(opt_level=0)
    ... class Keep:
    ...     def __init__(self, names):
    ...         self.names = names
    ...     def transform_module(self, module, context):
    ...         return IRModule({name: module[name] for name in self.names})
    >>> Keep([])(IRModule()).get_global_vars()
    []
    """
    if pass_func is None:
        return lambda decorated: module_pass(decorated, opt_level, name, required, traceable)
    info = info_of(pass_func, opt_level, name, required, traceable)
    return pass_of(ModulePass, pass_func, "transform_module", info)


class PrintIR(ModulePass):
    """The pass that writes a module to the standard error and returns it.

    >>> import te_sched
    >>> module = te_sched.IRModule({"f": te_sched.tir.PrimFunc((), te_sched.tir.Evaluate(0), {})})
    >>> PrintIR("before")(module) is module
    True
    """

    def __init__(self, header: str = "", show_meta_data: bool = False) -> None:
        self.header, self.show_meta_data = header, show_meta_data

    def transform_module(self, mod: IRModule, *_: object) -> IRModule:
        """The module itself."""
        print(f"PrintIR({self.header}):\n{mod}", file=sys.stderr)
        return mod


sys.modules["te_sched"]._tell_of_absent_names(sys.modules[__name__])
