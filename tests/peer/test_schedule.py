"""Stages, axes, relations and bodies are those of TVM 0.19 for the same primitives."""

from __future__ import annotations

import types
import warnings
from typing import Any

import pytest

tvm = pytest.importorskip("tvm")

from te_sched import te, tir  # noqa: E402
from tests.golden.corpus import Program  # noqa: E402
from tests.peer.schedules import summary  # noqa: E402
from tests.sampling import sampled, sampled_programs  # noqa: E402
from tests.schedule.random_schedules import build  # noqa: E402

# Where the peer fails over its own state: threads of axes that are gone, operations that an earlier
# primitive has rewritten.
STUMBLES = (
    "state.count(kv.first)",
    "op2stage_cache",
    "Cannot find Tensor",
    "key is not in Map",
)

OURS = types.SimpleNamespace(te=te, tir=tir)


def assert_same(ours: Any, theirs: Any, log: Any = "") -> None:
    """Both schedules have the same stages."""
    for mine, other in zip(summary(ours), summary(theirs), strict=True):
        for part, value in other.items():
            assert mine[part] == value, (mine.get("op"), part, log)


@pytest.mark.parametrize("program", sampled_programs(), ids=lambda program: program.name)
def test_corpus_program_has_the_stages_of_the_peer(program: Program) -> None:
    for (ours, _), (theirs, _) in zip(program.steps(OURS), program.steps(tvm), strict=True):
        assert_same(ours, theirs)
        assert_same(ours.normalize(), theirs.normalize())


@pytest.mark.parametrize("seed", sampled(range(60), 15))
def test_random_primitives_give_the_stages_of_the_peer(seed: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ours, theirs, log = build(seed, OURS, tvm)
        except tvm.error.InternalError as error:
            if any(text in str(error) for text in STUMBLES):
                return
            raise
    assert_same(ours, theirs, log)
    assert_same(ours.normalize(), theirs.normalize(), log)
