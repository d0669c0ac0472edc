"""te-sched doctor: every row is told, whatever happens."""

import json

import pytest

from te_sched import config
from te_sched.cli import doctor, probes
from te_sched.cli.probes import ABSENT, BROKEN, OK, PROBES, Probe, probe
from te_sched.codegen.cuda import nvrtc
from te_sched.errors import CallError
from te_sched.runtime import cuda_driver, threads

SLOW = ("torch", "onnx", "xgboost", "dask", "pandas", "IPython")
QUICK = [one for one in PROBES if one.name not in SLOW]


@pytest.fixture
def rows(monkeypatch, te_sched_command):
    """The rows of the doctor for some probes, and how it ended."""

    def look(*some, words=("--json",)):
        monkeypatch.setattr(doctor, "PROBES", some)
        return te_sched_command("doctor", *words)

    return look


def test_doctor_as_json(rows):
    done = rows(*QUICK)
    assert done.exit_code == 0, done.stdout
    data = json.loads(done.stdout)
    states = {row["name"]: row["state"] for row in data["rows"]}
    assert data["ok"] is True
    for name in ("Python", "te_sched", "numpy", "sympy", "LLVM", "processor", "a test"):
        assert states[name] == OK
    assert set(states.values()) <= {OK, ABSENT, BROKEN}


def test_doctor_says_what_to_do(rows):
    def missing():
        raise probes._Absent("no such thing")

    def broken():
        raise CallError("load it", "it is\nbroken")

    done = rows(
        Probe("thing", missing, "doing things", "pip install thing"),
        Probe("other", broken, "more", "see its manual"),
        words=(),
    )
    assert done.exit_code == 0
    assert done.stdout.splitlines() == [
        "absent  thing  no such thing",
        "               for: doing things",
        "               do: pip install thing",
        "broken  other  load it: it is broken",
        "               for: more",
        "               do: see its manual",
        "",
        "te_sched works here; broken, and not needed for it: other.",
    ]


def test_doctor_fails_where_something_needed_is_broken(rows):
    def broken():
        raise OSError("libLLVM.so: cannot open shared object file")

    done = rows(Probe("LLVM", broken, "everything", "install it", needed=True), words=())
    assert done.exit_code == 1
    assert "broken  LLVM  OSError: libLLVM.so" in done.stdout
    assert "does not work: see above" in done.stdout


@pytest.mark.parametrize("one", QUICK, ids=lambda one: one.name)
def test_every_row_has_its_purpose_and_its_cure(one):
    assert one.enables
    assert one.help
    assert probe(one).state in (OK, ABSENT, BROKEN)


def look(name):
    return probe(next(one for one in PROBES if one.name == name))


def test_packages_that_are_not_there_or_broken(monkeypatch, tmp_path):
    absent = Probe("none", probes._package("te_sched_has_no_such_package"), "x", "y")
    assert probe(absent).state == ABSENT
    (tmp_path / "broken_package.py").write_text("raise RuntimeError('half installed')\n")
    monkeypatch.syspath_prepend(tmp_path)
    found = probe(Probe("broken", probes._package("broken_package"), "x", "y"))
    assert (found.state, found.found) == (BROKEN, "RuntimeError: half installed")
    (tmp_path / "whole_package.py").write_text("")
    whole = probe(Probe("whole", probes._package("whole_package"), "x", "y"))
    assert (whole.state, whole.found) == (OK, "of unknown version")


def test_switches(monkeypatch):
    monkeypatch.setenv("TE_SCHED_EMULATE", "1")
    assert "TE_SCHED_EMULATE=1" in look("switches").found
    monkeypatch.setenv("TE_SCHED_EMULATE", "perhaps")
    assert look("switches").state == BROKEN
    assert "must be a truth value" in look("switches").found


def test_gpu_rows(monkeypatch):
    facts = {"device_name": "A GPU", "total_global_memory": 2**35, "driver_version": 12040}
    monkeypatch.setattr(cuda_driver, "device_count", lambda: 1)
    monkeypatch.setattr(cuda_driver, "fact", lambda number, name: facts[name])
    monkeypatch.setattr(cuda_driver, "architecture", lambda number: "sm_90")
    assert look("GPU").found == "A GPU, sm_90, 32 GiB"
    assert look("CUDA driver").found == "CUDA 12.4"
    monkeypatch.setattr(cuda_driver, "device_count", lambda: 0)
    assert look("GPU").state == ABSENT
    assert look("CUDA driver").state == ABSENT


def test_tools_that_are_not_there(monkeypatch):
    monkeypatch.setattr(probes, "find_compiler", lambda: None)
    monkeypatch.setattr(probes, "find_toolkit", lambda: None)
    monkeypatch.setattr(threads, "get_num_threads", lambda: 1)
    for name in ("C compiler", "NVRTC", "threads"):
        assert look(name).state == ABSENT
    assert look("threads").found == "parallel loops run on one core"


def test_cache_row(monkeypatch, tmp_path):
    with config.scoped(cache=True, cache_dir=str(tmp_path / "cache"), cache_size=1):
        assert look("cache").found == f"{tmp_path / 'cache'}: 0 programs, 0.0 of 1 MiB"
    with config.scoped(cache=False):
        assert look("cache").state == ABSENT
    (tmp_path / "file").write_text("")
    with config.scoped(cache=True, cache_dir=str(tmp_path / "file")):
        assert look("cache").state == BROKEN


@pytest.mark.skipif(not nvrtc.is_available(), reason="needs NVRTC")
def test_nvrtc_row():
    assert look("NVRTC").state == OK


def test_a_program_that_computes_wrongly(monkeypatch):
    monkeypatch.setattr(probes.np, "array_equal", lambda a, b: False)
    assert look("a test").found.endswith("gave wrong numbers")
