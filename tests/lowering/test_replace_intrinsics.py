"""Rules of intrinsics: which holds, and what a rule may not give."""

import numpy as np
import pytest

from te_sched import build, te, tir
from te_sched.errors import LoweringError
from te_sched.ir.intrinsic_table import Effect, call_effect
from te_sched.ir.op import RULES, Op, register_intrin_lowering, register_op_attr


@pytest.fixture(autouse=True)
def own_rules():
    before = {name: dict(rules) for name, rules in RULES.items()}
    yield
    RULES.clear()
    RULES.update(before)


def run():
    a = te.placeholder((3,), name="a")
    b = te.compute((3,), lambda i: tir.call_intrin("float32", "tir.of_mine", a[i]), name="b")
    out = np.zeros(3, "float32")
    build(te.create_schedule(b.op), [a, b])(np.arange(3, dtype="float32"), out)
    return out.tolist()


def test_the_kind_of_target_wins_over_default():
    register_intrin_lowering("tir.of_mine", "default", f=lambda call: call.args[0] + 1)
    assert run() == [1, 2, 3]
    register_intrin_lowering("tir.of_mine", "llvm", f=lambda call: call.args[0] + 2)
    register_intrin_lowering("tir.of_mine", "cuda", f=lambda call: call.args[0] + 3)
    assert run() == [2, 3, 4]


def test_the_highest_level_wins():
    register_intrin_lowering("tir.of_mine", "llvm", f=lambda call: call.args[0], level=20)
    register_intrin_lowering("tir.of_mine", "llvm", f=lambda call: -call.args[0], level=5)
    assert run() == [0, 1, 2]


def test_a_rule_gives_the_type_of_the_call():
    register_intrin_lowering("tir.of_mine", "llvm", f=lambda call: tir.const(1, "int32"))
    with pytest.raises(LoweringError, match="must give a float32, got an int32"):
        run()


def test_rules_that_never_end_are_refused():
    def again(call):
        return tir.call_intrin("float32", "tir.of_mine", call.args[0])

    register_intrin_lowering("tir.of_mine", "llvm", f=again)
    with pytest.raises(LoweringError, match="16 rules in a row gave new intrinsics"):
        run()


def test_effects_are_registered():
    assert call_effect("tir.of_mine_too") == Effect.UPDATE_STATE
    register_op_attr("tir.of_mine_too", "TCallEffectKind", tir.CallEffectKind.Pure)
    assert call_effect("tir.of_mine_too") == Effect.PURE
    assert Op.get("tir.of_mine_too").name == "tir.of_mine_too"
