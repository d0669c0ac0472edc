"""The context of passes: its options, instruments, and which passes a sequence runs.

    with PassContext(config={"tir.disable_vectorize": True}): ...

sets options of `lower` and `build` inside of it. Known options without an effect give a warning,
once. Names of passes are data here (`FUNCTIONS`). Must not know any pass.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from enum import Flag
from typing import Any

from te_sched import config as switches
from te_sched.config import AS_TVM, Lowering
from te_sched.errors import LoweringError, did_you_mean, kind_of, repr_of, warn
from te_sched.ir.stmt import IRModule, PrimFunc, Stmt
from te_sched.public_members import PublicObject, is_function
from te_sched.signatures import bound

# The pass context around the code that runs; None without one.
SCOPE: ContextVar[PassContext | None] = ContextVar("te_sched_pass_context", default=None)


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


class HoistedConditionals(Flag):
    """The conditions that HoistExpression hoists.

    >>> HoistedConditionals.All & ~HoistedConditionals.UsingBlockVar
    <HoistedConditionals.IfElseStmt|IfElseExpr|BooleanExpression: 7>
    """

    Never = 0
    IfElseStmt = 1
    IfElseExpr = 2
    BooleanExpression = 4
    UsingBlockVar = 8
    All = 15


class HoistedLetBindings(Flag):
    """The lets that HoistExpression hoists.

    >>> HoistedLetBindings.LetStmt | HoistedLetBindings.LetExpr
    <HoistedLetBindings.LetStmt|LetExpr: 6>
    """

    Never = 0
    RequiredByConditional = 1
    LetStmt = 2
    LetExpr = 4
    All = 7


_UNROLL = {
    "auto_max_step": "auto_unroll_max_step",
    "auto_max_depth": "auto_unroll_max_depth",
    "auto_max_extent": "auto_unroll_max_extent",
    "explicit_unroll": "unroll_explicit",
    "unroll_local_access": "unroll_local_access",
}
_SIMPLIFY = {
    "transitively_prove_inequalities": "prove_transitively",
    "convert_boolean_to_and_of_ors": "conditions_as_clauses",
    "apply_constraints_to_boolean_branches": "simplify_branches",
    "propagate_knowns_to_prove_conditional": "propagate_to_conditions",
    "propagate_knowns_to_simplify_expressions": "propagate_to_values",
}
_PARTITION = (
    "partition_const_loop",
    "no_unroll_loop_with_extent_one",
    "unroll_loop_with_partition_hint_no_interval",
)
# Options whose value is a mapping: the setting of each name, and an example.
_NESTED: dict[str, tuple[dict[str, str], str]] = {
    "tir.UnrollLoop": (_UNROLL, '{"auto_max_step": 16, "explicit_unroll": True}'),
    "tir.HoistIfThenElse": (
        {"support_block_scope_hosting": "hoist_thread_conditions"},
        '{"support_block_scope_hosting": True}',
    ),
    "tir.HoistExpression": (
        {
            "hoisted_conditionals": "hoisted_conditionals",
            "hoisted_let_bindings": "hoisted_lets",
        },
        '{"hoisted_conditionals": HoistedConditionals.All.value}',
    ),
    "tir.Simplify": (_SIMPLIFY, '{"apply_constraints_to_boolean_branches": True}'),
    "tir.RemoveNoOp": (
        {
            "use_dataflow_analysis": "remove_by_dataflow",
            "max_simplification_steps": "dataflow_steps",
        },
        '{"use_dataflow_analysis": True}',
    ),
    "tir.LoopPartition": ({name: name for name in _PARTITION}, '{"partition_const_loop": True}'),
}
_FLAGS: dict[str, type[Flag]] = {
    "hoisted_conditionals": HoistedConditionals,
    "hoisted_let_bindings": HoistedLetBindings,
}
# The functions of te_sched by TVM's names of passes.
FUNCTIONS = {
    "tir.LowerCrossThreadReduction": "lower_cross_thread",
    "tir.LowerInitBlock": "lower_init",
    "tir.PlanAndUpdateBufferAllocationLocation": "place_allocations",
    "tir.ConvertBlocksToOpaque": "make_opaque",
    "tir.UnifyThreadBinding": "unify_equal_threads",
    "tir.CompactBufferAllocation": "compact_buffers",
    "tir.LowerMatchBuffer": "lower_match_buffers",
    "tir.InjectSoftwarePipeline": "inject_pipelines",
    "tir.LiftThreadBinding": "unify_threads",
    "tir.LowerOpaqueBlock": "lower_opaque_blocks",
    "tir.InjectPrefetch": "inject_prefetch",
    "tir.FlattenBuffer": "flatten_storage",
    "tir.StorageFlatten": "flatten_storage",
    "tir.NarrowDataType": "narrow_index_types",
    "tir.Simplify": "simplify",
    "tir.LoopPartition": "partition_loops",
    "tir.VectorizeLoop": "vectorize_loops",
    "tir.InjectVirtualThread": "inject_virtual_threads",
    "tir.InjectDoubleBuffer": "inject_double_buffer",
    "tir.StorageRewrite": "rewrite_storage",
    "tir.HoistIfThenElse": "hoist_conditions",
    "tir.HoistExpression": "hoist_expressions",
    "tir.UnrollLoop": "unroll_loops",
    "tir.RenormalizeSplitPattern": "renormalize_split_patterns",
    "tir.RemoveNoOp": "remove_no_op",
    "tir.RewriteUnsafeSelect": "rewrite_unsafe_select",
    "tir.RemoveAssume": "remove_assumptions",
    "tir.RemoveStoreUndef": "remove_undefined_stores",
    "tir.ForceNarrowIndexToInt32": "force_narrow_indices",
    "tir.CommonSubexprElimTIR": "eliminate_common_subexpressions",
}
# Settings under which another function, of a pass that `build` never runs, stands in for that of a
# pass of lowering.
STAND_INS = {
    "simplify": (
        ("propagate_to_conditions", "propagate_to_values"),
        "te_sched.tir.passes.propagate_values:propagate_values",
    ),
    "remove_no_op": (
        ("remove_by_dataflow",),
        "te_sched.tir.passes.remove_by_dataflow:remove_by_dataflow",
    ),
}
_DISABLING = {
    "tir.disable_storage_rewrite": "tir.StorageRewrite",
    "tir.disable_cse_tir": "tir.CommonSubexprElimTIR",
}
# Options of TVM without an effect, and the reasons.
_WITHOUT_EFFECT = {
    "tir.noalias": "buffers are taken to be distinct, unless they overlap in a call",
    "tir.disable_assert": "arguments are always checked",
    "tir.instrument_bound_checkers": "use numpy's answer to check; accesses are not instrumented",
    "tir.detect_global_barrier": "there are no barriers across blocks",
    "tir.enable_equiv_terms_in_cse_tir": "terms are compared as they are written",
    "tir.InjectDoubleBuffer": "double buffers take turns loop by loop, as with split_loop=1",
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
# Options that passes of graphs read from the context.
_OF_GRAPHS = (
    "relax.FuseOps.max_depth",
    "relax.lift_transform_params.consume_params",
    "relax.transform.apply_legalize_ops",
)
_warned: set[str] = set()


class PassContext(PublicObject):
    """A context manager that sets options of lowering.

    Parameters
    ----------
    opt_level : a Sequential omits passes of a higher level; lowering has no levels.
    required_pass : names of passes that a Sequential runs on every level.
    disabled_pass : names of passes to omit: those of lowering ("tir.StorageRewrite") and those of a
        Sequential.
    instruments : objects that are called before and after each pass, see te_sched.instrument.
    config : options by TVM's names: tir.disable_vectorize, tir.HoistExpression,
        tir.HoistIfThenElse, tir.LoopPartition, tir.RemoveNoOp, tir.Simplify, tir.UnrollLoop,
        tir.add_lower_pass, tir.disable_storage_rewrite, tir.disable_cse_tir,
        tir.enable_buffer_level_predication; also te_sched's own `te_sched.as_older`: lower as
        TVM 0.9, whose `astext()` is found in books and papers.

    >>> import te_sched
    >>> A = te_sched.te.placeholder((4,), name="A")
    >>> B = te_sched.te.compute((4,), lambda i: A[i] + 1.0, name="B")
    >>> s = te_sched.te.create_schedule(B.op)
    >>> s[B].vectorize(B.op.axis[0])
    >>> with PassContext(config={"tir.disable_vectorize": True}):
    ...     print(te_sched.lower(s, [A, B])["main"].body)
    for i in range(4):
        B = T.Buffer((4,))
        A = T.Buffer((4,))
        B[i] = A[i] + T.float32(1)
    """

    @bound
    def __init__(
        self,
        opt_level: int = 2,
        required_pass: Sequence[str] | None = None,
        disabled_pass: Sequence[str] | None = None,
        instruments: Sequence[Any] | None = None,
        config: Mapping[str, Any] | None = None,
    ) -> None:
        self.opt_level = _integer("opt_level", opt_level)
        self.required_pass = _names("required_pass", required_pass)
        self.disabled_pass = _names("disabled_pass", disabled_pass)
        self.instruments = _listed("instruments", instruments)
        self.config = _options(config)
        self._lowering = _lowering_of(self.config, self.disabled_pass)
        self._scopes: list[Any] = []

    def __enter__(self) -> PassContext:
        scope = switches.scoped(lowering=self._lowering)
        scope.__enter__()
        self._scopes.append((scope, SCOPE.set(self)))
        entered: list[Any] = []
        try:
            for instrument in self.instruments:
                instrument.enter_pass_ctx()
                entered.append(instrument)
        except BaseException:
            for instrument in entered:
                instrument.exit_pass_ctx()
            self._leave(None, None, None)
            raise
        return self

    def __exit__(self, *error: Any) -> None:
        try:
            for instrument in self.instruments:
                instrument.exit_pass_ctx()
        finally:
            self._leave(*error)

    def _leave(self, *error: Any) -> None:
        scope, token = self._scopes.pop()
        SCOPE.reset(token)
        scope.__exit__(*error)

    def override_instruments(self, instruments: Sequence[Any] | None) -> None:
        """Exchange the instruments: the old ones are left, the new ones are entered.

        >>> with PassContext() as context:
        ...     context.override_instruments([])
        """
        for instrument in self.instruments:
            instrument.exit_pass_ctx()
        self.instruments = _listed("instruments", instruments)
        for instrument in self.instruments:
            instrument.enter_pass_ctx()

    def is_enabled(self, info: PassInfo) -> bool:
        """Whether a Sequential runs a pass in this context.

        >>> PassContext(opt_level=1).is_enabled(PassInfo(2, "FuseOps"))
        False
        """
        if info.name in self.disabled_pass:
            return False
        return info.name in self.required_pass or self.opt_level >= info.opt_level

    @staticmethod
    def current() -> PassContext:
        """The current context.

        >>> PassContext.current().opt_level
        2
        """
        return SCOPE.get() or PassContext()

    @staticmethod
    def list_configs() -> list[str]:
        """The names of the options with an effect.

        >>> "tir.UnrollLoop" in PassContext.list_configs()
        True
        """
        return [
            "te_sched.as_older",
            "tir.HoistExpression",
            "tir.HoistIfThenElse",
            "tir.LoopPartition",
            "tir.RemoveNoOp",
            "tir.Simplify",
            "tir.UnrollLoop",
            "tir.add_lower_pass",
            "tir.disable_vectorize",
            "tir.enable_buffer_level_predication",
            *_DISABLING,
            *_OF_GRAPHS,
        ]


def warn_once(option: str, reason: str) -> None:
    """Warn once per process that an option has no effect."""
    if option not in _warned:
        _warned.add(option)
        warn(f"{option} has no effect in te_sched: {reason}")


def _lowering_of(options: Mapping[str, Any], disabled_pass: Sequence[str]) -> Lowering:
    if not options and not disabled_pass:
        return AS_TVM
    disabled = {pass_name for name in disabled_pass for pass_name in _pass_of(name)}
    changes: dict[str, Any] = {}
    for name, value in options.items():
        if name == "tir.disable_vectorize":
            changes["vectorize"] = not _flag(name, value)
        elif name == "tir.enable_buffer_level_predication":
            changes["predicate_accesses"] = _flag(name, value)
        elif name == "te_sched.as_older":
            changes["as_older"] = _flag(name, value)
        elif name in _NESTED:
            changes.update(_options_of(name, value))
        elif name == "tir.add_lower_pass":
            changes["added_passes"] = tuple([_added_pass(pair) for pair in _listed(name, value)])
        elif name in _DISABLING:
            disabled.update(_pass_of(_DISABLING[name]) if _flag(name, value) else ())
        else:
            _accept(name)
    return Lowering(disabled_passes=frozenset(disabled), **changes)


def _accept(name: str) -> None:
    if name in _WITHOUT_EFFECT:
        warn_once(name, _WITHOUT_EFFECT[name])
    elif name in _OF_GRAPHS:
        return
    elif name.startswith(_OTHER_PREFIXES):
        warn_once(name, "it is about a part of TVM that te_sched does not have")
    else:
        names = [*PassContext.list_configs(), *_WITHOUT_EFFECT]
        raise LoweringError(
            f"unknown option of PassContext: {repr_of(name)}",
            help=f"use one of {', '.join(sorted(names))}{did_you_mean(name, names)}",
        )


def _options_of(option: str, value: Any) -> dict[str, Any]:
    """The settings from the mapping of an option."""
    fields, example = _NESTED[option]
    if not isinstance(value, Mapping):
        raise LoweringError(
            f"PassContext option {option!r} must be a mapping, got {repr_of(value)}",
            help=f"write {example}",
        )
    for name in [name for name in value if name not in fields]:
        warn_once(f"{option} {name}", f"it knows {', '.join(fields)}")
    return {
        setting: _reader_of(name)(f"{option} {name}", value[name])
        for name, setting in fields.items()
        if name in value
    }


def _reader_of(name: str) -> Callable[[str, Any], int]:
    """The function that checks the value of a nested option."""
    if name in _FLAGS:
        return functools.partial(_flags, _FLAGS[name])
    return _integer if name.startswith(("auto_", "max_")) else _flag


def _flags(kind: type[Flag], name: str, value: Any) -> int:
    """Flags, also given as a number."""
    number = value.value if isinstance(value, kind) else value
    every = sum(flag.value for flag in kind)
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number <= every:
        raise _wrong(name, value, f"flags of tir.transform.{kind.__name__}")
    return int(number)


def _added_pass(pair: Any) -> tuple[int, Callable[[PrimFunc], PrimFunc]]:
    if not isinstance(pair, list | tuple) or len(pair) != 2 or not is_function(pair[1]):
        raise _wrong("tir.add_lower_pass", pair, "a pair of a phase and a pass")
    return _integer("the phase of tir.add_lower_pass", pair[0]), as_function(pair[1])


def _flag(name: str, value: Any) -> bool:
    """A bool, also given as a number."""
    if not isinstance(value, int) or value not in (0, 1):
        raise _wrong(name, value, "True or False")
    return bool(value)


def _integer(name: str, value: Any) -> int:
    """A number >= 0."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise _wrong(name, value, "an int, 0 or more")
    return int(value)


