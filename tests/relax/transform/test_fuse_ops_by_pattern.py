"""FuseOpsByPattern and MergeCompositeFunctions: functions for libraries, by patterns."""

import pytest

from te_sched import relax
from te_sched.errors import GraphError
from te_sched.relax.dpl import is_const, is_op, wildcard
from te_sched.relax.transform import FuseOpsByPattern, FusionPattern
from te_sched.relax.transform.fuse_ops_by_pattern import RepeatedDefinitionError
from tests.relax.described import described, described_module
from tests.relax.transform.matched import EXP, built, exp_sin

EXP_SIN = is_op("relax.sin")(EXP)


def test_a_match_becomes_a_function():
    module = FuseOpsByPattern([("lib.exp_sin", EXP_SIN)])(built(exp_sin))
    assert described_module(module) == {
        "main": "(x) gv* = fused_relax_exp_relax_sin(x); gv",
        "fused_relax_exp_relax_sin": "(x) lv = exp(x); gv* = sin(lv); gv",
    }
    assert module["fused_relax_exp_relax_sin"].attrs == {"Composite": "lib.exp_sin", "Primitive": 1}


def test_earlier_patterns_come_first():
    patterns = [("lib.exp", EXP), ("lib.exp_sin", EXP_SIN)]
    module = FuseOpsByPattern(patterns)(built(exp_sin))
    assert described(module["main"]) == "(x) lv = fused_relax_exp(x); gv* = sin(lv); gv"


def test_a_larger_match_of_a_pattern_takes_the_place_of_a_smaller_one():
    module = FuseOpsByPattern([("lib.any", EXP | EXP_SIN)])(built(exp_sin))
    assert described(module["main"]) == "(x) gv* = fused_relax_exp_relax_sin(x); gv"


def test_a_value_that_is_used_elsewhere_is_a_result():
    def write(builder, x):
        y = builder.emit(relax.op.exp(x))
        z = builder.emit(relax.op.sin(y))
        return relax.op.add(z, builder.emit(relax.op.cos(y)))

    module = FuseOpsByPattern([("lib.exp_sin", EXP_SIN)])(built(write))
    assert described(module["main"]) == (
        "(x) lv = fused_relax_exp_relax_sin(x); lv1 = lv[0]; lv2 = lv[1]; lv2 = cos(lv1); "
        "gv* = add(lv2, lv2); gv"
    )


def test_a_cycle_is_refused():
    def write(builder, x):
        y = builder.emit(relax.op.exp(x))
        return relax.op.add(builder.emit(relax.op.sin(y)), builder.emit(relax.op.cos(y)))

    pattern = is_op("relax.add")(EXP_SIN, wildcard())
    with pytest.raises(GraphError, match="the group of lv, lv1, gv"):
        FuseOpsByPattern([("lib.add", pattern)])(built(write))


@pytest.mark.parametrize(("bind", "params"), [(True, "(x)"), (False, "(x, param_0)")])
def test_constants_are_bound_or_passed(bind, params):
    module = built(lambda builder, x: relax.op.add(x, relax.const(1.0)))
    pattern = is_op("relax.add")(wildcard(), is_const())
    fused = FuseOpsByPattern([("lib.add", pattern)], bind)(module)
    assert described(fused["fused_relax_add"]).startswith(params)


def test_checks_and_attributes():
    seen = []

    def check(context):
        seen.append(context)
        return len(seen) > 1

    pattern = FusionPattern(
        "lib.exp_sin",
        EXP_SIN,
        {"first": EXP},
        check,
        lambda found: {"kind": str(found["first"].op)},
    )
    refused = FuseOpsByPattern([pattern])(built(exp_sin))
    assert described_module(refused) == {"main": "(x) lv = exp(x); gv* = sin(lv); gv"}
    (context,) = seen
    assert str(context.matched_expr.op) == "relax.sin"
    assert [one.name_hint for one in context.matched_bindings] == ["lv", "gv"]
    assert [[two.name_hint for two in one] for one in context.var_usages.values()] in (
        [["gv"], []],
        [[], ["gv"]],
    )
    assert context.value_to_bound_var[context.matched_expr].name_hint == "gv"
    fused = FuseOpsByPattern([pattern])(built(exp_sin))
    assert fused["fused_relax_exp_relax_sin"].attrs["kind"] == "relax.exp"


def test_only_entry_functions_are_searched():
    module = built(exp_sin)
    assert FuseOpsByPattern([("lib.exp", EXP)], entry_functions=["other"])(module) is module


def test_functions_of_libraries():
    module = FuseOpsByPattern([("lib.exp", EXP)], annotate_codegen=True)(built(exp_sin))
    func = module["fused_relax_exp_lib"]
    assert set(map(str, module.functions)) == {"main", "fused_relax_exp_lib"}
    assert func.attrs == {"Codegen": "lib", "global_symbol": "fused_relax_exp_lib"}
    local, call = func.body.blocks[0].bindings
    assert local.value.attrs == {"Composite": "lib.exp"}
    assert call.value.op is local.var
    again = FuseOpsByPattern([("lib.exp", EXP)], annotate_codegen=True)(module)
    assert set(map(str, again.functions)) == set(map(str, module.functions))


def test_arguments_that_are_no_patterns():
    with pytest.raises(GraphError, match="is not a pattern of a library"):
        FuseOpsByPattern([("lib.exp", "exp")])


def test_variables_that_are_bound_twice():
    module = built(exp_sin)
    module["other"] = module["main"]
    with pytest.raises(RepeatedDefinitionError, match="variable x of function other is bound"):
        FuseOpsByPattern([("lib.exp", EXP)])(module)
