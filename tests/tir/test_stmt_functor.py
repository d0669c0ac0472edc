"""tir.stmt_functor: what callbacks return, and programs whose operands do not fit, are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import te_sched
from te_sched import te, tir
from te_sched.errors import BuildError, DeclarationError, ParameterError, place_of_error
from te_sched.ir.stmt import PrimFunc
from te_sched.tir import stmt_functor


def doubled() -> PrimFunc:
    A = te.placeholder((8, 8), name="A")
    B = te.compute((8, 8), lambda i, j: A[i, j] * 2.0, name="B")
    made: PrimFunc = te.create_prim_func([A, B])
    return made


@pytest.mark.parametrize(
    ("result", "kind", "name"),
    [
        (5, "an int", "FloatImm"),
        ("zz", "a str", "FloatImm"),
        (1.5, "a float", "FloatImm"),
        (tir.Evaluate(0), "an Evaluate", "FloatImm"),
        (tir.IntImm("int32", 3), "an IntImm", "For"),
        (tir.Evaluate(0), "an Evaluate", "Block"),
    ],
)
@pytest.mark.parametrize("when", ["preorder", "postorder"])
def test_results_of_another_kind_are_refused(when: str, result: Any, kind: str, name: str) -> None:
    callbacks: dict[str, Any] = {"preorder": None, "postorder": None, when: lambda node: result}
    fault = f"{when} of ir_transform returned {kind}, expected .* or None"
    with pytest.raises(DeclarationError, match=fault) as caught:
        stmt_functor.ir_transform(doubled().body, **callbacks, only_enable=[f"tir.{name}"])
    assert place_of_error(caught.value).file == __file__


def test_operands_of_another_dtype_are_refused() -> None:
    with pytest.raises(DeclarationError, match="operands have types float32 and int32"):
        stmt_functor.ir_transform(
            doubled().body, None, lambda node: tir.IntImm("int32", 3), ["tir.FloatImm"]
        )


def test_all_operands_may_get_another_dtype() -> None:
    x = te.var("x", "float32")

    def widen(node: Any) -> Any:
        is_leaf = isinstance(node, (tir.FloatImm, tir.Var))
        return tir.Cast("float64", node) if is_leaf else None

    made = stmt_functor.ir_transform(x * 2.0, None, widen)
    assert made.dtype == "float64"


def test_build_refuses_operands_of_other_dtypes() -> None:
    func = doubled()
    _, result = func.buffer_map.values()
    store = tir.BufferStore(result, tir.IntImm("int32", 1), [0, 0])
    with pytest.raises(BuildError, match="stores int32 in float32"):
        te_sched.build(func.with_body(store), target="llvm")


def test_misspelled_classes_are_refused() -> None:
    with pytest.raises(DeclarationError, match=r"'tir.FloatIm'.*did you mean 'FloatImm'"):
        stmt_functor.ir_transform(doubled().body, None, lambda node: None, ["tir.FloatIm"])


def test_values_of_variables_have_their_dtype() -> None:
    i = te.var("i", "int64")
    assert stmt_functor.substitute(i * 2, {i: 3}).dtype == "int64"
    with pytest.raises(DeclarationError, match="variable i has dtype float32, expected int64"):
        stmt_functor.substitute(i * 2, {i: te.const(1.5)})


@pytest.mark.parametrize(
    ("use", "fault"),
    [
        (lambda body: stmt_functor.post_order_visit(body, lambda: 1), "takes 0 arguments"),
        (lambda body: stmt_functor.pre_order_visit(body, lambda a, b: 1), "takes 2 arguments"),
        (lambda body: stmt_functor.ir_transform(body, lambda: 1, None), "takes 0 arguments"),
        (lambda body: stmt_functor.ir_transform(body, None, lambda a, b: a), "takes 2 arguments"),
        (lambda body: stmt_functor.ir_transform(body, None, _by_name), "missing a required"),
    ],
)
def test_callbacks_take_one_node(use: Callable[[Any], Any], fault: str) -> None:
    with pytest.raises(ParameterError, match=fault):
        use(doubled().body)


def _by_name(node: Any, *, more: int) -> Any: ...
