"""Verdicts on different texts of TensorIR modules: what is TVM's fault, and what is not."""

from __future__ import annotations

import pytest

pytest.importorskip("tvm")

import tvm

import te_sched
from tests.peer.differential import script_outcome

HEAD = """# from tvm.script import ir as I
# from tvm.script import tir as T
@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((12,), "int32"), B: T.Buffer((12,), "int32")):
"""
SOURCE = """
        for i in range(12):
            with T.block("B"):
                vi = T.axis.spatial(12, i)
                B[vi] = A[(11 - vi) % 5]
"""


def verdict(theirs: str, ours: str, source: str = SOURCE) -> str:
    """The verdict on two lowered texts of the module, as if TVM had made one of them."""
    module = te_sched.script.from_source(HEAD + source)
    mine = te_sched.lower(te_sched.script.from_source(HEAD + ours))
    peers = tvm.script.from_source(HEAD + theirs)
    return script_outcome.why_they_differ(module, mine, peers, tvm.lower(peers))


def loop(index: str, thread: str = "range(12)") -> str:
    return f"        for i in {thread}:\n            B[i] = A[{index}]\n"


THREADS = 'T.thread_binding(12, thread="threadIdx.x")'
FROM_ONE = """
        for i_0 in T.parallel(1, 3):
            for i_1 in range(6):
                i: T.int32 = i_0 * 6 + i_1 - 5
                B[i - 1] = A[{}]
"""


def test_text_that_computes_the_same_is_no_fault() -> None:
    assert verdict(loop("(i * 4 + 1) % 5"), loop("(11 - i) % 5")) == "differs"


def test_text_with_other_results_is_a_fault() -> None:
    assert verdict(loop("(i * 4 + 2) % 5"), loop("(11 - i) % 5")) == script_outcome.WRONG_TEXT


def test_fault_of_our_text_is_not_excused() -> None:
    assert verdict(loop("(i * 4 + 2) % 5"), loop("(i * 4 + 3) % 5")) == "differs"


def test_text_for_threads_is_executed_by_statement() -> None:
    source = SOURCE.replace("range(12)", THREADS)
    ours, theirs = loop("(11 - i) % 5", THREADS), loop("(i * 4 + 2) % 5", THREADS)
    assert verdict(theirs, ours, source) == script_outcome.WRONG_TEXT
    assert verdict(loop("(i * 4 + 1) % 5", THREADS), ours, source) == "differs"


def test_read_outside_is_a_fault_of_a_text_for_threads() -> None:
    source = SOURCE.replace("range(12)", THREADS)
    theirs = loop("(i * 4 + 1) % 5 + T.bitwise_and(i, 8) * 9", THREADS)
    ours = loop("(11 - i) % 5", THREADS)
    assert verdict(theirs, ours, source) == script_outcome.UNDEFINED_ACCESS


def test_text_that_only_tvm_does_not_build_is_a_fault() -> None:
    """TVM's LLVM takes parallel loops from 0 only."""
    theirs = FROM_ONE.format("(12 - i) % 5")
    assert verdict(theirs, loop("(11 - i) % 5")) == script_outcome.NOT_BUILT


def test_texts_that_tvm_does_not_build_are_executed_by_statement() -> None:
    ours = FROM_ONE.format("(12 - i) % 5")
    assert verdict(FROM_ONE.format("(i * 4 + 3) % 5"), ours) == script_outcome.WRONG_TEXT
    assert verdict(FROM_ONE.format("(i * 4 + 2) % 5"), ours) == "differs"
