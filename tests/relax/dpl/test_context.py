"""Patterns that are related, in dataflow blocks."""

import pytest

from te_sched import relax
from te_sched.errors import GraphError
from te_sched.relax.dpl import PatternContext, is_op, is_var, wildcard

INFO = relax.TensorStructInfo([4], "float32")


def block_of(write):
    x = relax.Var("x", INFO)
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        with builder.dataflow():
            output = builder.emit_output(write(builder, x))
        builder.emit_func_output(output)
    return builder.get()["main"].body.blocks[0]


def diamond(builder, x):
    y = builder.emit(relax.op.exp(x))
    return relax.op.add(builder.emit(relax.op.sin(y)), builder.emit(relax.op.cos(y)))


def unary(name):
    return is_op(f"relax.{name}")(wildcard())


def test_a_diamond():
    with PatternContext() as context:
        first, left, right = unary("exp"), unary("sin"), unary("cos")
        join = is_op("relax.add")(wildcard(), wildcard())
        first.fork_to(left, right)
        left >> join
        right.only_used_by(join, index=1)
    found = context.match_dfb(block_of(diamond))
    assert [found[one].name_hint for one in (first, left, right, join)] == [
        "lv",
        "lv1",
        "lv2",
        "gv",
    ]


def test_the_only_use_is_not_the_only_one():
    with PatternContext() as context:
        unary("exp") >> unary("sin")
    assert context.match_dfb(block_of(diamond)) is None


def test_a_use_as_another_argument():
    with PatternContext() as context:
        unary("sin").used_by(is_op("relax.add")(wildcard(), wildcard()), index=1)
    assert context.match_dfb(block_of(diamond)) is None


def test_different_patterns_match_different_variables():
    with PatternContext() as context:
        unary("exp") ^ unary("sin")
        unary("exp")
    assert context.match_dfb(block_of(diamond)) is None


def test_sequences_and_their_copies():
    def write(builder, x):
        ends = [builder.emit(relax.op.sin(builder.emit(relax.op.exp(x)))) for _ in range(2)]
        return relax.op.add(*ends)

    with PatternContext() as context:
        first = unary("exp") >> unary("sin")
        is_var("x").fork_to(first, first.dup())
    assert context.match_dfb(block_of(write)) is not None
    assert context.match_dfb(block_of(diamond)) is None


def test_incremental_contexts_have_the_relations_around():
    exp, sin, add = unary("exp"), unary("sin"), is_op("relax.add")(wildcard(), wildcard())
    with PatternContext() as outer:
        exp >> sin
        with PatternContext() as alone:
            sin >> add
            assert PatternContext.current() is alone
        with PatternContext(incremental=True) as inner:
            sin >> add
        assert PatternContext.current() is outer
    assert alone.match_dfb(block_of(diamond)) is not None
    assert inner.match_dfb(block_of(diamond)) is None


@pytest.mark.parametrize(("size", "matches"), [(4, True), (1, False)])
def test_equal_shapes(size, matches):
    def write(builder, x):
        y = builder.emit(relax.op.zeros([size], "float32"))
        return relax.op.add(x, y)

    with PatternContext() as context:
        left, right = wildcard(), wildcard()
        is_op("relax.add")(left, right)
        left.same_shape_as(right)
    assert (context.match_dfb(block_of(write)) is not None) is matches


def test_no_context_is_open():
    with pytest.raises(GraphError, match="outside of a context"):
        PatternContext.current()
