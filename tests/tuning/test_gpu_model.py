"""The model of the seconds of kernels, without a GPU."""

import numpy as np
import pytest

import te_sched
from te_sched import meta_schedule as ms
from te_sched import tir
from te_sched.config import scoped
from te_sched.errors import CallError
from te_sched.script import tir as T
from te_sched.target import Target
from te_sched.tuning import gpu_model
from te_sched.tuning.arguments import random_arrays
from tests.meta_schedule.here import BuilderHere
from tests.meta_schedule.programs import MODULE, RUNNER, errors, space

CUDA = Target("cuda -arch=sm_80")


def threads(sch):
    """A space of kernels."""
    i, j, _ = sch.get_loops("C")
    i_0, i_1 = sch.split(i, sch.sample_perfect_tile(i, n=2, max_innermost_factor=16))
    j_0, j_1 = sch.split(j, sch.sample_perfect_tile(j, n=2, max_innermost_factor=64))
    sch.reorder(i_0, j_0, i_1, j_1)
    for loop, tag in zip(
        (i_0, j_0, i_1, j_1),
        ("blockIdx.y", "blockIdx.x", "threadIdx.y", "threadIdx.x"),
        strict=True,
    ):
        sch.bind(loop, tag)


def modeled(i_tile, j_tile, swapped=False):
    """The seconds of a product whose threads are divided so."""
    sch = tir.Schedule(MODULE)
    i, j, _ = sch.get_loops("C")
    if swapped:
        i, j = j, i
    i_0, i_1 = sch.split(i, [None, i_tile])
    j_0, j_1 = sch.split(j, [None, j_tile])
    sch.reorder(i_0, j_0, i_1, j_1)
    sch.bind(i_0, "blockIdx.y")
    sch.bind(j_0, "blockIdx.x")
    sch.bind(i_1, "threadIdx.y")
    sch.bind(j_1, "threadIdx.x")
    return seconds(te_sched.build(sch.mod, target=CUDA), *[((64, 64), "float32")] * 3)


def seconds(module, *shapes):
    arguments = random_arrays(shapes, te_sched.emulated_cuda(0))
    return gpu_model.modeled_seconds(module, arguments)


def test_the_model_orders_kernels():
    best = modeled(8, 32)
    assert best < modeled(1, 1)  # warps of one thread
    assert best < modeled(8, 32, swapped=True)  # accesses that are not coalesced
    assert best > gpu_model.MACHINE.launch


def test_the_whole_search_runs_without_a_gpu(tmp_path):
    if not gpu_model.is_modeled("cuda"):
        pytest.skip("there is a GPU")
    database = ms.tune_tir(
        MODULE,
        CUDA,
        tmp_path,
        6,
        space=space(threads),
        strategy="replay-trace",
        cost_model=None,
        builder=BuilderHere(),
        runner=RUNNER,
        seed=1,
    )
    assert errors(database) == [None] * 6
    best = database.query_tuning_record(MODULE, CUDA)
    assert "model of sm_80" in best.machine
    a, b = (np.random.default_rng(n).random((64, 64), "float32") for n in (1, 2))
    device = te_sched.emulated_cuda(0)
    c = te_sched.nd.empty((64, 64), "float32", device)
    module = te_sched.build(best.schedule().mod, target=CUDA)
    module(te_sched.nd.array(a, device), te_sched.nd.array(b, device), c)
    np.testing.assert_allclose(c.numpy(), a @ b, rtol=1e-4)


def test_an_emulated_device_is_modeled():
    with scoped(emulate=True):
        assert gpu_model.is_modeled("cuda")
    assert not gpu_model.is_modeled("cpu")


@T.prim_func
def long(a: T.Buffer((32,), "float32")):
    for i in T.thread_binding(32, "threadIdx.x"):
        with T.block("root_of_thread"):
            vi = T.axis.spatial(32, i)
            a[vi] = T.float32(0)
            for _ in range(200_000):
                a[vi] = a[vi] + T.float32(1)


def test_long_kernels_are_refused(monkeypatch):
    monkeypatch.setattr(gpu_model, "_STEPS", 1000)
    module = te_sched.build(long, target=CUDA)
    with pytest.raises(CallError, match="too long for the model of the emulated device"):
        seconds(module, ((32,), "float32"))


@T.prim_func
def racing(a: T.Buffer((1,), "float32")):
    for i in T.thread_binding(32, "threadIdx.x"):
        with T.block("a"):
            vi = T.axis.opaque(32, i)
            T.reads()
            T.writes(a[0])
            a[0] = T.Cast("float32", vi)


def test_kernels_with_races_are_refused():
    module = te_sched.build(racing, target=CUDA, verify=False)
    with pytest.raises(CallError, match="the checked mode finds a fault in kernel"):
        seconds(module, ((1,), "float32"))
