"""Regions of blocks: the texts are those of TVM 0.19."""

from __future__ import annotations

import pytest

from te_sched.arith.regions import inner_accesses
from te_sched.ir.blocks import Block
from te_sched.ir.visitor import walk
from te_sched.script import from_source

HEAD = (
    "@T.prim_func\ndef f(A: T.Buffer((16, 16), 'float32'), B: T.Buffer((16, 16), 'float32'), "
    "N: T.Buffer((16,), 'int32')):\n"
    "    for i in range(16):\n        with T.block('x'):\n            v = T.axis.S(16, i)\n"
)
# Statements of a block, and what it reads and writes.
BODIES = {
    "call": (
        "B[v, T.popcount(v)] = A[v, T.Cast('int32', T.floor(T.Cast('float32', v)))]",
        ("A[v, 0:16]", "B[v, 0:16]"),
    ),
    "float_element": (
        "B[v, T.Cast('int32', A[v, 3])] = 0.0",
        ("A[v, 3]", "B[v, 0:16]"),
    ),
    "loop": (
        "for j in range(4):\n    B[v, j * 4] = A[v, j] + A[v, j + 1]",
        ("A[v, 0:5]", "B[v, 0:13]"),
    ),
    "dependent_loops": (
        "for j in range(4):\n    for k in range(j, 8):\n        B[v, k] = A[v, k + j]",
        ("A[v, 0:14]", "B[v, 0:11]"),
    ),
    "condition": (
        "for j in range(16):\n    if j < 5:\n        B[v, j] = A[v, j]",
        ("A[v, 0:5]", "B[v, 0:5]"),
    ),
    "other_case": (
        "for j in range(16):\n    if j < 5:\n        B[v, j] = 0.0\n    else:\n"
        "        B[v, j] = A[v, j]",
        ("A[v, 5:16]", "B[v, 0:16]"),
    ),
    "if_then_else": (
        "for j in range(16):\n    B[v, j] = T.if_then_else(j < 3, A[v, j], T.float32(0))",
        ("A[v, 0:3]", "B[v, 0:16]"),
    ),
    "select": (
        "for j in range(16):\n    B[v, j] = T.Select(j < 3, A[v, j], T.float32(0))",
        ("A[v, 0:16]", "B[v, 0:16]"),
    ),
    "indirect": ("B[v, N[v]] = A[N[v], 0]", ("A[N[v], 0], N[v]", "B[v, N[v]]")),
    "read_and_written": ("B[v, 0] = B[v, 0] + A[v, 0]", ("B[v, 0], A[v, 0]", "B[v, 0]")),
    "nested_block": (
        "for j in range(16):\n    with T.block('y'):\n        w = T.axis.S(16, j)\n"
        "        B[v, w] = A[v, w]",
        ("A[v, 0:16]", "B[v, 0:16]"),
    ),
    "let": (
        "x = v + 1\nfor j in range(2):\n    B[v, x + j] = A[x, j]",
        ("A[v + 1, 0:2]", "B[v, v + 1:v + 1 + 2]"),
    ),
    "pointer": (
        "T.evaluate(T.call_extern('int32', 'f', A.access_ptr('r'), B.access_ptr('w')))",
        ("A[0:16, 0:16]", "B[0:16, 0:16]"),
    ),
    "vectors": ("B[v, 0:4] = A[v, 4:8]\nB[v, 0:8:2] = A[v, 4:12:2]", ("A[v, 4:11]", "B[v, 0:7]")),
    "division": ("for j in range(8):\n    B[v, j // 2] = A[v, j % 4]", ("A[v, 0:4]", "B[v, 0:4]")),
    "own_buffers": (
        "L = T.alloc_buffer((4,))\nM = T.match_buffer(A[v, 0:8], (8,))\n"
        "for j in range(4):\n    L[j] = M[j + 1]\nfor j in range(4):\n    B[v, j] = L[j]",
        ("A[v, 1:5]", "B[v, 0:4]"),
    ),
    "while": ("while N[0] < 3:\n    N[0] = N[0] + 1", ("N[0]", "N[0]")),
    "backwards": ("for j in range(8):\n    B[v, 7 - j] = A[v, j * 2]", ("A[v, 0:15]", "B[v, 0:8]")),
    "equal": (
        "for j in range(8):\n    if j == 3:\n        B[v, j] = A[v, j]",
        ("A[v, 3]", "B[v, 3]"),
    ),
    "bounds": (
        "for j in range(8):\n    B[v, T.min(j, 5)] = A[v, T.max(j - 1, 0)]",
        ("A[v, 0:7]", "B[v, 0:6]"),
    ),
}


