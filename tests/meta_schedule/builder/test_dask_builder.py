"""Candidates are built in the workers of a cluster, whose calls are made here."""

import os

import pytest

from te_sched.meta_schedule.builder import BuilderInput, LocalBuilder, dask_builder
from te_sched.tuning.artifacts import remove_artifact
from tests.meta_schedule.here import BuilderHere, CallsHere
from tests.meta_schedule.programs import LLVM, MODULE


@pytest.fixture
def builder(monkeypatch):
    monkeypatch.setattr(dask_builder, "Calls", CallsHere)
    return dask_builder.DaskBuilder("tcp://machine:8786", timeout_sec=3)


def test_workers_have_builders_of_one_process(builder):
    assert builder._calls.part == (LocalBuilder, {"max_workers": 1, "timeout_sec": 3})


def test_built_files_are_brought_here(builder):
    builder._calls.own = BuilderHere(broken=2)
    first, second, third = builder.build([BuilderInput(MODULE, LLVM)] * 3)
    assert (second.artifact_path, second.error_msg) == (None, "Builder: broken\nfor the test")
    for one in (first, third):
        assert os.path.getsize(one.artifact_path) > 100
        remove_artifact(one.artifact_path)
    assert first.artifact_path != third.artifact_path
    assert builder._calls.own.paths  # in the worker, where they are removed
    assert not any(map(os.path.exists, builder._calls.own.paths))


def test_lost_calls_are_results(builder):
    builder._calls.own = None
    (result,) = builder.build([BuilderInput(MODULE, LLVM)])
    assert result.artifact_path is None
    assert result.error_msg.startswith("DaskBuilder: the call was lost\n'NoneType' object has no")
    builder.close()
    assert builder._calls.is_closed
