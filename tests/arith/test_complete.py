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


def block(statements: str, size: str = "8") -> list[str]:
    """The stated regions of a block with these statements."""
    text = f"""
@T.prim_func
def main(A: T.Buffer(({size}, {size}), "int32"), B: T.Buffer(({size},), "int32")):
    for i in range({size}):
        with T.block("B"):
            vi = T.axis.spatial({size}, i)
"""
    text += "".join(f"            {line}\n" for line in statements.splitlines())
    printed = from_source(text).script().splitlines()
    return [line.strip() for line in printed if "T.reads" in line or "T.writes" in line]


def test_the_index_of_one_element_is_kept() -> None:
    assert block("B[vi] = A[T.max(T.min(vi + 1 - 1, 7), 0), 0]")[0] == (
        "T.reads(A[T.max(T.min(vi + 1 - 1, 7), 0), 0])"
    )


def test_memory_of_the_block_itself_is_not_accessed() -> None:
    for memory in ("T.decl_buffer((4,), 'int32')", "T.allocate([4], 'int32', 'global')"):
        use = "D = T.Buffer((4,), 'int32', data=C)" if "allocate" in memory else "D = C"
        use = use if "allocate" in memory else "D = T.meta_var(C)"
        found = block(f"C = {memory}\n{use}\nD[0] = 1\nB[vi] = D[0]")
        assert found == ["T.reads()", "T.writes(B[vi])"]


def test_united_indices_have_one_type() -> None:
    reads = block("B[vi] = A[vi, vi] + A[vi, 2]", "T.int64(8)")[0]
    assert "T.min(vi, T.int64(2))" in reads


def test_stated_slices_keep_their_start() -> None:
    text = """
@T.prim_func
def main(a: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n,), "float32")
    for i in range(n):
        with T.block("A"):
            vi = T.axis.spatial(n, i)
            T.reads()
            T.writes(A[0:n])
            A[vi] = 1.0
"""
    assert "T.writes(A[0:n])" in from_source(text).script()
