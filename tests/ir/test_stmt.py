"""Functions and modules as objects; the statements are tested where they are used."""

from __future__ import annotations

import pytest

from te_sched.errors import DeclarationError
from te_sched.ir import stmt as S
from te_sched.ir.expr import IntImm, Var
from tests.lower.build import EFFECT, NOTHING

x = Var("x")


def function(**attrs: object) -> S.PrimFunc:
    return S.PrimFunc((x,), NOTHING, {}, attrs)


def test_a_function_with_another_body_or_attribute_is_another() -> None:
    old = function(a=1)
    new = old.with_body(EFFECT).with_attr("b", 2).with_attr({"a": 3, "c": 4})
    assert (new.body, dict(new.attrs)) == (EFFECT, {"a": 3, "b": 2, "c": 4})
    assert (old.body, dict(old.attrs)) == (NOTHING, {"a": 1})
    assert dict(new.without_attr("a").without_attr("missing").attrs) == {"b": 2, "c": 4}


def test_a_function_rejects_parameters_of_another_kind() -> None:
    with pytest.raises(DeclarationError, match="params"):
        S.PrimFunc(3, NOTHING, {})  # type: ignore[arg-type]


def test_a_module_has_functions_by_name() -> None:
    module = S.IRModule.from_expr(function(global_symbol="f"))
    assert module.get_global_vars() == ["f"]
    assert "f" in module
    assert 3 not in module
    assert module.functions_items() == [("f", module["f"])]
    assert module.get_global_var("f") == "f"
    assert "main" in S.IRModule.from_expr(function())


@pytest.mark.parametrize("name", ["g", 3, None])
def test_a_module_names_its_functions_where_there_is_none(name: object) -> None:
    module = S.IRModule({"f": function(), "h": function()})
    with pytest.raises(DeclarationError, match=r"no function of this name(.|\n)*one of f, h"):
        module[name]


def test_loops_have_kinds_in_the_order_of_their_numbers() -> None:
    loop = S.For(x, IntImm(0), IntImm(4), "serial", NOTHING)
    assert S.FOR_KINDS.index(loop.kind) == 0
    assert S.FOR_KINDS[-1] == "thread_binding"
    assert not loop.is_scalarized
    assert loop.annotations == {}
