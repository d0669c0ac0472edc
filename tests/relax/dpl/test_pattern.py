"""Patterns of expressions, and what they match."""

import pytest

from te_sched import relax, tir
from te_sched.errors import GraphError
from te_sched.relax import dpl
from te_sched.relax.dpl import is_const, is_op, is_tuple, wildcard

x, y = (relax.Var(name, relax.TensorStructInfo([4, 8], "float32")) for name in "xy")
n = tir.Var("n", "int64")
dynamic = relax.Var("d", relax.TensorStructInfo([n, 8], "float32"))
ADD, PAIR = relax.op.add(x, y), relax.Tuple([x, y])
SPLIT = relax.op.split(x, 2, 1)
LIBRARY = relax.Call(relax.ExternFunc("f"), [x, y], None, [x.struct_info])


MATCHES = [
    ("wildcard", wildcard(), x),
    ("variable", dpl.is_var("x"), x),
    ("any variable", dpl.is_var(), x),
    ("dataflow variable", dpl.is_dfv(), relax.DataflowVar("z")),
    ("global variable", dpl.is_gv("f"), relax.GlobalVar("f")),
    ("constant", is_const(), relax.const(1.0)),
    ("equal constant", dpl.is_expr(relax.const(1.0)), relax.const(1.0)),
    ("call", is_op("relax.add")(wildcard(), wildcard()), ADD),
    ("terms in either order", is_op("relax.add")(dpl.is_var("y"), dpl.is_var("x")), ADD),
    ("arithmetic", dpl.is_var("x") + dpl.is_var("y"), ADD),
    ("library", dpl.is_call_packed("f"), LIBRARY),
    ("library with arguments", dpl.is_call_packed("f", [dpl.is_var("x"), wildcard()]), LIBRARY),
    ("tuple", is_tuple([dpl.is_var("x"), wildcard()]), PAIR),
    ("tuple in any order", is_tuple([dpl.is_var("y"), wildcard()], unordered=True), PAIR),
    ("element", is_tuple([wildcard(), wildcard()])[-1], relax.TupleGetItem(PAIR, 1)),
    ("or", is_const() | dpl.is_var(), x),
    ("and", wildcard().has_shape([4, 8]) & dpl.has_dtype("float32"), x),
    ("not", ~is_const(), x),
    ("symbolic shape", wildcard().has_shape([n, 8]), dynamic),
    ("shape", dpl.is_shape([n, 4]), relax.ShapeExpr([n, 4])),
    ("struct info", wildcard().has_struct_info(relax.TensorStructInfo([n, 8], "float32")), x),
    ("attributes", is_op("relax.split")(wildcard()).has_attr({"axis": 1}), SPLIT),
    (
        "function",
        dpl.FunctionPattern([wildcard()], is_op("relax.exp")(wildcard())),
        relax.Function([x], relax.op.exp(x), x.struct_info),
    ),
]
MISMATCHES = [
    ("other name", dpl.is_var("y"), x),
    ("function and variable", dpl.is_gv(), x),
    ("other operator", is_op("relax.multiply")(wildcard(), wildcard()), ADD),
    ("too few arguments", is_op("relax.add")(wildcard()), ADD),
    ("other library", dpl.is_call_packed("g"), LIBRARY),
    ("not a call", is_op("relax.add")(wildcard(), wildcard()), x),
    ("longer tuple", is_tuple([wildcard()]), PAIR),
    ("neither", is_const() | dpl.is_gv(), x),
    ("not", dpl.reject(dpl.is_var()), x),
    ("other shape", wildcard().has_shape([4, 4]), x),
    ("other dtype", wildcard().has_dtype("int8"), x),
    ("other attribute", is_op("relax.split")(wildcard()).has_attr({"axis": 0}), SPLIT),
    ("missing attribute", is_op("relax.split")(wildcard()).has_attr({"axes": 0}), SPLIT),
    ("one size twice", wildcard().has_struct_info(relax.TensorStructInfo([n, n], "float32")), x),
    (
        "other parameters",
        dpl.FunctionPattern([], wildcard()),
        relax.Function([x], x, x.struct_info),
    ),
]


