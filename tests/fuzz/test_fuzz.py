"""A few random programs of each kind, and campaigns with planted failures."""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.fuzz import campaign, models
from tests.fuzz.case import Case
from tests.fuzz.generate import KINDS, generate
from tests.fuzz.judge import Judge, judge
from tests.fuzz.minimize import minimize
from tests.peer.differential.program import Dim, Program, Value
from tests.sampling import sampled

COUNTS = {
    **{"legal": 5, "illegal": 15, "calls": 12, "gpu": 2, "hostile": 40, "blocks": 40},
    **{"values": 12, "kernels": 6, "sizes": 12, "indices": 8, "models": 3, "special": 9},
    **{"shapes": 20, "tensorir": 20},
}
SEED = 2_000_000


@pytest.fixture(scope="module")
def worker() -> Iterator[Judge]:
    with Judge(limit=60.0) as made:
        yield made


@pytest.mark.parametrize("kind", KINDS)
def test_random_programs_are_right_or_refused(kind: str, worker: Judge) -> None:
    judged = worker.verdict
    if kind in ("models", "special"):
        pytest.importorskip("torch")
        judged = judge  # another process would import torch again
    outcomes: Counter[str] = Counter()
    for number in sampled(range(SEED, SEED + COUNTS[kind]), max(2, COUNTS[kind] // 3)):
        verdict = judged(generate(kind, number))
        assert not verdict.is_finding, f"{kind} {number}: {verdict}"
        outcomes[verdict.outcome] += 1
    assert outcomes["right"] or kind in ("calls", "hostile"), outcomes


def case(*steps: str, numpy: str = "A1 + np.float32(1)", kind: str = "illegal") -> Case:
    """B = A1 + 1 under a schedule, among other things."""
    dims = (Dim("12", 12), Dim("5", 5))
    other = 'S3 = te.compute((12, 5), lambda i, j: A1[i, j] * te.const(2.0, "float32"), name="S3")'
    line = 'S2 = te.compute((12, 5), lambda i, j: A1[i, j] + te.const(1.0, "float32"), name="S2")'
    values = (
        Value(("A1",), dims, ("float32",)),
        Value(("S2",), dims, ("float32",), ("A1",), (line,), (numpy,)),
        Value(("S3",), dims, ("float32",), ("A1",), (other,), ("A1 * np.float32(2)",)),
    )
    return Case(kind, Program(0, values, ("S2", "S3"), steps))


SPLIT = "o, i = s[S2].split(s[S2].op.axis[0], factor=4)"
UNROLL = "s[S2].unroll(i)"
CRASH = "os.kill(os.getpid(), signal.SIGSEGV)"
HANG = "time.sleep(1000)"


def test_numpys_answer_is_right(worker: Judge) -> None:
    assert worker.verdict(case(SPLIT, UNROLL)).outcome == "right"


def test_crash_ends_one_case_alone(worker: Judge) -> None:
    verdict = worker.verdict(case(SPLIT, CRASH))
    assert (verdict.outcome, verdict.detail) == ("crashed", "SIGSEGV")
    assert worker.verdict(case()).outcome == "right"


def test_a_case_that_hangs_is_a_finding(worker: Judge) -> None:
    assert worker.verdict(case(HANG), limit=0.5).outcome == "hung"


def test_wrong_answer_is_found_and_minimized(worker: Judge, tmp_path: pathlib.Path) -> None:
    wrong = case(SPLIT, UNROLL, "s[S3].reorder(*s[S3].op.axis[::-1])", numpy="A1 + np.float32(2)")
    verdict = worker.verdict(wrong)
    assert (verdict.outcome, verdict.detail) == ("wrong", "60 of 60 elements of S2 are wrong")
    small, again = campaign.smallest(worker, wrong, verdict)
    assert small.program.outputs == ("S2",)
    assert not small.program.steps
    path = campaign.save(tmp_path, small, again)
    run = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=60)
    assert "Mismatched elements" in run.stderr


def test_crash_is_minimized_to_the_line_that_causes_it(worker: Judge) -> None:
    crashing = case(SPLIT, CRASH)
    fails = lambda smaller: worker.verdict(smaller).outcome == "crashed"  # noqa: E731
    assert minimize(crashing, fails, seconds=3.0).program.steps == (CRASH,)


@pytest.mark.parametrize(
    ("line", "outcome"),
    [
        ("{}['missing']", "right"),  # the user's own
        ("raise te_sched.errors.InternalError('a', 'b', 'c')", "error"),
        ("raise te_sched.TeSchedError('a')", "vague"),
        ("s.stages[-1].scope = 'x'; raise te_sched.TeSchedError('a', 'b', 'c')", "changed"),
        ("s[S2].split(s[S2].op.axis[0], factor=0)", "right"),
        ("s[S2].split()", "right"),
    ],
)
def test_outcomes(line: str, outcome: str) -> None:
    assert judge(case(line)).outcome == outcome


def test_refusal_of_a_legal_case_is_a_finding() -> None:
    refused = judge(case("s[S2].split(s[S2].op.axis[0], factor=0)", kind="legal"))
    assert refused.outcome == "needless"


def test_what_numpy_cannot_compute_must_be_refused() -> None:
    assert judge(case(numpy="A1.reshape(3)")).outcome == "accepted"


def test_input_that_no_iteration_reads_need_not_be_given() -> None:
    line = 'S2 = te.compute((2,), lambda i: te.sum(A1[k, i], axis=k), name="S2")'
    values = (
        Value(("A1",), (Dim("0", 0), Dim("2", 2)), ("float32",)),
        Value(
            *(("S2",), (Dim("2", 2),), ("float32",), ("A1",)),
            ("k = te.reduce_axis((0, 0))", line),
            ("A1.sum(0)",),
        ),
    )
    without_inputs = Case("illegal", Program(0, values, ("S2",), ("args.pop(0)",)))
    assert judge(without_inputs).outcome == "not judged"
    assert judge(case("args.pop(0)")).outcome == "refused"


def test_places_in_an_axis_of_a_computed_size(worker: Judge) -> None:
    """argmax over (3, n2 - 2): an element is at k * (n2 - 2) + j."""
    made = generate("gpu", 27002385)
    assert "(n2 - 2)" in made.script("", frozenset())
    assert worker.verdict(made).outcome == "right"


def test_wrong_models_are_found_and_made_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    lines = ("v0 = x0 + 1", "v1 = v0 * 2", "v1.add_(p0)", "v2 = x0 - p0")
    given = ("x0 = normal([2], 'float32')", "p0 = normal([2], 'float32')")
    model = Case("models", Program(0, (), ("v1", "v2"), lines), given, target="traced")
    assert judge(model).outcome == "right"
    eager = models.eager
    monkeypatch.setattr(models, "eager", lambda *args: [one + 1 for one in eager(*args)])
    verdict = judge(model)
    assert verdict.detail == "2 of 2 elements of result 0 are wrong"
    small = minimize(model, lambda one: judge(one).outcome == "wrong")
    assert (small.program.outputs, small.program.steps) == (("v0",), ("v0 = x0 + 1",))
    assert small.given == given[:1]
    assert "v0 = x0 + 1" in "\n".join(models.script(small))


def test_campaign_counts_and_saves(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planted = replace(case(SPLIT, CRASH), kind="legal")
    monkeypatch.setattr(campaign, "generate", lambda kind, number: planted)
    monkeypatch.setattr(campaign, "minimize", lambda case, fails: case)
    report = campaign.run(("legal",), count=2, jobs=2, folder=tmp_path)
    assert re.match(r"2 programs in \d+ s: 2 crashed, 0 refused, 0 right, 0 wrong", report.text())
    assert "2 x crashed: SIGSEGV" in report.text()
    (path,) = tmp_path.glob("crashed*.py")
    assert "SIGSEGV" in path.read_text()


def test_case_that_cannot_be_made_does_not_end_a_campaign(monkeypatch: pytest.MonkeyPatch) -> None:
    def make(kind: str, number: int) -> Case:
        if number == 1:
            raise ValueError("no such case")
        return case()

    monkeypatch.setattr(campaign, "generate", make)
    report = campaign.run(("illegal",), seed=1, count=3)
    assert report.outcomes == {("illegal", "broken"): 1, ("illegal", "right"): 2}
    assert "no such case" in report.text()


def test_cases_survive_the_way_to_the_worker() -> None:
    pytest.importorskip("torch")  # for models
    for kind in KINDS:
        made = generate(kind, 7)
        assert Case.from_json(made.to_json()) == made == generate(kind, 7)
