"""Copies and pickles of objects that are nested more deeply than Python recurses."""

from __future__ import annotations

import copy
import pickle
import sys

import pytest

import te_sched
from te_sched import relax, te, tir
from te_sched.ir import structural_equal
from te_sched.ir.visitor import walk
from te_sched.nested_copies import _PICKLED, restore
from te_sched.relax import dpl
from te_sched.script import from_source
from te_sched.unpickling import load_pickled

WAYS = {
    "pickle": lambda value: pickle.loads(pickle.dumps(value)),
    "pickle in Python": lambda value: pickle.loads(pickle._dumps(value)),
    "deepcopy": copy.deepcopy,
}
DEPTH = 3000
PROGRAM = """
@T.prim_func
def deep(A: T.Buffer((8,), "float32")):
    A[0] = A[0] + T.float32(1)
"""
each_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)


def deep_sum(depth=DEPTH):
    x = te.var("x")
    total = x
    for number in range(depth):
        total = (total + x) * te.var(f"y{number}")
    return x, total


@each_way
def test_deep_expressions_are_copied_with_the_variables_that_they_share(way):
    x, total = deep_sum()
    twin_x, twin, same = way((x, total, total))
    assert twin is same
    assert twin is not total
    assert any(node is twin_x for node in walk(twin))
    assert structural_equal(twin, total, map_free_vars=True)


@each_way
def test_chains_of_stages_are_copied(way):
    first = last = te.placeholder((8,), name="A")
    for _ in range(400):
        last = te.compute((8,), lambda i, source=last: source[i] + 1.0, name="B")
    twin_last, twin_first = way((last, first))
    s, twin = te.create_schedule(last.op), te.create_schedule(twin_last.op)
    assert twin.stages[0].op is twin_first.op
    for stage, copied in zip(s.stages, twin.stages, strict=True):
        assert copied.op.output(0).op is copied.op
        assert str(copied.op.name) == str(stage.op.name)
    text = str(te_sched.lower(s, [first, last]))
    assert str(te_sched.lower(twin, [twin_first, twin_last])) == text


@each_way
def test_deeply_nested_statements_are_copied(way):
    func = from_source(PROGRAM)
    body = func.body
    for number in range(600):
        body = tir.For(te.var(f"i{number}"), 0, 2, tir.ForKind.SERIAL, body)
    module = te_sched.IRModule({"main": func.with_body(body)})
    assert structural_equal(way(module), module)


@each_way
def test_deep_graphs_are_copied(way):
    x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    value = x
    for _ in range(1500):
        value = relax.op.add(value, x)
    twin_x, twin = way((x, value))
    for _ in range(1500):
        assert twin.args[1] is twin_x
        twin = twin.args[0]
    assert twin is twin_x


@each_way
def test_deep_patterns_are_copied(way):
    leaf = pattern = dpl.wildcard()
    for _ in range(DEPTH):
        pattern = dpl.is_op("relax.add")(pattern, leaf)
    twin_leaf, twin = way((leaf, pattern))
    for _ in range(DEPTH):
        assert twin.args[1] is twin_leaf
        twin = twin.args[0]
    assert twin is twin_leaf


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_every_protocol_of_slots_is_read_back(protocol):
    value = te.var("x") + 1
    twin = pickle.loads(pickle.dumps(value, protocol))
    assert structural_equal(twin, value, map_free_vars=True)


def test_pickling_keeps_no_object_alive():
    x, total = deep_sum(100)
    pickle.dumps((total, total + x, total * x))
    assert _PICKLED.planned == {}


def test_parts_of_a_pickled_object_are_pickled_later():
    _, total = deep_sum(1000)
    product = total * total
    pickle.dumps((product, total + 1))
    twin = pickle.loads(pickle.dumps(total))
    assert structural_equal(twin, total, map_free_vars=True)


def test_an_object_is_pickled_after_a_failure():
    x = te.var("x")
    inner = x
    for _ in range(500):
        inner = inner + x
    bad = tir.AttrStmt(lambda: 0, "key", inner, tir.Evaluate(inner))
    with pytest.raises((AttributeError, pickle.PicklingError), match=r"lambda|local"):
        pickle.dumps(bad)
    assert structural_equal(WAYS["pickle"](inner), inner, map_free_vars=True)


def test_copies_share_the_fields():
    value = te.var("x") + te.var("y")
    twin = copy.copy(value)
    assert twin is not value
    assert (twin.a, twin.b, twin.dtype) == (value.a, value.b, value.dtype)
    tensor = te.placeholder((2,), name="A")
    assert copy.copy(tensor.op).name == "A"


def test_the_recursion_limit_is_that_of_the_program():
    limit = sys.getrecursionlimit()
    pickle.dumps(deep_sum(200))
    assert sys.getrecursionlimit() == limit


def test_deep_expressions_are_read_with_listed_classes_alone():
    _, total = deep_sum(500)
    classes = {
        "te_sched.ir.expr": {"Add", "Mul", "Var"},
        "te_sched.ir.dtypes": {"DType"},
    }
    twin = load_pickled(pickle.dumps(total), classes)
    assert structural_equal(twin, total, map_free_vars=True)
    with pytest.raises(pickle.UnpicklingError, match="is not part of a program"):
        load_pickled(pickle.dumps(total), {"te_sched.ir.expr": {"Add", "Var"}})


def test_only_objects_of_te_sched_are_restored():
    class Other:
        pass

    other = Other()
    restore(other, ([], {"name": "x"}))
    assert vars(other) == {}
