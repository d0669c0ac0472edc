"""What the text means: kernels compiled as C++ for the processor give what LLVM's code gives."""

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import te_sched
from te_sched import te
from te_sched.codegen.cuda import print_kernels
from tests.codegen.cuda.kernels import elementwise
from tests.codegen.cuda.operators import operators

COMPILER = shutil.which("g++") or shutil.which("clang++")
N = 64
# float16 and bfloat16 are classes of CUDA's own.
OPERATORS = [one for one in operators() if "float16" not in one.name]
POSITIVE = ("log", "sqrt", "rsqrt")
FLAGS = ("-O0", "-fwrapv", "-fno-strict-aliasing", "-w", "-shared", "-fPIC")


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """All kernels, each with a function that runs its threads one after the other."""
    texts = [(Path(__file__).parent / "shim.h").read_text()]
    kernels = {}
    for one, lanes in cases():
        name = f"{one.name}_{lanes}"
        found = elementwise(one.compute, [one.dtype] * one.count, lanes, name)
        kernels |= found
        (kernel,) = found.values()
        numbers = {"A": 0, "B": 1, "C": one.count}  # simplified away, an input is no parameter
        arguments = ", ".join(f"arguments[{numbers[param.name]}]" for param in kernel.params)
        types = ", ".join(["void*"] * len(kernel.params))
        texts.append(
            f'extern "C" void run_{name}(void** arguments) {{\n'
            f"  for (threadIdx.x = 0; threadIdx.x < {N // lanes}; ++threadIdx.x)\n"
            f"    ((void (*)({types})){name}_kernel)({arguments});\n}}"
        )
    texts.insert(1, print_kernels(kernels))
    place = tmp_path_factory.mktemp("meaning")
    (place / "kernels.cpp").write_text("\n".join(texts))
    command = [COMPILER, *FLAGS, "-o", "kernels.so", "kernels.cpp"]
    subprocess.run(command, cwd=place, check=True)
    return ctypes.CDLL(str(place / "kernels.so"))


def cases():
    return [(one, lanes) for one in OPERATORS for lanes in (1, 4)]


def values_of(operator, generator):
    """Numbers that suit: zeros and extremes of integers, no float that its target cannot hold."""
    kind = np.dtype(operator.dtype).kind
    if kind == "b":
        return generator.integers(0, 2, N).astype(bool)
    if kind == "f":
        name = operator.name
        low = 0.1 if name.split("_")[0] in POSITIVE or "_uint" in name else -4.0
        return generator.uniform(low, 100.0, N).astype(operator.dtype)
    limits = np.iinfo(operator.dtype)
    values = generator.integers(max(limits.min, -9), 10, N).astype(operator.dtype)
    values[::7] = limits.max
    values[3::9] = limits.min
    return values


def aligned(values):
    """A copy that begins at a multiple of 64 bytes."""
    room = np.zeros(values.nbytes + 64, np.uint8)
    start = -room.ctypes.data % 64
    copy = room[start : start + values.nbytes].view(values.dtype)
    copy[:] = values
    return copy


def expected(operator, inputs):
    """What the LLVM back end computes."""
    tensors = [te.placeholder((N,), operator.dtype) for _ in inputs]
    result = te.compute((N,), lambda i: operator.compute(*[tensor[i] for tensor in tensors]))
    function = te_sched.build(te.create_schedule(result.op), [*tensors, result], target="llvm")
    arrays = [te_sched.nd.array(one) for one in [*inputs, np.zeros(N, result.dtype)]]
    function(*arrays)
    return arrays[-1].numpy()


@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")
@pytest.mark.parametrize("operator", OPERATORS, ids=lambda one: one.name)
def test_text_means_what_llvm_computes(operator, library):
    generator = np.random.default_rng(0)
    inputs = [aligned(values_of(operator, generator)) for _ in range(operator.count)]
    want = expected(operator, inputs)
    for lanes in (1, 4):
        result = aligned(np.zeros(N, want.dtype))
        pointers = [array.ctypes.data for array in (*inputs, result)]
        run = getattr(library, f"run_{operator.name}_{lanes}")
        run((ctypes.c_void_p * len(pointers))(*pointers))
        if want.dtype.kind == "f":
            tolerance = 3e-6 if want.dtype.itemsize == 4 else 1e-12
            np.testing.assert_allclose(result, want, rtol=tolerance)
        else:
            np.testing.assert_array_equal(result, want)
