"""Arguments that share memory: calls compute what the loops do in their order, or are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched.codegen.llvm.entry import write_function
from te_sched.codegen.llvm.module import ModuleText
from te_sched.errors import CallError
from te_sched.ir import expr as E
from te_sched.ir import stmt as S
from te_sched.script import from_source
from tests.analysis.programs.test_shared_arguments import ANYHOW, BODIES, SAME, N, program, views
from tests.codegen.programs import buffer, function


def in_order(body: str, names: str, arrays: tuple[np.ndarray, ...]) -> None:
    """Run a body with its loops as those of Python."""
    for words in ("T.vectorized", "T.parallel", "T.unroll", "T.serial"):
        body = body.replace(words, "range")
    exec(body, {name: array for name, array in zip(names, arrays, strict=False)})


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("dtype", ["int32", "float32", "int8"])
def test_calls_with_overlapping_arrays(name: str, dtype: str) -> None:
    body = BODIES[name]
    if name == "gather" and dtype == "float32":
        return
    module = te_sched.build(program(body, dtype=dtype))
    for offset in (-16, -15, -1, 0, 1, 3, 15, 16):
        (memory, arrays), (expected, others) = views(offset, dtype), views(offset, dtype)
        allowed = abs(offset) >= N or name in ANYHOW or (offset == 0 and name in SAME)
        if allowed:
            module(*arrays[:2])
            in_order(body, "AB", others)
        else:
            with pytest.raises(CallError, match="B, which is written, shares memory with argu"):
                module(*arrays[:2])
        np.testing.assert_array_equal(memory, expected)


def test_promise_of_noalias_refuses_one_array_twice() -> None:
    func = program("for i in range(16):\n    B[i] = A[i] + 1").with_attr("tir.noalias", True)
    a = np.zeros(16, "int32")
    with pytest.raises(CallError, match="shares memory"):
        te_sched.build(func)(a, a)
    te_sched.build(func.with_attr("tir.noalias", False))(a, a)
    np.testing.assert_array_equal(a, 1)


def test_other_shapes_are_not_the_same_array() -> None:
    arguments = 'A: T.Buffer((4, 4), "int32"), B: T.Buffer((2, 8), "int32")'
    body = "for i in T.parallel(2):\n    for j in range(4):\n        B[i, j] = A[i, j]"
    a = np.zeros(16, "int32")
    with pytest.raises(CallError, match="shares memory"):
        te_sched.build(program(body, arguments))(a.reshape(4, 4), a.reshape(2, 8))


HALVES = """
@T.prim_func
def main(a: T.handle, b: T.handle):
    s = T.int32()
    A = T.match_buffer(a, (4, 8), "int32", strides=[s, 1])
    B = T.match_buffer(b, (4, 8), "int32", strides=[s, 1])
    for i in T.parallel(4):
        for j in T.vectorized(8):
            B[i, j] = A[i, 7 - j] + 1
"""


@pytest.mark.parametrize("noalias", [True, False])
def test_halves_of_a_matrix_are_apart(noalias: bool) -> None:
    """The rows of one lie between those of the other."""
    module = te_sched.build(from_source(HALVES).with_attr("tir.noalias", noalias))
    memory = np.arange(80, dtype="int32").reshape(4, 20)
    for first, second in [(0, 8), (8, 0), (0, 12), (12, 1)]:
        a, b = memory[:, first : first + 8], memory[:, second : second + 8]
        module(a, b)
        np.testing.assert_array_equal(b, a[:, ::-1] + 1)
    for first, second in [(0, 7), (7, 0), (5, 12), (12, 5)]:
        with pytest.raises(CallError, match="shares memory"):
            module(memory[:, first : first + 8], memory[:, second : second + 8])
    wide = np.arange(40, dtype="int32")  # rows that go on behind the next one's begin
    rows = np.lib.stride_tricks.as_strided(wide[1:], (4, 8), (32, 4))
    with pytest.raises(CallError, match="shares memory"):
        module(np.lib.stride_tricks.as_strided(wide, (4, 8), (32, 4)), rows)


def entry_of(shape: tuple[Any, ...], *more: E.Buffer, **attrs: Any) -> str:
    """The instructions of the entry of a function that stores to an array and has others."""
    target = buffer("A", shape)
    store = S.BufferStore(target, E.FloatImm(1.0), (E.IntImm(0),))
    module = ModuleText()
    write_function(module, function([target, *more], store, **attrs), "main")
    return module.functions[0].partition("store")[0]


@pytest.mark.parametrize(
    ("shape", "other", "pairs"),
    [
        *[((4,), (9,), 1), ((0,), (9,), 0), ((4,), (3, 0), 0)],
        ((E.Var("n"),), (9,), 1),
    ],
)
def test_arrays_without_elements_are_not_compared(shape: Any, other: Any, pairs: int) -> None:
    text = entry_of(shape, buffer("B", other))
    assert text.count("icmp ult ptr") == 2 * pairs
    assert text.count("icmp ne ptr") == sum(isinstance(extent, E.Var) for extent in shape)
    assert not entry_of(shape, buffer("B", other), **{"tir.noalias": False}).count("icmp")


def test_arrays_end_after_their_last_element() -> None:
    """Of (3, 5) floats with strides (8, 1), that is 2 * 8 + 4 * 1 + 1 floats."""
    text = entry_of((4,), buffer("B", (3, 5), strides=(8, 1)), buffer("C", (2, 7), "float64"))
    assert [line.split()[-1] for line in text.splitlines() if "getelementptr i8" in line] == [
        *("16", str(21 * 4), str(14 * 8)),
    ]
