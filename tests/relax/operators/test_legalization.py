"""What legalization rules share."""

from __future__ import annotations

import subprocess
import sys

from te_sched import relax, topi
from te_sched.ir import ops
from te_sched.relax.operators.legalization import (
    fields_of_tuple,
    for_floats,
    numbers_of,
    scalar_or_expr,
    te_rule,
    topi_function,
)

X = relax.Var("x", relax.TensorStructInfo([4], "float32"))
INTEGERS = relax.Var("i", relax.TensorStructInfo([4], "int32"))


def _name_of(call: relax.Expr) -> str:
    assert isinstance(call, relax.Call)
    return str(call.args[0])


def test_a_rule_of_floats_leaves_integers_to_another() -> None:
    rule = for_floats(te_rule(topi.exp, "floats"), te_rule(topi.abs, "others"))
    builder = relax.BlockBuilder()
    calls = [builder.normalize(relax.op.abs(x)) for x in (X, INTEGERS)]
    assert [_name_of(rule(builder, call)) for call in calls] == ["floats", "others"]


def test_functions_of_topi_are_found_by_name() -> None:
    builder = relax.BlockBuilder()
    call = builder.normalize(relax.op.nn.relu(X))
    by_name = te_rule(topi_function("nn.relu"), "by_name")(builder, call)
    by_function = te_rule(topi.nn.relu, "by_function")(builder, call)
    assert _name_of(by_name) == _name_of(by_function) == "by_name"  # the builder shares equal ones


def test_constants_without_dimensions_are_numbers() -> None:
    assert scalar_or_expr(relax.const(2.0)).dtype == "float32"
    assert scalar_or_expr(relax.const(2), python_native=True) == 2
    assert scalar_or_expr(X) is X


def test_sizes_that_are_constants_are_numbers_of_python() -> None:
    assert numbers_of([ops.const(3, "int64"), 4]) == [3, 4]


def test_fields_are_those_of_a_tuple_or_its_variable() -> None:
    builder = relax.BlockBuilder()
    pair = relax.Var("p", relax.TupleStructInfo([X.struct_info, X.struct_info]))
    with builder.function("main", [X, pair]):
        assert fields_of_tuple(builder, relax.Tuple([X, X])) == [X, X]
        assert [field.struct_info for field in fields_of_tuple(builder, pair)] == [
            *(X.struct_info, X.struct_info)
        ]
        builder.emit_func_output(X)


def test_rules_load_topi_when_they_are_called() -> None:
    code = (
        "import sys; from te_sched import relax; from te_sched.ir import Op\n"
        "assert 'te_sched.topi' not in sys.modules\n"
        "x = relax.Var('x', relax.TensorStructInfo([4], 'float32'))\n"
        "builder = relax.BlockBuilder(); call = builder.normalize(relax.op.tanh(x))\n"
        "call = Op.get('relax.tanh').get_attr('FLegalize')(builder, call)\n"
        "print(call.args[0], 'te_sched.topi' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["tir_tanh", "True"]
