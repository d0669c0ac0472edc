"""Sequences of many loops become several functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched.codegen.llvm import outline
from te_sched.errors import TeSchedError
from tests.codegen.llvm.test_machine import limit

HEAD = """# from tvm.script import tir as T
@T.prim_func
def main(A: T.Buffer((16,)), n: T.int32, B: T.Buffer((16,))):
    C = T.alloc_buffer((16,))
    D = T.alloc_buffer((1 << 18,))
"""
NEST = """
    for i in T.{kind}(16):
        with T.block("{name}"):
            vi = T.axis.spatial(16, i)
            {out}[vi] = {value}
"""


def chain(count: int, kind: str = "serial") -> str:
    """Blocks that add 1 to A, on the stack and on the heap; those with even numbers of a kind."""
    text, source = HEAD, "A[vi]"
    for number in range(count):
        out = "B" if number == count - 1 else "CD"[number % 2]
        now = kind if number % 2 else "serial"
        text += NEST.format(kind=now, name=f"b{number}", out=out, value=f"{source} + T.float32(1)")
        source = f"{out}[vi]"
    return text


def built(text: str) -> Any:
    with te_sched.config.scoped(cache=False):
        return te_sched.build(te_sched.script.from_source(text), target="llvm")


def check_chain(module: Any, count: int) -> None:
    a = np.arange(16, dtype="float32")
    b = np.zeros_like(a)
    module(a, 16, b)
    np.testing.assert_array_equal(b, a + count)


@pytest.fixture(autouse=True)
def few_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    limit("LOOPS_OF_FUNCTION", 6, monkeypatch)
    monkeypatch.setattr(outline, "_LOOPS_OF_PART", 2)


@pytest.mark.parametrize(("count", "parts"), [(5, 0), (6, 3), (7, 3)])
def test_sequences_of_many_loops_become_functions(count: int, parts: int) -> None:
    module = built(chain(count))
    assert module.get_source("ll").count("define internal") == parts
    check_chain(module, count)


def test_parallel_loops_start_threads_between_parts() -> None:
    module = built(chain(9, "parallel"))
    assert "te_sched_main.parallel" in module.get_source("ll")
    check_chain(module, 9)


def test_sizes_of_a_call_are_known_in_parts() -> None:
    text = chain(8).replace("serial(16)", "serial(n)")
    check_chain(built(text), 8)


def test_errors_of_a_part_end_the_function() -> None:
    failing = '    assert n < 5, "n is too large"\n'
    first, *others = chain(8).split("    for i in")
    text = "    for i in".join([first, *others[:4]]) + "    if n > 4:\n    " + failing
    module = built(text + "    for i in" + "    for i in".join(others[4:]))
    with pytest.raises(TeSchedError, match="n is too large"):
        module(np.zeros(16, "float32"), 16, np.zeros(16, "float32"))


def test_programs_of_hundreds_of_nests_take_no_time() -> None:
    with te_sched.config.scoped(cache=False):
        built(chain(500))
