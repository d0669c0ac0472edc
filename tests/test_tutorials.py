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
    program = corpus.Program("", path)
    module = corpus.load(program.path)
    return SimpleNamespace(steps=module.steps, reference=lambda np, A: [A.sum(keepdims=True) + 1])


def test_demo_fails_when_nothing_is_asked_for():
    assert demo.main(te_sched, ["no such example"]) == 1


@pytest.mark.parametrize("step", [step for _, step in matmul.STEPS], ids=lambda step: step.__name__)
def test_matmul_steps_lower(step):
    schedule, args = step(te_sched.te, 64)
    assert "def main" in str(te_sched.lower(schedule, args, simple_mode=True))


def test_matmul_steps_are_right():
    timings = matmul.measure(te_sched, 64)
    assert [one.label for one in timings if not one.correct] == []
    assert "+ vectorize" in matmul.report(timings, 64)


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
