"""Logs of measurements, and what is found in them."""

from __future__ import annotations

import io
import json
import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import autotvm, target
from te_sched.autotvm import record
from te_sched.autotvm.measure import MeasureResult
from te_sched.autotvm.task import DispatchContext
from te_sched.autotvm.tuner import callback
from te_sched.errors import CallError, DeclarationError
from tests.autotvm.templates import product, records_of, task_of

LINE = (
    '{"input": ["llvm -keys=cpu", "tests/product", [8], {}], "config": {"index": 6, "code_hash": '
    'null, "entity": [["tile_y", "sp", [-1, 4]], ["tile_x", "sp", [-1, 2]]]}, "result": [[0.5, '
    '0.7], 0, 1.5, 12.25], "version": 0.2, "tvm_version": "0.19.0"}'
)


def log_of(path: Path, costs: list[float]) -> Path:
    pairs = records_of(task_of(8), costs)
    callback.log_to_file(path)(None, *zip(*pairs, strict=True))
    return path


def test_a_line_of_tvm_is_read_and_written_again() -> None:
    inp, result = record.decode(LINE)
    assert inp.task.workload == ("tests/product", 8)
    assert result == MeasureResult((0.5, 0.7), 0, 1.5, 12.25)
    assert str(inp.config) == "[('tile_y', [-1, 4]), ('tile_x', [-1, 2])],None,6"
    assert record.encode(inp, result) == LINE


@pytest.mark.parametrize("protocol", ["json", "pickle"])
def test_measurements_are_read_as_they_were_written(protocol: str) -> None:
    inp, result = records_of(task_of(8), [1.0, 0.25])[1]
    found, found_result = record.decode(record.encode(inp, result, protocol), protocol)
    assert record.measure_str_key(found) == record.measure_str_key(inp)
    assert found_result == result


def test_a_failed_measurement_has_a_large_cost() -> None:
    inp, _ = records_of(task_of(8), [1.0])[0]
    failed = MeasureResult((ValueError("no"),), autotvm.MeasureErrorNo.WRONG_ANSWER, 1.0, 2.0)
    assert json.loads(record.encode(inp, failed))["result"] == [[1e9], 5, 1.0, 2.0]


def test_numbers_of_numpy_are_written() -> None:
    inp, _ = records_of(task_of(8), [1.0])[0]
    result = MeasureResult((np.float64(0.5), np.float32(0.25)), 0, np.int64(1), 2.0)
    assert json.loads(record.encode(inp, result))["result"][0] == [0.5, 0.25]


def test_comments_and_a_torn_last_line_are_left_out(caplog: pytest.LogCaptureFixture) -> None:
    log = io.StringIO(f"# a comment\n\n{LINE}\n{LINE[:50]}")
    assert len(list(record.load_from_buffer(log))) == 1
    assert "incomplete" in caplog.text


def test_a_log_goes_on_after_a_torn_line(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    log = tmp_path / "log.json"
    for torn in (LINE[:50], "{"):
        log.write_text(f"{LINE}\n{torn}")
        pair = records_of(task_of(8), [1.0])[0]
        autotvm.callback.log_to_file(str(log))(None, *[[part] for part in pair])
        assert len(list(record.load_from_file(log))) == 2
        assert "incomplete" in caplog.text
    log.write_text(f'{LINE}\n{{"input": 3}}\n')
    with pytest.raises(record.RecordError, match="cannot read"):
        list(record.load_from_file(log))


def test_old_lines_are_left_out_with_a_warning() -> None:
    with pytest.warns(UserWarning, match=r"log version 0\.1 is no longer supported"):
        assert record.decode(LINE.replace("0.2, ", "0.1, ")) is None


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("rubbish", "JSONDecodeError"),
        ("[1]", "it is not a JSON object"),
        ("{}", "KeyError"),
        (LINE.replace("[0.5, 0.7]", '["a"]'), "its result has other values than numbers"),
        (LINE.replace('"sp"', '"zz"'), "invalid kind 'zz'"),
        (LINE.replace('"llvm -keys=cpu"', '"llvn"'), "invalid target"),
    ],
)
def test_other_lines_are_refused(line: str, why: str) -> None:
    with pytest.raises(record.RecordError, match=rf"(?s)cannot read .*{why}"):
        record.decode(line)
    with pytest.raises(ValueError, match="as a line of an AutoTVM log"):
        list(record.load_from_buffer([f"{line}\n"]))


def test_pickled_lines_need_their_columns() -> None:
    with pytest.raises(record.RecordError, match="it has 2 columns, expected 6"):
        record.decode("a\tb", "pickle")


def test_other_protocols_are_refused() -> None:
    inp, result = record.decode(LINE)
    for call in (lambda: record.encode(inp, result, "xml"), lambda: record.decode(LINE, "xml")):
        with pytest.raises(DeclarationError, match="invalid log protocol 'xml'"):
            call()


