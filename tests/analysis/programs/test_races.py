"""Loops whose iterations run at once: which programs are refused, and which are not.

A case is a body; `A` is an argument of 64 elements that it reads, `C` one that it writes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import te, tir
from te_sched.analysis import check
from te_sched.analysis.programs.races import _steps
from te_sched.arith.aliasing import Apart
from te_sched.errors import BuildError
from te_sched.ir.stmt import PrimFunc

N = 64
Body = Callable[[Any, Any, Any], None]


def program(body: Body, size: Any = N) -> PrimFunc:
    """A function that a user wrote with ir_builder."""
    ib = tir.ir_builder.create()
    a, c = (tir.decl_buffer((size,), "float32", name) for name in "AC")
    body(ib, ib.buffer_ptr(a), ib.buffer_ptr(c))
    handles = [tir.Var(f"{name}_handle", "handle") for name in "ac"]
    return tir.PrimFunc(handles, ib.get(), buffer_map=dict(zip(handles, (a, c), strict=True)))


def each(
    store: Callable[[Any, Any, Any], Any], kind: str = "parallel", extent: Any = N // 2
) -> Body:
    """A loop of one kind round some stores."""

    def body(ib: Any, a: Any, c: Any) -> None:
        with ib.for_range(0, extent, "i", kind=kind) as i:
            store(i, a, c)

    return body


def into(index: Callable[[Any], Any], kind: str = "parallel", extent: Any = N // 2) -> Body:
    """C[index(i)] = A[i]"""

    def store(i: Any, a: Any, c: Any) -> None:
        c[index(i)] = a[i]

    return each(store, kind, extent)


def copying(index: Callable[[Any], Any], kind: str = "parallel") -> Body:
    """C[i] = C[index(i)]"""

    def store(i: Any, a: Any, c: Any) -> None:
        c[i] = c[index(i)] + a[i]

    return each(store, kind)


def nest(
    index: Callable[[Any, Any], Any], inner: int = 8, kind: str = "parallel", outer: int = 8
) -> Body:
    """A serial loop inside of one that runs at once."""

    def body(ib: Any, a: Any, c: Any) -> None:
        with (
            ib.for_range(0, outer, "i", kind=kind) as i,
            ib.for_range(0, inner, "j") as j,
        ):
            c[index(i, j)] = a[j]

    return body


def inside(index: Callable[[Any, Any], Any], inner: int = 8) -> Body:
    """A parallel loop inside of a serial one."""

    def body(ib: Any, a: Any, c: Any) -> None:
        with (
            ib.for_range(0, 8, "t") as t,
            ib.for_range(0, inner, "i", kind="parallel") as i,
        ):
            c[index(t, i)] = a[i]

    return body


def two(first: Callable[[Any], Any], second: Callable[[Any], Any]) -> Body:
    """C[first(i)] = A[i]; C[second(i)] = A[i]"""

    def store(i: Any, a: Any, c: Any) -> None:
        c[first(i)] = a[i]
        c[second(i)] = a[i]

    return each(store)


def guarded(condition: Callable[[Any, Any], Any], index: Callable[[Any, Any], Any]) -> Body:
    """Stores under a condition."""

    def body(ib: Any, a: Any, c: Any) -> None:
        with (
            ib.for_range(0, 8, "i", kind="parallel") as i,
            ib.for_range(0, 8, "j") as j,
            ib.if_scope(condition(i, j)),
        ):
            c[index(i, j)] = a[j]

    return body


def with_temporary(is_inside: bool) -> Body:
    """Each iteration computes with a temporary: its own, or one for all."""

    def body(ib: Any, a: Any, c: Any) -> None:
        def allocate() -> Any:
            return ib.allocate("float32", (1,), name="T", scope="global")

        if is_inside:
            with ib.for_range(0, N, "i", kind="parallel") as i:
                t = allocate()
                t[0] = a[i] + 1.0
                c[i] = t[0]
            return
        t = allocate()
        with ib.for_range(0, N, "i", kind="parallel") as i:
            t[0] = a[i] + 1.0
            c[i] = t[0]

    return body


def nested(ib: Any, a: Any, c: Any) -> None:
    """A parallel loop inside of a parallel loop, and a temporary of each outer iteration."""
    with ib.for_range(0, 8, "i", kind="parallel") as i:
        t = ib.allocate("float32", (1,), name="T", scope="global")
        with ib.for_range(0, 8, "j", kind="parallel") as j:
            t[0] = a[i * 8 + j] + 1.0
            c[i * 8 + j] = t[0]


def triangle(ib: Any, a: Any, c: Any) -> None:
    with ib.for_range(0, 8, "i", kind="parallel") as i, ib.for_range(0, i + 1, "j") as j:
        c[i * 8 + j] = a[j]


def overlapping_triangle(ib: Any, a: Any, c: Any) -> None:
    with ib.for_range(0, 8, "i", kind="parallel") as i, ib.for_range(0, i + 1, "j") as j:
        c[i * 4 + j] = a[j]


def meeting_in_later_steps(ib: Any, a: Any, c: Any) -> None:
    """A parallel loop of one iteration in the first step, and of more in those that follow."""
    with ib.for_range(0, 8, "t") as t, ib.for_range(0, t + 1, "i", kind="parallel") as i:
        c[t * 8 + i // 2] = a[i]


def constant_value(ib: Any, a: Any, c: Any) -> None:
    with ib.for_range(0, N, "i", kind="parallel") as i:
        c[i // 2] = 1.0


def atomic(ib: Any, a: Any, c: Any) -> None:
    with ib.for_range(0, N, "i", kind="parallel") as i:
        ib.emit(tir.Evaluate(tir.call_intrin("float32", "tir.atomic_add", c[0], a[i])))


def called(offset: Callable[[Any], Any], extent: int, mask: int = 2) -> Body:
    def body(ib: Any, a: Any, c: Any) -> None:
        with ib.for_range(0, 8, "i", kind="parallel") as i:
            pointer = c.buffer.access_ptr(mask, offset=offset(i), extent=extent)
            ib.emit(tir.call_extern("int32", "fill", pointer))

    return body


def races(inputs: Any) -> list[Any]:
    """What is found of races."""
    return [one for one in check(inputs) if one.kind == "race"]


ILLEGAL: dict[str, Body] = {
    "all into one": into(lambda i: i - i),
    "two into one": into(lambda i: i // 2),
    "around": into(lambda i: i % 4),
    "folded": into(lambda i: te.max(i, 16)),
    "mirrored onto itself": two(lambda i: i, lambda i: 31 - i),
    "from the one before": copying(lambda i: te.max(i - 1, 0)),
    "from the next": copying(lambda i: i + 1),
    "from the mirrored": copying(lambda i: 31 - i),
    "vector from the one before": copying(lambda i: te.max(i - 1, 0), "vectorized"),
    "vector into one": into(lambda i: i // 2, "vectorized"),
    "sum over the parallel axis": nest(lambda i, j: j),
    "tiles that overlap by one": nest(lambda i, j: i * 7 + j),
    "tiles that interlock": nest(lambda i, j: i + j * 4),
    "stores that meet": two(lambda i: 2 * i, lambda i: 2 * i + 2),
    "same parity": two(lambda i: i, lambda i: i + 1),
    "inner loop over the same": inside(lambda t, i: i // 2 + t * 8),
    "a condition that does not help": guarded(lambda i, j: j < 7, lambda i, j: i * 6 + j),
    "overlapping triangle": overlapping_triangle,
    "a temporary of all": with_temporary(False),
    "meeting in later steps": meeting_in_later_steps,
    "the same constant": constant_value,
    "regions that overlap": called(lambda i: i * 4, 8),
}

LEGAL: dict[str, Body] = {
    "each its own": into(lambda i: i),
    "every second": into(lambda i: i * 2),
    "backwards": into(lambda i: N - 1 - i),
    "odd and even": two(lambda i: i * 2, lambda i: i * 2 + 1),
    "halves": two(lambda i: i, lambda i: i + 32),
    "in place": copying(lambda i: i),
    "from the other half": copying(lambda i: i + 32),
    "turned by one": into(lambda i: (i + 1) % 32),
    "quotient and remainder": into(lambda i: i // 4 * 4 + i % 4),
    "transposed": into(lambda i: i % 8 * 4 + i // 8),
    "vector of its own": into(lambda i: i, "vectorized"),
    "vector from the next": copying(lambda i: i + 1, "vectorized"),
    "tiles": nest(lambda i, j: i * 8 + j),
    "tiles with gaps": nest(lambda i, j: i * 8 + j, inner=5),
    "columns": nest(lambda i, j: i + j * 8),
    "serial": into(lambda i: i // 2, "serial"),
    "unrolled": into(lambda i: i // 2, "unroll"),
    "each step its own": inside(lambda t, i: i),
    "steps that shift": inside(lambda t, i: t + i),
    "a condition that helps": guarded(lambda i, j: j < 6, lambda i, j: i * 6 + j),
    "triangle": triangle,
    "parallel inside of parallel is serial": nested,
    "a temporary of each": with_temporary(True),
    "one of them": guarded(lambda i, j: tir.all(i == 3, j < 4), lambda i, j: j),
    "atomic": atomic,
    "regions side by side": called(lambda i: i * 8, 8),
    "regions that are read": called(lambda i: i * 4, 8, 1),
}


@pytest.mark.parametrize("name", ILLEGAL)
def test_refutes(name: str) -> None:
    found = [one.verdict for one in races(program(ILLEGAL[name]))]
    assert found.count("refuted") == 1


@pytest.mark.parametrize("name", LEGAL)
def test_proves(name: str) -> None:
    found = races(program(LEGAL[name]))
    assert {one.verdict for one in found} <= {"proved"}, [str(one) for one in found]


@pytest.mark.parametrize(
    ("body", "verdict"),
    [
        (lambda n: into(lambda i: i, extent=n), "proved"),
        (lambda n: into(lambda i: n - 1 - i, extent=n), "proved"),
        (lambda n: into(lambda i: i // 2, extent=n), "refuted"),
        (lambda n: into(lambda i: i % 4, extent=n), "refuted"),
        (lambda n: into(lambda i: i * 2, extent=n // 2), "proved"),
    ],
)
def test_judges_for_all_sizes(body: Callable[[Any], Body], verdict: str) -> None:
    n = te.var("n")
    assert [one.verdict for one in races(program(body(n), n))] == [verdict]


def test_reports_what_it_does_not_know() -> None:
    def scatter(i: Any, a: Any, c: Any) -> None:
        c[a[i].astype("int32")] = 1.0

    (finding,) = races(program(each(scatter)))
    assert finding.verdict == "unproved"
    assert "not known which elements" in str(finding)


def test_build_rejects_a_race_of_a_hand_written_program() -> None:
    func = program(into(lambda i: i // 2))
    message = "data race on C between iterations of parallel loop i"
    with pytest.raises(BuildError, match=message) as caught:
        te_sched.build(func)
    assert "iterations i = 0 and i = 1 both write C[0]" in str(caught.value)
    assert "verify=False" in caught.value.help
    te_sched.build(func, verify=False)


def test_build_rejects_an_extern_body_that_races() -> None:
    A = te.placeholder((N,), name="A")

    def body(ins: Any, outs: Any) -> Any:
        ib = tir.ir_builder.create()
        a, c = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
        with ib.for_range(0, N, "i", kind="parallel") as i:
            c[i % 4] = a[i]
        return ib.get()

    E = te.extern((N,), [A], body, name="E", dtype="float32")
    D = te.compute((N,), lambda i: E[i] + 1.0, name="D")
    s = te.create_schedule(D.op)
    with pytest.raises(BuildError, match="data race on E between iterations of parallel axis i"):
        te_sched.build(s, [A, D])


def test_proves_blocks_and_threads() -> None:
    A = te.placeholder((N, N), name="A")
    B = te.compute((N, N), lambda i, j: A[i, j] + 1.0, name="B")
    s = te.create_schedule(B.op)
    i, j = B.op.axis
    s[B].bind(i, te.thread_axis("blockIdx.x"))
    s[B].bind(j, te.thread_axis("threadIdx.x"))
    module = te_sched.lower(s, [A, B], stop_after="schedule_ops")
    assert [one.verdict for one in races(module)] == ["proved"]


def test_parallel_loops_that_pass_compute_what_numpy_does() -> None:
    func = program(LEGAL["transposed"])
    a = np.arange(N, dtype="float32")
    c = te_sched.nd.array(np.zeros(N, "float32"))
    te_sched.build(func)(te_sched.nd.array(a), c)
    places = np.arange(32) % 8 * 4 + np.arange(32) // 8
    np.testing.assert_array_equal(c.numpy()[places], a[:32])


@pytest.mark.parametrize(("step", "verdict"), [(1, "proved"), (2, "unproved")])
def test_rows_at_distances_of_a_size_need_one_proof_each(
    step: int, verdict: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows of `n` elements side by side are as far apart as any two rows with others between."""
    asked: list[Any] = []
    is_proved = Apart.is_proved

    def spy(self: Apart, a: Any, b: Any) -> bool:
        asked.append(a)
        return is_proved(self, a, b)

    monkeypatch.setattr(Apart, "is_proved", spy)
    n, rows = te.var("n"), 12

    def body(ib: Any, a: Any, c: Any) -> None:
        with ib.for_range(0, n, "i", kind="parallel") as i:
            for row in range(rows):
                c[row * n + i * step] = a[i]

    (found,) = races(program(body, rows * n))
    assert found.verdict == verdict
    assert len(asked) <= 2 * rows


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The accesses that are asked to be proved apart from others."""
    accesses: list[Any] = []
    is_proved = Apart.is_proved

    def spy(self: Apart, a: Any, b: Any) -> bool:
        accesses.append(a)
        return is_proved(self, a, b)

    monkeypatch.setattr(Apart, "is_proved", spy)
    return accesses


@pytest.mark.parametrize(
    ("offsets", "stride", "verdict", "most"),
    [
        ([row * 16 + column * 4 for row in range(3) for column in range(2)], 1, "proved", 1),
        ([row * 16 + column * 4 for row in range(3) for column in range(2)], 2, "refuted", 20),
        ([0, 5, 16], 1, "proved", 6),  # not those of loops
    ],
)
def test_unrolled_stores_are_judged_as_a_loop(
    offsets: list[int], stride: int, verdict: str, most: int, asked: list[Any]
) -> None:
    """C[offset + i * stride] for i below 4, in which stores of other offsets may be between."""

    def body(ib: Any, a: Any, c: Any) -> None:
        with ib.for_range(0, 4, "i", kind="parallel") as i:
            for offset in offsets:
                c[i * stride + offset] = a[i]

    (found,) = races(program(body))
    assert found.verdict == verdict
    assert len(asked) <= most


@pytest.mark.parametrize(
    ("numbers", "steps"),
    [
        ([7], []),
        ([0, 4, 16, 20], [(4, 2), (16, 2)]),
        ([1, 2, 3, 11, 12, 13, 21, 22, 23], [(1, 3), (10, 3)]),
        ([0, 4, 16, 21], None),
        ([0, 1, 2, 10, 11], None),
        ([0, 1, 10], None),
    ],
)
def test_numbers_of_loops(numbers: list[int], steps: list[tuple[int, int]] | None) -> None:
    assert _steps(numbers) == steps


def test_equal_conditions_of_unrolled_stores_are_one(asked: list[Any]) -> None:
    def body(ib: Any, a: Any, c: Any) -> None:
        with ib.for_range(0, 4, "i", kind="parallel") as i:
            for offset in range(0, 48, 4):
                with ib.if_scope(i < 3):
                    c[i + offset] = a[i]

    (found,) = races(program(body))
    assert found.verdict == "proved"
    assert len(asked) == 1
