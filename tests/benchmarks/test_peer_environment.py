"""Libraries run in benchmarks as their users run them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmarks import cpu, peer_environment

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAMS = sorted(
    path
    for path in (*(ROOT / "benchmarks").glob("*.py"), *(ROOT / "tutorials").glob("*.py"))
    if "__main__" in path.read_text() and path.stem != "pages"
)
VARIABLES = (
    *("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"),
    *("OMP_PROC_BIND", "GOMP_CPU_AFFINITY", "KMP_AFFINITY", "MKL_ENABLE_INSTRUCTIONS"),
    *("MKL_NUM_THREADS", "ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA", "ATEN_CPU_CAPABILITY"),
    *("NPY_DISABLE_CPU_FEATURES", "NUMBA_DISABLE_JIT", "BLIS_ARCH_TYPE", "TVM_NUM_THREADS"),
    *("HL_NUM_THREADS", "GLIBC_TUNABLES", "TE_SCHED_NUM_THREADS"),
)
PROBE = """
import json, os, sys
from benchmarks import peer_environment

def main(arguments):
    if arguments == ["own"] and "OMP_NUM_THREADS" not in os.environ:
        environment = peer_environment.as_users_run(os.environ, {"OMP_NUM_THREADS": "3"})
        return peer_environment.restart("probe", arguments, environment)
    print(json.dumps(dict(os.environ)))
    return 5

sys.exit(peer_environment.run("probe", main, sys.argv[1:]))
"""


def probed(folder: Path, *arguments: str, **variables: str) -> tuple[dict[str, str], str]:
    """The environment in which a benchmark ends up, and what it says."""
    (folder / "probe.py").write_text(PROBE)
    path = os.pathsep.join([str(folder), str(ROOT)])
    done = subprocess.run(
        [sys.executable, "-m", "probe", *arguments],
        env={**os.environ, "PYTHONPATH": path, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 5, done.stderr
    environment: dict[str, str] = json.loads(done.stdout)
    return environment, done.stderr


def test_the_process_of_a_benchmark_has_no_variable_that_holds_libraries_back(
    tmp_path: Path,
) -> None:
    environment, said = probed(tmp_path, **dict.fromkeys(VARIABLES, "1"), KEPT="here")
    assert not environment.keys() & set(VARIABLES)
    assert peer_environment.holding_back(environment) == []
    assert environment["KEPT"] == "here"
    assert "OPENBLAS_CORETYPE=1" in said


def test_the_variables_of_the_benchmark_stay(tmp_path: Path) -> None:
    environment, _ = probed(tmp_path, "own", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")
    assert environment["OMP_NUM_THREADS"] == "3"
    assert "MKL_NUM_THREADS" not in environment


def test_variables_that_libraries_need_stay() -> None:
    needed = {"KMP_DUPLICATE_LIB_OK": "1", "MKL_THREADING_LAYER": "GNU", "PATH": "/bin"}
    assert peer_environment.as_users_run({**needed, "KMP_BLOCKTIME": "0"}) == needed


def test_own_variables_are_named_for_processes_that_are_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "environ", {"OMP_NUM_THREADS": "1"})
    peer_environment.set_own({"TVM_NUM_THREADS": "2"})
    peer_environment.set_own({"TE_SCHED_NUM_THREADS": "2"})
    assert peer_environment.holding_back(os.environ) == ["OMP_NUM_THREADS"]


def test_threads_of_the_processor_benchmark_are_its_own() -> None:
    environment = peer_environment.as_users_run({"OMP_NUM_THREADS": "1"}, cpu.with_threads(4))
    assert environment["OMP_NUM_THREADS"] == environment["TVM_NUM_THREADS"] == "4"
    assert peer_environment.holding_back(environment) == []


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_every_program_starts_so(path: Path) -> None:
    name = f"{path.parent.name}.{path.stem}"
    assert f'peer_environment.run("{name}", ' in path.read_text()


def test_the_kernels_of_numpy_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    infos = [
        {"user_api": "openmp", "internal_api": "openmp", "num_threads": 9},
        {
            "user_api": "blas",
            "internal_api": "openblas",
            "version": "0.3.31",
            "architecture": "SkylakeX",
            "num_threads": 2,
        },
    ]
    fake = SimpleNamespace(threadpool_info=lambda: infos)
    monkeypatch.setitem(sys.modules, "threadpoolctl", fake)
    expected = "numpy uses openblas 0.3.31 with kernels for SkylakeX on 2 threads"
    assert peer_environment.numpy_kernels() == expected
    infos.pop()
    assert peer_environment.numpy_kernels() == ""
    monkeypatch.setitem(sys.modules, "threadpoolctl", None)
    assert peer_environment.numpy_kernels() == ""


def test_a_limit_on_processors_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0}, raising=False)
    assert peer_environment.bound_processors() == "all libraries are bound to 1 of 4 processors"
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3}, raising=False)
    assert peer_environment.bound_processors() == ""
