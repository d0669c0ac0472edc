"""te_sched.transform: how programs are lowered, with TVM's names.

`with PassContext(config={"tir.disable_vectorize": True}):` changes what `lower` and `build` do
inside it. An option that te_sched knows and has no use for is warned about once.
"""

from __future__ import annotations

import dataclasses
import functools
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import Any

from te_sched import config as switches
from te_sched.errors import LoweringError, did_you_mean, kind_of
from te_sched.ir.stmt import IRModule, PrimFunc, Stmt
from te_sched.tir.transform import PASS_NAMES, PassInfo, PrimFuncPass

__all__ = ["PassContext", "PassInfo", "Sequential", "module_pass"]

_UNROLL = {
    "auto_max_step": "auto_unroll_max_step",
    "auto_max_depth": "auto_unroll_max_depth",
    "auto_max_extent": "auto_unroll_max_extent",
    "explicit_unroll": "unroll_explicit",
}
_PARTITION = (
    "partition_const_loop",
    "no_unroll_loop_with_extent_one",
    "unroll_loop_with_partition_hint_no_interval",
)
_DISABLING = {
    "tir.disable_storage_rewrite": "tir.StorageRewrite",
    "tir.disable_cse_tir": "tir.CommonSubexprElimTIR",
}
# Options of TVM that change nothing here, and why.
_WITHOUT_EFFECT = {
    "tir.noalias": "buffers are taken to be distinct, unless they overlap in a call",
    "tir.disable_assert": "arguments are always checked",
    "tir.instrument_bound_checkers": "use numpy's answer to check; accesses are not instrumented",
    "tir.detect_global_barrier": "there are no barriers across blocks",
    "tir.enable_equiv_terms_in_cse_tir": "terms are compared as they are written",
    "tir.HoistIfThenElse": "conditions are hoisted as TVM's default does",
    "tir.HoistExpression": "TVM's default does not hoist expressions either",
    "tir.InjectDoubleBuffer": "double buffers take turns loop by loop, as with split_loop=1",
    "tir.Simplify": "the simplifier has no options",
    "tir.RemoveNoOp": "the pass has no options",
    "tir.ReduceBranchingThroughOvercompute": "the pass does not exist here",
    "tir.enable_debug": "compiled code has no debug information",
    "tir.debug_keep_trivial_loop": "loops of one iteration become their body",
    "tir.is_entry_func": "every function can be called",
    "tir.use_async_copy": "it is for newer GPUs than this version knows",
    "tir.merge_static_smem": "shared memory is laid out per allocation",
    "tir.ptx_ldg32": "it is for GPUs",
    "tir.vtcm_capacity": "it is for Hexagon",
    "te.keep_schedule_record": "schedule.trace always keeps it",
}
_OTHER_PREFIXES = ("relay.", "relax.", "ir.", "testing.", "tir.usmp.", "tir.instr", "tir.lwp")
_warned: set[str] = set()


class PassContext:
    """How programs are lowered inside the `with`.

    Parameters
    ----------
    opt_level : for TVM's sake; all passes of te_sched run on every level.
    required_pass : for TVM's sake.
    disabled_pass : TVM's names of passes to leave out ("tir.StorageRewrite").
    instruments : not available: te_sched.lower(..., stop_after=...) shows a pass's result.
    config : options by TVM's names: tir.disable_vectorize, tir.LoopPartition, tir.UnrollLoop,
        tir.add_lower_pass, tir.disable_storage_rewrite, tir.disable_cse_tir. One is te_sched's own:
        `te_sched.as_older` lowers as TVM 0.9 did, whose `astext()` stands in books and papers.
    """

    def __init__(
        self,
        opt_level: int = 2,
        required_pass: Sequence[str] | None = None,
        disabled_pass: Sequence[str] | None = None,
        instruments: Sequence[Any] | None = None,
        config: Mapping[str, Any] | None = None,
    ) -> None:
        self.opt_level = opt_level
        self.required_pass = list(required_pass or [])
        self.disabled_pass = list(disabled_pass or [])
        self.instruments = list(instruments or [])
        self.config = dict(config or {})
        if self.instruments:
            warn_once("instruments", "use te_sched.lower(..., stop_after=...) to see the passes")
        self._lowering = _lowering_of(self.config, self.disabled_pass)
        self._scopes: list[Any] = []

    def __enter__(self) -> PassContext:
        scope = switches.scoped(lowering=self._lowering)
        scope.__enter__()
        self._scopes.append((scope, _scope.set(self)))
        return self

    def __exit__(self, *error: Any) -> None:
        scope, token = self._scopes.pop()
        _scope.reset(token)
        scope.__exit__(*error)

    @staticmethod
    def current() -> PassContext:
        """The context in force."""
        return _scope.get() or PassContext()

    @staticmethod
    def list_configs() -> list[str]:
        """The options that do something."""
        return [
            "te_sched.as_older",
            "tir.LoopPartition",
            "tir.UnrollLoop",
            "tir.add_lower_pass",
            "tir.disable_vectorize",
            *_DISABLING,
        ]


_scope: ContextVar[PassContext | None] = ContextVar("te_sched_pass_context", default=None)


