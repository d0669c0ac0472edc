"""The demo and the benchmark run, and fail when they should. (test_notebooks.py: the tutorials.)"""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

import te_sched
from benchmarks import lowering
from te_sched import config
from tests.golden import corpus
from tutorials import demo, matmul


def test_demo_shows_one_example(capsys):
    assert demo.main(te_sched, ["--ir", "fuse"]) == 0
    shown = capsys.readouterr().out
    assert "for k_outer_k_inner_fused in range(1024):" in shown
    assert "4 of 4 texts equal TVM's, 2 programs ran" in shown


def test_demo_fails_when_a_text_differs(capsys, monkeypatch):
    monkeypatch.setattr(corpus, "text_of", lambda module, dialect: "something else")
    assert demo.main(te_sched, ["fuse"]) == 1
    assert "+something else" in capsys.readouterr().out


def test_demo_fails_when_a_result_differs(capsys, monkeypatch):
    monkeypatch.setattr(
        corpus.Program, "module", property(lambda self: _with_wrong_reference(self.path))
    )
    assert demo.main(te_sched, ["fuse"]) == 1
    assert "differs from numpy" in capsys.readouterr().out


def _with_wrong_reference(path):
    module = corpus.load(path)
    return SimpleNamespace(steps=module.steps, reference=lambda np, A: [A.sum(keepdims=True) + 1])


def test_demo_shows_the_product_first(capsys, monkeypatch):
    """Then one line about the primitives, and what to open next."""
    few = [one for one in corpus.programs("primitives") if "fuse" in one.name]
    monkeypatch.setattr(corpus, "programs", lambda *families: few)
    assert demo.main(te_sched, ["--size", "64"]) == 0
    shown = capsys.readouterr().out
    assert shown.index("what the step changes") < shown.index(
        "times as fast as the loops as declared"
    )
    line = "before and after .\n4 of 4 texts equal TVM's, 2 programs ran"
    assert line in shown
    assert "08_fuse" not in shown
    assert shown.splitlines()[-1].startswith("Next, open tutorials/00_first_schedule.ipynb")


def test_demo_fails_when_a_product_is_wrong(capsys, monkeypatch):
    timings = [matmul.Timing("as declared", 1.0, 1.0, False)] * (1 + len(matmul.STEPS))
    monkeypatch.setattr(matmul, "measure", lambda tvm, size: iter(timings))
    few = [one for one in corpus.programs("primitives") if "fuse" in one.name]
    monkeypatch.setattr(corpus, "programs", lambda *families: few)
    assert demo.main(te_sched, ["--table"]) == 1
    shown = capsys.readouterr().out
    assert "the product 'as declared' is wrong" in shown
    assert "08_fuse" in shown


def test_demo_fails_when_nothing_is_asked_for():
    assert demo.main(te_sched, ["no such example"]) == 1


@pytest.mark.parametrize("step", matmul.STEPS, ids=lambda step: step.program.__name__)
def test_matmul_steps_lower(step):
    schedule, args = step.program(te_sched.te, 64)
    assert "def main" in str(te_sched.lower(schedule, args, simple_mode=True))


def test_matmul_steps_are_right():
    timings = list(matmul.measure(te_sched, 64))
    assert [one.label for one in timings if not one.is_correct] == []
    assert [one.label for one in timings] == ["numpy", *(step.label for step in matmul.STEPS)]


def test_matmul_rows_are_aligned():
    timing = matmul.Timing("+ vectorize", 0.002, 0.001, True, "vectors")
    assert matmul.row(timing, 1024).split() == [
        "+",
        "vectorize",
        "2.0",
        "1073.7",
        "0.50x",
        "vectors",
    ]
    head = matmul.header().splitlines()[1]
    assert matmul.row(timing, 1024).index("vectors") == head.index("what the step changes")
    wrong = matmul.row(matmul.Timing("x", 1.0, 1.0, False, "vectors"), 64)
    assert wrong.endswith("vectors: WRONG RESULT")


def test_long_calls_are_timed_once(monkeypatch):
    calls = []
    monkeypatch.setattr(matmul, "_LONG", 0.0)
    assert matmul._seconds(te_sched, lambda *arrays: calls.append(arrays), [1]) > 0
    assert calls == [(1,)]


def test_lowering_benchmark_reports(capsys, tmp_path):
    arguments = ["--family", "gemm_gpu", "--rounds", "1", "--results", str(tmp_path)]
    assert lowering.main(arguments) == 0
    assert "1 programs, 4 lowerings: te_sched" in capsys.readouterr().out
    figures = json.loads((tmp_path / "lowering.json").read_text())
    assert figures["rows"][0]["seconds"]["lower"]["te_sched"] > 0
    assert "is bound to" in figures["rows"][0]["unbuilt"]["te_sched"]  # it is for a GPU
    assert "gemm_gpu" in (tmp_path / "lowering.md").read_text()


def test_builds_are_timed_cold_and_cached(tmp_path):
    program = next(one for one in corpus.programs("primitives") if one.name == "16_pragma")
    with config.scoped(cache=False, cache_dir=str(tmp_path / "cache")):
        row = lowering.measure(program, {"te_sched": te_sched}, 1)
        lowering.measure_builds(row, program, {"te_sched": te_sched}, 1)
    cold, cached = row.seconds["build"]["te_sched"], row.seconds["cached build"]["te_sched"]
    assert min(cold, cached) > 0
    assert lowering.overall([row])["build"]["steps"] == row.steps


def test_lowering_benchmark_names_what_fails():
    broken = SimpleNamespace(te=te_sched.te, lower=lambda *args, **options: 1 // 0)
    (program,) = corpus.programs("gemm_gpu")
    row = lowering.measure(program, {"te_sched": broken}, rounds=1)
    assert row.failed["te_sched"].startswith("ZeroDivisionError")
    assert "FAILED" in lowering.summary([row])
