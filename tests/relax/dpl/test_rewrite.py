"""Rewriting by patterns: what is written, and that it is the same value."""

import pytest

from te_sched import IRModule, relax
from te_sched.errors import GraphError
from te_sched.relax.dpl import (
    PatternContext,
    PatternMatchingRewriter,
    is_const,
    is_op,
    rewrite_bindings,
    rewrite_call,
    wildcard,
)
from te_sched.relax.dpl.rewrite import RewriterError
from te_sched.script import relax as R
from te_sched.script import tir as T
from tests.relax.described import described, described_module

TENSOR = R.Tensor((4,), "float32")


@R.function(private=True)
def doubled_twice(x: R.Tensor((4,), "float32")):
    with R.dataflow():
        y = R.add(x, x)
        z = R.add(y, y)
        R.output(z)
    return z


def times_two(term):
    return lambda expr, matches: relax.op.multiply(matches[term], relax.const(2.0))


def test_every_match_is_rewritten():
    term = wildcard()
    func = rewrite_call(is_op("relax.add")(term, term), times_two(term), doubled_twice)
    assert described(func) == "(x) y = multiply(x, 2.0); z* = multiply(y, 2.0); z"


def test_what_is_not_used_any_more_is_removed():
    term = wildcard()
    inner = is_op("relax.add")(term, term)
    func = rewrite_call(is_op("relax.add")(inner, inner), times_two(term), doubled_twice)
    assert described(func) == "(x) z* = multiply(x, 2.0); z"


def test_a_rewriter_can_refuse_a_match():
    left, right = (
        is_op("relax.add")(wildcard(), wildcard()),
        is_op("relax.add")(wildcard(), wildcard()),
    )
    tried = []

    def refuse(expr, matches):
        tried.append((left in matches, right in matches))
        return expr

    assert rewrite_call(left | right, refuse, doubled_twice) is doubled_twice
    assert set(tried) == {(True, False), (False, True)}


def test_rules_apply_until_nothing_changes():
    @R.function(private=True)
    def func(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):
        z = R.multiply(R.add(x, R.add(x, y)), R.const(5.0, "float32"))
        return z

    a, b, factor = wildcard(), wildcard(), is_const()
    pattern = is_op("relax.multiply")(is_op("relax.add")(a, b), factor)

    def distribute(expr, matches):
        return matches[a] * matches[factor] + matches[b] * matches[factor]

    found = described(rewrite_call(pattern, distribute, func))
    assert found.count("multiply") == 2
    assert found.count("add") == 2


def test_a_rule_without_end_is_refused(monkeypatch):
    pattern = is_op("relax.add")(wildcard(), wildcard())

    def grow(expr, matches):
        return relax.op.add(expr.args[0], relax.op.multiply(expr, expr))

    monkeypatch.setattr("te_sched.relax.dpl.rewrite.MAX_PASSES", 3)
    with pytest.raises(GraphError, match="is rewritten without end"):
        rewrite_call(pattern, grow, doubled_twice)


# Several bindings


@R.function(private=True)
def products(
    x: R.Tensor((2, 4), "float32"), v: R.Tensor((4, 8), "float32"), w: R.Tensor((4, 8), "float32")
):
    with R.dataflow():
        a = R.matmul(x, v)
        t = R.exp(w)
        b = R.matmul(x, t)
        c = R.add(a, b)
        R.output(c)
    return c


def joined():
    """Two products of one matrix as one."""
    with PatternContext() as context:
        shared, v, w = wildcard(), wildcard(), wildcard()
        first, second = (is_op("relax.matmul")(shared, one) for one in (v, w))

    def join(matches, bindings):
        both = relax.op.matmul(matches[shared], relax.op.concat([matches[v], matches[w]], 1))
        parts = relax.op.split(both, 2, 1)
        return {matches[first]: parts[0], matches[second]: parts[1]}

    return context, join


def test_bindings_are_rewritten_together():
    assert described(rewrite_bindings(*joined(), products)) == (
        "(x, v, w) t = exp(w); lv = concat((v, t)); lv1 = matmul(x, lv); lv2 = split(lv1); "
        "a = lv2[0]; b = lv2[1]; c* = add(a, b); c"
    )


def test_bindings_without_a_match_stay():
    assert rewrite_bindings(*joined(), doubled_twice) is doubled_twice