def _listed(name: str, value: Any) -> list[Any]:
    if value is not None and not isinstance(value, list | tuple):
        raise _wrong(name, value, "a list")
    return list(value or [])


def _names(name: str, value: Any) -> list[str]:
    names = _listed(name, value)
    for pass_name in names:
        if not isinstance(pass_name, str):
            raise _wrong(name, pass_name, "a list of names of passes")
    return names


def _options(config: Any) -> dict[str, Any]:
    if config is not None and not isinstance(config, Mapping):
        raise _wrong("config", config, "a mapping from names to values")
    for name in config or {}:
        if not isinstance(name, str):
            raise _wrong("config", name, "a mapping from names to values")
    return dict(config or {})


def _wrong(name: str, value: Any, wanted: str) -> LoweringError:
    return LoweringError(
        f"{name} of PassContext must be {wanted}, got {repr_of(value)}",
        f"it is {kind_of(value)}",
        f"give {wanted}",
    )


def _pass_of(name: str) -> tuple[str, ...]:
    """The function of te_sched for TVM's name of a pass."""
    function = FUNCTIONS.get(name if name.startswith("tir.") else f"tir.{name}")
    if function is None and not name.startswith("tir."):  # a pass of a Sequential
        return ()
    if function is None:
        warn_once(f"disabled_pass {name}", "it has no such pass")
        return ()
    if function in ("flatten_storage", "narrow_index_types"):
        warn_once(f"disabled_pass {name}", "the passes after it need it")
        return ()
    return (function,)


