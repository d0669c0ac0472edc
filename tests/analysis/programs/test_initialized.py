"""Results and temporaries that are written before they are read: proofs and refutations."""

from __future__ import annotations

from typing import Any

import pytest

from te_sched.analysis.findings import Finding
from te_sched.analysis.programs import initialized
from te_sched.analysis.programs.cover import covers_region
from te_sched.analysis.programs.initialized import judge_initialized, proved_memory
from tests.analysis.parsed import ARGUMENTS, accesses

TEMPORARY = "B = T.decl_buffer(({},), 'float32')\n"
FILL, USE = "for i in range({}):\n    B[{}] = A[0]\n", "for j in range({}):\n    C[0] = B[{}]\n"
SIZED = ARGUMENTS + ", n: T.int32"
CEILED = "(n % 5 + n + 3) // 4 * 4"


def finding(body: str, arguments: str = ARGUMENTS) -> Finding:
    """The finding about B."""
    (found,) = (one for one in judge_initialized(accesses(body, arguments)) if one.buffer == "B")
    return found


FIRST = "for i, k in T.grid(n, 4):\n    if {}:\n        B[0] = A[0]\n    C[0] = B[0]"
LATER = "for i in range(n):\n    C[0] = B[0]\n    if i == 0:\n        B[0] = A[0]"


@pytest.mark.parametrize(
    "body",
    [
        TEMPORARY.format("n") + FILL.format("n", "i") + USE.format("n", "n - 1 - j"),
        TEMPORARY.format("n") + FILL.format("n", "n - 1 - i") + USE.format("n - 2", "j"),
        TEMPORARY.format("n") + "for i in range(n):\n    B[i] = A[0]\n    C[0] = B[i]",
        TEMPORARY.format(CEILED) + FILL.format(CEILED, "i") + USE.format(CEILED, "j"),
        # In the first iteration, which comes before all others.
        TEMPORARY.format(1) + FIRST.format("i * 4 + k == 0"),
        TEMPORARY.format(1) + FIRST.format("k == 0"),
    ],
)
def test_proved_for_all_sizes(body: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(initialized, "find_missing", None)  # by a proof, without an execution
    found = finding(body, SIZED)
    assert (found.kind, found.verdict) == ("initialized", "proved")


OWN = "for i in range(n):\n    B = T.decl_buffer((4,), 'float32')\n    "


@pytest.mark.parametrize(
    ("body", "element"),
    [
        (TEMPORARY.format("n") + FILL.format("n - 1", "i") + USE.format("n", "j"), "B[12]"),
        (TEMPORARY.format("n") + USE.format("n", "j") + FILL.format("n", "i"), "B[0]"),
        (TEMPORARY.format(1) + FIRST.format("i == 1"), "B[0]"),
        (TEMPORARY.format(1) + FIRST.format("i * 4 + k == 1"), "B[0]"),
        (TEMPORARY.format(1) + LATER, "B[0]"),
        (OWN + "if i == 0:\n        B[0] = A[0]\n    C[0] = B[0]", "B[0]"),
    ],
)
def test_refuted_with_an_element(body: str, element: str) -> None:
    found = finding(body, SIZED)
    assert found.verdict == "refuted"
    assert found.message.endswith("B is read before it is written")
    assert f"the program reads {element}, where n = 13" in found.why
    assert "compute all of B" in found.help


@pytest.mark.parametrize("index", ["I[i]", "I[0] + i"])
def test_unproved_where_data_decides(index: str) -> None:
    found = finding(TEMPORARY.format(16) + FILL.format(16, index) + USE.format(16, "j"))
    assert (found.verdict, found.message) == ("unproved", "B may be read before it is written")


def test_arguments_of_functions_of_users_have_values() -> None:
    assert not judge_initialized(accesses("C[0] = A[0] + C[1]"))
    text = 'T.func_attr({"from_legacy_te_schedule": True})\nC[0] = A[0] + C[1]'
    found = judge_initialized(accesses(text))
    assert [(one.buffer, one.verdict) for one in found] == [("C", "refuted")]


KERNEL = """
t = T.launch_thread("threadIdx.x", 8)
B = T.decl_buffer((8,), "float32", scope="{}")
B[t] = A[t]
C[t] = B[{}]
"""


@pytest.mark.parametrize(
    ("scope", "index", "verdict"),
    [
        *[("local", "t", "proved"), ("shared", "7 - t", "proved"), ("local", "7 - t", "refuted")],
    ],
)
def test_threads_have_registers_of_their_own(scope: str, index: str, verdict: str) -> None:
    found = finding(KERNEL.format(scope, index))
    assert found.verdict == verdict
    if scope == "local" and verdict == "refuted":
        assert found.message.endswith("B is written by one thread and read by another")
        assert 'give B the scope "shared"' in found.help


def test_what_a_thread_wrote_is_not_known() -> None:
    found = finding(KERNEL.format("local", "I[t]"))
    assert found.kind == "rule"
    assert "it is not known which thread wrote the element that is read at [I" in found.why


@pytest.mark.parametrize(
    ("count", "verdict", "again"), [(8, "refuted", "refuted"), (1 << 17, "refuted", "unproved")]
)
def test_what_was_proved_is_not_searched_for_long(count: int, verdict: str, again: str) -> None:
    body = TEMPORARY.format(count) + FILL.format(count - 1, "i") + USE.format(count, "j")
    program = accesses(body, ARGUMENTS)
    for proved, expected in ((), verdict), (("A",), verdict), (("B",), again):
        (found,) = (one for one in judge_initialized(program, proved) if one.buffer == "B")
        assert found.verdict == expected


def test_names_of_what_is_proved() -> None:
    body = TEMPORARY.format(8) + FILL.format(8, "i") + USE.format(8, "j")
    assert "B" in proved_memory(judge_initialized(accesses(body, ARGUMENTS)))
    body = TEMPORARY.format(8) + FILL.format(7, "i") + USE.format(8, "j")
    assert "B" not in proved_memory(judge_initialized(accesses(body, ARGUMENTS)))


@pytest.mark.parametrize(("filled", "verdict"), [(4, "proved"), (3, "refuted")])
def test_a_memory_that_is_filled_first_needs_few_proofs(
    filled: int, verdict: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Elements that an unrolled loop sets, then updates, as the accumulators of a product."""
    asked: list[object] = []

    def spy(*args: Any) -> bool:
        asked.append(args)
        return covers_region(*args)

    monkeypatch.setattr(initialized, "covers_region", spy)
    sets = "".join(f"B[{k}] = A[0]\n" for k in range(filled))
    updates = "".join(f"    B[{k}] = B[{k}] + A[k]\n" for k in range(4))
    uses = "".join(f"C[{k}] = B[{k}]\n" for k in range(4))
    found = finding(f"{TEMPORARY.format(4)}{sets}for k in range(16):\n{updates}{uses}")
    assert found.verdict == verdict
    assert (len(asked) <= 2) == (verdict == "proved")  # in the loop, and behind it
