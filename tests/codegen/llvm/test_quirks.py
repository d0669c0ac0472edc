"""The installed LLVM has each quirk that te_sched works around, and no other of the table."""

from __future__ import annotations

import signal
import subprocess
import sys

import llvmlite.binding as llvm
import numpy as np
import pytest

import te_sched
from te_sched.codegen.llvm import quirks
from te_sched.ir import stmt as S
from te_sched.ir.visitor import walk
from te_sched.script import tir as T
from tests.codegen.llvm_quirks import REPRODUCERS, ROOT

MAJOR = llvm.llvm_version_info[0]
ROWS = {name: row for name, row in vars(quirks).items() if isinstance(row, quirks.Quirk)}


def has_quirk(name: str) -> bool:
    """Whether a reproducer shows its quirk, if only by the time that it takes."""
    command = [sys.executable, "-m", "tests.codegen.llvm_quirks", name]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode == -signal.SIGPROF:
        return True
    assert done.returncode == 0, done.stderr
    return done.stdout.strip() == "True"


def test_every_quirk_has_a_reproducer() -> None:
    assert set(ROWS) == set(REPRODUCERS)
    assert all(set(row.versions) <= set(quirks.CHECKED) for row in ROWS.values())


def test_the_installed_llvm_was_checked() -> None:
    assert MAJOR in quirks.CHECKED, "run this file, and add the version to the rows that it has"


@pytest.mark.skipif(sys.platform != "linux", reason="the timer is Linux's")
@pytest.mark.parametrize("name", REPRODUCERS)
def test_the_installed_llvm_has_the_quirks_of_its_rows(name: str) -> None:
    assert has_quirk(name) == (MAJOR in ROWS[name].versions)


@pytest.mark.parametrize("name", ROWS)
def test_a_version_that_was_not_checked_gets_the_remedies(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(llvm, "llvm_version_info", (99, 0, 0))
    assert ROWS[name].is_here


@T.prim_func
def divided_in_nests(A: T.Buffer((4096,), "int32"), B: T.Buffer((4096,), "int32")):
    for i, j, k in T.grid(16, 16, 16):
        half = T.int32()
        with T.LetStmt(j * 2, var=half):
            B[i * 256 + j * 16 + k] = A[i * 256 + half // 3 * 16 + k]
    for i in range(4096):
        B[i] = A[i] // 3
    for i in range(4096):
        B[A[i // 4]] = T.if_then_else(A[i] > 0, 1, 2)
    for i, j in T.grid(64, 33):
        if A[i] > j:
            B[i] = j
    for i, j in T.grid(16, 2):
        if A[i] > j:
            B[i] = j


def test_loops_that_llvm_may_not_vectorize() -> None:
    function = divided_in_nests
    loops = quirks.scalar_loops(function.body)
    assert [*loops] == [one for one in walk(function.body) if isinstance(one, S.For)]
    scalar = [is_scalar for is_scalar in loops.values()]
    assert scalar == [False, True, False, False, True, True, False, False, False]
    inner = next(one for one in loops if one.extent.value == 33)
    assert quirks.scalar_loops(inner) == {inner: loops[inner]}


@T.prim_func
def scaled_bytes(
    A: T.Buffer((2, 8), "uint8"),
    B: T.Buffer((2, 10), "uint8"),
    C: T.Buffer((2,), "uint8"),
    D: T.Buffer((8, 2), "uint8"),
):
    T.func_attr({"tir.noalias": True})
    for i, j in T.grid(8, 2):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = A[vj, vi] + T.min(A[vj, vi], B[vj, vi + 2])
    for i, j in T.grid(8, 2):
        with T.block("update"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = D[vi, vj] * T.floormod(T.min(C[vj], B[vi // 4, vj * 2]), T.uint8(3))


def test_products_with_remainders_of_bytes_are_right() -> None:
    draw = np.random.default_rng(0)
    a, b, c = [draw.integers(0, 20, shape, "uint8") for shape in ((2, 8), (2, 10), 2)]
    d = np.zeros((8, 2), "uint8")
    te_sched.build(scaled_bytes, target="llvm")(a, b, c, d)
    factor = np.minimum(c, np.repeat(b[:, :4:2], 4, axis=0)) % 3
    np.testing.assert_array_equal(d, (a + np.minimum(a, b[:, 2:])).T * factor)


@pytest.mark.parametrize(
    ("source", "is_printed"),
    [
        ("%x = urem i32 %a, 3\n%p = getelementptr i8, ptr %q, i64 1\n", False),
        ("%x = add i8 %a, 3\n", False),
        ("%x = urem i8 %a, 3\n", True),
        ("%x = urem <8 x i32> %a, %b\n%y = trunc <8 x i32> %x to <8 x i8>\n", True),
        ("%x = udiv i32 %a, 3\n%y = zext i8 %b to i32\n", True),
    ],
)
@pytest.mark.skipif(not quirks.REPEATED_REMAINDERS.is_here, reason="this LLVM does not have it")
def test_modules_are_printed_where_bytes_may_be_divided(source: str, is_printed: bool) -> None:
    printed = []

    class Module:
        def __str__(self) -> str:
            printed.append(True)
            return ""

    assert not quirks.has_repeated_remainders(Module(), [source])
    assert bool(printed) == is_printed
