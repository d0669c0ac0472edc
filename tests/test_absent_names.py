"""Names that modules and objects do not have: te_sched's errors, at the user's line."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

import te_sched
from te_sched import meta_schedule as ms
from te_sched import relax, te, tir, topi
from te_sched.errors import AbsentNameError, did_you_mean
from te_sched.script import from_source
from te_sched.script import relax as R
from te_sched.script import tir as T

FUNC = from_source("""
@T.prim_func
def main(A: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("A"):
            vi = T.axis.spatial(8, i)
            A[vi] = T.float32(0)
""")


@pytest.mark.parametrize(
    ("owner", "name", "nearest"),
    [
        (te, "reduceaxis", "reduce_axis"),
        (te, "summ", "sum"),
        (te, "epx", "exp"),
        (tir, "Schedul", "Schedule"),
        (tir, "schedul", "schedule"),
        (relax, "buildd", "build"),
        (relax.op.nn, "relux", "relu"),
        (relax.transform, "LegalizeOp", "LegalizeOps"),
        (R.nn, "softmx", "softmax"),
        (R, "matmull", "matmul"),
        (T, "floatt32", "float32"),
        (T, "blok", "block"),
        (topi.nn, "relux", "relu"),
        (tir.transform, "Simplifyy", "Simplify"),
        (ms, "tune_tirr", "tune_tir"),
        (te_sched, "buildd", "build"),
        (te.placeholder((8,)), "shap", "shape"),
        (te.placeholder((8,)).op, "nam", "name"),
        (tir.Schedule(FUNC), "get_blok", "get_block"),
    ],
)
def test_the_nearest_name_is_suggested_once(owner: object, name: str, nearest: str) -> None:
    with pytest.raises(AbsentNameError, match=name) as caught:
        getattr(owner, name)
    assert str(caught.value).count("did you mean") == 1
    assert f"did you mean {nearest!r}?" in caught.value.help
    assert caught.value.name is None  # so that Python suggests nothing
    assert caught.value.about[-1].file == __file__


def test_primitives_of_stages_lead_to_those_of_blocks() -> None:
    with pytest.raises(AbsentNameError, match=r"'tir.Schedule' object has no .*'tile'") as caught:
        tir.Schedule(FUNC).tile  # noqa: B018
    assert "reorder" in caught.value.help


@pytest.mark.parametrize(
    ("name", "nearest"),
    [("Schedul", "Schedule"), ("schedul", "schedule"), ("SCHEDULES", "Schedule")],
)
def test_capitals_tell_similar_names_apart(name: str, nearest: str) -> None:
    assert did_you_mean(name, ["schedule", "Schedule"]) == f" (did you mean {nearest!r}?)"


@pytest.mark.parametrize(
    ("module", "name", "owner"),
    [
        (te, "decl_buffer", "te_sched.tir"),
        (te, "match_buffer", "te_sched.script.tir"),
        (te, "build", "te_sched"),
        (tir, "compute", "te_sched.te"),
        (te_sched, "placeholder", "te_sched.te"),
    ],
)
def test_names_of_another_module_lead_there(module: object, name: str, owner: str) -> None:
    with pytest.raises(AbsentNameError, match=rf"help: use {owner}\.{name}(;|$)"):
        getattr(module, name)


def test_modules_that_exist_are_not_refused_in_other_folders() -> None:
    """Pytest asks each finder for a module with folders of its own."""
    for finder in sys.meta_path:
        assert finder.find_spec("te_sched.driver", ["/nowhere"]) is None


def test_public_modules_refuse_names_that_they_do_not_have() -> None:
    page = Path(__file__).parents[1] / "docs/reference/names.md"
    owners = re.findall(r"^#+ `?(te_sched[\w.]*)", page.read_text(), re.MULTILINE)
    assert len(owners) > 90
    for name in owners:
        owner: object = te_sched
        for part in name.split(".")[1:]:
            owner = getattr(owner, part)
        if name != "te_sched.config":  # of switches
            with pytest.raises(AbsentNameError, match="absent_anywhere"):
                getattr(owner, "absent_anywhere")  # noqa: B009
