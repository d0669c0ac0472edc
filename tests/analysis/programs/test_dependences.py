"""Counterexamples to races: two iterations that access one element."""

from __future__ import annotations

from typing import Any

import pytest

from te_sched.analysis.programs.dependences import Conflict, find_conflict
from tests.analysis.parsed import accesses

ONE = "for i in T.{}({}):\n    "


def conflict(body: str, arguments: str = "", loops: int = 1) -> Conflict | bool:
    """The conflict of the accesses to C in the outermost loops."""
    program = accesses(body, arguments) if arguments else accesses(body)
    of_c = [access for access in program.accesses if access.data.name == "C"]
    return find_conflict(program, of_c[0].loops[:loops], of_c)


BOTH = "iterations i = {} and i = {} both write C[{}] (at {})"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("C[i // 2] = A[i]", BOTH.format(0, 1, 0, "[i // 2]")),
        ("C[i] = A[i]\n    C[i + 1] = A[i]", BOTH.format(0, 1, 1, "[i + 1] and [i]")),
        ("if i > 12:\n        C[0] = A[i]", BOTH.format(13, 14, 0, "[0]")),
        ("for j in range(2):\n        C[i + j] = 1.0", BOTH.format(0, 1, 1, "[i + j]")),
        (
            "C[i] = C[14 - i]",
            "iteration i = 14 writes C[14], and iteration i = 0 reads it (at [i] and [14 - i])",
        ),
    ],
)
def test_conflicts_name_the_iterations_and_the_element(body: str, expected: str) -> None:
    found = conflict(ONE.format("parallel", 15) + body)
    assert isinstance(found, Conflict)
    assert found.text("C") == expected
    assert not found.is_update


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        *[
            ("C[i] = A[i]", "parallel"),
            ("C[i] = C[i] + A[0]", "parallel"),
            ("A[i] = C[0]", "parallel"),
        ],
        ("if i % 2 == 0:\n        C[i // 2] = A[i]", "parallel"),
        ("C[i] = C[15 - i]", "serial"),
        # A vector reads all lanes before it writes: an earlier lane never sees a later one's.
        *[("C[i] = C[i + 1]", "vectorized"), ("C[i + 1] = C[i + 1] + A[0]", "vectorized")],
    ],
)
def test_what_is_certainly_apart(body: str, kind: str) -> None:
    extent = 15 if "+ 1]" in body else 16
    found = conflict(ONE.format(kind, extent) + body)
    assert (found is True) == (kind != "serial")


def test_lanes_that_read_what_earlier_ones_write() -> None:
    found = conflict(ONE.format("vectorized", 15) + "C[i + 1] = C[i]")
    assert isinstance(found, Conflict)
    assert found.iterations == ((0,), (1,))


def test_blocks_may_store_the_same_value_but_not_add() -> None:
    block = "for i in T.thread_binding(16, 'blockIdx.x'):\n    "
    assert not isinstance(conflict(block + "C[0] = A[0]"), Conflict)
    update = conflict(block + "C[0] = C[0] + A[0]")
    assert isinstance(update, Conflict)
    assert update.is_update
    assert isinstance(conflict(block + "C[0] = A[i]"), Conflict)
    assert isinstance(conflict(ONE.format("parallel", 16) + "C[0] = A[0]"), Conflict)


def test_two_loops_are_judged_together() -> None:
    nest = "for i in T.parallel(4):\n    for j in T.parallel(4):\n        C[{}] = A[0]"
    assert conflict(nest.format("i * 4 + j"), loops=2) is True
    found = conflict(nest.format("i + j"), loops=2)
    assert isinstance(found, Conflict)
    assert found.names == ("i", "j")
    assert sum(found.iterations[0]) == sum(found.iterations[1]) == found.place[0]


@pytest.mark.parametrize(
    ("index", "expected"),
    [("i // 2", True), ("i", False), ("i % 13", False)],  # for one sample size alone
)
def test_conflicts_of_all_sizes(index: str, expected: bool) -> None:
    body = "C = T.match_buffer(c, (n,))\nfor i in T.parallel(n):\n    C[{}] = 1.0"
    found = conflict(body.format(index), "c: T.handle, n: T.int32")
    assert isinstance(found, Conflict) == expected
    if expected:
        assert "where n = " in found.text("C")
    else:
        assert found is False  # other sizes may have one


@pytest.mark.parametrize(
    "body",
    [
        "C[I[i]] = A[i]",
        "if A[i] > 0.0:\n        C[i] = A[i]\n    C[i] = 1.0",
        "C[i * 0 + I[0]] = 1.0",
    ],
)
def test_what_depends_on_data_is_not_known(body: str) -> None:
    assert conflict(ONE.format("parallel", 16) + body) is False


def test_many_iterations_are_sampled() -> None:
    body = ONE.format("parallel", 1 << 20) + "C[i // 2] = 1.0"
    found = conflict(body, 'C: T.Buffer((1048576,), "float32")')
    assert isinstance(found, Conflict)
    apart: Any = conflict(body.replace("// 2", "* 1"), 'C: T.Buffer((1048576,), "float32")')
    assert apart is False
