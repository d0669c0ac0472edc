"""The search for NVRTC: which places, in which order."""

from __future__ import annotations

import ctypes.util
from pathlib import Path

import pytest

from te_sched.codegen.cuda import libraries


@pytest.fixture(autouse=True)
def _nothing_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(libraries, "_package", lambda name: [])
    monkeypatch.setattr(libraries, "_SYSTEM", ())
    monkeypatch.setattr(ctypes.util, "find_library", lambda name: None)
    for name in ("CUDA_PATH", "CUDA_HOME"):
        monkeypatch.delenv(name, raising=False)


def files(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()


def test_without_a_compiler_there_is_no_toolkit() -> None:
    assert list(libraries.candidates()) == []
    assert libraries.find_toolkit.__wrapped__() is None


def test_system_is_searched_in_the_order_of_its_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The variables of the environment, then the usual places, then the linker's."""
    for place in ("home", "usual"):
        files(tmp_path / place, "lib64/libnvrtc.so.12", "lib64/libnvrtc-builtins.so.12")
    files(tmp_path, "home/include/cccl/cuda.h")
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(libraries, "_SYSTEM", (str(tmp_path / "usual"), str(tmp_path / "none")))
    monkeypatch.setattr(ctypes.util, "find_library", lambda name: f"lib{name}.so")
    home, usual, linked = libraries.candidates()
    assert home.library == str(tmp_path / "home/lib64/libnvrtc.so.12")
    assert home.includes == tuple(str(tmp_path / "home" / x) for x in ("include", "include/cccl"))
    assert (usual.library, usual.includes) == (str(tmp_path / "usual/lib64/libnvrtc.so.12"), ())
    assert linked.library == "libnvrtc.so"
    assert libraries.find_toolkit.__wrapped__() == home


def test_wheels_of_both_layouts_are_found_the_newest_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files(tmp_path, "cuda_nvrtc/lib/libnvrtc.so.12", "cuda_nvrtc/lib/libnvrtc.alt.so.12")
    files(tmp_path, "cu13/lib/libnvrtc.so.13", "cu14/lib/libnvrtc.so.14", "cuda_runtime/include/x")
    monkeypatch.setattr(libraries, "_package", lambda name: [tmp_path] * (name == "nvidia"))
    names = [toolkit.library.rpartition(".")[2] for toolkit in libraries.candidates()]
    assert names == ["12", "14", "13"]
    first = next(libraries.candidates())
    assert first.includes == (str(tmp_path / "cuda_runtime" / "include"),)
