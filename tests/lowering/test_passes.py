"""Passes are applied in order, with their settings, and verified."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import te_sched
from te_sched import config, te
from te_sched.config import AS_TVM, TO_RUN, Config, Lowering
from te_sched.errors import InternalError
from te_sched.ir import stmt as S
from te_sched.ir.expr import IntImm, Var
from te_sched.ir.stmt import PrimFunc
from te_sched.lowering.pipeline import AS_OLDER_PASSES, PASSES, WATCHED_PASSES, run_passes
from te_sched.passes import LoweringPass, apply_passes

NOTHING = PrimFunc((), S.Evaluate(IntImm(0)), {})
LOWER = Path(te_sched.__file__).parent / "lowering"
# What is simplified, bounded or proved depends on the settings.
OF_SETS = ("union", "intersect", "cover_range", "matches_range", "eval_set")
ASKING = {"Analyzer", "deduce_bound", *(f"int_set.{name}" for name in OF_SETS)}


class Told:
    """Keeps the names of passes."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def begin(self, func: PrimFunc, title: str) -> None:
        self.names.append(title)

    def after(self, one: object, func: PrimFunc) -> None:
        self.names.append(one.__name__)  # type: ignore[attr-defined]


def test_passes_get_the_settings_and_watchers_their_names() -> None:
    given = []

    def note(func: PrimFunc, settings: Lowering) -> PrimFunc:
        given.append(settings)
        return func

    told = Told()
    one = LoweringPass(note, "final")
    assert apply_passes([one, one], NOTHING, Config(lowering=TO_RUN), told) is NOTHING
    assert (given, told.names, one.name) == ([TO_RUN] * 2, ["note"] * 2, "note")


@pytest.mark.parametrize("is_verified", [False, True])
def test_what_a_pass_makes_is_verified_if_the_switches_say_so(is_verified: bool) -> None:
    i = Var("i")
    loop = S.For(i, IntImm(0), IntImm(4), "vectorized", S.Evaluate(i))
    spoil = LoweringPass(lambda func, _: func.with_body(loop), "vector")
    switches = Config(verify_passes=is_verified)
    if not is_verified:
        assert apply_passes([spoil], NOTHING, switches).body is loop
        return
    with pytest.raises(InternalError, match="a vectorized loop does not occur at this level"):
        apply_passes([spoil], NOTHING, switches)


def test_a_call_with_a_module_verifies_what_a_pass_promises() -> None:
    i = Var("i")
    loop = S.For(i, IntImm(0), IntImm(4), "vectorized", S.Evaluate(i))
    module = S.IRModule({"f": NOTHING})
    with config.scoped(verify_passes=True):
        assert LoweringPass(lambda func, _: func, "vector")(module) is module
        with pytest.raises(InternalError, match="a vectorized loop does not occur at this level"):
            LoweringPass(lambda func, _: func.with_body(loop), "vector")(module)


def test_tuples_of_passes_keep_the_order_of_phases() -> None:
    for passes in (PASSES, AS_OLDER_PASSES, WATCHED_PASSES):
        phases = [one.phase for one in passes]
        assert phases == sorted(phases)
    assert sorted(one.name for one in AS_OLDER_PASSES) == sorted(one.name for one in PASSES)


@pytest.mark.parametrize(
    ("phase", "before", "after"),
    [
        (0, "begin", "simplify"),
        (1, "simplify", "partition_loops"),
        (2, "unroll_loops", "renormalize_split_patterns"),
        (3, "rewrite_unsafe_select", "eliminate_common_subexpressions"),
        (7, "rewrite_unsafe_select", "eliminate_common_subexpressions"),
    ],
)
def test_added_passes_stand_between_phases(phase: int, before: str, after: str) -> None:
    def first(func: PrimFunc) -> PrimFunc:
        return func

    def second(func: PrimFunc) -> PrimFunc:
        return func

    told = Told()
    told.begin(NOTHING, "begin")
    added = Lowering(added_passes=((phase, first), (phase, second)))
    run_passes(NOTHING, Config(lowering=added), watcher=told)
    at = told.names.index("first")
    assert told.names[at - 1 : at + 3] == [before, "first", "second", after]


def test_lowering_reads_the_switches_where_it_is_entered_alone() -> None:
    """What passes ask is answered by the settings that they are given, not by those in force."""
    readers, careless = set(), []
    for path in sorted(LOWER.rglob("*.py")):
        for function in ast.walk(ast.parse(path.read_text())):
            if not isinstance(function, ast.FunctionDef):
                continue
            for call in ast.walk(function):
                if not isinstance(call, ast.Call):
                    continue
                name = ast.unparse(call.func)
                if name == "config.current":
                    readers.add(function.name)
                elif name in ASKING and "settings" not in ast.unparse(call):
                    careless.append(f"{path.name}:{call.lineno}")
    assert readers == {"lower", "scheduled_loops", "device_passes"}
    assert careless == []


def test_settings_are_those_that_are_given() -> None:
    A = te.placeholder((10, 2), name="A")
    B = te.compute((10, 2), lambda i, j: A[i, j] + 1.0, name="B")
    s = te.create_schedule(B.op)
    s[B].split(B.op.axis[0], factor=4)
    s[B].unroll(B.op.axis[1])
    func = te_sched.lower(s, [A, B], stop_after="schedule_ops")["main"]
    found = []
    for settings in (AS_TVM, Lowering(as_older=True)):
        lowered = run_passes(func, Config(lowering=settings), simple_mode=True)
        found.append(lowered.astext().count("@tir.likely"))
    assert found == [1, 2]
