"""The text of a kernel while it is written: lines, names, vectors and facts."""

from __future__ import annotations

import pytest

from te_sched.codegen.cuda.pieces import ADD, Piece, PieceLanes
from te_sched.codegen.cuda.writer import KernelText
from te_sched.errors import BuildError, InternalError
from te_sched.ir import expr as E
from tests.codegen.cuda.kernels import empty_text


@pytest.fixture
def out() -> KernelText:
    return empty_text()


def test_captured_lines_are_not_written(out: KernelText) -> None:
    with out.block("if (a)"):
        with out.capture() as lines:
            assert out.is_captured
            out.define("v", "int32", [Piece("1")])
        out.define("v", "int32", [Piece("2")])  # the name is free again
    assert lines == ["      const int v = 1;"]
    assert out.lines == ["  if (a) {", "    const int v = 2;", "  }"]
    assert not out.is_captured


def test_definitions_are_of_the_type_that_exists(out: KernelText) -> None:
    scalars = [Piece(name) for name in "abcdefgh"]
    lanes = [
        out.define("v", f"float32x{n}" if n > 1 else "float32", scalars[:n]) for n in (1, 2, 8)
    ]
    assert out.lines == [
        "  const float v = a;",
        "  const float2 v_1 = make_float2(a, b);",
        "  const __align__(16) float v_2[8] = {a, b, c, d, e, f, g, h};",
    ]
    assert [values[-1].text for values in lanes] == ["v", "v_1.y", "v_2[7]"]


def test_assignments_are_whole_where_a_type_exists(out: KernelText) -> None:
    for dtype, count in (("float16x2", 2), ("float16x4", 4)):
        target = out.declare("t", dtype)
        out.assign(target, [Piece(f"x{k}") for k in range(count)], dtype)
    assert out.unit.headers == {"cuda_fp16.h"}
    assert out.lines == [
        *("  half2 t;", "  t = make_half2(x0, x1);"),
        "  __align__(8) half t_1[4];",
        *(f"  t_1[{k}] = x{k};" for k in range(4)),
    ]


@pytest.mark.parametrize(
    ("dtype", "bytes_"), [("int8x3", 1), ("int16x3", 2), ("float32x2", 8), ("float64x4", 16)]
)
def test_alignment_divides_the_size(out: KernelText, dtype: str, bytes_: int) -> None:
    assert out.alignment_of(dtype) == bytes_


def test_only_simple_pieces_are_repeated(out: KernelText) -> None:
    for piece in (Piece("a"), Piece("-1.5f", 14), Piece("7")):
        assert out.simple(piece, "float32") is piece
    assert out.simple(Piece("a + b", ADD), "float32x4") == Piece("v")
    assert out.lines == ["  const float v = a + b;"]


def test_whole_vectors(out: KernelText) -> None:
    lanes = PieceLanes([Piece("v.x"), Piece("v.y")])
    lanes.whole = "v"
    assert out.whole("int32x2", lanes) == "v"
    assert out.whole("int32x2", list(lanes)) == "make_int2(v.x, v.y)"
    with pytest.raises(InternalError, match=r"CUDA has no type for an int32x8 in kernel 'f'"):
        out.whole("int32x8", [Piece("0")] * 8)


def test_bounds_of_what_is_not_known_are_wide(out: KernelText) -> None:
    i, n = E.Var("i"), E.Var("n", "int64")
    out.analyzer.bind(i, E.Range(E.IntImm(0), E.IntImm(8)))
    assert out.bounds(i * 2 + 1) == (1, 15)
    assert out.bounds(n) == (-(1 << 64), 1 << 64)


def test_faults(out: KernelText) -> None:
    with pytest.raises(BuildError, match="variable n has no value in the kernel"):
        out.lanes(E.Var("n"))
    with pytest.raises(InternalError, match="has 2 lanes, expected 1"):
        out.scalar(E.Broadcast(E.IntImm(1), 2))
