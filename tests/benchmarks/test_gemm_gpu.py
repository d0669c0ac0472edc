"""The GPU benchmark: its schedules compute what they say, its report tells what was measured."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import te_sched
from benchmarks import gemm_gpu
from benchmarks.gpu import device, measuring, moving, peers, products, report, tensor_cores
from benchmarks.gpu.measuring import How, Row, difference, measure, noting
from te_sched.codegen.cuda import nvrtc

ROOT = Path(__file__).resolve().parents[2]
EMULATED = How(None)


class Imitation(device.Gpu):
    """Stands in for a GPU and cupy: arrays of the emulated device."""

    def __init__(self) -> None:
        super().__init__(None)

    def facts(self) -> dict[str, Any]:
        return {"gpu": "imitation"}

    def arrays(self, values: Any) -> list[Any]:
        return [te_sched.nd.array(value, te_sched.emulated_cuda(0)) for value in values]

    def bound(self, function: Callable[..., Any], arrays: Any) -> Callable[[], Any]:
        return lambda: function(*arrays)

    def to_numpy(self, array: Any) -> np.ndarray[Any, Any]:
        return np.asarray(array.numpy())

    def milliseconds(self, call: Callable[[], Any]) -> float:
        start = time.perf_counter()
        call()
        return (time.perf_counter() - start) * 1e3

    def product_ms(self, a: Any, b: Any) -> float:
        return 1.0

    def copy_ms(self, array: Any) -> float:
        return 1.0


@pytest.fixture(autouse=True)
def _one_architecture(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "ARCHITECTURES", ("sm_80",))


@pytest.mark.parametrize("name", products.LADDER)
def test_products(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads compute a quarter of a tile of the benchmark, whose unrolled code compiles slowly."""
    tiled = products.tiled

    def small(m: int, n: int, k: int, tile: products.Tile) -> products.Schedule:
        return tiled(m, n, k, replace(tile, rows=tile.rows // 2, columns=tile.columns // 2))

    monkeypatch.setattr(products, "tiled", small)
    size = (130, 70, 33)
    row = Row(name, size)
    measure(row, *products.LADDER[name](*size), gemm_gpu.Product(), EMULATED)
    assert row.difference is not None


@pytest.mark.parametrize("tile", [products.BEST[0]], ids=str)
def test_tiles(tile: products.Tile) -> None:
    row = Row("tiled", (128, 128, 32))
    measure(row, *products.tiled(128, 128, 32, tile), gemm_gpu.Product(), EMULATED)
    spilled = [usage["spill_stores"] for usage in row.usage.values()]
    assert not any(spilled)


@pytest.mark.parametrize("tile", [tensor_cores.BEST[0], tensor_cores.BEST[6]], ids=str)
def test_tensor_cores(tile: tensor_cores.WarpTile) -> None:
    size = (tile.rows, 2 * tile.columns, 3 * tile.depth)
    row = Row("tensor cores", size)
    measure(row, *tensor_cores.tensor_cores(*size, tile), gemm_gpu.Product(), EMULATED)
    assert row.difference is not None


def test_tensor_cores_are_printed() -> None:
    module: Any = te_sched.build(*tensor_cores.tensor_cores(128, 128, 64), target="cuda")
    assert module.imported_modules[0].get_source().count("mma_sync(") > 8


@pytest.mark.parametrize("name", moving.PROGRAMS)
def test_programs_limited_by_memory(name: str) -> None:
    program = moving.PROGRAMS[name]
    row = Row(name, program.small)
    measure(row, *program.schedule(*program.small), program.reference, EMULATED)
    assert row.difference is not None


def test_peers_belong_to_programs() -> None:
    found = peers.read()
    assert len(found) == 9
    for peer in found:
        scheduled = peers.schedule_of(peer)
        assert scheduled is not None
        assert sorted(peer.parameters) == sorted(arg.name for arg in scheduled[1])


@pytest.mark.skipif(not nvrtc.is_available(), reason="needs NVRTC")
def test_peers_compile() -> None:
    for peer in peers.read()[:2]:
        assert list(nvrtc.compile(peer.source, "sm_80").resource_usage) == [peer.kernel]


def test_wrong_results_are_failures() -> None:
    row = Row("wrong", ())
    with noting(row):
        difference(np.array([1.0, np.nan]), np.array([1.0, 2.0]))
    assert "the result is wrong" in row.failed


def figures(gpu: device.Gpu | None, monkeypatch: pytest.MonkeyPatch, path: Path) -> Any:
    """What a run with few versions and small sizes saves."""
    small_tile, small_warps = products.Tile(32, 32), tensor_cores.BEST[6]
    ladder = {
        "naive": gemm_gpu.LADDER["naive"],
        "tensor cores": lambda *size: tensor_cores.tensor_cores(*size, small_warps),
    }
    monkeypatch.setattr(gemm_gpu, "LADDER", ladder)
    monkeypatch.setattr(gemm_gpu, "TUTORIAL", (128, 128, 64))
    monkeypatch.setattr(gemm_gpu, "LARGE", 128)
    monkeypatch.setattr(products, "BEST", (small_tile,))
    monkeypatch.setattr(tensor_cores, "BEST", (small_warps,))
    moved = {"copy": moving.Program(moving.copy, lambda a: a, (4, 1024), (4, 1024))}
    monkeypatch.setattr(moving, "PROGRAMS", moved)
    monkeypatch.setattr(device, "find", lambda: gpu)
    nowhere = path / "nothing"
    gemm_gpu.main(["--results", str(path), "--tvm-cuda", str(nowhere)])
    return json.loads((path / "gemm_gpu.json").read_text())


def test_without_a_gpu_no_times_are_claimed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved = figures(None, monkeypatch, tmp_path)
    assert not any(row["failed"] for row in saved["products"] + saved["moving"])
    assert "Times need a GPU" in capsys.readouterr().out
    assert "GFLOP" not in (tmp_path / "gemm_gpu.md").read_text()


def test_what_a_run_with_a_gpu_saves(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    saved = figures(Imitation(), monkeypatch, tmp_path)
    assert not any(row["failed"] for part in ("products", "large", "moving") for row in saved[part])
    names = [row["name"] for row in saved["large"]]
    assert names == ["naive", "tensor cores", "fastest tile", "tensor cores, fastest tile"]
    text = (tmp_path / "gemm_gpu.md").read_text()
    assert all(word in text for word in ("GFLOP/s", "to cuBLAS", "to a device copy", "imitation"))


class Recorder:
    """Counts what a fake cupy is asked for; capturing fails where it is told to."""

    def __init__(self, fails: bool) -> None:
        self.fails, self.launches = fails, 0
        self.cuda = self

    def Stream(self, non_blocking: bool) -> Recorder:
        return self

    Device = Event = get_current_stream = lambda self: self

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def synchronize(self) -> None:
        return None

    record = lambda self, _: None  # noqa: E731

    def get_elapsed_time(self, begin: object, end: object) -> float:
        return 10.0

    def begin_capture(self) -> None:
        if self.fails:
            raise RuntimeError("cannot be recorded")

    def end_capture(self) -> Recorder:
        return self

    def launch(self, _: object) -> None:
        self.launches += 1


@pytest.mark.parametrize("fails", [False, True])
def test_calls_that_cannot_be_recorded_are_made(fails: bool) -> None:
    calls: list[int] = []
    recorder = Recorder(fails)
    assert device.Gpu(recorder).milliseconds(lambda: calls.append(1)) == 5.0
    assert (recorder.launches == 0) == fails
    assert len(calls) == (2 + 2 * 10 if fails else 4)


def test_tables_show_the_saved_figures() -> None:
    saved = json.loads((ROOT / "benchmarks/results/gemm_gpu.json").read_text())
    assert (ROOT / "benchmarks/results/gemm_gpu.md").read_text() == report.markdown(saved)
