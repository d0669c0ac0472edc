"""Random primitives on small programs: what is accepted computes the same, or build refuses it with
a reason; what is refused changes nothing; the trace makes the same program again.
"""

from __future__ import annotations

import json
import random
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import config, tir
from te_sched.errors import BuildError, LoweringError, TeSchedError
from te_sched.ir.verify import verify
from te_sched.script import from_source
from te_sched.tensorir.state import BlockKey
from te_sched.trace.trace import Trace
from tests.sampling import sampled
from tests.tensorir.programs import GIVEN, MATMUL, OTHERS, STAGES

SCOPES = ("global", "local", "shared")
PROGRAMS = {
    "matmul": MATMUL,
    "stages": STAGES,
    **{
        name: OTHERS[name]
        for name in ("siblings", "accumulated", "window", "two readers", "repeated", "nested")
    },
}


def _moved(*indices: Any) -> list[Any]:
    """The first index last, in two parts."""
    return [*indices[1:], indices[0] // 2, indices[0] % 2] if indices else []


def _move_temporary(sch: Any, block: Any) -> None:
    """Transform the layout of a buffer that is not a parameter, whose shape callers know."""
    own = sch.get(block)
    given = {one for func in sch.mod.functions.values() for one in func.buffer_map.values()}
    for kind, regions in (("write", own.writes), ("read", own.reads)):
        for number, region in enumerate(regions):
            if region.buffer not in given:
                sch.transform_layout(block, (kind, number), _moved)
                return


def calls(sch: Any, rng: random.Random) -> list[Any]:
    """A call of each primitive, with random arguments."""
    names = [sch.block(key).name_hint for key in sch.keys.values()]
    names = [name for name in names if name != "root" and names.count(name) == 1]
    if not names:
        return [lambda: None]
    block, other = sch.get_block(rng.choice(names)), sch.get_block(rng.choice(names))
    mine, others = sch.get_loops(block), sch.get_loops(other)
    if not mine or not others:
        return [lambda: sch.add_unit_loop(block)]
    loop, target = rng.choice(mine), rng.choice(others)
    factors = rng.choice([[None, 2], [3, None], [None, 2, 2], [8, None], [None, 1]])
    start = rng.randrange(len(mine))
    return [
        lambda: sch.split(loop, factors, preserve_unit_iters=rng.random() < 0.5),
        lambda: sch.fuse(*mine[start : start + 2]),
        lambda: sch.reorder(*rng.sample(mine, min(2, len(mine)))),
        lambda: sch.add_unit_loop(rng.choice([block, loop])),
        lambda: sch.parallel(loop),
        lambda: sch.vectorize(loop),
        lambda: sch.unroll(loop),
        lambda: sch.compute_inline(block),
        lambda: sch.reverse_compute_inline(block),
        lambda: sch.compute_at(block, target, rng.random() < 0.5, rng.choice([-1, -2])),
        lambda: sch.reverse_compute_at(block, target, rng.random() < 0.5),
        lambda: sch.decompose_reduction(block, loop),
        lambda: sch.compute_at(block, sch.sample_compute_location(block)),
        lambda: _move_temporary(sch, block),
        lambda: sch.transform_block_layout(block, _moved),
        lambda: sch.reindex(block, rng.choice([("read", 0), ("write", 0)])),
        lambda: sch.rfactor(loop, rng.choice([0, -1, 1])),
        lambda: sch.cache_read(block, 0, rng.choice(SCOPES[:2])),
        lambda: sch.cache_write(block, 0, rng.choice(SCOPES[:2])),
        lambda: sch.blockize(loop),
        lambda: sch.blockize(sch.get_child_blocks(rng.choice([sch.get_block("root"), loop]))[:2]),
        lambda: sch.set_scope(block, 0, "local"),
        lambda: sch.storage_align(block, 0, rng.choice([0, -1]), 8, 4),
        lambda: sch.split(loop, sch.sample_perfect_tile(loop, 2)),
        lambda: sch.loop_partition(loop, rng.choice([[2, None], [None, 1], [1, 2]])),
        lambda: sch.merge(loop, target),
    ]


def check_index(sch: Any) -> None:
    """The index has the loops and blocks of the program, and no others."""
    fresh = tir.Schedule(sch.mod)
    assert len(fresh.nodes) == len(sch.nodes)
    assert set(sch.keys.values()) == {one for one in sch.nodes if isinstance(one, BlockKey)}
    for key, node in sch.nodes.items():
        assert sch.key_of(node) is key
        parent = sch.parents[key]
        assert (key in sch.roots) == (parent is None)
        assert parent is None or parent in sch.nodes
    for name, func in sch.functions.items():
        verify(func, "blocks")
        assert set(sch.roots.values()) == {name}


def answers(module: Any, count: int, sizes: list[Any]) -> list[Any]:
    """The results for random arguments."""
    rng = np.random.default_rng(0)
    arrays = [te_sched.nd.array(rng.random(shape, "float32")) for shape in sizes]
    module(*arrays)
    return [one.numpy() for one in arrays]


@pytest.mark.parametrize("seed", sampled(range(400), 60))
def test_random_primitives(seed: int) -> None:
    rng = random.Random(seed)
    name = sorted(PROGRAMS)[seed % len(PROGRAMS)]
    func = from_source(GIVEN + PROGRAMS[name])
    sch = tir.Schedule(func, seed=rng.randrange(1, 2**31))
    for _ in range(rng.randint(1, 8)):
        text, call = sch.mod.script(), rng.choice(calls(sch, rng))
        with suppress(TeSchedError):
            call()
            text = ""
        assert text in ("", sch.mod.script())
        check_index(sch)
    text = sch.mod.script()
    assert from_source(text).script() == text
    again = tir.Schedule(func)
    Trace.apply_json_to_schedule(json.loads(json.dumps(sch.trace.as_json())), again)
    assert again.mod.script() == text
    assert str(again.trace) == str(sch.trace)
    sizes = [tuple(int(one) for one in buffer.shape) for buffer in func.buffer_map.values()]
    expected = answers(te_sched.build(func), len(sizes), sizes)
    try:
        with config.scoped(verify_passes=False):
            module = te_sched.build(sch.mod)
    except (BuildError, LoweringError):
        return
    for one, other in zip(answers(module, len(sizes), sizes), expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)
