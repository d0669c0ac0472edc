"""Programs of TVM that look for its words in errors find them; others have one style of errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from te_sched import autotvm, compat, relax, te, tir
from te_sched.autotvm.task.task import lookup_task
from te_sched.autotvm.utils import get_const_int
from te_sched.errors import TeSchedError, show_words_of_tvm
from te_sched.meta_schedule.builder import PyBuilder
from te_sched.meta_schedule.component import not_written

X = relax.Var("x", relax.TensorStructInfo([4], "float32"))


def missing_task() -> Any:
    return lookup_task("absent")()


def _twice_registered() -> None:
    def make(name: str) -> Callable[[], Any]:
        def function() -> None: ...

        function.__qualname__ = name
        return function

    for name in ("first", "second"):
        autotvm.template("words_of_tvm")(make(name))


def _without_arithmetic() -> None:
    A = te.placeholder((4,), name="A")
    autotvm.task.task.compute_flop(te.create_schedule(te.compute((4,), lambda i: A[i]).op))


def _out_of_scope() -> None:
    i = tir.Var("i", "int32")
    let = tir.LetStmt(i, 42, tir.Evaluate(i))
    func = tir.PrimFunc([], tir.SeqStmt([let, tir.Evaluate(i)]))
    tir.analysis.verify_well_formed(func)


WORDS: list[tuple[Callable[[], Any], str]] = [
    (missing_task, "Attempting to invoke a missing task absent"),
    (_twice_registered, "Customized func is already registered in autoTVM task words_of_tvm"),
    (_without_arithmetic, "Cannot find float number operation in this operator"),
    (lambda: autotvm.measure_option("x", None), "Invalid builder"),
    (lambda: get_const_int(te.var("n")), "Expect value to be constant int"),
    (lambda: tir.Var("p", "handle").astype("int32"), "Can't cast a handle to other types"),
    (_out_of_scope, "Invalid use of undefined variable i at i: int32. It is no longer in-scope."),
    (lambda: relax.Tuple((X,))[1], "Tuple index out of range"),
    (lambda: relax.ShapeExpr((4,))[2], "ShapeExpr index out of range"),
    (
        lambda: relax.ShapeExpr([tir.Var("m", "int32")]),
        "the value in ShapeStructInfo can only have dtype of int64",
    ),
    (lambda: PyBuilder().build([]), "PyBuilder's Build method not implemented!"),
    (lambda: relax.vm.run_functions.assert_op(False), "Assertion Failed"),
]


@pytest.mark.parametrize(("refused", "words"), WORDS, ids=[words for _, words in WORDS])
def test_words_are_shown_to_programs_of_tvm(refused: Callable[[], Any], words: str) -> None:
    with pytest.raises(TeSchedError) as caught:
        refused()
    error = caught.value
    assert error.fault[0].islower() or error.fault[0] in "'[("
    assert words not in str(error)
    compat.install()
    try:
        assert f"\n  in TVM: {words}" in str(error)
    finally:
        compat.uninstall()
    assert words not in str(error)


def test_words_are_a_line_of_their_own() -> None:
    error = not_written(object(), "PyRunner", "run")  # type: ignore[arg-type]
    show_words_of_tvm(True)
    try:
        lines = str(error).splitlines()
    finally:
        show_words_of_tvm(False)
    assert lines[0] == "class object has no method run"
    assert lines[-1] == "  in TVM: PyRunner's Run method not implemented!"
