"""Random schedules of all primitives, as lines of a program.

A model of stages and loops is updated with each line, so that almost all lines are legal: a
schedule must compute the declared result. Must not know an implementation.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from tests.peer.differential.program import Program, Value

FACTORS = (2, 3, 4, 4, 5, 7, 8, 8, 16, 32)


@dataclass(eq=False)
class Axis:
    """A loop: its text, its kind, its extent if known, and its annotations."""

    text: str
    is_reduction: bool = False
    extent: int | None = None
    mark: str = ""


@dataclass(eq=False)
class Stage:
    """The model of a stage: its text in `s[...]`, its loops, its producers, its attachment."""

    text: str
    leaves: list[Axis]
    reads: set[str]
    rank: int
    is_output: bool = False
    is_elementary: bool = True  # one result, no reduction
    results: int = 1
    is_cache: bool = False
    scope: str = ""
    inlined: bool = False
    home: tuple[Stage, Axis] | None = None
    notes: set[str] = field(default_factory=set)


class Scheduler:
    """Schedules a program; `steps` are the lines."""

    factors = FACTORS

    def __init__(self, rng: random.Random, program: Program, gpu: bool) -> None:
        self.rng, self.program, self.gpu = rng, program, gpu
        self.steps: list[str] = []
        self.count = 0
        self.owner: dict[str, str] = {}
        self.stages: dict[str, Stage] = {}
        self.threads = rng.choice((8, 16, 32, 64))
        for value in program.values:
            self._add(value)

    def run(self) -> tuple[str, ...]:
        """The lines of a random schedule."""
        if self.rng.random() < 0.6:
            for _ in range(self.rng.choice((1, 1, 2))):
                self._new_stage()
        for stage in reversed(list(self.stages.values())):
            if stage.leaves:
                self._place(stage)
                self._shape(stage)
                self._annotate(stage)
        if not self.gpu and self.rng.random() < 0.08:
            self._group()
        return tuple(self.steps)

    # The model

    def _add(self, value: Value) -> None:
        key = value.names[0]
        self.owner.update(dict.fromkeys(value.names, key))
        reads = {self.owner[name] for name in value.reads}
        text = " ".join(value.lines)
        is_scan = "te.scan(" in text
        reduction = "te.reduce_axis(" in text
        rank = len(value.dims)
        leaves: list[Axis] = []
        if not value.is_placeholder and not is_scan:
            extents = [dim.value if dim.text.isdigit() else None for dim in value.dims]
            leaves = self._axes(key, rank, extents)
            if reduction:
                leaves.append(Axis(f"s[{key}].op.reduce_axis[0]", True))
        stage = Stage(key, leaves, reads, rank)
        stage.is_output = any(name in self.program.outputs for name in value.names)
        stage.is_elementary = not (reduction or is_scan or len(value.names) > 1)
        stage.results = len(value.names)
        if value.below:
            stage.notes.add("numbers")
        if "i * " in text and max((dim.value for dim in value.dims), default=0) > 1000:
            stage.notes.add("wide")
        if is_scan:  # only the loops of the update are scheduled
            update = Stage(f"{key}_u", [Axis(f"s[{key}_u].op.axis[1]")], reads, rank)
            update.is_elementary, update.is_output = False, True
            update.notes = {"fixed"}
            self.stages[f"{key}_u"] = update
        self.stages[key] = stage

    def _axes(self, key: str, rank: int, extents: list[int | None]) -> list[Axis]:
        return [Axis(f"s[{key}].op.axis[{a}]", False, extents[a]) for a in range(rank)]

    def _fresh(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}_{self.count}"

    def _say(self, line: str) -> None:
        self.steps.append(line)

    def _readers(self, key: str) -> list[Stage]:
        return [stage for stage in self.stages.values() if key in stage.reads]

    def _key(self, stage: Stage) -> str:
        return next(key for key, one in self.stages.items() if one is stage)

    # Stages that the schedule adds

    def _new_stage(self) -> None:
        kind = self.rng.choice(("cache_read", "cache_read", "cache_write", "rfactor"))
        getattr(self, f"_{kind}")()

    def _scope(self) -> str:
        if self.gpu:
            return self.rng.choice(("shared", "local"))
        return self.rng.choice(("global", "global", "local", "shared"))

    def _cache_read(self) -> None:
        found = [key for key, stage in self.stages.items() if self._readers(key)]
        found = [key for key in found if self.stages[key].results == 1]
        if not found:
            return
        key = self.rng.choice(found)
        readers = [stage for stage in self._readers(key) if "fixed" not in stage.notes]
        readers = [stage for stage in readers if self.rng.random() < 0.8 and stage.leaves]
        if not readers or self.stages[key].notes & {"written"}:
            return
        name = self._fresh("CR")
        texts = ", ".join(stage.text for stage in readers)
        scope = self._scope()
        self._say(f'{name} = s.cache_read({key}, "{scope}", [{texts}])')
        rank = self.stages[key].rank
        cache = Stage(name, self._axes(name, rank, [None] * rank), {key}, rank, is_cache=True)
        cache.scope = scope
        for reader in readers:
            reader.reads = (reader.reads - {key}) | {name}
        self._insert_after(key, name, cache)

    def _insert_after(self, key: str, name: str, stage: Stage) -> None:
        items = list(self.stages.items())
        place = [one for one, _ in items].index(key) + 1
        self.stages = dict([*items[:place], (name, stage), *items[place:]])

    def _cache_write(self) -> None:
        found = [
            key
            for key, stage in self.stages.items()
            if stage.leaves and stage.results == 1 and not stage.is_cache
            and not stage.notes & {"fixed", "written", "factored"}
        ]  # fmt: skip
        if not found:
            return
        key = self.rng.choice(found)
        stage = self.stages[key]
        name = self._fresh("CW")
        scope = self._scope()
        self._say(f'{name} = s.cache_write({key}, "{scope}")')
        inner = Stage(
            name, self._axes(name, stage.rank, [None] * stage.rank), stage.reads, stage.rank
        )
        if any(axis.is_reduction for axis in stage.leaves):
            inner.leaves.append(Axis(f"s[{name}].op.reduce_axis[0]", True))
        inner.is_elementary, inner.is_cache = stage.is_elementary, self.gpu
        inner.scope = scope
        stage.leaves = [axis for axis in stage.leaves if not axis.is_reduction]
        stage.reads, stage.is_elementary = {name}, True
        stage.notes.add("written")
        inner.notes.add("written")
        items = list(self.stages.items())
        place = [one for one, _ in items].index(key)
        self.stages = dict([*items[:place], (name, inner), *items[place:]])

    def _rfactor(self) -> None:
        found = [
            key
            for key, stage in self.stages.items()
            if any(axis.is_reduction for axis in stage.leaves) and stage.results == 1
            and not stage.notes & {"written", "factored"}
        ]  # fmt: skip
        if not found:
            return
        key = self.rng.choice(found)
        stage = self.stages[key]
        parent = next(axis for axis in stage.leaves if axis.is_reduction)
        outer, inner = self._fresh("ko"), self._fresh("ki")
        factor = self.rng.choice(self.factors)
        self._say(f"{outer}, {inner} = s[{key}].split({parent.text}, factor={factor})")
        name, axis = self._fresh("RF"), self.rng.choice((outer, inner))
        place = self.rng.choice((0, 0, stage.rank))
        self._say(f"{name} = s.rfactor({key}, {axis}, {place})")
        rank = stage.rank + 1
        made = Stage(name, self._axes(name, rank, [None] * rank), stage.reads, rank)
        made.leaves.append(Axis(f"s[{name}].op.reduce_axis[0]", True))
        made.is_elementary = False
        made.notes = {"factored"}
        stage.notes.add("factored")
        parent.text, parent.extent = f"s[{key}].op.reduce_axis[0]", None
        stage.reads = {name}
        items = list(self.stages.items())
        place = [one for one, _ in items].index(key)
        self.stages = dict([*items[:place], (name, made), *items[place:]])

    # Where a stage is computed

    def _place(self, stage: Stage) -> None:
        if stage.is_output or not self._readers(self._key(stage)):
            return
        if "wide" in stage.notes and self._is_looked_up(stage):
            # Its indices are exact and need 64 bits. Inlined, they would be made of data, which
            # wraps around: docs/legality.md, "Values".
            return
        choice = self.rng.random()
        if stage.is_elementary and choice < (0.5 if self.gpu else 0.25) and not stage.is_cache:
            self._say(f"s[{stage.text}].compute_inline()")
            stage.inlined = True
            return
        points = self._points(stage)
        if self.gpu and stage.scope == "local":  # memory of a thread
            points = [p for p in points if self._is_inside_threads(p)]
            if not points:
                self._say(f's[{stage.text}].set_scope("shared")')
        if points and choice < (0.95 if self.gpu else 0.75):
            home, axis = self.rng.choice(points)
            stage.home = (home, axis)
            self._say(f"s[{stage.text}].compute_at(s[{home.text}], {axis.text})")
        elif choice > 0.97:
            self._say(f"s[{stage.text}].compute_root()")

    def _is_looked_up(self, stage: Stage) -> bool:
        """Whether a stage is read at an index from memory if all its consumers are inlined."""
        return any(
            any("numbers" in self.stages[key].notes for key in reader.reads)
            or self._is_looked_up(reader)
            for reader in self._readers(self._key(stage))
        )

    def _points(self, stage: Stage) -> list[tuple[Stage, Axis]]:
        """The loops that contain all readers of a stage."""
        paths = [self._path(reader) for reader in self._users(stage)]
        return [
            point
            for point in (paths[0] if paths else [])
            if all(point in path for path in paths[1:])
            and (point[1].mark != "vectorize" or self.rng.random() < 0.1)
        ]

    def _is_inside_threads(self, point: tuple[Stage, Axis]) -> bool:
        """Whether all thread-bound loops of the stage are outside of this one."""
        stage, axis = point
        inner = stage.leaves[stage.leaves.index(axis) + 1 :]
        return stage.home is None and all(one.mark != "bind" for one in inner)

    def _users(self, stage: Stage) -> list[Stage]:
        """The consumers of a stage, with inlined ones replaced by theirs."""
        found: list[Stage] = []
        for reader in self._readers(self._key(stage)):
            found += self._users(reader) if reader.inlined else [reader]
        return found

    def _path(self, stage: Stage) -> list[tuple[Stage, Axis]]:
        if "fixed" in stage.notes or not stage.leaves:
            return []
        path = [(stage, axis) for axis in stage.leaves]
        if stage.home is not None:
            home, last = stage.home
            outside = self._path(home)
            ends = [place for place, (_, axis) in enumerate(outside) if axis is last]
            path += outside[: ends[0] + 1] if ends else []
            if ends and outside[ends[0]][0] is home:
                path += [point for point in outside[ends[0] + 1 :] if point[0] is not home]
        return path

    # Loops

    def _shape(self, stage: Stage) -> None:
        if stage.inlined:
            return
        if self.gpu and self.rng.random() < 0.9 and self._may_bind(stage):
            self._bind(stage)
            return
        for _ in range(self.rng.choice((0, 1, 1, 2, 2, 3))):
            kind = self.rng.choice(
                ("split", "split", "split", "fuse", "tile", "reorder", "reorder")
            )
            getattr(self, f"_{kind}")(stage)

    def _may_bind(self, stage: Stage) -> bool:
        """Whether a loop may be bound: not for local memory or caches outside of kernels."""
        return stage.scope != "local" and (stage.home is not None or not stage.is_cache)

    def _split(self, stage: Stage, axis: Axis | None = None, factor: int = 0) -> tuple[Axis, Axis]:
        axis = axis or self.rng.choice(stage.leaves)
        number = factor or self.rng.choice(self.factors)
        nparts = not factor and self.rng.random() < 0.25
        prefix = "k" if axis.is_reduction else ""
        outer, inner = self._fresh(f"{prefix}o"), self._fresh(f"{prefix}i")
        option = f"nparts={number}" if nparts else f"factor={number}"
        self._say(f"{outer}, {inner} = s[{stage.text}].split({axis.text}, {option})")
        outside = Axis(outer, axis.is_reduction, number if nparts else None)
        inside = Axis(inner, axis.is_reduction, None if nparts else number)
        place = stage.leaves.index(axis)
        stage.leaves[place : place + 1] = [outside, inside]
        return outside, inside

    def _fuse(self, stage: Stage) -> None:
        pairs = [
            (a, b)
            for a, b in zip(stage.leaves, stage.leaves[1:], strict=False)
            if a.is_reduction == b.is_reduction
        ]
        if not pairs or "fixed" in stage.notes:
            return
        first, second = self.rng.choice(pairs)
        name = self._fresh("f")
        self._say(f"{name} = s[{stage.text}].fuse({first.text}, {second.text})")
        place = stage.leaves.index(first)
        stage.leaves[place : place + 2] = [Axis(name, first.is_reduction)]

    def _tile(self, stage: Stage) -> None:
        data = [axis for axis in stage.leaves if not axis.is_reduction]
        if len(data) < 2:
            return
        place = self.rng.randrange(len(data) - 1)
        x, y = data[place : place + 2]
        a, b = self.rng.choice(self.factors), self.rng.choice(self.factors)
        names = [self._fresh(prefix) for prefix in ("xo", "yo", "xi", "yi")]
        self._say(f"{', '.join(names)} = s[{stage.text}].tile({x.text}, {y.text}, {a}, {b})")
        xo, yo, xi, yi = (
            Axis(name, False, extent)
            for name, extent in zip(names, (None, None, a, b), strict=True)
        )
        for axis, parts in ((x, [xo, xi]), (y, [yo, yi])):
            where = stage.leaves.index(axis)
            stage.leaves[where : where + 1] = parts
        self._arrange(stage, [xo, yo, xi, yi])

    def _arrange(self, stage: Stage, axes: list[Axis]) -> None:
        places = sorted(stage.leaves.index(axis) for axis in axes)
        for place, axis in zip(places, axes, strict=True):
            stage.leaves[place] = axis

    def _reorder(self, stage: Stage) -> None:
        if len(stage.leaves) < 2:
            return
        axes = self.rng.sample(stage.leaves, self.rng.randint(2, len(stage.leaves)))
        self._say(f"s[{stage.text}].reorder({', '.join(axis.text for axis in axes)})")
        self._arrange(stage, axes)

    def _bind(self, stage: Stage) -> None:
        data = [axis for axis in stage.leaves if not axis.is_reduction]
        while len(data) > 1:
            name = self._fresh("f")
            first, second = data[:2]
            if self.rng.random() < 0.3 and len(data) == 2 and stage.home is None:
                self._bind_two(stage, first, second)
                return
            self._say(f"{name} = s[{stage.text}].fuse({first.text}, {second.text})")
            place = stage.leaves.index(first)
            stage.leaves[place : place + 2] = [Axis(name)]
            data = [axis for axis in stage.leaves if not axis.is_reduction]
        if stage.home is not None and self.rng.random() < 0.5:
            self._split_reduction(stage)
            return
        outer, inner = self._split(stage, data[0], self.threads)
        if stage.home is None:
            self._thread(stage, outer, "blockIdx.x")
        self._thread(stage, inner, "threadIdx.x")
        self._split_reduction(stage)

    def _bind_two(self, stage: Stage, x: Axis, y: Axis) -> None:
        xo, xi = self._split(stage, x, 4)
        yo, yi = self._split(stage, y, 8)
        order = [xo, yo, xi, yi]
        self._say(f"s[{stage.text}].reorder({', '.join(axis.text for axis in order)})")
        self._arrange(stage, order)
        for axis, tag in zip(order, ("blockIdx.y", "blockIdx.x", "threadIdx.y", "threadIdx.x"), strict=True):  # fmt: skip  # noqa: E501
            self._thread(stage, axis, tag)

    def _thread(self, stage: Stage, axis: Axis, tag: str) -> None:
        axis.mark = "bind"
        self._say(f's[{stage.text}].bind({axis.text}, te.thread_axis("{tag}"))')

    def _split_reduction(self, stage: Stage) -> None:
        reductions = [axis for axis in stage.leaves if axis.is_reduction]
        if not reductions or self.rng.random() < 0.3:
            return
        outer, inner = self._split(stage, reductions[0], self.rng.choice((4, 8, self.threads)))
        if self.rng.random() < 0.3:
            self._thread(stage, self.rng.choice((outer, inner)), "threadIdx.y")

    # Annotations of loops and stages

    def _annotate(self, stage: Stage) -> None:
        if stage.inlined:
            return
        last = stage.leaves[-1]
        is_free = not last.is_reduction and not last.mark
        if is_free and last.extent and last.extent <= 64 and self.rng.random() < 0.4:
            self._mark(stage, last, "vectorize")
        first = stage.leaves[0]
        if not first.is_reduction and not first.mark and not self.gpu and self.rng.random() < 0.2:
            self._mark(stage, first, "parallel")
        for axis in stage.leaves:
            if axis.extent and axis.extent <= 8 and not axis.mark and self.rng.random() < 0.15:
                self._mark(stage, axis, "unroll")
        data = [axis for axis in stage.leaves if not axis.is_reduction and not axis.mark]
        if data and self.rng.random() < 0.06 and "fixed" not in stage.notes:
            axis = self.rng.choice(data)
            if axis.extent and axis.extent <= 8:
                self._thread(stage, axis, "vthread")
        if self.rng.random() < 0.06:
            self._pragma(stage)
        if self.rng.random() < 0.05:
            self._prefetch(stage)
        if not stage.is_output:
            self._storage(stage)

    def _mark(self, stage: Stage, axis: Axis, how: str) -> None:
        axis.mark = how
        self._say(f"s[{stage.text}].{how}({axis.text})")

    def _pragma(self, stage: Stage) -> None:
        axis = self.rng.choice(stage.leaves)
        key, value = self.rng.choice(
            (
                ('"auto_unroll_max_step"', "16"),
                ('"unroll_explicit"', "False"),
                ('"auto_unroll_max_step"', "64"),
                ('"hint"', "1"),
            )
        )
        self._say(f"s[{stage.text}].pragma({axis.text}, {key}, {value})")

    def _prefetch(self, stage: Stage) -> None:
        # Of temporaries TVM fetches what is not there: it forgets where their region begins.
        found = sorted(key for key in stage.reads if not self.stages[key].leaves)
        found = [key for key in found if not self.stages[key].is_output]
        data = [axis for axis in stage.leaves if not axis.is_reduction and axis.mark != "vectorize"]
        if found and data:
            key, axis = self.rng.choice(found), self.rng.choice(data)
            self._say(f"s[{stage.text}].prefetch({key}, {axis.text}, {self.rng.choice((1, 2))})")

    def _storage(self, stage: Stage) -> None:
        if self.rng.random() < 0.06 and not self.gpu:
            self._say(f's[{stage.text}].set_scope("{self._scope()}")')
        if self.rng.random() < 0.08 and stage.rank > 1:
            factor, offset = self.rng.choice(((8, 0), (16, 1), (32, 8)))
            axis = f"s[{stage.text}].op.axis[{self.rng.randrange(stage.rank)}]"
            self._say(f"s[{stage.text}].storage_align({axis}, {factor}, {offset})")
        if stage.home is not None and self.rng.random() < 0.06:
            self._say(f"s[{stage.text}].double_buffer()")

    def _group(self) -> None:
        """A group of a stage and its producers, attached to its consumer."""
        found = [
            stage
            for stage in self.stages.values()
            if stage.leaves and not stage.is_output and not stage.inlined and stage.home is None
            and stage.results == 1 and "fixed" not in stage.notes
        ]  # fmt: skip
        if not found:
            return
        stage = self.rng.choice(found)
        inputs = sorted(key for key in stage.reads if self.stages[key].results == 1)
        if not inputs:
            return
        name, flag = self._fresh("g"), self.rng.choice((True, False))
        self._say(
            f"{name} = s.create_group(outputs={stage.text}, inputs={self.rng.choice(inputs)}, "
            f"include_inputs={flag})"
        )
        points = self._points(stage)
        if points and self.rng.random() < 0.8:
            home, axis = self.rng.choice(points)
            self._say(f"{name}.compute_at(s[{home.text}], {axis.text})")
