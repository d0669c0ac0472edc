"""Single elements of huge programs: written before they are read."""

from __future__ import annotations

import numpy as np
import pytest

from te_sched.analysis.programs.accesses import executions_of
from te_sched.analysis.programs.probes import are_allocated, missing_element
from tests.analysis.parsed import ARGUMENTS, accesses

BIG = 1 << 20
HEAD = f"B = T.decl_buffer(({BIG}, 4), 'float32')\n"
FILL = "for i in {}:\n    for j in range(4):\n        {}B[{}] = A[0]\n"
THREE = "if j < 3:\n            "
USE = f"for k in range({BIG}):\n    for l in range(4):\n        C[0] = B[{{}}]\n"


def probed(body: str) -> tuple[int, ...] | None:
    """The missing element of B."""
    program = accesses(HEAD + body, ARGUMENTS)
    of_b = [access for access in program.accesses if program.memory[access.data].name == "B"]
    (run,) = executions_of(program, 1 << 21)
    return missing_element(program.memory[of_b[0].data], of_b, run)


@pytest.mark.parametrize(
    ("body", "element"),
    [
        (FILL.format(f"range({BIG})", "", "i, j") + USE.format("k, l"), None),
        (FILL.format(f"range({BIG - 1})", "", "i, j") + USE.format("k, l"), (BIG - 1, 3)),
        (FILL.format(f"T.serial(1, {BIG})", "", "i, j") + USE.format("k, l"), (0, 0)),
        (FILL.format(f"range({BIG})", "", f"{BIG - 1} - i, 3 - j") + USE.format("k, l"), None),
        # A condition leaves the last column out; another order comes too late.
        (FILL.format(f"range({BIG})", THREE, "i, j") + USE.format("k, l"), (BIG - 1, 3)),
        (USE.format("k, l") + FILL.format(f"range({BIG})", "", "i, j"), (0, 0)),
        # In one loop: an element of the next iteration.
        (f"for i in range({BIG}):\n    B[i, 0] = A[0]\n    C[0] = B[i, 0]", None),
        (f"for i in range({BIG}):\n    C[0] = B[i, 0]\n    B[i, 0] = A[0]", (0, 0)),
        (f"for i in range({BIG}):\n    B[i, 0] = A[0]\n    C[0] = B[i, 1]", (0, 1)),
        # Writes that depend on data say nothing.
        (FILL.format(f"range({BIG})", "", "I[0], j") + USE.format("k, l"), None),
    ],
)
def test_elements_at_the_ends_of_loops(body: str, element: tuple[int, ...] | None) -> None:
    found = probed(body)
    assert found == element


def test_elements_beyond_the_memory_are_none_of_it() -> None:
    program = accesses(HEAD + "B[0, 0] = A[0]")
    (run,) = executions_of(program, 100)
    memory = next(memory for memory in program.memory.values() if memory.name == "B")
    elements = np.array([[0, 0], [BIG - 1, 3], [BIG, 0], [0, 4], [-1, 0]])
    assert are_allocated(memory, run, elements).tolist() == [True, True, False, False, False]
    assert are_allocated(memory, run, elements[:, :1]) is True  # flat indices


def test_memory_of_a_loop_is_that_of_one_iteration() -> None:
    body = f"for i in range({BIG}):\n    B = T.decl_buffer((4,), 'float32')\n"
    body += "    B[i % 4] = A[0]\n    C[0] = B[{}]"

    def missing(index: str) -> tuple[int, ...] | None:
        program = accesses(body.format(index))
        of_b = [access for access in program.accesses if program.memory[access.data].name == "B"]
        (run,) = executions_of(program, 1 << 21)
        return missing_element(program.memory[of_b[0].data], of_b, run)

    assert missing("i % 4") is None
    assert missing("0") == (0,)  # in the last iteration, of which B[3] alone is written
