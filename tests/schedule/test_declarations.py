"""The signatures of primitives agree with their declarations, and their docstrings show examples.

The examples are run as doctests.
"""

from __future__ import annotations

import doctest
import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from te_sched.schedule import Schedule, Stage, create_schedule, handles
from tests.schedule.test_refused_primitives import primitives

ROOT = Path(__file__).resolve().parents[2]
PRIMITIVES = {name: getattr(kind, name) for kind in (Stage, Schedule) for name in primitives(kind)}
PUBLIC = {
    **PRIMITIVES,
    "create_schedule": create_schedule,
    "Stage.same_as": Stage.same_as,
    **{
        f"Schedule.{name}": getattr(Schedule, name)
        for name in ("normalize", "same_as", "records", "diff")
    },
}
# The type of an argument that the trace records in this way.
ANNOTATIONS = {
    handles.INTEGER.record: "Integer",
    handles.FLAG.record: "bool",
    handles.STAGE.record: "Stage",
    handles.STAGES.record: "Operations",
    handles.TENSOR.record: "Tensor",
    handles.TENSORS.record: "Tensor | Sequence[Tensor]",
    handles.THREADS.record: "IterVar | Sequence[IterVar]",
}


@pytest.mark.parametrize("name", PRIMITIVES)
def test_types_of_a_primitive_follow_its_declaration(name: str) -> None:
    function = PRIMITIVES[name]
    annotated = inspect.signature(function).parameters
    for one in function.declared.parameters:
        annotation = annotated[one.name].annotation
        assert annotation not in ("Any", inspect.Parameter.empty), one.name
        if one.kind.record is not None:
            assert annotation == ANNOTATIONS[one.kind.record], one.name
        elif one.kind.is_attribute:
            assert annotation == "str", one.name


@pytest.mark.parametrize("name", PUBLIC)
def test_example_shows_before_and_after(name: str) -> None:
    found = doctest.DocTestParser().get_examples(inspect.getdoc(PUBLIC[name]) or "")
    shown = [one.want for one in found if one.want]
    assert len(set(shown)) > 1 or name == "create_schedule"


def test_types_that_a_checker_refuses_are_refused_by_calls() -> None:
    program: Any = ROOT / "tests/packaging/user_program.py"
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
