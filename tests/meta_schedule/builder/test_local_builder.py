"""Candidates are built in worker processes: paths, failures, and functions of the user."""

import os
from concurrent.futures import Future
from pathlib import Path

import numpy as np
import pytest

import te_sched
from te_sched import meta_schedule as ms
from te_sched.errors import DeclarationError
from te_sched.meta_schedule.builder import local_builder
from te_sched.meta_schedule.builder.base import BuilderInput
from te_sched.tuning.artifacts import remove_artifact
from tests.meta_schedule.programs import LLVM, MODULE, complain


def test_a_built_module_is_a_file_that_runs():
    path = local_builder.built(MODULE, str(LLVM), None, None, None)
    a, b = (np.random.default_rng(n).random((64, 64), "float32") for n in (1, 2))
    c = te_sched.nd.empty((64, 64))
    module = te_sched.runtime.load_module(path)
    module["main"](te_sched.nd.array(a), te_sched.nd.array(b), c)
    np.testing.assert_allclose(c.numpy(), a @ b, rtol=1e-4)
    remove_artifact(path)
    assert not os.path.exists(path)


def test_functions_of_the_user_build_and_export():
    calls = []
    result = local_builder.built(
        *(MODULE, "llvm -num-cores=2", {"w": 1}),
        lambda *arguments: calls.append(arguments) or "module",
        lambda module: Path("folder", module),
    )
    assert result == "folder/module"
    assert calls == [(MODULE, LLVM, {"w": 1})]
    with pytest.raises(ValueError, match="a fault of the user's function"):
        local_builder.built(MODULE, "llvm", None, None, complain)


def second_fails(module, target, params):
    """What builds in a worker: the second module cannot be built."""
    return str(params["number"]) if params["number"] != 2 else complain()


def test_results_are_in_the_order_of_the_inputs():
    builder = ms.builder.LocalBuilder(max_workers=1, f_build=second_fails, f_export=str)
    inputs = [BuilderInput(MODULE, LLVM, {"number": number}) for number in (1, 2, 3)]
    results = builder.build(inputs)
    builder.close()
    assert [one.artifact_path for one in results] == ["1", None, "3"]
    assert results[1].error_msg.startswith("LocalBuilder: An exception occurred\n")
    assert "a fault of the user's function" in results[1].error_msg


def test_ctrl_c_removes_what_was_built(monkeypatch):
    builder = ms.builder.LocalBuilder(max_workers=1)
    path = local_builder.built(MODULE, "llvm", None, None, None)
    done, failed, waiting = Future(), Future(), Future()
    done.set_result(path)
    failed.set_exception(ValueError("cannot be built"))
    futures = iter([done, failed, waiting])
    monkeypatch.setattr(builder._pool, "submit", lambda *arguments: next(futures))

    def interrupt(future):
        raise KeyboardInterrupt

    monkeypatch.setattr(builder, "_result", interrupt)
    with pytest.raises(KeyboardInterrupt):
        builder.build([BuilderInput(MODULE, LLVM)] * 3)
    assert not os.path.exists(path)
    assert waiting.cancelled()


def test_wrong_arguments_are_refused():
    with pytest.raises(DeclarationError, match="argument f_build of LocalBuilder is 3"):
        ms.builder.LocalBuilder(f_build=3)
    with pytest.raises(DeclarationError, match="max_workers must be a positive integer, got 0"):
        ms.builder.LocalBuilder(max_workers=0)
