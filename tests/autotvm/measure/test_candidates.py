"""What workers do with a candidate, in this process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from te_sched import target, te
from te_sched.autotvm.measure import candidates
from te_sched.autotvm.measure.candidates import WrongAnswerError
from te_sched.errors import CallError
from te_sched.tuning import reference as references
from te_sched.tuning.timing import TimingOptions
from tests.autotvm.templates import task_of

ONCE = TimingOptions(1, 1)


def built(n: int = 8, folder: Any = None, index: int = 6) -> Any:
    task = task_of(n)
    s, args = task.instantiate(task.config_space.get(index))
    return candidates.build_candidate(s, args, target.Target("llvm"), str(folder))


def test_a_candidate_is_built_and_timed(tmp_path: Path) -> None:
    one = built(folder=tmp_path)
    assert one.arg_info == (((8, 8), "float32"),) * 3
    assert one.device == "cpu"
    found = candidates.run_candidate(one, TimingOptions(2, 3))
    assert (len(found.costs), found.error_no) == (3, 0)
    assert min(found.costs) > 0
    assert found.all_cost >= one.time_cost


def test_caches_are_emptied_before_each_run(tmp_path: Path) -> None:
    one = built(folder=tmp_path)
    found = candidates.run_candidate(one, TimingOptions(2, 2, 0, True))
    assert len(found.costs) == 2


def test_a_candidate_must_have_the_results_of_the_reference(tmp_path: Path) -> None:
    _, args = task_of(8).instantiate(task_of(8).config_space.get(0))
    reference = str(tmp_path / "reference")
    candidates.run_reference(args, reference)
    candidates.run_candidate(built(folder=tmp_path), ONCE, reference)
    a, b, c = results = references.kept(reference) or []
    np.testing.assert_allclose(c, a @ b, rtol=1e-4, atol=1e-5)
    c[3, 4] += 1
    references.keep(results, reference)
    with pytest.raises(WrongAnswerError, match="argument 2 has wrong values"):
        candidates.run_candidate(built(folder=tmp_path), ONCE, reference)


def test_the_first_candidate_is_the_reference_without_one(tmp_path: Path) -> None:
    reference = tmp_path / "reference"
    candidates.run_candidate(built(folder=tmp_path), ONCE, str(reference))
    assert reference.exists()


def test_configurations_that_change_shapes_are_not_compared(tmp_path: Path) -> None:
    reference = str(tmp_path / "reference")
    candidates.run_candidate(built(8, tmp_path), ONCE, reference)
    found = candidates.run_candidate(built(16, tmp_path, 0), ONCE, reference)
    assert found.error_no == 0


def test_given_arguments_are_used(tmp_path: Path) -> None:
    values = [np.full((8, 8), number, "float32") for number in (2, 3, 0)]
    reference = tmp_path / "reference"
    candidates.run_candidate(built(folder=tmp_path), ONCE, str(reference), 0, values)
    assert (references.kept(str(reference)) or [])[2][0, 0] == 48


def test_programs_of_symbolic_shapes_are_refused(tmp_path: Path) -> None:
    A = te.placeholder((te.var("n"),), name="A")
    B = te.compute(A.shape, lambda i: A[i] + 1.0, name="B")
    s = te.create_schedule(B.op)
    with pytest.raises(CallError, match="cannot measure a program with argument A of shape"):
        candidates.build_candidate(s, [A, B], target.Target("llvm"), str(tmp_path))