def test_values_that_json_cannot_write_are_refused() -> None:
    inp, result = record.decode(LINE)
    inp.task.args = (object,)
    with pytest.raises(DeclarationError, match=r"cannot write .* into a log"):
        record.encode(inp, result)


def test_logs_that_are_not_there_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CallError, match=r"cannot read .*none\.log"):
        list(record.load_from_file(tmp_path / "none.log"))


# The best of a log.


def test_a_template_has_the_best_of_a_log(tmp_path: Path) -> None:
    log = log_of(tmp_path / "a.log", [3.0, 1.0, 2.0])
    with autotvm.apply_history_best(log), target.Target("llvm"):
        s, args = product(8)
    best, best_args = task_of(8).instantiate(task_of(8).config_space.get(1))
    assert str(te_sched.lower(s, args)) == str(te_sched.lower(best, best_args))


@pytest.mark.parametrize("form", ["path", "text", "paths", "buffer", "pairs", "generator"])
def test_a_history_is_read_from(form: str, tmp_path: Path) -> None:
    log = log_of(tmp_path / "a.log", [3.0, 1.0, 2.0])
    pairs = records_of(task_of(8), [3.0, 1.0, 2.0])
    forms: dict[str, Any] = {
        "path": log,
        "text": str(log),
        "paths": [log, log],
        "buffer": io.StringIO(log.read_text()),
        "pairs": pairs,
        "generator": (one for one in [pairs]),
    }
    best = autotvm.apply_history_best(forms[form])
    assert best.query(target.Target("llvm"), ("tests/product", 8)).index == 1


def test_failed_measurements_are_never_the_best() -> None:
    pairs = records_of(task_of(8), [3.0, 1.0])
    pairs[1] = (pairs[1][0], pairs[1][1]._replace(error_no=5))
    best = autotvm.apply_history_best(pairs)
    assert best.query(target.Target("llvm"), ("tests/product", 8)).index == 0


def test_a_model_is_preferred_to_the_kind_of_target() -> None:
    slow, fast = records_of(task_of(8), [3.0, 1.0])
    slow = (slow[0]._replace(target=target.Target("llvm -model=mine")), slow[1])
    best = autotvm.apply_history_best([slow, fast])
    workload = ("tests/product", 8)
    assert best.query(target.Target("llvm -model=mine"), workload).index == 0
    assert best.query(target.Target("llvm"), workload).index == 1
    assert best.query(target.Target("cuda"), workload).is_fallback


def test_a_history_is_updated() -> None:
    task = task_of(8)
    best = autotvm.apply_history_best(records_of(task, [3.0, 1.0]))
    llvm, other = target.Target("llvm"), task.config_space.get(7)
    best.update(llvm, task.workload, other)
    best.update(None, task.workload, other)
    assert best.query(llvm, task.workload) is other


def test_an_empty_log_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "empty.log").write_text("")
    with caplog.at_level(logging.WARNING, "autotvm"):
        autotvm.apply_history_best(tmp_path / "empty.log")
        assert not autotvm.apply_history_best(None).best_by_targetkey
    assert "There are no records" in caplog.text


def test_a_history_needs_a_target_and_records() -> None:
    with (
        autotvm.apply_history_best(records_of(task_of(8), [1.0])),
        pytest.raises(DeclarationError, match="no target is in scope"),
    ):
        product(8)
    assert not isinstance(DispatchContext.current, record.ApplyHistoryBest)
    with pytest.raises(DeclarationError, match="cannot read the history from 5"):
        autotvm.apply_history_best(5)


def test_the_best_are_picked_into_another_file(tmp_path: Path) -> None:
    log, best = log_of(tmp_path / "a.log", [3.0, 1.0, 2.0]), tmp_path / "best.log"
    record.pick_best(log, best)
    record.pick_best(log_of(tmp_path / "b.log", [0.5]), best)
    assert [inp.config.index for inp, _ in record.load_from_file(best)] == [0]
    text = io.StringIO()
    record.pick_best(log, text)
    assert text.getvalue().count("\n") == 1


def test_a_log_is_split_by_workload(tmp_path: Path) -> None:
    log = log_of(tmp_path / "a.log", [3.0, 1.0])
    log_of(log, [2.0])
    other = autotvm.task.create("tests/product", (4,), "llvm")
    callback.log_to_file(log)(None, *zip(*records_of(other, [1.0]), strict=True))
    record.split_workload(log)
    sizes = [len(one.read_text().splitlines()) for one in sorted(tmp_path.glob("*.wkl.log"))]
    assert sizes == [2, 1]


def test_a_log_may_name_templates_that_are_not_there() -> None:
    inp, _ = record.decode(LINE.replace("tests/product", "tests/unknown"))
    assert inp.task.name == "tests/unknown"
