"""Elements that are read before they are written, found by executing programs."""

from __future__ import annotations

import pytest

from te_sched.analysis.programs.uninitialized_reads import Missing, find_missing
from tests.analysis.parsed import ARGUMENTS, accesses

TEMPORARY = "B = T.decl_buffer(({},), 'float32')\n"


def missing(body: str, arguments: str = ARGUMENTS) -> Missing | bool | None:
    """The missing element of B, whose accesses are all in the program."""
    program = accesses(body, arguments)
    of_b = [access for access in program.accesses if program.memory[access.data].name == "B"]
    return find_missing(program, program.memory[of_b[0].data], of_b)


FILL, USE = "for i in {}:\n    B[{}] = A[0]\n", "for j in {}:\n    C[0] = B[{}]\n"


@pytest.mark.parametrize(
    ("body", "element"),
    [
        (FILL.format("range(15)", "i") + USE.format("range(16)", "j"), (15,)),
        (FILL.format("range(8)", "i * 2") + USE.format("range(16)", "j"), (1,)),
        (USE.format("range(1)", "3") + FILL.format("range(16)", "i"), (3,)),  # too late
        ("for i in range(16):\n    B[i] = A[0]\n    C[i] = B[15 - i]", (15,)),
        (
            "for i in range(16):\n    if i != 5:\n        B[i] = A[0]\n"
            + USE.format("range(16)", "j"),
            (5,),
        ),
        ("for i in range(16):\n    if i > 0:\n        C[i] = B[i]\n    B[i] = A[0]", (1,)),
    ],
)
def test_elements_that_nothing_has_written(body: str, element: tuple[int, ...]) -> None:
    found = missing(TEMPORARY.format(16) + body)
    assert isinstance(found, Missing)
    assert found.element == element
    assert found.text("B") == f"B[{element[0]}]"


@pytest.mark.parametrize(
    "body",
    [
        FILL.format("range(16)", "i") + USE.format("range(16)", "15 - j"),
        FILL.format("range(2)", "i") + USE.format("range(2)", "j"),
        "for i in range(16):\n    B[i] = A[0]\n    C[i] = B[i // 2]",
    ],
)
def test_all_that_is_read_was_written(body: str) -> None:
    assert missing(TEMPORARY.format(16) + body) is True


def test_each_iteration_has_memory_of_its_own() -> None:
    body = f"for i in range(4):\n    {TEMPORARY.format(4)}    B[i] = A[i]\n    C[i] = B[{{}}]"
    assert missing(body.format("i")) is True
    found = missing(body.format("0"))  # the first iteration alone wrote its B[0]
    assert isinstance(found, Missing)
    assert found.element == (0,)


@pytest.mark.parametrize(
    ("write", "read", "verdict"),
    [
        ("n", "n", False),
        ("n - 1", "n", "n"),
        ("7", "n", "n"),
    ],
)
def test_sizes_are_sampled(write: str, read: str, verdict: object) -> None:
    body = TEMPORARY.format("n") + FILL.format(f"range({write})", "i")
    body += USE.format(f"range({read})", "j")
    found = missing(body, ARGUMENTS + ", n: T.int32")
    if verdict is False:
        assert found is False  # none for the samples, which are not all sizes
    else:
        assert isinstance(found, Missing)
        assert "where n = " in found.text("B")


@pytest.mark.parametrize("index", ["I[i]", "i + I[0]"])
def test_what_depends_on_data_is_not_known(index: str) -> None:
    body = TEMPORARY.format(16) + FILL.format("range(16)", index) + USE.format("range(16)", "j")
    assert missing(body) is None


@pytest.mark.parametrize(("first", "element"), [(0, None), (1, (0, 0))])
def test_huge_programs_are_probed_at_their_ends(
    first: int, element: tuple[int, ...] | None
) -> None:
    body = "B = T.decl_buffer((2048, 2048), 'float32')\n"
    body += f"for i, j in T.grid(2048, 2048):\n    if i >= {first}:\n        B[i, j] = A[0]\n"
    body += "for i, j in T.grid(2048, 2048):\n    C[0] = B[i, j]"
    found = missing(body)
    assert (found.element if isinstance(found, Missing) else None) == element
    assert found is not True  # not every element was looked at
