"""Compiling with NVRTC: what comes out, errors, and every kind of node that the printer knows."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from te_sched.codegen.cuda import nvrtc, print_kernels
from te_sched.errors import BuildError
from te_sched.ir import expr as E
from te_sched.ir import stmt as S
from tests.codegen.cuda.kernels import (
    address,
    array,
    call,
    elementwise,
    kernel,
    mma_kernel,
    thread,
    wmma_kernel,
)
from tests.codegen.cuda.operators import operators

needs_nvrtc = pytest.mark.skipif(not nvrtc.is_available(), reason="NVRTC is not installed")
ARCHITECTURES = ("sm_75", "sm_80", "sm_90")
SHARING = """
extern "C" __global__ void __launch_bounds__(64) f(float* C) {
  __shared__ float s[64];
  s[threadIdx.x] = C[threadIdx.x];
  __syncthreads();
  C[threadIdx.x] = s[63 - threadIdx.x];
}
"""


@needs_nvrtc
@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_compiles_to_ptx_and_machine_code(arch):
    made = nvrtc.compile(SHARING, arch)
    assert f".target {arch}" in made.ptx
    assert ".visible .entry f(" in made.ptx
    assert made.cubin.startswith(b"\x7fELF")
    usage = made.resource_usage["f"]
    assert usage.shared_bytes == 256
    assert 0 < usage.registers < 32
    assert (usage.local_bytes, usage.spill_stores, usage.spill_loads) == (0, 0, 0)


@needs_nvrtc
def test_compiles_the_same_once():
    assert nvrtc.compile(SHARING, "sm_80") is nvrtc.compile(SHARING, "sm_80")


@needs_nvrtc
def test_threads_that_want_the_same_share_it():
    source = SHARING.replace("63", "31")
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: nvrtc.compile(source, "sm_80"), range(16)))
    assert all(one is made[0] for one in made)


@needs_nvrtc
def test_spills_are_counted():
    source = """
extern "C" __global__ void __launch_bounds__(32) f(float* C) {
  float a[200];
  for (int i = 0; i < 200; ++i) a[i] = C[i];
  for (int i = 0; i < 200; ++i) C[i] = a[((int)C[i]) % 200];
}
"""
    assert nvrtc.compile(source).resource_usage["f"].local_bytes == 800


@needs_nvrtc
def test_error_shows_the_line():
    with pytest.raises(BuildError, match="CUDA source does not compile for sm_80") as caught:
        nvrtc.compile('extern "C" __global__ void f() {\n  missing(1);\n}\n')
    assert "line 2 of the source, `missing(1);`" in str(caught.value)
    assert 'identifier "missing" is undefined' in str(caught.value)


@needs_nvrtc
@pytest.mark.parametrize("arch", ["sm_13", "pascal"])
def test_rejects_unknown_architectures(arch):
    with pytest.raises(BuildError, match=arch) as caught:
        nvrtc.compile(SHARING, arch)
    assert "sm_80" in caught.value.help


def test_says_what_to_install(monkeypatch):
    monkeypatch.setattr(nvrtc, "find_toolkit", lambda: None)
    with pytest.raises(BuildError, match=r"\(NVRTC\) is not installed") as caught:
        nvrtc.compile("// nobody has compiled this", "sm_80")
    assert caught.value.help == nvrtc.INSTALL


def everything(lanes):
    """Kernels with all operators of all types."""
    found = {}
    for one in operators():
        found |= elementwise(one.compute, [one.dtype] * one.count, lanes, one.name)
    return found


@needs_nvrtc
@pytest.mark.parametrize("lanes", [1, 4])
def test_all_operators_of_all_types_compile(lanes):
    kernels = everything(lanes)
    made = nvrtc.compile(print_kernels(kernels), "sm_80")
    assert made.resource_usage.keys() == kernels.keys()


def dp4a_kernel():
    tx, a, b, c = (
        thread(),
        array("A", 128, "int8"),
        array("B", 128, "int8"),
        array("C", 32, "int32"),
    )
    index = E.Ramp(tx * 4, E.IntImm(1), 4)
    args = (E.BufferLoad(a, (index,)), E.BufferLoad(b, (index,)), E.BufferLoad(c, (tx,)))
    value = E.Call("int32", "tir.call_pure_extern", (E.StringImm("__dp4a"), *args))
    return kernel(tx, [a, b, c], S.BufferStore(c, value, (tx,)))


def bits_kernel():
    """reinterpret between vectors and scalars of one size, large shuffles, prefetch, while."""
    tx, a, c = thread(), array("A", 128, "int8"), array("C", 32, "int32")
    word = call("int32", "reinterpret", E.BufferLoad(a, (E.Ramp(tx * 4, E.IntImm(1), 4),)))
    steps = (
        S.Evaluate(call("void", "prefetch", address(a), 0, 3, 1)),
        S.BufferStore(c, word, (tx,)),
        S.While(
            E.BufferLoad(c, (tx,)) > 0,
            S.BufferStore(c, E.BufferLoad(c, (tx,)) - 1, (tx,)),
        ),
        S.Evaluate(call("handle", "tvm_storage_sync", "warp")),
    )
    return kernel(tx, [a, c], S.SeqStmt(steps))


SPECIAL = {"wmma": wmma_kernel, "mma": mma_kernel, "dp4a": dp4a_kernel, "bits": bits_kernel}


@needs_nvrtc
@pytest.mark.parametrize("name", SPECIAL)
def test_special_instructions_compile(name):
    made = nvrtc.compile(print_kernels({"f": SPECIAL[name]()}), "sm_80")
    expected = {"wmma": "wmma.mma.sync", "mma": "ldmatrix", "dp4a": "dp4a", "bits": "prefetch"}
    assert expected[name] in made.ptx
