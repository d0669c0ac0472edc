"""Targets: scopes, spellings, functions by target."""

from __future__ import annotations

import pytest

import te_sched
from te_sched import build, device, runtime, target, te, tir
from te_sched.errors import BuildError, DeclarationError
from te_sched.script import from_source
from te_sched.target import Target


def test_scope_is_what_build_uses():
    a = te.placeholder((4,), name="a")
    b = te.compute((4,), lambda i: a[i] + 1.0, name="b")
    with Target("opencl"), pytest.raises(BuildError, match="no code for opencl"):
        build(te.create_schedule(b.op), [a, b])
    assert Target.current() is None
    with pytest.raises(BuildError, match="no target is in scope"):
        Target.current(allow_none=False)


def test_devices_of_targets():
    assert str(device("llvm -mcpu=generic")) == "cpu(0)"
    assert device("cuda", 1).exist is False
    assert device("cuda").max_threads_per_block is None
    assert (runtime.enabled("llvm"), runtime.enabled("cuda"), runtime.enabled("?")) == (
        True,
        True,
        False,
    )


def test_generic_functions_follow_the_target():
    @target.generic_func
    def which(x):
        return f"plain {x}"

    @which.register("gpu")
    def _(x):
        return f"gpu {x}"

    assert which(1) == "plain 1"
    with target.cuda():
        assert which(1) == "gpu 1"
    with pytest.raises(DeclarationError, match="which has a body for 'gpu' already"):
        which.register("gpu", lambda x: x)


def test_targets_of_devices():
    assert Target.from_device(te_sched.cpu(0)) == Target("llvm")
    found = Target.from_device(te_sched.emulated_cuda(0))
    assert (found.kind, found.options["arch"], found.options["thread_warp_size"]) == (
        *("cuda", "sm_80", "32"),
    )
    with pytest.raises(BuildError, match="no target for the device"):
        Target.from_device("cuda")


def test_targets_are_read_again_in_attributes() -> None:
    for given in (
        Target("nvidia/nvidia-a100", host="llvm"),
        Target("cuda -arch=sm_70 -max_num_threads=512"),
        Target("llvm -mattr=+avx2,-avx512f -num-cores=4"),
    ):
        func = tir.PrimFunc([], tir.Evaluate(0)).with_attr("target", given)
        again = from_source(func.script())
        assert again.attrs["target"] == given
        assert again.script() == func.script()
