"""What a report says, and what runs under watch besides loads and stores."""

import json
import signal

import numpy as np
import pytest

import te_sched
from te_sched import config, te
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


def test_report_is_data_and_text():
    module, arguments, _ = k.reverse()
    report = check_program(k.without_barrier(1)(module), arguments)
    data = json.loads(json.dumps(report.to_dict()))
    assert data["ok"] is report.ok is False
    assert data["findings"][0]["kind"] == "read-write race"
    assert data["counters"]["main_kernel"][0]["access"] == "A[bx * 256 + k * 64 + tx]"
    assert "other thread: block (0, 0, 0) thread (63, 0, 0): read s_shared[63 - tx]" in str(report)
    assert "kernel main_kernel: 2 blocks of 64 threads, 256 bytes" in str(report)


def counter(report, does, buffer):
    return next(
        one for one in report.counters["main_kernel"] if (one.does, one.buffer) == (does, buffer)
    )


@pytest.mark.parametrize("stride", [1, 2, 8, 33])
def test_bank_conflicts(stride):
    def build(ib, A, C, tx):
        s = ib.allocate("float32", (33 * 32,), "s", scope="shared")
        s[tx * stride] = A[tx]
        C[tx] = s[tx * stride]

    module = k.program(build, [k.array("A", 32), k.array("C", 32)], tx=32)
    report = check_program(module, [np.ones(32, np.float32), np.ones(32, np.float32)])
    found = counter(report, "write", "s")
    assert report.ok
    assert (found.requests, found.taken, found.ideal) == (1, {33: 1}.get(stride, stride), 1)


@pytest.mark.parametrize(("stride", "sectors"), [(0, 1), (1, 4), (2, 8), (8, 32), (100, 32)])
def test_global_sectors(stride, sectors):
    def build(ib, A, C, tx):
        C[tx] = A[tx * stride]

    module = k.program(build, [k.array("A", 3200), k.array("C", 32)], tx=32)
    report = check_program(module, [np.ones(3200, np.float32), np.ones(32, np.float32)])
    found = counter(report, "read", "A")
    assert (found.taken, found.ideal) == (sectors, 4 if stride else 1)


def test_occupancy():
    module, arguments, _ = k.reverse()
    report = check_program(module, arguments, registers={"main_kernel": 255})
    assert report.occupancy["main_kernel"]["sm_80"] == {
        "blocks": 4,
        "warps": 8,
        "occupancy": 0.125,
        "limited_by": "registers",
    }


