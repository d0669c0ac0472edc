"""Names that mean something in C++, in headers, or in the kernel itself."""

from __future__ import annotations

from typing import Any

import pytest

import te_sched
from te_sched import te, tir
from te_sched.codegen.cuda import nvrtc
from te_sched.codegen.cuda.names import NumberedNames, ScopedNames, identifier, words_of

WORDS = (
    *("NULL", "int", "__global__", "threadIdx", "half", "INFINITY", "NAN", "assert", "min"),
    *("errno", "EOF", "stdin", "M_PI", "concept", "char8_t", "restrict", "make_float4", "float4"),
    *("CUDART_VERSION", "cudaStreamDefault", "NV_IF_TARGET", "va_start", "linux", "co_await"),
    *("__half2float", "nvcuda", "wmma", "te_exp", "__syncthreads", "9lives", "名前", "a b", "_"),
)


def source(name: str) -> str:
    """A kernel in halves and floats whose input and output have a name."""
    A = te.placeholder((64,), name=name)
    H = te.placeholder((64,), "float16", name="H")
    B = te.compute(
        (64,), lambda i: te.tanh(A[i]) + te.max(A[63 - i], H[i].astype("float32")), name=name
    )
    s = te.create_schedule(B.op)
    s[B].bind(B.op.axis[0], te.thread_axis("threadIdx.x"))
    text: str = te_sched.build(s, [A, H, B], target="cuda").imported_modules[0].get_source()
    return text


@pytest.mark.skipif(not nvrtc.is_available(), reason="NVRTC is not installed")
def test_names_compile() -> None:
    texts = [source(word).replace("main_kernel", f"f{n}") for n, word in enumerate(WORDS)]
    before, first = texts[0].split('extern "C"')
    kernels = [first, *[text.split('extern "C"')[1] for text in texts[1:]]]
    assert nvrtc.compile('extern "C"'.join([before, *kernels]), "sm_80").ptx


@pytest.mark.parametrize("word", ["NULL", "INFINITY", "EOF", "FLT_MAX", "EDOM", "cudaCpuDeviceId"])
def test_macros_are_renamed(word: str) -> None:
    assert identifier(word) == f"v_{word}"


@pytest.mark.parametrize(
    "word", ["A", "B_shared", "OUT", "IC", "T_dense", "E", "C1", "nulls", "M_shared"]
)
def test_names_are_kept(word: str) -> None:
    assert ScopedNames().fresh(word) == word


def test_names_that_become_equal_differ() -> None:
    names = ScopedNames()
    assert [names.fresh(one) for one in ("A.B", "A_B", "A-B", "é", "ü")] == [
        *("A_B", "A_B_1", "A_B_2", "v", "v_1")
    ]


def test_functions_that_a_kernel_calls_are_no_names() -> None:
    """Neither those of CUDA nor those of the user, whatever they are called."""
    A = te.placeholder((32,), name="__sinpif")
    B = te.compute((32,), lambda i: tir.call_pure_extern("float32", "sinpif", A[i]), name="blend")
    s = te.create_schedule(B.op)
    s[B].bind(B.op.axis[0], te.thread_axis("threadIdx.x"))
    text = te_sched.build(s, [A, B], target="cuda").imported_modules[0].get_source()
    assert "blend[((int)threadIdx.x)] = sinpif(sinpif_1[((int)threadIdx.x)]);" in text


def test_words_of_a_text() -> None:
    probe: Any = NumberedNames()
    name = probe.fresh("A")
    lines = [f'half {name} = nvcuda::wmma::f({name}.x, 0x1f); asm("mov {name}");', "g(1.0f);"]
    assert words_of(lines) == {"half", "nvcuda", "asm", "g"}
