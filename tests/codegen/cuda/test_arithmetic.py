"""The text of operators and conversions, by types and bounds."""

import re

import pytest

from te_sched import te
from te_sched.codegen.cuda import arithmetic, print_kernels
from te_sched.codegen.cuda.pieces import ADD, Piece
from te_sched.codegen.cuda.writer import Unit
from te_sched.ir import expr as E
from tests.codegen.cuda.kernels import elementwise, printed, stored

DIVISIONS = {
    "nonnegative": (lambda n, tx: tx // 3, "((int)threadIdx.x) / 3"),
    "power of two": (lambda n, tx: n // 4, "n >> 2"),
    "remainder of a power of two": (lambda n, tx: n % 4, "n & 3"),
    "any sign": (lambda n, tx: n // 3, "te_floordiv_positive(n, 3)"),
    "any divisor": (lambda n, tx: E.FloorMod(tx, n), "te_floormod(((int)threadIdx.x), n)"),
    "towards zero": (lambda n, tx: te.truncdiv(n, 3), "n / 3"),
}


@pytest.mark.parametrize("name", DIVISIONS)
def test_division(name):
    compute, expected = DIVISIONS[name]
    n = E.Var("n")
    lines = stored(lambda tx: compute(n, tx), "int32", [n])
    assert lines == [f"C[((int)threadIdx.x)] = {expected};"]


def test_narrow_integers_wrap():
    assert printed(elementwise(lambda a, b: a * b, ["int8"] * 2)) == [
        "C[((int)threadIdx.x)] = (signed char)(A[((int)threadIdx.x)] * B[((int)threadIdx.x)]);"
    ]


def test_extremum_of_floats_defines_its_helper():
    text = print_kernels(elementwise(lambda a: te.max(a, 0.0), ["float32"]))
    assert "te_max(A[((int)threadIdx.x)], 0.0f)" in text
    assert text.count("T te_max(T a, T b)") == 1


def test_integers_from_memory_wrap_around():
    (line,) = printed(elementwise(lambda a: a + 1, ["int32"]))
    assert "(int)((unsigned int)A[" in line


def test_shift_by_a_number_from_memory_asks_for_its_range():
    lines = printed(elementwise(lambda a, b: a << b, ["int32"] * 2))
    assert "te_shift_left(A[" in lines[-1]
    assert "te_shift" not in printed(elementwise(lambda a: a << 3, ["int32"]))[-1]


x, y = Piece("x"), Piece("a + b", ADD)
ANY = (-(1 << 64), 1 << 64)
CASTS = {
    ("float32", "int8"): "(signed char)(int)(a + b)",  # C leaves the direct way undefined
    ("float32", "int64"): "(long long)(a + b)",
    ("float32", "bool"): "a + b != 0",
    ("float16", "float32"): "(float)(a + b)",
    ("float16", "uint8"): "(unsigned char)(int)(float)(a + b)",
    ("float16", "bfloat16"): "(nv_bfloat16)(float)(a + b)",
    ("int32", "float16"): "(half)(float)(a + b)",
    ("int64", "int64"): "a + b",
}
DIVISORS = {  # an operation, the type, the bounds of the divisor
    ("floordiv", "int32", (1, 1)): "x",
    ("floordiv", "int64", (8, 8)): "x >> 3",
    ("floormod", "uint64", (8, 8)): "x & 7ull",
    ("div", "int32", (2, 9)): "x / (a + b)",
    ("mod", "int32", (-9, -2)): "x % (a + b)",
    ("div", "int32", (-9, -1)): "te_div(x, a + b)",  # the quotient may overflow
    ("mod", "uint32", (0, 9)): "te_mod(x, a + b)",
    ("floordiv", "int32", (-9, -2)): "te_floordiv(x, a + b)",
    ("floormod", "int8", (1, 9)): "te_floormod_positive<signed char>(x, a + b)",
    ("floordiv", "float32", ANY): "floorf(x / (a + b))",
    ("mod", "float64", ANY): "fmod(x, a + b)",
    ("floormod", "float16", ANY): "(half)te_float_floormod((float)x, (float)(a + b))",
}


@pytest.mark.parametrize(("source", "target"), CASTS)
def test_cast(source, target):
    assert arithmetic.cast(Unit(), y, source, target).text == CASTS[source, target]


@pytest.mark.parametrize(("name", "dtype", "bounds"), DIVISORS)
def test_division_by_bounds(name, dtype, bounds):
    unit, expected = Unit(), DIVISORS[name, dtype, bounds]
    assert arithmetic.division(unit, name, x, y, dtype, (ANY, bounds)).text == expected
    assert unit.helpers == set(re.findall(r"te_\w+", expected))


def test_products_of_short_integers_are_unsigned():
    product = arithmetic.linear(Unit(), "mul", x, y, "uint16")
    assert product.text == "(unsigned short)((unsigned int)x * (a + b))"


@pytest.mark.parametrize(("bounds", "text"), [((0, 7), "x << (a + b)"), ((0, 8), "te_shift_left")])
def test_shifts_of_bytes(bounds, text):
    assert text in arithmetic.shift(Unit(), True, x, y, "int8", bounds).text