def as_function(user_pass: Any) -> Callable[[PrimFunc], PrimFunc]:
    """A user's pass as a function from PrimFunc to PrimFunc; it may be a PrimFuncPass, a pass on
    modules, or a function on statements, as in the oldest generation. Its `info` is that of a pass.
    """
    is_pass = isinstance(getattr(user_pass, "info", None), PassInfo)

    def run(func: PrimFunc) -> PrimFunc:
        if is_pass:
            return _only(user_pass._applied(IRModule.from_expr(func)), user_pass.info.name)
        new = user_pass(func.body)
        if not isinstance(new, Stmt):
            raise LoweringError(
                f"pass {getattr(user_pass, '__name__', user_pass)!r} must return a statement, "
                f"got {kind_of(new)}",
                "a function that is added as a pass maps statements",
                "make it return a statement, or decorate it with tir.transform.prim_func_pass",
            )
        return func.with_body(new)

    if is_pass:
        run.info = user_pass.info  # type: ignore[attr-defined]
    return run


def _only(mod: IRModule, pass_name: str) -> PrimFunc:
    functions = list(mod.functions_of_loops.values())
    if len(functions) != 1:
        raise LoweringError(
            f"pass {pass_name} returned {len(functions)} functions for one",
            "a pass that is added to lowering maps a function to a function",
            "return the function, even if the pass changes nothing",
        )
    return functions[0]
