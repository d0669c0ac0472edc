"""What blocks access, which is found once for each node."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import tir
from te_sched.tensorir.dependences import (
    accesses_of,
    blocks_of_scope,
    dependences,
    filled_buffers,
    mentioned,
    nests_of_scope,
)
from tests.tensorir.programs import MATMUL, OTHERS, STAGES, function, program


def scope_of(sch: Any) -> Any:
    """The root block."""
    return sch.realize(sch.get_block("root").key)


def test_blocks_of_a_scope_and_their_accesses() -> None:
    sch = tir.Schedule(program(MATMUL))
    blocks = blocks_of_scope(scope_of(sch))
    assert [one.block.name_hint for one in blocks] == ["C", "D"]
    assert [one.name for one in accesses_of(blocks[0]).read] == ["A", "B"]
    found = dependences(blocks)
    assert {buffer.name: places for buffer, places in found.readers.items()} == {
        "A": [0], "B": [0], "C": [1],
    }  # fmt: skip
    assert {buffer.name: places for buffer, places in found.writers.items()} == {"C": [0], "D": [1]}


@pytest.mark.parametrize("factors", [[8], [2, 4], [1, 8], [2, 2, 2]])
def test_nests_of_all_elements_fill_a_buffer(factors: list[int]) -> None:
    sch = tir.Schedule(program(STAGES))
    sch.split(sch.get_loops("B")[1], factors)
    first, _ = nests_of_scope(scope_of(sch))
    assert [one.name for one in filled_buffers(first)] == ["B"]


def test_guarded_nests_and_halves_do_not_fill_a_buffer() -> None:
    sch = tir.Schedule(program(STAGES))
    sch.split(sch.get_loops("B")[1], [None, 3])
    assert not filled_buffers(nests_of_scope(scope_of(sch))[0])
    sch = tir.Schedule(program(OTHERS["half"]))
    assert not any(
        "B" in [b.name for b in filled_buffers(n)] for n in nests_of_scope(scope_of(sch))
    )


def test_statements_mention_buffers_pointers_and_loops() -> None:
    sch = tir.Schedule(program(STAGES))
    first, second = nests_of_scope(scope_of(sch))
    a, b = accesses_of(blocks_of_scope(scope_of(sch))[0])[4:]
    assert {*a, *b, a[0].data, first.loop_var} <= mentioned(first)
    assert a[0] not in mentioned(second)


def test_statements_mention_sizes_of_views() -> None:
    text = function(
        "A:8,8",
        """
for i in range(8):
    with T.block("B"):
        vi = T.axis.spatial(8, i)
        V = T.match_buffer(A[vi, 0:8], (8,), offset_factor=1)
        for j in range(8):
            V[j] = 1.0
""",
    )
    sch = tir.Schedule(program(text))
    (nest,) = nests_of_scope(scope_of(sch))
    (realize,) = blocks_of_scope(scope_of(sch))
    (match,) = realize.block.match_buffers
    assert {match.buffer, match.buffer.elem_offset, match.source.buffer} <= mentioned(nest)


def test_copies_share_what_no_primitive_changed() -> None:
    sch = tir.Schedule(program(MATMUL))
    loop = sch.get_loops("C")[0]
    twin = sch.copy()
    assert twin.nodes is sch.nodes
    twin.parallel(loop)
    sch.remove_rv(loop)
    assert (sch.loop(loop.key).kind, twin.loop(loop.key).kind) == ("serial", "parallel")
    assert twin.get(loop).kind == "parallel"


def test_primitives_of_long_chains_compute_the_same() -> None:
    lines = [f'B{n} = T.alloc_buffer((8,), "float32")' for n in range(40)]
    names = ["A", *[f"B{n}" for n in range(40)], "D"]
    for before, now in pairwise(names):
        lines += [
            "for i in range(8):",
            f'    with T.block("{now}"):',
            "        v = T.axis.spatial(8, i)",
            f"        {now}[v] = {before}[v] + 1.0",
        ]
    sch = tir.Schedule(program(function("A:8 D:8", "\n".join(lines))))
    for n in range(0, 40, 4):
        sch.compute_inline(f"B{n}")
        sch.reverse_compute_inline(f"B{n + 2}")
        sch.set_scope(f"B{n + 1}", 0, "global.x") if n == 0 else sch.compute_at(
            f"B{n + 1}", sch.get_loops(f"B{n + 3}")[0]
        )
    a, d = np.arange(8, dtype="float32"), np.zeros(8, "float32")
    te_sched.build(sch.mod, target="llvm")(a, d)
    np.testing.assert_array_equal(d, a + 41)
