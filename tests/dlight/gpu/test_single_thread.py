"""The rule for functions whose iterations depend on each other."""

import numpy as np
import pytest

import te_sched
from te_sched import te, tir, topi
from te_sched.dlight import gpu
from te_sched.errors import BuildError
from te_sched.script import tir as T
from te_sched.target import Target
from tests.dlight.functions import applied
from tests.dlight.gpu.running import CUDA, check_arrays, check_rule


@pytest.mark.parametrize(
    "declared",
    [
        applied(topi.cumsum, 9),
        applied(lambda a: topi.cumsum(a, axis=1), 3, 5),
        applied(lambda a: topi.exp(topi.cumsum(a)), 6),
    ],
)
def test_scans_compute_what_they_did(declared):
    sch = check_rule(gpu.SingleThread(), declared)
    assert "T.parallel" not in str(sch.mod)


def test_functions_with_threads_are_of_another_kind():
    func = te.create_prim_func(applied(topi.exp, 4, 8))
    bound = gpu.Fallback().apply(func, Target(CUDA), False).mod["main"]
    assert gpu.SingleThread().apply(bound, Target(CUDA), False) is None


def test_functions_that_call_the_host_are_of_another_kind():
    @T.prim_func
    def calls(A: T.Buffer((4,), "float32")):
        T.evaluate(T.call_packed("host", A[0]))

    assert gpu.SingleThread().apply(calls, Target(CUDA), False) is None


def test_loops_without_a_block_get_one():
    @T.prim_func
    def loops(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = A[i] + T.float32(1)

    sch = gpu.SingleThread().apply(loops, Target(CUDA), False)
    assert isinstance(sch, tir.Schedule)
    assert sch.get(sch.get_block("root")).name_hint == "root"


def sums_through_memory(extent):
    """Sums of rows in memory that each row allocates, of a size that depends on it or not."""
    builder = tir.ir_builder.create()
    A, B = (tir.decl_buffer(shape, "float32", name) for shape, name in (((4, 5), "A"), ((4,), "B")))
    a, b = builder.buffer_ptr(A), builder.buffer_ptr(B)
    with builder.for_range(0, 4, kind="parallel") as i:
        sums = builder.allocate("float32", extent(i), name="sums", scope="global")
        sums[0] = tir.const(0, "float32")
        with builder.for_range(0, 5) as j:
            sums[0] = sums[0] + a[i, j]
        b[i] = sums[0]
    return tir.PrimFunc([A, B], builder.get())


def test_memory_of_loops_is_allocated_by_the_host():
    sch = gpu.SingleThread().apply(sums_through_memory(lambda i: 8), Target(CUDA), False)
    assert str(sch.mod).index("T.allocate") < str(sch.mod).index("blockIdx.x")
    values = np.random.default_rng(0).standard_normal((4, 5)).astype("float32")
    check_arrays(sch, [values], values.sum(1))


def test_memory_of_a_computed_size_is_refused():
    sch = gpu.SingleThread().apply(sums_through_memory(lambda i: i + 1), Target(CUDA), False)
    fault = "scope 'global' of buffer sums is not available in kernel"
    with pytest.raises(BuildError, match=fault):
        te_sched.build(sch.mod["main"], target=CUDA)
