"""Declarations of operators: their columns, by TVM's names too, and as programs set them."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from unittest import mock

import pytest

from te_sched import relax
from te_sched.errors import GraphError
from te_sched.ir.op import ATTRIBUTES, CHANGED_BY_PROGRAMS, Op, register_op_attr
from te_sched.relax.operators import registry
from te_sched.relax.operators.registry import (
    FOLLOWS,
    OPERATORS,
    declare,
    find_operator,
    legalization_of,
    operator_of,
)

X = relax.Var("x", relax.TensorStructInfo([4], "float32"))


def _infer(call: relax.Call, builder: relax.BlockBuilder) -> relax.StructInfo:
    return call.args[0].struct_info


def _rule(builder: relax.BlockBuilder, call: relax.Call) -> relax.Expr:
    return call.args[0]


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    """The operators as they were, after each test."""
    changed = {*CHANGED_BY_PROGRAMS}
    attributes = {name: {**columns} for name, columns in ATTRIBUTES.items()}
    with mock.patch.dict(OPERATORS), mock.patch.dict(ATTRIBUTES, attributes):
        yield
    CHANGED_BY_PROGRAMS.clear()
    CHANGED_BY_PROGRAMS.update(changed)


def test_columns_are_readable_by_the_names_of_tvm() -> None:
    declare("relax.demo", _infer, legalize=_rule, mixed_precision=FOLLOWS)
    op = Op.get("relax.demo")
    assert op.get_attr("FInferStructInfo") is _infer
    assert op.get_attr("FLegalize") is _rule
    assert op.get_attr("FPurity") is True
    assert op.get_attr("TMixedPrecisionPolicy") == FOLLOWS
    assert not op.has_attr("FCallPacked")


def test_always_in_half_precision_is_a_policy() -> None:
    assert Op.get("relax.matmul").get_attr("TMixedPrecisionPolicy") == registry.ALWAYS == 0


def test_programs_replace_columns() -> None:
    assert operator_of("relax.exp").is_pure
    register_op_attr("relax.exp", "FLegalize", _rule)
    register_op_attr("relax.exp", "FPurity", False)
    operator = operator_of("relax.exp")
    assert operator.legalize is _rule
    assert not operator.is_pure
    assert operator.layout is OPERATORS["relax.exp"].layout


def test_a_rule_of_a_program_is_that_of_builds() -> None:
    declared = OPERATORS["relax.argmax"]
    assert legalization_of("relax.argmax") is declared.legalize
    assert legalization_of("relax.argmax", is_exact=True) is declared.exact
    register_op_attr("relax.argmax", "FLegalize", _rule)
    assert legalization_of("relax.argmax", is_exact=True) is _rule
    register_op_attr("relax.argmax", "FLegalize", declared.legalize)
    assert legalization_of("relax.argmax", is_exact=True) is declared.exact


def test_removed_columns_are_absent() -> None:
    Op.get("relax.exp").reset_attr("FLegalize")
    assert operator_of("relax.exp").legalize is None
    assert legalization_of("relax.exp", is_exact=True) is None


def test_operators_of_programs_need_inference() -> None:
    register_op_attr("relax.demo", "FLegalize", _rule)
    assert find_operator("relax.demo") is None
    assert legalization_of("relax.demo") is _rule
    register_op_attr("relax.demo", "FInferStructInfo", _infer)
    assert operator_of("relax.demo").infer is _infer


def test_unknown_operators_are_refused() -> None:
    with pytest.raises(GraphError, match=r"there is no operator 'relax\.ad'") as error:
        operator_of("relax.ad")
    assert "relax.add" in str(error.value)


def test_functions_are_named() -> None:
    function = registry.named(lambda x: registry.make_call("relax.exp", [x]), "demo", "A demo.")
    assert (function.__name__, function.__doc__) == ("demo", "A demo.")
    assert function(X).op == "relax.exp"


def test_functions_of_families_have_names_and_kinds() -> None:
    assert str(inspect.signature(relax.op.tanh)) == "(x: 'Value') -> 'GraphCall'"
    assert str(inspect.signature(relax.op.add)) == "(x1: 'Value', x2: 'Value') -> 'GraphCall'"
    pool = relax.op.nn.max_pool3d
    assert (pool.__name__, pool.__qualname__) == ("max_pool3d", "max_pool3d")
    assert pool.__doc__ is not None
    assert pool.__doc__.startswith("The maximum of each window, in three dimensions.")
