"""Functions that are written become complete."""

from __future__ import annotations

import pytest

from te_sched.errors import ScriptError
from te_sched.script import from_source

HEAD = "@T.prim_func\ndef f(A: T.Buffer((4,), 'float32')):\n"


def body(text: str) -> list[str]:
    return from_source(HEAD + text).script().splitlines()[4:]


def test_a_root_block_is_added() -> None:
    text = "    B = T.alloc_buffer((4,))\n    for i in range(4):\n        B[i] = A[i]\n"
    assert body(text)[:2] == ['    # with T.block("root"):', "    B = T.alloc_buffer((4,))"]


def test_one_block_without_iterators_is_the_root() -> None:
    assert body("    with T.block('x'):\n        A[0] = 1.0\n") == [
        '    with T.block("x"):',
        "        T.reads()",
        "        T.writes()",
        "        A[0] = T.float32(1)",
    ]


def test_what_is_stated_stays() -> None:
    text = "    for i in range(4):\n        with T.block('x'):\n            v = T.axis.S(4, i)\n"
    found = body(f"{text}            T.writes(A[0:4])\n            A[v] = A[v] + 1.0\n")
    assert found[4:6] == ["            T.reads(A[v])", "            T.writes(A[0:4])"]


def test_unknown_accesses_are_refused() -> None:
    text = "    for i in range(4):\n        with T.block('x'):\n            v = T.axis.S(4, i)\n"
    with pytest.raises(ScriptError, match="block x accesses A in an unknown way"):
        body(f"{text}            T.evaluate(T.call_extern('int32', 'f', A.data, v))\n")
