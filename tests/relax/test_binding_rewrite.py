# ruff: noqa: F841  (scripts)
"""Changing a dataflow block binding by binding."""

from __future__ import annotations

import pytest

from te_sched import IRModule, relax
from te_sched.errors import GraphError
from te_sched.relax.binding_rewrite import DataflowBlockRewrite
from te_sched.script import relax as R
from tests.relax.described import described


@R.function
def main(x: R.Tensor((4,), "float32")):
    with R.dataflow():
        a = R.add(x, x)
        b = R.add(x, a)
        unused = R.add(b, b)
        c = R.add(b, a)
        R.output(c)
    return c


def rewrite() -> DataflowBlockRewrite:
    return DataflowBlockRewrite(main.body.blocks[0], main)


def variable(name: str) -> relax.Var:
    return next(one.var for one in main.body.blocks[0].bindings if one.var.name_hint == name)


def test_bindings_are_added() -> None:
    rewriter = rewrite()
    rewriter.add(variable("a"))
    rewriter.add(relax.op.add(variable("a"), variable("b")), is_dfvar=True)
    rewriter.add(variable("a"), name="named")
    names = [one.var.name_hint for one in rewriter.mutated_dfb().bindings]
    assert names == ["a", "b", "unused", "c", "gv", "lv", "named"]
    assert rewriter.mutated_root_fn().body.blocks[0] is rewriter.mutated_dfb()
    assert len(main.body.blocks[0].bindings) == 4
    module = rewriter.mutate_irmodule(IRModule({"main": main}))
    assert module["main"] is rewriter.mutated_root_fn()


def test_uses_are_replaced_and_bindings_removed() -> None:
    rewriter = rewrite()
    rewriter.remove_unused(variable("unused"))
    rewriter.replace_all_uses(variable("a"), variable("b"))
    assert "c* = add(b, b)" in described(rewriter.mutated_root_fn())
    rewriter = rewrite()
    rewriter.remove_all_unused()
    assert "unused" not in described(rewriter.mutated_root_fn())
    assert len(rewriter.mutated_dfb().bindings) == 3


def test_blocks_without_bindings_are_left_out() -> None:
    @R.function
    def dead(x: R.Tensor((4,), "float32")):
        with R.dataflow():
            a = R.add(x, x)
            R.output(a)
        return x

    rewriter = DataflowBlockRewrite(dead.body.blocks[0], dead)
    rewriter.remove_unused(dead.body.blocks[0].bindings[0].var)
    assert rewriter.mutated_root_fn().body.blocks == ()


def test_refusals() -> None:
    with pytest.raises(GraphError, match="a is used"):
        rewrite().remove_unused(variable("a"))
    with pytest.raises(GraphError, match="the block does not define other"):
        rewrite().remove_unused(relax.Var("other"))
    rewriter = rewrite()
    rewriter.remove_unused(relax.Var("other"), allow_undef=True)
    assert rewriter.mutated_root_fn() is main