def test_endless_kernel_is_stopped():
    def build(ib, A, tx):
        A[tx] = E.FloatImm(0.0)
        with ib.while_loop(A[tx] < E.FloatImm(1.0)):
            A[tx] = A[tx] * E.FloatImm(0.5)

    module = k.program(build, [k.array("A", 32)], tx=32)
    report = check_program(module, [np.zeros(32, np.float32)], max_steps=1000)
    assert [one.kind for one in report.findings] == [ViolationKind.STEP_LIMIT]
    assert "1000 steps" in str(report)
    with config.scoped(max_steps=500):
        assert "500 steps" in str(check_program(module, [np.zeros(32, np.float32)]))


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the system has no timers")
def test_long_run_can_be_interrupted():
    def build(ib, A, tx):
        with ib.while_loop(A[tx] < E.FloatImm(1.0)):
            A[tx] = A[tx] * E.FloatImm(0.5)

    def interrupt(*_):
        raise KeyboardInterrupt

    module = k.program(build, [k.array("A", 32)], tx=32)
    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    try:
        with pytest.raises(KeyboardInterrupt):
            check_program(module, [np.zeros(32, np.float32)])
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_lanes_leave_a_loop_one_by_one():
    def build(ib, C, tx):
        C[tx] = E.IntImm(0)
        with ib.for_range(0, tx) as i:
            C[tx] = C[tx] + i

    module = k.program(build, [k.array("C", 40, "int32")], tx=40)
    result = np.zeros(40, np.int32)
    assert check_program(module, [result]).ok
    np.testing.assert_array_equal(result, [n * (n - 1) // 2 for n in range(40)])


def histogram(is_atomic):
    def build(ib, A, H, bx, tx):
        if is_atomic:
            place = E.Call("handle", "tir.address_of", (H[A[bx * 64 + tx]],))
            ib.emit(E.Call("int32", "tir.atomic_add", (place, E.IntImm(1))))
        else:
            H[A[bx * 64 + tx]] = H[A[bx * 64 + tx]] + 1

    return k.program(build, [k.array("A", 128, "int32"), k.array("H", 4, "int32")], bx=2, tx=64)


def test_atomics_do_not_race():
    data, bins = np.arange(128, dtype=np.int32) % 4, np.zeros(4, np.int32)
    assert check_program(histogram(True), [data, bins], initialized=["H"]).ok
    np.testing.assert_array_equal(bins, [32] * 4)


def test_updates_that_are_not_atomic_race():
    data, bins = np.arange(128, dtype=np.int32) % 4, np.zeros(4, np.int32)
    report = check_program(histogram(False), [data, bins], initialized=["H"])
    assert {one.kind for one in report.findings} >= {ViolationKind.READ_WRITE_RACE}
    assert {one.buffer for one in report.findings} == {"H"}


def test_outputs_are_not_initialized():
    data, bins = np.arange(128, dtype=np.int32) % 4, np.zeros(4, np.int32)
    report = check_program(histogram(True), [data, bins])
    assert [one.kind for one in report.findings] == [ViolationKind.UNINITIALIZED_READ]


def fragments(with_fill=True):
    def build(ib, A, B, C, tx):
        parts = [
            ib.allocate(dtype, (256,), name, scope=f"wmma.{use}")
            for dtype, name, use in (
                ("float16", "a", "matrix_a"),
                ("float16", "b", "matrix_b"),
                ("float32", "c", "accumulator"),
            )
        ]
        a, b, c = (part.asobject().data for part in parts)
        sizes = (E.IntImm(16),) * 3
        zero, row = E.IntImm(0), E.StringImm("row_major")

        def call(op, *args):
            ib.emit(E.Call("handle", f"tir.{op}", args))

        def address(buffer):
            return E.Call("handle", "tir.address_of", (buffer[0],))

        if with_fill:
            call("tvm_fill_fragment", c, *sizes, zero, E.FloatImm(0.0))
        call("tvm_load_matrix_sync", a, *sizes, zero, address(A), E.IntImm(16), row)
        col = E.StringImm("col_major")
        call("tvm_load_matrix_sync", b, *sizes, zero, address(B), E.IntImm(16), col)
        call("tvm_mma_sync", c, zero, a, zero, b, zero, c, zero)
        call("tvm_store_matrix_sync", c, *sizes, zero, address(C), E.IntImm(16), row)

    arrays = [k.array("A", 256, "float16"), k.array("B", 256, "float16"), k.array("C", 256)]
    return k.program(build, arrays, tx=32)


def test_fragments():
    generator = np.random.default_rng(0)
    a, b = generator.normal(size=(2, 256)).astype(np.float16)
    c = np.full(256, np.nan, np.float32)
    report = check_program(fragments(), [a, b, c])
    assert report.ok, str(report)
    expected = a.reshape(16, 16).astype(np.float32) @ b.reshape(16, 16).T.astype(np.float32)
    np.testing.assert_allclose(c.reshape(16, 16), expected, rtol=1e-5, atol=1e-5)


def test_fragment_that_is_not_filled():
    a, b, c = np.ones(256, np.float16), np.ones(256, np.float16), np.ones(256, np.float32)
    report = check_program(fragments(False), [a, b, c])
    assert [one.kind for one in report.findings] == [ViolationKind.UNINITIALIZED_READ]
    assert "the fragment c" in report.findings[0].detail


def warp_steps(with_barrier):
    def build(ib, A, C, tx):
        s = ib.allocate("float32", (64,), "s", scope="shared")
        s[tx] = A[tx]
        if with_barrier:
            ib.emit(k.barrier("warp"))
        C[tx] = s[tx // 32 * 32 + (31 - tx % 32)]

    return k.program(build, [k.array("A", 64), k.array("C", 64)], tx=64)


@pytest.mark.parametrize("with_barrier", [True, False])
def test_barriers_of_warps(with_barrier):
    arguments = [np.arange(64, dtype=np.float32), np.zeros(64, np.float32)]
    assert check_program(warp_steps(with_barrier), arguments).ok is with_barrier


def test_reads_only_where_wanted():
    def build(ib, A, C, tx):
        C[tx] = te_sched.tir.if_then_else(tx < 10, A[tx], E.FloatImm(0.0))

    module = k.program(build, [k.array("A", 10), k.array("C", 32)], tx=32)
    result = np.full(32, np.nan, np.float32)
    assert check_program(module, [np.ones(10, np.float32), result]).ok
    np.testing.assert_array_equal(result, [1.0] * 10 + [0.0] * 22)


def test_redundant_writes_of_one_value_are_no_race():
    def build(ib, C, bx, tx):
        C[bx] = E.FloatImm(3.0)

    module = k.program(build, [k.array("C", 4)], bx=4, tx=32)
    assert check_program(module, [np.zeros(4, np.float32)]).ok


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


@pytest.mark.parametrize("dtype", ["float16", "float64", "int8", "uint16", "int64", "bfloat16"])
def test_types(dtype):
    a = te.placeholder((64,), dtype, name="A")
    c = te.compute((64,), lambda i: a[i] * a[i] + a[i], name="C")
    s = te.create_schedule(c.op)
    s[c].bind(c.op.axis[0], te.thread_axis("threadIdx.x"))
    module = device_passes(te_sched.lower(s, [a, c], name="main")["main"])
    values = np.arange(64) * 3
    if dtype == "bfloat16":  # 64 * 3 and its square need more than 8 bits: rounded twice
        data = (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
        result = np.zeros(64, np.uint16)
        assert check_program(module, [data, result]).ok
        kept = (result.astype(np.uint32) << 16).view(np.float32)
        np.testing.assert_allclose(kept, values * values + values, rtol=2**-7)
        return
    data, result = values.astype(dtype), np.zeros(64, dtype)
    assert check_program(module, [data, result]).ok
    np.testing.assert_array_equal(result, data * data + data)


@pytest.mark.parametrize("name", ["exp", "erf", "tanh", "rsqrt", "sigmoid", "log", "ceil"])
def test_mathematics(name):
    a = te.placeholder((32,), name="A")
    c = te.compute((32,), lambda i: getattr(te, name)(a[i]), name="C")
    s = te.create_schedule(c.op)
    s[c].bind(c.op.axis[0], te.thread_axis("threadIdx.x"))
    module = device_passes(te_sched.lower(s, [a, c], name="main")["main"])
    data, result = np.linspace(0.1, 3, 32, dtype=np.float32), np.zeros(32, np.float32)
    assert check_program(module, [data, result]).ok
    assert np.isfinite(result).all()
    assert len(np.unique(result)) > 2


def test_values_kept_for_one_access_are_seen_by_others():
    def build(ib, C, D, tx):
        C[tx] = E.FloatImm(1.0)
        with ib.for_range(0, 3) as i:
            D[i * 32 + tx] = C[31 - tx]
            C[tx] = C[tx] + C[tx]
            C[tx] = C[tx] + E.FloatImm(1.0)

    arguments = [np.zeros(32, np.float32), np.zeros(96, np.float32)]
    module = k.program(build, [k.array("C", 32), k.array("D", 96)], tx=32)
    assert not check_program(module, arguments).ok
    np.testing.assert_array_equal(arguments[1], np.repeat([1.0, 3.0, 7.0], 32))
    np.testing.assert_array_equal(arguments[0], [15.0] * 32)


def test_a_change_after_a_known_sequence_is_found():
    def build(ib, A, C, tx):
        s = ib.allocate("float32", (32,), "s_shared", scope="shared")
        with ib.for_range(0, 4, name="k") as i:
            s[tx] = A[tx]
            k.wait(ib)
            C[tx] = s[31 - tx]
            with ib.if_scope(i >= 2):
                s[tx] = A[tx] * E.FloatImm(2.0)
            k.wait(ib)

    module = k.program(build, [k.array("A", 32), k.array("C", 32)], tx=32)
    report = check_program(module, [np.ones(32, np.float32), np.zeros(32, np.float32)])
    (found,) = report.findings
    assert (found.kind, found.loops) == (ViolationKind.READ_WRITE_RACE, {"k": 2})


def test_lanes_of_vectors_are_read_only_where_wanted():
    def build(ib, A, C, tx):
        lanes = E.Ramp(tx * 4, E.IntImm(1), 4)
        wanted = E.LT(lanes, E.Broadcast(E.IntImm(126), 4))
        zero = E.Broadcast(E.FloatImm(0.0), 4)
        C[lanes] = E.Call("float32x4", "tir.if_then_else", (wanted, A[lanes], zero))

    module = k.program(build, [k.array("A", 126), k.array("C", 128)], tx=32)
    result = np.full(128, np.nan, np.float32)
    report = check_program(module, [np.ones(126, np.float32), result])
    assert report.ok, str(report)
    np.testing.assert_array_equal(result, [1.0] * 126 + [0.0] * 2)


@pytest.mark.parametrize("dtype", ["bool", "int8"])
def test_truth_values(dtype):
    a = te.placeholder((32,), "bool", name="A")
    c = te.compute((32,), lambda i: te_sched.tir.all(a[i], i < 20), name="C")
    s = te.create_schedule(c.op)
    s[c].bind(c.op.axis[0], te.thread_axis("threadIdx.x"))
    module = device_passes(te_sched.lower(s, [a, c], name="main")["main"])
    data, result = (np.arange(32) % 2).astype(dtype), np.zeros(32, dtype)
    assert check_program(module, [data, result]).ok
    np.testing.assert_array_equal(result, data * (np.arange(32) < 20))


def test_dot_of_four():
    def build(ib, A, B, C, tx):
        lanes = E.Ramp(tx * 4, E.IntImm(1), 4)
        C[tx] = E.Call("int32", "tir.dp4a", (A[lanes], B[lanes], E.IntImm(5)))

    arrays = [k.array("A", 128, "int8"), k.array("B", 128, "int8"), k.array("C", 32, "int32")]
    module = k.program(build, arrays, tx=32)
    a, b = np.random.default_rng(0).integers(-128, 128, (2, 128)).astype(np.int8)
    result = np.zeros(32, np.int32)
    assert check_program(module, [a, b, result]).ok
    expected = (a.astype(np.int32) * b).reshape(32, 4).sum(1) + 5
    np.testing.assert_array_equal(result, expected)


def test_integers_wrap():
    def build(ib, A, C, tx):
        hashed = A[tx] * E.IntImm(1103515245) + E.IntImm(12345)
        C[tx] = E.Call("int32", "tir.shift_right", (hashed, E.IntImm(3)))

    module = k.program(build, [k.array("A", 32, "int32"), k.array("C", 32, "int32")], tx=32)
    data, result = np.arange(32, dtype=np.int32), np.zeros(32, np.int32)
    assert check_program(module, [data, result]).ok
    np.testing.assert_array_equal(result, (data * np.int32(1103515245) + np.int32(12345)) >> 3)
