"""Annotations that type checkers accept: `Annotated[T.Buffer, ...]` is `T.Buffer(...)`."""

from __future__ import annotations

import sys
import typing
from typing import Annotated, Any, TypeAlias

import pytest

from te_sched import relax, script, tir
from te_sched.errors import OperandError, ScriptError
from te_sched.ir.structural import structural_equal
from te_sched.script import ir as I
from te_sched.script import relax as R
from te_sched.script import tir as T
from te_sched.script.annotations import expanded

Matrix: TypeAlias = Annotated[T.Buffer, (8, 4), "float16"]
Rows: TypeAlias = Annotated[R.Tensor, ("n", 4), "float32"]


def test_annotated_buffer_is_a_call_of_it() -> None:
    @T.prim_func
    def written(
        A: Matrix,
        B: Annotated[T.Buffer, 8],
        C: typing.Annotated[T.Buffer, T.Buffer((8,), "int8", scope="shared")],
        D: Annotated[Any, T.handle("float32", "global")],
        n: Annotated[Any, T.int64],
        m: "Annotated[Any, T.int32]",  # noqa: UP037
    ) -> None:
        A[0, 1] = T.float16(1)

    @T.prim_func
    def expected(
        A: T.Buffer((8, 4), "float16"),  # type: ignore[valid-type]
        B: T.Buffer((8,), "float32"),  # type: ignore[valid-type]
        C: T.Buffer((8,), "int8", scope="shared"),  # type: ignore[valid-type]
        D: T.handle("float32", "global"),  # type: ignore[valid-type]
        n: T.int64,
        m: T.int32,
    ) -> None:
        A[0, 1] = T.float16(1)

    assert structural_equal(written.with_attr("global_symbol", "expected"), expected)


def test_annotated_buffers_of_one_alias_are_several() -> None:
    @T.prim_func
    def func(A: Matrix, B: Matrix) -> None:
        A[0, 0] = B[0, 0]

    A, B = func.buffer_map.values()
    assert (A.name, B.name) == ("A", "B")
    assert A.data is not B.data


def test_annotated_tensor_is_a_call_of_it() -> None:
    @I.ir_module
    class Written:
        @R.function
        def main(x: Rows, y: Annotated[R.Tensor, ("n", 4), "float32"]) -> Rows:
            z: Rows = R.add(x, y)
            return z

    @I.ir_module
    class Expected:
        @R.function
        def main(
            x: R.Tensor(("n", 4), "float32"),  # type: ignore[valid-type]
            y: R.Tensor(("n", 4), "float32"),  # type: ignore[valid-type]
        ) -> R.Tensor(("n", 4), "float32"):  # type: ignore[valid-type]
            z: R.Tensor(("n", 4), "float32") = R.add(x, y)  # type: ignore[valid-type]
            return z

    assert structural_equal(Written, Expected)


def test_annotated_tensor_is_a_struct_info_everywhere() -> None:
    vector = Annotated[R.Tensor, (4,), "float32"]
    assert str(relax.Var("x", vector).struct_info) == 'R.Tensor((4,), dtype="float32")'
    both = R.Tuple(vector, Annotated[R.Shape, (2,)])
    assert str(both) == 'R.Tuple(R.Tensor((4,), dtype="float32"), R.Shape([2]))'


def test_annotated_stands_in_texts() -> None:
    text = "@T.prim_func\ndef f(A: Annotated[T.Buffer, (8,), 'int8']):\n    A[0] = T.int8(1)"
    (A,) = script.from_source(text).buffer_map.values()
    assert A.dtype == "int8"


@pytest.mark.skipif(sys.version_info < (3, 12), reason="`type` is a statement of Python 3.12")
def test_annotated_of_a_type_statement() -> None:
    scope: dict[str, Any] = {"T": T, "Annotated": Annotated}
    exec("type Matrix = Annotated[T.Buffer, (8, 4), 'float16']", scope)
    assert expanded(scope["Matrix"]).dtype == "float16"


def test_annotated_rejects_arguments_that_its_word_rejects() -> None:
    text = "@T.prim_func\ndef f(A: Annotated[T.Buffer, (8,), 'float33']):\n    T.evaluate(0)"
    with pytest.raises(ScriptError, match="float33") as caught:
        script.from_source(text)
    assert caught.value.line == 2


def test_static_methods_are_functions_of_a_module() -> None:
    @I.ir_module
    class Module:
        @staticmethod
        @T.prim_func
        def f() -> None:
            T.evaluate(1)

    assert list(Module.functions) == ["f"]


def test_loops_reject_a_run_by_python() -> None:
    with pytest.raises(ScriptError, match="a loop of a script is run by Python"):
        iter(T.grid(4, 4))


def test_buffers_reject_an_assignment_outside_of_a_script() -> None:
    with pytest.raises(OperandError, match="cannot assign to an element of buffer A"):
        tir.decl_buffer((4,), name="A")[0] = 1.0
