"""Candidates from their files to their seconds."""

import numpy as np
import pytest

import te_sched
from te_sched.errors import WrongAnswerError
from te_sched.tuning import measurement, reference
from te_sched.tuning.artifacts import export
from te_sched.tuning.measurement import Candidate, Reference, Steps, keep_reference, measure
from te_sched.tuning.timing import TimingOptions
from tests.meta_schedule.programs import MODULE

SHAPES = [((64, 64), "float32")] * 3
ONCE = TimingOptions(1, 1)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return export(te_sched.build(MODULE, target="llvm"), str(tmp_path_factory.mktemp("built")))


def refused(difference):
    return WrongAnswerError(f"argument {difference.argument} differs")


def test_a_candidate_is_timed_with_each_set_of_arguments(path):
    seconds = measure(Candidate(path, "cpu", SHAPES), TimingOptions(1, 3), repeated_sets=2)
    assert len(seconds) == 6
    assert 0 < min(seconds) < 10


def test_a_candidate_must_have_the_results_of_the_reference(path, tmp_path):
    candidate, results = Candidate(path, "cpu", SHAPES), str(tmp_path / "results")
    keep_reference(te_sched.runtime.load_module(path), candidate, results)
    expected = Reference(results, False, refused)
    assert len(measure(candidate, ONCE, expected)) == 1
    wrong = [array + (number == 2) for number, array in enumerate(reference.kept(results))]
    reference.keep(wrong, results)
    with pytest.raises(WrongAnswerError, match="argument 2 differs"):
        measure(candidate, ONCE, expected)


def test_results_are_begun_by_the_first_candidate_or_not_compared(path, tmp_path):
    candidate, results = Candidate(path, "cpu", SHAPES), tmp_path / "results"
    measure(candidate, ONCE, Reference(str(results), False, refused))
    assert not results.exists()
    measure(candidate, ONCE, Reference(str(results), True, refused))
    assert results.exists()


def test_the_comparison_is_the_measurement_of_slow_programs(path, tmp_path):
    candidate = Candidate(path, "cpu", SHAPES)
    expected = Reference(str(tmp_path / "results"), True, refused)
    assert len(measure(candidate, TimingOptions(1, 3), expected)) == 3
    assert len(measure(candidate, TimingOptions(1, 3, limit=1e-9), expected)) == 1


def test_arguments_of_the_user_are_used(path, tmp_path):
    inputs = [np.full((64, 64), number, "float32") for number in (2, 3, 0)]
    results = str(tmp_path / "results")
    measure(Candidate(path, "cpu", SHAPES, inputs), ONCE, Reference(results, True, refused))
    assert (reference.kept(results)[2] == 2 * 3 * 64).all()


def test_the_user_replaces_steps(path):
    calls = []
    steps = Steps(
        lambda device: [["set"]] * 3,
        lambda module, device, sets: [float(len(sets))],
        lambda: calls.append("clean"),
    )
    assert measure(Candidate(path, "cpu", SHAPES), ONCE, steps=steps) == [3.0]
    assert calls == ["clean"]


def test_the_end_comes_after_failures_too(tmp_path, monkeypatch):
    calls = []
    monkeypatch.setattr(measurement.time, "sleep", calls.append)
    candidate = Candidate(str(tmp_path / "missing.o"), "cpu", SHAPES)
    with pytest.raises(te_sched.errors.TeSchedError, match="missing"):
        measure(candidate, ONCE, cooldown=3.0, steps=Steps(clean=lambda: calls.append("clean")))
    assert calls == ["clean", 3.0]
