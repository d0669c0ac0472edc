"""Random calls of primitives as Python text, in which `b` finds a block and `l` its loops."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any

State = Mapping[str, list[int]]  # the blocks of a schedule with the extents of their loops
SCOPES = ("global", "global", "local", "shared")
THREADS = ("blockIdx.x", "blockIdx.y", "threadIdx.x", "threadIdx.x", "threadIdx.y", "vthread.x")
MAPS = {
    1: ("i: (i // 4, i % 4)", "i: (i,)"),
    2: (
        "i, j: (j, i)", "i, j: (i, j // 4, j % 4)", "i, j: (i // 4, j, i % 4)", "i, j: (i, j)",
        "i, j: [i, j // 4, tvm.tir.IndexMap.AXIS_SEPARATOR, j % 4]", "i, j: (i * 20 + j,)",
    ),
    3: ("i, j, k: (i, k, j)", "i, j, k: (i, j, k // 4, k % 4)", "i, j, k: (i, j, k)"),
    4: ("i, j, k, l: (i, k, l, j)", "i, j, k, l: (i, j, k * 8 + l)"),
}  # fmt: skip


def namespace(module: Any, schedule: Any) -> dict[str, Any]:
    """The names in steps, for a module `tvm` and a schedule."""
    return {
        "sch": schedule,
        "tvm": module,
        "b": schedule.get_block,
        "l": lambda name: schedule.get_loops(schedule.get_block(name)),
    }


class Choice:
    """Random parts of steps, for a state."""

    def __init__(self, rng: random.Random, state: State) -> None:
        self.rng, self.state = rng, state
        self.name = rng.choice(sorted(state))
        self.others = sorted(state)

    def block(self) -> str:
        """The block that the step is about."""
        return f'b("{self.name}")'

    def loop(self, name: str = "") -> str:
        """One of its loops, or those of another block."""
        name = name or self.name
        return f'l("{name}")[{self.rng.randrange(max(len(self.state[name]), 1))}]'

    def other(self) -> str:
        """A loop of any block."""
        return self.loop(self.rng.choice(self.others))

    def number(self) -> int:
        """The number of a region."""
        return self.rng.choice((0, 0, 0, 1))

    def one(self, *choices: Any) -> Any:
        """One of some values."""
        return self.rng.choice(choices)

    def index_map(self) -> str:
        """A function of indices."""
        rank = self.one(1, 2, 2, 2, min(max(len(self.state[self.name]), 1), 4))
        return f"lambda {self.one(*MAPS[rank])}"

    def region(self) -> str:
        """A region of the block."""
        return f'("{self.one("read", "write")}", {self.number()})'


def _reorder(c: Choice) -> str:
    count = len(c.state[c.name])
    chosen = c.rng.sample(range(count), min(count, c.one(2, 2, 3, 4)))
    return f"sch.reorder({', '.join([f'l({c.name!r})[{one}]' for one in chosen])})"


def _fuse(c: Choice) -> str:
    start = c.rng.randrange(max(len(c.state[c.name]), 1))
    return f'sch.fuse(*l("{c.name}")[{start}:{start + c.one(2, 2, 3)}])'


def _split(c: Choice) -> str:
    factors = c.one(
        [None, 2],
        [None, 4],
        [4, None],
        [None, 7],
        [2, None, 2],
        [None, 4, 2],
        [16, None],
        [8, None, 2],
    )
    options = c.one("", "", "", ", preserve_unit_iters=False", ", disable_predication=True")
    return f"sch.split({c.loop()}, factors={factors}{options})"  # fmt: skip


def _tile(c: Choice) -> str:
    extents = c.state[c.name] or [1]
    number = c.rng.randrange(len(extents))
    inner = c.one(*[one for one in range(1, 17) if extents[number] % one == 0])
    loop, decision = f'l("{c.name}")[{number}]', [extents[number] // inner, inner]
    return (
        f"sch.split({loop}, factors=sch.sample_perfect_tile({loop}, n=2, max_innermost_factor=16, "
        f"decision={decision}))"
    )


def _annotate(c: Choice) -> str:
    value = c.one(
        "1", '"x"', "[1, 2, 3]", "sch.sample_categorical([0, 16, 64], [0.2, 0.3, 0.5], decision=1)"
    )
    return f'sch.annotate({c.one(c.block(), c.loop())}, "{c.one("note", "unroll_max")}", {value})'


def _move(c: Choice) -> str:
    units = c.one("", "", ", preserve_unit_loops=True")
    index = c.one("", "", "", ", index=-2", ", index=0", ", index=1")
    return (
        f"sch.{c.one('compute_at', 'reverse_compute_at')}({c.block()}, {c.other()}{units}{index})"
    )


def _move_somewhere(c: Choice) -> str:
    place = f"sch.sample_compute_location({c.block()}, decision={c.one(-2, -1, 0, 1)})"
    return f"sch.compute_at({c.block()}, {place})"


def _padding(c: Choice) -> str:
    return str([c.one(1, 2, 4, 8) for _ in c.state[c.name]])


def _iterators(c: Choice) -> str:
    order = list(range(len(c.state[c.name])))
    c.rng.shuffle(order)
    return str(order)


def _partitioned_tile(c: Choice) -> str:
    extents = c.state[c.name] or [1]
    number = c.rng.randrange(len(extents))
    inner = c.one(*[one for one in (1, 2, 4) if extents[number] % one == 0])
    loop, decision = f'l("{c.name}")[{number}]', [extents[number] // inner, inner]
    return (
        f"sch.split({loop}, factors=sch.sample_partitioned_tile({loop}, n=2, partition_pos=1, "
        f"innerpart_factor={inner}, decision={decision}))"
    )


def _pad_layout(c: Choice) -> str:
    rank = min(max(len(c.state[c.name]), 1), 2)
    return (
        f"sch.transform_layout({c.block()}, {c.region()}, lambda {c.one(*MAPS[rank])}, "
        f"pad_value={c.one('0.0', '0.0', '1.5', 'lambda *i: 2.0')})"
    )


def _copy_at(c: Choice) -> str:
    action = c.one("read_at", "write_at")
    return f'sch.{action}({c.loop()}, {c.block()}, {c.number()}, "local")'


def _cache_for(c: Choice) -> str:
    own = c.block()  # TVM takes blocks that do not read the buffer, and may end the process
    return f'sch.cache_read({own}, {c.number()}, "{c.one(*SCOPES)}", consumer_blocks=[{own}])'


def _cache_in_order(c: Choice) -> str:
    action = c.one("reindex_cache_read", "reindex_cache_write")
    return f'sch.{action}({c.block()}, {c.number()}, "{c.one(*SCOPES)}", {c.index_map()})'


KINDS: dict[Callable[[Choice], str], int] = {
    _split: 6,
    _tile: 3,
    _fuse: 4,
    _reorder: 5,
    _move: 8,
    _annotate: 1,
    lambda c: f"sch.add_unit_loop({c.one(c.block(), c.loop())})": 1,
    lambda c: f"sch.parallel({c.loop()})": 2,
    lambda c: f"sch.vectorize({c.loop()})": 2,
    lambda c: f"sch.unroll({c.loop()})": 2,
    lambda c: f"sch.compute_inline({c.block()})": 2,
    lambda c: f"sch.reverse_compute_inline({c.block()})": 2,
    _move_somewhere: 1,
    lambda c: f"sch.decompose_reduction({c.block()}, {c.loop()})": 3,
    lambda c: f"sch.rfactor({c.loop()}, factor_axis={c.one(0, 0, 1, -1)})": 3,
    lambda c: f'sch.cache_read({c.block()}, {c.number()}, "{c.one(*SCOPES)}")': 3,
    lambda c: f'sch.cache_write({c.block()}, {c.number()}, "{c.one(*SCOPES)}")': 3,
    lambda c: f"sch.reindex({c.block()}, {c.region()})": 2,
    lambda c: f'sch.set_scope({c.block()}, 0, "{c.one(*SCOPES)}")': 1,
    lambda c: f"sch.storage_align({c.block()}, 0, axis={c.one(0, -1, -2)}, factor=32, offset=8)": 1,
    lambda c: f"sch.blockize({c.loop()})": 3,
    lambda c: f"sch.transform_layout({c.block()}, {c.region()}, {c.index_map()})": 2,
    lambda c: f"sch.transform_block_layout({c.block()}, {c.index_map()})": 2,
    lambda c: f"sch.loop_partition({c.loop()}, factors=[{c.one(2, 4, 7)}, None])": 1,
    lambda c: f"sch.merge({c.loop()}, {c.other()})": 1,
    lambda c: f"sch.rolling_buffer({c.block()}, 0)": 1,
    lambda c: f'sch.unannotate({c.one(c.block(), c.loop())}, "{c.one("note", "unroll_max")}")': 1,
    lambda c: f"sch.reorder_block_iter_var({c.block()}, {_iterators(c)})": 1,
    lambda c: f"sch.pad_einsum({c.block()}, {_padding(c)})": 1,
    lambda c: f"sch.decompose_padding({c.block()}, {c.loop()})": 1,
    lambda c: f'sch.cache_index({c.block()}, "global", {c.one(0, 1, 2)})': 1,
    lambda c: f'sch.cache_inplace({c.block()}, 0, "{c.one(*SCOPES)}")': 1,
    lambda c: f"sch.set_axis_separator({c.block()}, {c.region()}, {c.one([], [1], [2])})": 1,
    lambda c: "sch.enter_postproc()": 1,
    _partitioned_tile: 1,
    _pad_layout: 1,
    _copy_at: 1,
    _cache_for: 1,
    _cache_in_order: 1,
}
BINDING: dict[Callable[[Choice], str], int] = {
    lambda c: f'sch.bind({c.loop()}, "{c.one(*THREADS)}")': 14
}


def step(rng: random.Random, state: State, for_gpu: bool) -> str:
    """A random call."""
    kinds = {**KINDS, **(BINDING if for_gpu else {})}
    (make,) = rng.choices(list(kinds), list(kinds.values()))
    return make(Choice(rng, state))
