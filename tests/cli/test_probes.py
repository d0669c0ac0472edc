"""The probes of te-sched doctor."""

import pytest

from te_sched import config
from te_sched.cli import probes
from te_sched.cli.probes import ABSENT, BROKEN, OK, Probe, probe
from te_sched.codegen.cuda import nvrtc
from te_sched.runtime import cuda_driver, threads
from tests.cli.quick_probes import QUICK, look


@pytest.mark.parametrize("one", QUICK, ids=lambda one: one.name)
def test_every_row_has_its_purpose_and_its_cure(one):
    assert one.enables
    assert one.help
    assert probe(one).state in (OK, ABSENT, BROKEN)


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
