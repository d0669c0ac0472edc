"""The benchmark of files of ONNX: its inputs, its comparison, its table."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks import onnx_files

RIGHT = {"file": "a.onnx", "nodes": 3, "opset": 17, "distance": 2e-7, "import": 0.11, "build": 2}
TIMES = {"te_sched": 1e-3, "onnxruntime": 4e-3}
REFUSED = {"file": "b.onnx", "failed": "GraphError: 1 operator is not supported\n  where: here"}
PRODUCT = "f (float[n, k] x, float[6, 3] w) => (float[n, 3] y) { y = MatMul(x, w) }"


def saved(folder: Path, text: str) -> Path:
    """A model as a file."""
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 17]> {text}')
    onnx.save(model, folder / "model.onnx")
    return folder / "model.onnx"


def test_the_table_has_figures_and_what_failed() -> None:
    header, lines = onnx_files.rows([RIGHT | TIMES, REFUSED])
    assert header[-2:] == ["te_sched ms", "ort ms"]
    assert lines[0] == ["a.onnx", "3", "17", "2e-07", "0.1", "2.0", "1.00", "4.00"]
    assert lines[1][3] == "GraphError: 1 operator is not supported"
    assert lines[2][0] == "1 of 2 right"


def test_open_sizes_are_tried_unless_they_have_a_number() -> None:
    inputs = [
        SimpleNamespace(name="x", type="tensor(float)", shape=["n", 3, "width"]),
        SimpleNamespace(name="i", type="tensor(int64)", shape=[None]),
    ]
    session = SimpleNamespace(get_inputs=lambda: inputs)
    first, second, *_ = onnx_files.all_inputs(session, {"n": 5})
    assert [first["x"].shape, first["i"].shape, second["x"].shape] == [
        (5, 3, 64),
        (2,),
        (5, 3, 320),
    ]
    assert [str(first[name].dtype) for name in "xi"] == ["float32", "int64"]


def test_a_file_is_measured_beside_onnxruntime(tmp_path: Path, capsys: Any) -> None:
    path = saved(tmp_path, PRODUCT)
    assert onnx_files.main(["--one", str(path), "--size", "k=6"]) == 0
    figure = json.loads(capsys.readouterr().out)
    assert figure["distance"] < 1e-5
    assert figure["nodes"] == 1
    assert min(figure["te_sched"], figure["onnxruntime"]) > 0


def test_a_folder_is_measured_and_faults_are_told(tmp_path: Path, capsys: Any) -> None:
    saved(tmp_path, PRODUCT)  # none of the numbers that are tried is 6
    assert onnx_files.main([str(tmp_path)]) == 0
    assert "onnxruntime takes no sizes that were tried (use --size)" in capsys.readouterr().out


def test_wrong_results_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(tmp_path, PRODUCT)
    monkeypatch.setattr(onnx_files, "arrays_of", lambda result: [result.numpy() + 1])
    with pytest.raises(ValueError, match="onnxruntime from itself by"):
        onnx_files.measure(path, {"k": 6})


def test_processes_that_a_signal_ends_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = subprocess.CompletedProcess([], -8, "", "a warning")
    monkeypatch.setattr(onnx_files.subprocess, "run", lambda *_, **__: ended)
    figure = onnx_files.figure_of(Path("a.onnx"), [], 1)
    assert figure == {"failed": "ended by signal 8, in te_sched or in onnxruntime"}
