"""The progress of searches on a terminal."""

import re
import sys

from te_sched import meta_schedule as ms
from te_sched.ir.stmt import IRModule
from tests.meta_schedule.here import BuilderHere, RunnerHere
from tests.meta_schedule.programs import LLVM, matmul, space, tune
from tests.test_progress import watched


def shown(monkeypatch, search):
    """What a search writes to a terminal without tqdm: the numbers and what stands after them."""
    terminal = watched(monkeypatch)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    search()
    return re.findall(r"\r(tuning [^\r\x1b]*)", terminal.text)


def test_a_search_is_shown_from_its_start(monkeypatch, tmp_path):
    parts = {"runner": RunnerHere([3e-6, 2e-6]), "builder": BuilderHere(broken=4)}
    lines = shown(monkeypatch, lambda: tune(tmp_path, 4, **parts))
    assert lines[0] == "tuning main: 0 of 4"
    assert any(line.startswith("tuning main: 2 of 4, best ") for line in lines)
    assert lines[-1].startswith("tuning main: 4 of 4, best ")


def test_a_search_of_several_tasks_shows_no_best_time(monkeypatch, tmp_path):
    module = IRModule({"first": matmul, "second": matmul.with_attr("note", 1)})

    def search():
        ms.tune_tir(
            module,
            LLVM,
            tmp_path,
            4,
            special_space={"first": space(), "second": space()},
            strategy="replay-trace",
            cost_model=None,
            runner=RunnerHere(),
            builder=BuilderHere(),
        )

    lines = shown(monkeypatch, search)
    assert lines[0] == "tuning 2 tasks: 0 of 4"
    assert "tuning 2 tasks: 4 of 4" in lines
    assert not any("best" in line for line in lines)
