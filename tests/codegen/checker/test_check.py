"""Programs in the checked mode: arguments, launches, findings, and what is not executed."""

import numpy as np
import pytest

import te_sched
from te_sched import te
from te_sched.codegen.checker import ViolationKind, check_program
from te_sched.errors import BuildError, CallError
from te_sched.ir import expr as E
from te_sched.lowering.device.pipeline import device_passes
from tests.codegen.checker import kernels as k


def test_finding_says_where():
    module, arguments, _ = k.reverse()
    report = check_program(k.without_barrier(1)(module), arguments)
    (found,) = report.findings
    assert found.kind is ViolationKind.READ_WRITE_RACE
    assert (found.stage, found.buffer, found.does) == ("s", "s_shared", "write")
    assert found.access == "s_shared[tx]"
    assert found.other_access == "read s_shared[63 - tx]"
    assert (found.thread.thread, found.other.thread) == ((0, 0, 0), (63, 0, 0))
    assert found.thread.block == found.other.block == (0, 0, 0)
    assert (found.index, found.loops, found.count) == (0, {"k": 1}, 2 * 64 * 3)


def test_occupancy():
    module, arguments, _ = k.reverse()
    report = check_program(module, arguments, registers={"main_kernel": 255})
    assert report.occupancy["main_kernel"]["sm_80"] == {
        "blocks": 4,
        "warps": 8,
        "occupancy": 0.125,
        "limited_by": "registers",
    }


def test_blocks_may_be_left_out():
    module, arguments, _ = k.reverse()
    report = check_program(module, arguments, max_blocks=1)
    assert report.unchecked == ["1 of 2 blocks of main_kernel (max_blocks)"]
    assert np.isnan(arguments[1]).sum() == 256


def test_rejects_what_it_does_not_execute():
    def build(ib, tx):
        ib.emit(E.Call("int32", "tir.call_extern", (E.StringImm("f"), tx)))

    with pytest.raises(BuildError, match=r"function 'f' is not available without a GPU"):
        check_program(k.program(build, [], tx=32), [])


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ([np.zeros(512, np.float32)], "expects 2 arguments, got 1"),
        ([np.zeros(512, np.float32), np.zeros(512)], "has dtype float64, expected float32"),
        (
            [np.zeros(512, np.float32), np.zeros(511, np.float32)],
            "expected extent 512 instead of 511",
        ),
        ([np.zeros(512, np.float32), 1], "must be an array, got an int"),
    ],
)
def test_rejects_arguments(arguments, why):
    with pytest.raises(CallError, match=why):
        check_program(k.reverse()[0], arguments)


def cached_sum(n=64):
    a = te.placeholder((n, n), name="A")
    axis = te.reduce_axis((0, n), name="k")
    c = te.compute((n,), lambda i: te.sum(a[axis, n - 1 - i], axis=axis), name="C")
    s = te.create_schedule(c.op)
    cached = s.cache_read(a, "shared", [c])
    outer, inner = s[c].split(c.op.axis[0], factor=16)
    s[c].bind(outer, te.thread_axis("blockIdx.x"))
    s[c].bind(inner, te.thread_axis("threadIdx.x"))
    k_outer, _ = s[c].split(c.op.reduce_axis[0], factor=8)
    s[cached].compute_at(s[c], k_outer)
    fused = s[cached].fuse(*s[cached].op.axis)
    _, thread = s[cached].split(fused, factor=16)
    s[cached].bind(thread, te.thread_axis("threadIdx.x"))
    return device_passes(te_sched.lower(s, [a, c], name="main")["main"])


def test_schedules():
    data = np.random.default_rng(0).normal(size=(64, 64)).astype(np.float32)
    result = np.full(64, np.nan, np.float32)
    report = check_program(cached_sum(), [data, result])
    assert report.ok, str(report)
    np.testing.assert_allclose(result, data.sum(0)[::-1], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("number", [0, 1])
def test_schedules_need_each_barrier(number):
    data, result = np.ones((64, 64), np.float32), np.zeros(64, np.float32)
    report = check_program(k.without_barrier(number)(cached_sum()), [data, result])
    assert {one.stage for one in report.findings} == {"A"}
    assert {one.kind for one in report.findings} == {ViolationKind.READ_WRITE_RACE}


@pytest.mark.parametrize("shift", [0, 16])
def test_rejects_arguments_that_share_memory(shift):
    """As a call does: the program assumes that they do not."""
    memory = np.zeros(64 * 64 + 64, np.float32)
    data, result = memory[: 64 * 64].reshape(64, 64), memory[shift : shift + 64]
    with pytest.raises(
        CallError, match="argument C, which is written, shares memory with argument A"
    ):
        check_program(cached_sum(), [data, result])
    check_program(cached_sum(), [data, memory[64 * 64 :]])