class Sequential:
    """Passes one after the other, as a pass."""

    def __init__(
        self,
        passes: Sequence[Callable[[IRModule], IRModule]] | None = None,
        opt_level: int = 0,
        name: str = "sequential",
        required: Sequence[str] | None = None,
        traceable: bool = False,
    ) -> None:
        self.passes = list(passes or [])
        self.info = PassInfo(opt_level, name, tuple(required or ()), traceable)

    def __call__(self, mod: IRModule) -> IRModule:
        """The module after all of them."""
        for one in self.passes:
            mod = one(mod)
        return mod


def module_pass(pass_func: Any = None, opt_level: int = 0, **options: Any) -> Any:
    """Make a pass of a function (module, context) -> module: a decorator."""
    if pass_func is None:
        return lambda decorated: module_pass(decorated, opt_level, **options)

    @functools.wraps(pass_func)
    def run(mod: IRModule) -> IRModule:
        found: IRModule = pass_func(mod, PassContext.current())
        return found

    return run


def warn_once(option: str, reason: str) -> None:
    """Tell, once in a process, that an option changes nothing."""
    if option not in _warned:
        _warned.add(option)
        warnings.warn(f"{option} has no effect in te_sched: {reason}", UserWarning, stacklevel=4)


def _lowering_of(options: Mapping[str, Any], disabled_pass: Sequence[str]) -> switches.Lowering:
    disabled = {one for name in disabled_pass for one in _pass_of(name)}
    changes: dict[str, Any] = {}
    for name, value in options.items():
        if name == "tir.disable_vectorize":
            changes["vectorize"] = not value
        elif name == "te_sched.as_older":
            changes["as_older"] = bool(value)
        elif name == "tir.UnrollLoop":
            changes.update(_unroll_options(value))
        elif name == "tir.LoopPartition":
            changes.update(_partition_options(value))
        elif name == "tir.add_lower_pass":
            changes["added_passes"] = tuple([(int(when), as_function(one)) for when, one in value])
        elif name in _DISABLING:
            disabled.update(_pass_of(_DISABLING[name]) if value else ())
        else:
            _accept(name)
    return dataclasses.replace(switches.Lowering(), disabled_passes=frozenset(disabled), **changes)


def _accept(name: str) -> None:
    if name in _WITHOUT_EFFECT:
        warn_once(name, _WITHOUT_EFFECT[name])
    elif name.startswith(_OTHER_PREFIXES):
        warn_once(name, "it is about a part of TVM that te_sched does not have")
    else:
        known = [*PassContext.list_configs(), *_WITHOUT_EFFECT]
        raise LoweringError(
            f"PassContext(config={{{name!r}: ...}})",
            "there is no such option",
            f"use one of {', '.join(sorted(known))}{did_you_mean(name, known)}",
        )


def _unroll_options(value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise LoweringError(
            f"PassContext(config={{'tir.UnrollLoop': {value!r}}})",
            "its value is a mapping",
            'write {"auto_max_step": 16, "explicit_unroll": True}',
        )
    changes = {}
    for name, given in value.items():
        if name not in _UNROLL:
            warn_once(f"tir.UnrollLoop {name}", f"it knows {', '.join(_UNROLL)}")
            continue
        changes[_UNROLL[name]] = bool(given) if name == "explicit_unroll" else int(given)
    return changes


def _partition_options(value: Any) -> dict[str, bool]:
    if not isinstance(value, Mapping):
        raise LoweringError(
            f"PassContext(config={{'tir.LoopPartition': {value!r}}})",
            "its value is a mapping",
            'write {"partition_const_loop": True}',
        )
    for name in value.keys() - set(_PARTITION):
        warn_once(f"tir.LoopPartition {name}", f"it knows {', '.join(_PARTITION)}")
    return {name: bool(value[name]) for name in _PARTITION if name in value}


def _pass_of(name: str) -> tuple[str, ...]:
    """The function of te_sched behind TVM's name of a pass."""
    found = PASS_NAMES.get(name if name.startswith("tir.") else f"tir.{name}")
    if found is None:
        warn_once(f"disabled_pass {name}", "it has no such pass")
        return ()
    if found.__name__ in ("flatten_storage", "narrow_index_types"):
        warn_once(f"disabled_pass {name}", "the passes after it need it")
        return ()
    return (found.__name__,)


def as_function(one: Any) -> Callable[[PrimFunc], PrimFunc]:
    """A user's pass as a function of a function: a PrimFuncPass, a pass of modules, or a function
    of statements, as the oldest generation wrote them.
    """
    if isinstance(one, PrimFuncPass):
        return one.transform

    def run(func: PrimFunc) -> PrimFunc:
        if isinstance(one, Sequential) or hasattr(one, "__wrapped__"):
            return _only(one(IRModule.from_expr(func)))
        new = one(func.body)
        if not isinstance(new, Stmt):
            raise LoweringError(
                f"add the pass {getattr(one, '__name__', one)!r}",
                f"it gave {kind_of(new)} for a statement",
                "make it give a statement, or decorate it with tir.transform.prim_func_pass",
            )
        return func.with_body(new)

    return run


def _only(mod: IRModule) -> PrimFunc:
    return next(iter(mod.functions.values()))
