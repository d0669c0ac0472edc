"""When a root block is left out of a script."""

from __future__ import annotations

import pytest

from te_sched.ir.root_block import has_blocks, is_root
from te_sched.script import from_source

HEAD = "@T.prim_func\ndef f(A: T.Buffer((4,), 'float32')):\n"
LOOP = (
    "for i in range(4):\n{0}    with T.block('x'):\n{0}        v = T.axis.S(4, i)\n"
    "{0}        A[v] = 1.0\n"
)


def func(text: str) -> object:
    return from_source(HEAD + text).body


def test_added_root_blocks_are_left_out() -> None:
    assert is_root(func("    " + LOOP.format("    ")))


@pytest.mark.parametrize(
    "text",
    [
        "    A[0] = 1.0\n",
        "    with T.block('root'):\n        T.block_attr({'a': 1})\n        "
        + LOOP.format("        "),
        "    with T.block('root'):\n        T.where(A[0] < 1.0)\n        "
        + LOOP.format("        "),
        "    with T.block('root'):\n        T.reads(A[0])\n        T.writes()\n        "
        + LOOP.format("        "),
        "    with T.block('root'):\n        with T.block('x'):\n            A[0] = 1.0\n",
    ],
)
def test_other_bodies_are_written(text: str) -> None:
    assert not is_root(func(text))


def test_statements_with_blocks() -> None:
    assert has_blocks(func("    " + LOOP.format("    ")))
    assert not has_blocks(func("    A[0] = 1.0\n"))
