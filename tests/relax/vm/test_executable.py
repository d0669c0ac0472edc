"""Executables: what they are asked for, and their files."""

import numpy as np
import pytest

import te_sched
from te_sched import relax
from tests.relax.vm.choosing import CPU, choosing


def test_executables_without_kernels_are_saved(tmp_path):
    builder = relax.ExecBuilder()
    with builder.function("main", num_inputs=1):
        constant = builder.convert_constant(te_sched.nd.array([1.0, 2.0]))
        builder.emit_call("test.vm.add", [builder.r(0), constant], builder.r(1))
        builder.emit_ret(builder.r(1))
    path = tmp_path / "add.tar"
    builder.get().export_library(path)
    machine = relax.VirtualMachine(te_sched.runtime.load_module(path), CPU)
    assert machine["main"](np.array([3.0, 4.0], "float32")).numpy().tolist() == [4, 6]


def test_an_executable_says_how_it_is_run():
    with pytest.raises(TypeError, match=r"(?s)called without a machine.*\['main'\]"):
        choosing()(1)
    assert choosing().mod.jit().as_text() == choosing()["as_text"]()