def test_bindings_without_end_are_refused(monkeypatch):
    monkeypatch.setattr("te_sched.relax.dpl.rewrite.MAX_PASSES", 3)
    context, _ = joined()
    again = {}

    def same(matches, bindings):
        again.update(bindings)
        return {var: value for var, value in bindings.items() if var.name_hint == "a"}

    with pytest.raises(GraphError, match="the bindings of a block are rewritten without end"):
        rewrite_bindings(context, same, products)


# Rules as functions


@R.rewriter
class Doubling:
    @R.function
    def pattern(a: R.Tensor(("n",), "float32")):
        return R.add(a, a)

    @R.function
    def replacement(a: R.Tensor(("n",), "float32")):
        return Doubling.double(a)

    @R.function(private=True)
    def double(a: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        return R.multiply(a, R.const(2.0, "float32"))


def test_functions_of_a_rule_are_added():
    module = Doubling(IRModule({"main": doubled_twice}))
    assert described_module(module) == {
        "main": "(x) lv = double(x); z* = double(lv); z",
        "double": "(a) gv* = multiply(a, 2.0); gv",
    }
    assert described(Doubling(doubled_twice)) == "(x) lv = double(x); z* = double(lv); z"


def test_rules_are_combined():
    term = wildcard()
    squares = PatternMatchingRewriter.from_pattern(
        is_op("relax.multiply")(term, term), lambda expr, matches: relax.op.square(matches[term])
    )

    @R.function(private=True)
    def func(x: R.Tensor((4,), "float32")):
        y = R.add(x, x)
        z = R.multiply(y, y)
        return z

    module = (Doubling | squares)(IRModule({"main": func}))
    assert described(module["main"]) == "(x) gv* = double(x); z* = square(gv); z"


@R.rewriter
class Pairs:
    @R.function
    def pattern(a: R.Tensor((4,), "float32"), b: R.Tensor((4,), "float32")):
        return (R.exp(a), R.exp(b))

    @R.function
    def replacement(a: R.Tensor((4,), "float32"), b: R.Tensor((4,), "float32")):
        return R.split(R.exp(R.concat((a, b), 0)), 2, 0)


def test_elements_of_a_tuple_that_is_not_written():
    @R.function(private=True)
    def func(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):
        with R.dataflow():
            a = R.exp(x)
            b = R.exp(y)
            c = R.add(a, b)
            R.output(c)
        return c

    assert described(Pairs(func)) == (
        "(x, y) lv = concat((x, y)); lv1 = exp(lv); lv2 = split(lv1); lv4 = lv2[0]; "
        "lv5 = lv2[1]; c* = add(lv4, lv5); c"
    )


def test_elements_that_are_used_before_stay():
    @R.function(private=True)
    def func(x: R.Tensor((4,), "float32")):
        with R.dataflow():
            a = R.exp(x)
            b = R.exp(a)
            c = R.add(a, b)
            R.output(c)
        return c

    assert Pairs(func) is func


def test_a_match_does_not_span_effects():
    a, b = wildcard(), wildcard()
    pattern = is_op("relax.exp")(is_op("relax.add")(a, b))

    @R.function(private=True, pure=False)
    def func(x: R.Tensor((4,), "float32")):
        y = R.add(x, x)
        R.print(format="between")
        z = R.exp(y)
        return z

    assert rewrite_call(pattern, lambda expr, matches: matches[a], func) is func


def module_of(**functions):
    return IRModule({name: one for name, one in functions.items() if one is not None})


@R.function(private=True)
def other_signature(x: R.Tensor((8,), "float32")):
    return x


@T.prim_func(private=True)
def of_blocks(A: T.Buffer((8,))):
    T.evaluate(0)


public = doubled_twice.with_attr("global_symbol", "public")


@pytest.mark.parametrize(
    ("functions", "message"),
    [
        ({"replacement": doubled_twice}, "a rewriter has no function pattern"),
        ({"pattern": doubled_twice}, "a rewriter has no function replacement"),
        ({"pattern": of_blocks, "replacement": doubled_twice}, "function pattern of a rewriter is"),
        (
            {"pattern": doubled_twice, "replacement": other_signature},
            "must have the same signature",
        ),
        (
            {"pattern": doubled_twice, "replacement": doubled_twice, "more": public},
            "function more of a rewriter is publicly exposed",
        ),
    ],
)
def test_modules_that_are_no_rules(functions, message):
    with pytest.raises(RewriterError, match=message):
        PatternMatchingRewriter.from_module(module_of(**functions))
