"""Every intrinsic of the table on every back end: it computes what numpy does, or is refused."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from te_sched.codegen.checker.check import CALLS as CHECKED
from te_sched.codegen.cuda import intrinsics as cuda_intrinsics
from te_sched.codegen.cuda import print_kernels, tensor_cores
from te_sched.codegen.llvm.intrinsics import WRITERS
from te_sched.errors import BuildError
from te_sched.ir import expr as E
from te_sched.ir import ops
from te_sched.ir.intrinsic_table import INTRINSICS, MATHEMATICS
from tests.codegen import programs
from tests.codegen.checker import kernels
from tests.codegen.cuda.devices import agree
from tests.codegen.cuda.kernels import elementwise

N = 64
TOLERANCE = {"float16": 4e-3, "float32": 4e-6, "float64": 1e-13}
IMPLEMENTED = {
    "llvm": {*WRITERS, *MATHEMATICS} - {"call_function", "linked_memory"},  # of whole graphs
    "cuda": {*cuda_intrinsics.CALLS, *tensor_cores.CALLS},
    "checker": {*CHECKED} - {"load"},
}
# Those whose programs te_sched does not run, and what else a back end refuses.
NOWHERE = (
    "q_multiply_shift_per_axis type_annotation tvm_check_return vectorcombine vscale "
    "start_profile_intrinsic end_profile_intrinsic ptx_ldg32 tvm_struct_get "
    "tvm_context_id tvm_static_handle tvm_tuple tvm_thread_allreduce mma_store mma_fill "
    "ptx_mma_sp ptx_cp_async ptx_cp_async_bulk"
)
REFUSED = {
    "llvm": "cuda.__activemask dp4a ptx_ldmatrix ptx_mma ret tvm_fill_fragment "
    "tvm_load_matrix_sync tvm_mma_sync tvm_storage_sync tvm_store_matrix_sync "
    "tvm_thread_invariant tvm_warp_activemask tvm_warp_shuffle tvm_warp_shuffle_down "
    "tvm_warp_shuffle_up vectorhigh vectorlow",
    "cuda": "call_llvm_intrin call_llvm_pure_intrin call_packed get_active_lane_mask "
    "tvm_call_packed vectorhigh vectorlow",
    "checker": "address_of call_extern call_llvm_intrin call_llvm_pure_intrin call_packed "
    "call_pure_extern get_active_lane_mask isnullptr ret tvm_access_ptr",
}


def refused(backend: str) -> set[str]:
    return {*NOWHERE.split(), *REFUSED[backend].split()}


@pytest.mark.parametrize("backend", REFUSED)
def test_every_intrinsic_is_implemented_or_refused(backend: str) -> None:
    assert IMPLEMENTED[backend] ^ refused(backend) == set(INTRINSICS)


def arguments(name: str, dtype: str) -> list[np.ndarray]:
    """Arrays that suit an intrinsic."""
    row, random = INTRINSICS[name], np.random.default_rng(len(name))
    if dtype.startswith("float"):
        low = 1.05 if name == "acosh" else 0.05
        arrays = [random.uniform(low, low + 0.9, N).astype(dtype) for _ in range(row.arity)]
    else:
        arrays = [random.integers(0, 100, N).astype(dtype) for _ in range(row.arity)]
        arrays[0][::5] = np.iinfo(dtype).min
    if name == "likely":
        arrays = [random.integers(0, 2, N).astype("bool")]
    if name == "if_then_else":
        arrays[0] = random.integers(0, 2, N).astype("bool")
    if name == "ldexp" or name.startswith("shift"):
        arrays[1] = random.integers(0, 5, N).astype("int32" if name == "ldexp" else dtype)
    if name.startswith("is"):
        arrays[0][::3], arrays[0][::7] = np.inf, np.nan
    if name == "truncmod":
        arrays[1] += 1
    return arrays


def result_type(name: str, arrays: list[np.ndarray]) -> str:
    if name in ("isnan", "isinf", "isfinite", "likely"):
        return "bool"
    return "int32" if name == "clz" else arrays[-1 if name == "if_then_else" else 0].dtype.name


CASES = [
    (name, dtype)
    for name, row in INTRINSICS.items()
    if row.meaning is not None
    for dtype in (
        *(("float16", "float32", "float64") if row.types != "integer" and name != "likely" else ()),
        *(("int8", "int32", "int64", "uint8") if row.types == "integer" else ()),
        *(("int32",) if name in ("abs", "fabs", "fmod", "truncmod", "likely") else ()),
    )
]


def expected(name: str, arrays: list[np.ndarray]) -> np.ndarray:
    with np.errstate(all="ignore"):
        wide = [one.astype("float32") if one.dtype == "float16" else one for one in arrays]
        return np.asarray(INTRINSICS[name].meaning(*wide)).astype(result_type(name, arrays))


def make(name: str, dtype: str, *values: E.Expr) -> E.Call:
    return E.Call(dtype, f"tir.{name}", tuple(map(ops.convert, values)))


@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_llvm_computes_what_numpy_does(name: str, dtype: str) -> None:
    arrays = arguments(name, dtype)
    exact, tolerance = expected(name, arrays), TOLERANCE.get(dtype, 0)
    types, element = [one.dtype.name for one in arrays], exact.dtype.name
    for lanes in (1, 4) if INTRINSICS[name].takes_vectors else (1,):
        output = np.zeros_like(exact)
        dtype = element if lanes == 1 else f"{element}x{lanes}"
        program = programs.elementwise(
            partial(make, name, dtype), types, N, "serial", lanes, element
        )
        programs.build(program)(*arrays, output)
        np.testing.assert_allclose(
            output.astype("float64"), exact.astype("float64"), tolerance, tolerance
        )


@pytest.mark.parametrize(
    ("name", "dtype"), [case for case in CASES if case[1] not in ("float16", "float64", "int64")]
)
def test_cuda_emulator_and_checker_compute_what_numpy_does(name: str, dtype: str) -> None:
    arrays = arguments(name, dtype)
    exact = expected(name, arrays)
    inputs = [kernels.array("ABD"[k], N, one.dtype.name) for k, one in enumerate(arrays)]
    output = kernels.array("C", N, exact.dtype.name)

    def build(ib, *pointers, tx):
        *values, result = pointers
        result[tx] = make(name, exact.dtype.name, *[one[tx] for one in values])

    agree(
        kernels.program(build, [*inputs, output], tx=N),
        arrays,
        exact,
        archs=("sm_80",),
        tolerance=TOLERANCE.get(dtype, 0),
    )


@pytest.mark.parametrize("name", sorted(refused("llvm")))
def test_llvm_refuses(name: str) -> None:
    reason = (
        "only on devices" if INTRINSICS[name].needs_threads else "is not available for target llvm"
    )
    with pytest.raises(BuildError, match=reason):
        programs.build(programs.elementwise(partial(make, name, "float32"), ["float32"], N))


@pytest.mark.parametrize("name", sorted(refused("cuda")))
def test_cuda_refuses(name: str) -> None:
    with pytest.raises(BuildError, match=f"intrinsic tir.{name}"):
        print_kernels(elementwise(partial(make, name, "float32"), ["float32"]))


@pytest.mark.parametrize("number", [0, 2])
def test_arguments_are_counted_on_all_back_ends(number: int) -> None:
    x = E.FloatImm(1.0, "float32")
    with pytest.raises(BuildError, match=f"tir.exp has {number} arguments"):
        programs.build(
            programs.elementwise(lambda _: make("exp", "float32", *[x] * number), ["float32"], N)
        )
    with pytest.raises(BuildError, match=f"tir.exp has {number} arguments"):
        print_kernels(elementwise(lambda _: make("exp", "float32", *[x] * number), ["float32"]))


@pytest.mark.parametrize(("name", "dtype"), [("exp", "int32"), ("popcount", "float32")])
def test_types_are_checked_on_all_back_ends(name: str, dtype: str) -> None:
    with pytest.raises(BuildError, match=f"{name} expects .*, got {dtype}"):
        programs.build(programs.elementwise(partial(make, name, dtype), [dtype], N))
    with pytest.raises(BuildError, match=f"{name} expects .*, got {dtype}"):
        print_kernels(elementwise(partial(make, name, dtype), [dtype]))