@pytest.mark.parametrize(("pattern", "expr"), [pytest.param(p, e, id=i) for i, p, e in MATCHES])
def test_match(pattern, expr):
    assert pattern.match(expr)
    assert pattern.dup().match(expr)


@pytest.mark.parametrize(("pattern", "expr"), [pytest.param(p, e, id=i) for i, p, e in MISMATCHES])
def test_mismatch(pattern, expr):
    assert not pattern.match(expr)


def test_values_of_variables_are_known():
    lv = relax.Var("lv", x.struct_info)
    pattern = is_op("relax.exp")(is_op("relax.add")(wildcard(), wildcard()))
    assert pattern.match(relax.op.exp(lv), {lv: ADD})
    assert not pattern.match(relax.op.exp(lv))


def test_one_pattern_matches_one_value():
    term = wildcard()
    same = is_op("relax.add")(term, term)
    assert same.match(relax.op.add(x, x))
    assert not same.match(ADD)
    found = same.extract_matched_expr(relax.op.add(x, x))
    assert found[term] is x


def test_a_fused_operator_with_a_bias():
    pattern = dpl.make_fused_bias_activation_pattern("relax.matmul", True, "relax.nn.relu")
    square = relax.Var("s", relax.TensorStructInfo([8, 8], "float32"))
    assert pattern.match(relax.op.nn.relu(relax.op.add(relax.op.matmul(x, square), y)))
    assert not pattern.match(relax.op.nn.relu(relax.op.matmul(x, square)))


def test_an_argument_that_is_no_pattern():
    with pytest.raises(GraphError, match="3 is given as a pattern"):
        is_op("relax.add")(3, wildcard())


def test_an_index_out_of_range():
    with pytest.raises(IndexError, match="has no element"):
        is_tuple([wildcard()])[1]


def test_relations_outside_of_a_context():
    with pytest.raises(GraphError, match="patterns are related outside of a context"):
        wildcard() >> wildcard()


ANY = wildcard()
# What TVM 0.19 prints.
TEXTS = {
    "*": ANY,
    "Op(relax.add)": is_op("relax.add"),
    "Op(relax.add)(*, ConstantPattern())": is_op("relax.add")(ANY, is_const()),
    "Op(relax.add)(*, *, ...)": is_op("relax.add")(ANY, ANY, varg_default_wildcard=True),
    'R.const(1, "int32")': dpl.is_expr(relax.const(1)),
    "VarPattern(x)": dpl.is_var("x"),
    "DataflowVarPattern(d)": dpl.is_dfv("d"),
    "GlobalVarPattern(g)": dpl.is_gv("g"),
    "TuplePattern([*, *])": is_tuple([ANY, ANY]),
    "TupleGetItemPattern(*, 1)": dpl.is_tuple_get_item(ANY, 1),
    "TupleGetItemPattern(*, -1)": dpl.is_tuple_get_item(ANY),
    "OrPattern(* | ConstantPattern())": ANY | is_const(),
    "AndPattern(* & ConstantPattern())": ANY & is_const(),
    "!(*)": ~ANY,
    "DataTypePattern(* has dtype float32)": ANY.has_dtype("float32"),
    "ShapePattern(* has shape [1, 2])": ANY.has_shape([1, 2]),
    "PrimArrPattern([1, n])": dpl.is_shape([1, n]),
    'AttrPattern(* has attributes {"a": 1})': ANY.has_attr({"a": 1}),
    "Op(relax.call_tir)(GlobalVarPattern(f), *)": dpl.is_call_tir("f"),
    "Op(relax.call_dps_packed)(ExternFuncPattern(e), *)": dpl.is_call_dps_packed("e"),
    'StructInfoPattern(* has relax StructInfo R.Tensor((1,), dtype="float32"))': (
        ANY.has_struct_info(relax.TensorStructInfo([1], "float32"))
    ),
    "TypePattern(* has type R.Shape(ndim=2))": ANY.has_type(relax.ShapeType(2)),
    "UnorderedTuplePattern([*])": is_tuple([ANY], unordered=True),
    "FunctionPattern([*], *)": dpl.FunctionPattern([ANY], ANY),
}


@pytest.mark.parametrize("text", TEXTS)
def test_patterns_print(text):
    assert str(TEXTS[text]) == text