def block_of(name: str) -> Block:
    code, _ = BODIES[name]
    text = HEAD + "".join(f"            {line}\n" for line in code.splitlines())
    nodes = walk(from_source(text).body)
    return next(node for node in nodes if isinstance(node, Block) and node.name_hint == "x")


@pytest.mark.parametrize("name", BODIES)
def test_regions(name: str) -> None:
    block, (_, (reads, writes)) = block_of(name), BODIES[name]
    assert ", ".join(map(str, block.reads)) == reads
    assert ", ".join(map(str, block.writes)) == writes


def test_what_is_reduced_into_is_not_read() -> None:
    text = (
        HEAD.replace("axis.S", "axis.R")
        + "            with T.init():\n                B[0, 0] = 0.0\n"
        + "            B[0, 0] = B[0, 0] + A[v, 0]\n"
    )
    block = next(n for n in walk(from_source(text).body) if isinstance(n, Block) and n.iter_vars)
    assert [str(one) for one in block.reads] == ["A[v, 0]"]


def test_unknown_regions_begin_at_a_zero_of_32_bits() -> None:
    text = HEAD.replace("(16, 16), 'float32'), B", "(16, T.int64(9)), 'float32'), B")
    func = from_source(text + "            B[v, 0] = A[v, T.popcount(v)]\n")
    block = next(n for n in walk(func.body) if isinstance(n, Block) and n.iter_vars)
    assert "T.reads(A[v, 0:T.int64(9)])" in func.script()
    assert [one.min.dtype for one in block.reads[0].region] == ["int32", "int32"]


def test_pointers_are_accessed_in_an_unknown_way() -> None:
    from te_sched.arith.regions import access_regions

    func = from_source(
        "@T.prim_func\ndef f(A: T.Buffer((4,), 'float32')):\n    with T.block('x'):\n"
        "        T.evaluate(T.call_extern('int32', 'f', A.data))\n"
    )
    (buffer,) = func.buffer_map.values()
    reads, writes, opaque = access_regions(func.body.block, {buffer.data: buffer})
    assert (reads, writes, [str(one) for one in opaque]) == ((), (), ["A[0:4]"])


def test_declared_regions_are_ignored_in_inner_accesses() -> None:
    func = from_source(
        """
@T.prim_func
def f(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
    with T.block("x"):
        T.reads()
        T.writes()
        for i in range(4):
            B[i] = A[i + 1]
        T.evaluate(T.call_extern("int32", "g", A.data))
"""
    )
    buffers = {buffer.data: buffer for buffer in func.buffer_map.values()}
    found = inner_accesses(func.body, buffers)
    assert [[str(one) for one in regions] for regions in found] == [
        ["A[1:5]"],
        ["B[0:4]"],
        ["A[0:8]"],
    ]


@pytest.mark.parametrize("condition", ["j < 5", "j == 5", "j != 0", "j > 2 and T.likely(j < 5)"])
def test_conditions_do_not_bound_loops_of_symbolic_extents(condition: str) -> None:
    """Then, TVM takes the region of all iterations."""
    source = f"""
@T.prim_func
def f(a: T.handle, B: T.Buffer((16,), "int32")):
    n = T.int32()
    A = T.match_buffer(a, (n, 4), "int32")
    for i in range(16):
        with T.block("x"):
            v = T.axis.S(16, i)
            for j in range(n):
                if {condition}:
                    B[v] = A[j, 0]
"""
    assert "T.reads(A[0:n, 0])" in from_source(source).script()


def test_indices_read_from_inner_memory_are_unknown_outside() -> None:
    text = (
        HEAD + "            p = T.allocate([1], 'int32', 'local')\n"
        "            t = T.Buffer((1,), 'int32', data=p, scope='local')\n"
        "            t[0] = N[v]\n            B[v, t[0]] = A[t[0], v]\n"
    )
    (block,) = (
        node for node in walk(from_source(text)) if isinstance(node, Block) and node.iter_vars
    )
    read, written = (", ".join(map(str, regions)) for regions in (block.reads, block.writes))
    assert (read, written) == ("N[v], A[0:16, v]", "B[v, 0:16]")
