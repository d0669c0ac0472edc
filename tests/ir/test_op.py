"""Intrinsics as objects, and what programs register of them."""

from __future__ import annotations

import pytest

from te_sched.errors import DeclarationError
from te_sched.ir.intrinsic_table import EFFECTS, Effect, call_effect
from te_sched.ir.op import RULES, Op, register_intrin_lowering, register_op_attr


@pytest.fixture(autouse=True)
def _own_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(RULES, "tir.mine", raising=False)
    monkeypatch.delitem(EFFECTS, "tir.mine", raising=False)


def test_intrinsics_are_their_names() -> None:
    assert Op.get("tir.exp") == "tir.exp"
    assert Op.get("tir.exp").same_as(Op.get("tir.exp"))
    assert type(Op.get("tir.exp").name) is str


def test_the_rule_of_the_highest_level_holds() -> None:
    rules = [lambda call: 1, lambda call: 2, lambda call: 3]
    for level, rule in ((10, rules[0]), (12, rules[1]), (11, rules[2])):
        assert register_intrin_lowering("tir.mine", "llvm", f=rule, level=level) is rule
    assert RULES["tir.mine"]["llvm"] == (12, rules[1])


def test_rules_are_of_a_target_each() -> None:
    @register_intrin_lowering("tir.mine", "llvm")
    def rule(call: object) -> object:
        return call

    register_op_attr("tir.mine", "cuda.FLowerIntrinsic", rule)
    assert RULES["tir.mine"] == {"llvm": (10, rule), "cuda": (10, rule)}
    register_intrin_lowering("tir.mine", "llvm", f=rule)  # the same again is none
    with pytest.raises(
        DeclarationError, match=r"tir\.mine has a lowering rule of level 10 for llvm already"
    ):
        register_intrin_lowering("tir.mine", "llvm", f=lambda call: call)


def test_effects_are_registered() -> None:
    strongest = max(Effect)
    register_op_attr("tir.mine", "TCallEffectKind", int(Effect.PURE))
    assert call_effect("tir.mine") is Effect.PURE
    register_op_attr("tir.mine", "TCallEffectKind", int(strongest))
    assert call_effect("tir.mine") is strongest
    assert register_op_attr("tir.mine", "TAnything", 3) == 3
