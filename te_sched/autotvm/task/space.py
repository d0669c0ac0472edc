"""Configurations of templates: the space of all, one of them, and a fallback.

A template defines knobs in the configuration of the moment and applies the choices that it has. If
that is a space, the knobs are added to it, and their choices are the first ones. The index of a
configuration has a digit for each knob, the first knob's lowest. Must not know templates.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from typing import Any

import numpy as np

from te_sched.autotvm.task.knobs import (
    ENTITIES,
    AnnotateEntity,
    AnnotateSpace,
    Axis,
    Entity,
    OtherOptionEntity,
    OtherOptionSpace,
    ReorderEntity,
    ReorderSpace,
    SplitEntity,
    SplitSpace,
    TransformSpace,
    VirtualAxis,
    as_axes,
    get_factors,
    get_pow2s,
)
from te_sched.errors import ConfigIndexError as ConfigIndexError
from te_sched.errors import DeclarationError, did_you_mean, repr_of
from te_sched.errors import InstantiationError as InstantiationError
from te_sched.errors import KnobError as KnobError
from te_sched.ir.expr import FloatImm, IntImm
from te_sched.public_members import PublicObject
from te_sched.signatures import checked

__all__ = [
    "AnnotateEntity",
    "AnnotateSpace",
    "Axis",
    "ConfigEntity",
    "ConfigIndexError",
    "ConfigSpace",
    "FallbackConfigEntity",
    "InstantiationError",
    "KnobError",
    "OtherOptionEntity",
    "OtherOptionSpace",
    "ReorderEntity",
    "ReorderSpace",
    "SplitEntity",
    "SplitSpace",
    "TransformSpace",
    "VirtualAxis",
    "get_factors",
    "get_pow2s",
]

_TRIES = 64  # random draws before the valid configurations are listed


class ConfigSpace(PublicObject):
    """The configurations of a template.

    >>> cfg = ConfigSpace()
    >>> axes = cfg.define_split("tile", cfg.axis(4), num_outputs=2)
    >>> cfg.define_knob("vec", [0, 1])
    []
    >>> cfg
    ConfigSpace (len=6, range_length=6, space_map=
       0 tile: Split(policy=factors, product=4, num_outputs=2) len=3
       1 vec: OtherOption([0, 1]) len=2
    )
    >>> cfg.get(4)
    [('tile', [-1, 2]), ('vec', 1)],None,4
    """

    is_fallback = False

    def __init__(self) -> None:
        self.space_map: dict[str, TransformSpace[Any]] = {}
        self._entity_map: dict[str, Entity] = {}
        self._filter: Callable[[ConfigEntity], Any] | None = None
        self._validity: dict[int, bool] = {}
        self.errors: list[str] = []
        self.code_hash: str | None = None
        self.flop: float = 0
        self.cost: float | None = None

    # Knobs.

    @staticmethod
    def axis(var: Any) -> VirtualAxis:
        """An axis to define knobs for, of an axis of a stage or of a length.

        >>> ConfigSpace.axis(128).length
        128
        """
        return VirtualAxis(var)

    reduce_axis = axis

    @checked
    def define_split(
        self, name: str, axis: Any, policy: str = "factors", **kwargs: Any
    ) -> list[Axis]:
        """Define a knob that splits an axis into `num_outputs` axes.

        Parameters
        ----------
        policy : "factors" has all divisors, "power2" powers of two, "verbose" both, "candidate"
            the lists of sizes `candidate`.
        kwargs : `num_outputs`; `max_factor`; `filter`, which takes a SplitEntity; `no_tail`, to
            have only sizes whose product divides the length.

        >>> cfg = ConfigSpace()
        >>> axes = cfg.define_split("tile", cfg.axis(8), num_outputs=2, max_factor=4)
        >>> cfg.space_map["tile"].entities
        [[-1, 1], [-1, 2], [-1, 4]]
        """
        return self._define(SplitSpace, name, as_axes(axis), policy, kwargs)

    @checked
    def define_reorder(self, name: str, axes: Any, policy: str, **kwargs: Any) -> list[Axis]:
        """Define a knob that reorders axes.

        Parameters
        ----------
        policy : "identity"; "all" permutations; "interval_all" permutes those of `interval`;
            "candidate" has the lists of axes `candidate`; "interleave" merges the chains of axes
            `spatial` and `reduce`.

        >>> cfg = ConfigSpace()
        >>> axes = cfg.define_reorder("order", [cfg.axis(4), cfg.axis(8)], "all")
        >>> len(cfg)
        2
        """
        return self._define(ReorderSpace, name, as_axes(axes), policy, kwargs)

    @checked
    def define_annotate(self, name: str, axes: Any, policy: str, **kwargs: Any) -> list[Axis]:
        """Define a knob that annotates axes.

        Parameters
        ----------
        policy : "none", "unroll" or "vec" annotates all; "try_unroll", "try_vec" and
            "try_unroll_vec" have a choice for each; "bind_gpu" and "bind_gpu_virtual" bind the
            innermost to threads and fuse the others; "locate_cache" chooses `num_anchor` of them.

        >>> cfg = ConfigSpace()
        >>> axes = cfg.define_annotate("inner", [cfg.axis(8)], "try_vec")
        >>> cfg.space_map["inner"].entities
        [['none'], ['vec']]
        """
        return self._define(AnnotateSpace, name, as_axes(axes), policy, kwargs)

    @checked
    def define_knob(self, name: str, candidate: Iterable[Any]) -> list[Axis]:
        """Define a knob with a list of values; `cfg[name].val` is the chosen one."""
        return self._add(name, OtherOptionSpace(candidate))

    def _define(
        self,
        kind: Callable[..., TransformSpace[Any]],
        name: str,
        axes: list[Any],
        policy: str,
        options: dict[str, Any],
    ) -> list[Axis]:
        return self._add(name, kind(axes, policy, **options))

    def _add(self, name: str, space: TransformSpace[Any]) -> list[Axis]:
        self.space_map[name] = space
        self._entity_map[name] = space[0]
        self.clear_cache()
        return [Axis(space, number) for number in range(space.num_output)]

    @checked
    def multi_filter(self, filter: Callable[[ConfigEntity], Any]) -> None:
        """Only accept configurations for which a function is true.

        `range_length` still has all; `is_index_valid` tells which are accepted.

        >>> cfg = ConfigSpace()
        >>> cfg.define_knob("a", [1, 2, 3]), cfg.define_knob("b", [1, 2])
        ([], [])
        >>> cfg.multi_filter(lambda entity: entity["a"].val <= entity["b"].val)
        >>> len(cfg), cfg.range_length
        (3, 6)
        """
        self._filter = filter
        self.clear_cache()

    def clear_cache(self) -> None:
        """Forget which configurations the filter accepts."""
        self._validity.clear()

    @checked
    def add_flop(self, flop: float | IntImm | FloatImm) -> None:
        """Add to the number of floating-point operations of the task."""
        self.flop += flop.value if isinstance(flop, IntImm | FloatImm) else flop

    @checked
    def raise_error(self, msg: str) -> None:
        """Record that the configuration cannot be used, and why; it is not measured."""
        self.errors.append(msg)

    def valid(self) -> bool:
        """Whether the template has reported no error."""
        return not self.errors

    def __getitem__(self, name: str) -> Any:
        """The choice of a knob."""
        if not isinstance(name, str) or name not in self._entity_map:
            knobs = ", ".join(self._entity_map)
            raise KnobError(
                f"the configuration has no knob {repr_of(name)}",
                f"its knobs are {knobs}" if knobs else "it has none",
                f"define it first{did_you_mean(name, self._entity_map)}",
            )
        return self._entity_map[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entity_map)

    # Indices.

    @property
    def dims(self) -> list[int]:
        """The number of choices of each knob."""
        return [len(space) for space in self.space_map.values()]

    @property
    def range_length(self) -> int:
        """The number of configurations, including those that the filter rejects."""
        return math.prod(self.dims)

    def __len__(self) -> int:
        """The number of configurations that the filter accepts."""
        return self.subrange_length(0, self.range_length)

    @checked
    def is_index_valid(self, index: int) -> bool:
        """Whether the filter accepts a configuration."""
        if not 0 <= index < self.range_length:
            return False
        if self._filter is None:
            return True
        if index not in self._validity:
            self._validity[index] = bool(self._filter(self._entity(index)))
        return self._validity[index]

    @checked
    def subrange_length(self, start: int, end: int) -> int:
        """The number of configurations from `start` to before `end` that the filter accepts."""
        self._check_range(start, end)
        if self._filter is None:
            return end - start
        return sum(map(self.is_index_valid, range(start, end)))

    def _check_range(self, start: int, end: int) -> None:
        if not 0 <= start <= end <= self.range_length:
            raise ConfigIndexError(
                f"range {start} to {end} is not one of a space of {self.range_length}",
                "",
                "use 0 <= start <= end <= range_length",
            )

    def get(self, index: int) -> ConfigEntity:
        """A configuration.

        Raises
        ------
        ConfigIndexError for an index outside of the space, or that the filter rejects.
        """
        if not isinstance(index, int | np.integer) or not 0 <= index < self.range_length:
            raise ConfigIndexError(
                f"index {repr_of(index)} is out of the space, which has {self.range_length} "
                "configurations",
                "",
                "use an index from 0 to range_length - 1",
            )
        if not self.is_index_valid(int(index)):
            raise ConfigIndexError(
                f"the filter rejects the configuration of index {index}",
                help="ask is_index_valid, or use get_next_index",
            )
        return self._entity(int(index))

    def _entity(self, index: int) -> ConfigEntity:
        choices = zip(self.space_map.items(), self.point2knob(index), strict=True)
        entities = {name: space[number] for (name, space), number in choices}
        return ConfigEntity(index, self.code_hash, entities, self.errors)

    @checked
    def point2knob(self, point: int) -> list[int]:
        """The number of the choice of each knob, of an index."""
        knob: list[int] = []
        for size in self.dims:
            point, digit = divmod(point, size)
            knob.append(digit)
        return knob

    @checked
    def knob2point(self, knob: Sequence[int]) -> int:
        """The index, of the number of the choice of each knob."""
        if len(knob) != len(self.dims):
            raise ConfigIndexError(
                f"{len(knob)} choices are given for {len(self.dims)} knobs",
                "",
                "give the number of the choice of each knob",
            )
        point = 0
        for digit, size in zip(reversed(knob), reversed(self.dims), strict=True):
            point = point * size + int(digit)
        return point

    @checked
    def get_next_index(
        self, index: int, n: int = 1, start: int | None = None, end: int | None = None
    ) -> int | None:
        """The n-th accepted index after an index (before it, if n < 0) from `start` to before
        `end`; None if there is none.
        """
        first, last = start or 0, self.range_length if end is None else end
        self._check_range(first, last)
        step = 1 if n >= 0 else -1
        left = abs(n)
        while left:
            index += step
            if not first <= index < last:
                return None
            left -= self.is_index_valid(index)
        return index

    @checked
    def get_rand_index(
        self,
        start: int | None = None,
        end: int | None = None,
        to_exclude: Iterable[int] | None = None,
    ) -> int:
        """A random accepted index from `start` to before `end` that is not excluded.

        Raises
        ------
        ConfigIndexError if there is none.
        """
        first, last = start or 0, self.range_length if end is None else end
        self._check_range(first, last)
        excluded = to_exclude if isinstance(to_exclude, Set) else set(to_exclude or ())

        def is_legal(index: int) -> bool:
            return index not in excluded and self.is_index_valid(index)

        for _ in range(_TRIES if first < last else 0):
            index = random.randrange(first, last)
            if is_legal(index):
                return index
        if not (legal := [*filter(is_legal, range(first, last))]):
            raise ConfigIndexError(
                f"no configuration from {first} to {last} is left",
                "all are excluded or rejected by the filter",
                "ask for a larger range, or let the filter accept more",
            )
        return random.choice(legal)

    @checked
    def sample_ints(self, m: int) -> Any:
        """An array of `m` different accepted indices at random, or of all if there are fewer."""
        count = self.range_length
        if m < 0:
            raise ConfigIndexError(f"cannot sample {m} indices", "", "pass m >= 0")
        if self._filter is None:
            return np.array(random.sample(range(count), min(m, count)))
        indices: dict[int, None] = {}
        for _ in range(_TRIES * m):
            if len(indices) == m:
                break
            index = random.randrange(count)
            if self.is_index_valid(index):
                indices[index] = None
        if len(indices) < m:
            others = [
                candidate
                for candidate in range(count)
                if candidate not in indices and self.is_index_valid(candidate)
            ]
            indices |= dict.fromkeys(random.sample(others, min(m - len(indices), len(others))))
        return np.array(list(indices), dtype=int)

    @checked
    def random_walk(self, point: int) -> int:
        """An accepted index at random that differs in one knob, or else in any number of knobs.

        The same index if there is no other.
        """
        knob, dims = self.point2knob(point), self.dims
        places = [number for number, size in enumerate(dims) if size > 1]
        for _ in range(_TRIES if places else 0):
            position = random.choice(places)
            new = [*knob]
            new[position] = (knob[position] + random.randrange(1, dims[position])) % dims[position]
            if self.is_index_valid(index := self.knob2point(new)):
                return index
        try:
            return self.get_rand_index(to_exclude=[point])
        except ConfigIndexError:
            return point

    def __repr__(self) -> str:
        lines = [
            f"{number:4d} {name}: {space}"
            for number, (name, space) in enumerate(self.space_map.items())
        ]
        head = f"ConfigSpace (len={len(self)}, range_length={self.range_length}, space_map="
        return "\n".join([head, *lines, ")"])


class ConfigEntity(ConfigSpace):
    """One configuration: the choice of each knob. Its `index` is that in the space.

    >>> ConfigEntity(3, None, {"tile": SplitEntity([-1, 8])}, [])
    [('tile', [-1, 8])],None,3
    """

    @checked
    def __init__(
        self,
        index: int,
        code_hash: str | None,
        entity_map: Mapping[str, Entity],
        constraints: Sequence[str] = (),
    ) -> None:
        del constraints
        super().__init__()
        self.index, self.code_hash = index, code_hash
        self._entity_map = dict(entity_map)

    def _define(
        self,
        kind: Callable[..., TransformSpace[Any]],
        name: str,
        axes: list[Any],
        policy: str,
        options: dict[str, Any],
    ) -> list[Axis]:
        """The axes of a knob, whose choice is made already."""
        del kind, name, policy
        count = options.get("num_outputs", len(axes))
        return [Axis(None, number) for number in range(count)]

    def define_knob(self, name: str, candidate: Iterable[Any]) -> list[Axis]:
        """Do nothing: the choice is made already."""
        del name, candidate
        return []

    def get_flatten_feature(self) -> Any:
        """The choices as a vector of float32.

        >>> ConfigEntity(3, None, {"tile": SplitEntity([-1, 8])}).get_flatten_feature()
        array([-1.,  8.], dtype=float32)
        """
        values = [number for entity in self._entity_map.values() for number in entity.numbers()]
        return np.array(values, dtype="float32")

    def get_other_option(self) -> dict[str, Any]:
        """The values of the knobs of `define_knob`, by name."""
        items = self._entity_map.items()
        return {name: option.val for name, option in items if isinstance(option, OtherOptionEntity)}

    def to_json_dict(self) -> dict[str, Any]:
        """The configuration as logs have it.

        >>> ConfigEntity(3, None, {"tile": SplitEntity([-1, 8])}).to_json_dict()
        {'index': 3, 'code_hash': None, 'entity': [('tile', 'sp', [-1, 8])]}
        """
        entity = [(name, knob.kind, _plain(knob.choice)) for name, knob in self._entity_map.items()]
        return {"index": self.index, "code_hash": self.code_hash, "entity": entity}

    @staticmethod
    def from_json_dict(json_dict: Mapping[str, Any]) -> ConfigEntity:
        """The configuration of an entry of a log.

        Raises
        ------
        DeclarationError for another kind of knob.
        """
        entities: dict[str, Entity] = {}
        for name, kind, value in json_dict["entity"]:
            if kind not in ENTITIES:
                legal = ", ".join(map(repr, ENTITIES))
                raise DeclarationError(
                    f"invalid kind {repr_of(kind)} of knob {repr_of(name)}",
                    "",
                    f"use one of {legal}",
                )
            entities[name] = ENTITIES[kind](value)
        return ConfigEntity(json_dict["index"], json_dict["code_hash"], entities)

    def __repr__(self) -> str:
        return f"{_shown(self._entity_map)},{self.code_hash},{self.index}"


class FallbackConfigEntity(ConfigSpace):
    """The configuration of a template that was not tuned: the first choice of each knob, unless the
    template says which.
    """

    is_fallback = True

    def _add(self, name: str, space: TransformSpace[Any]) -> list[Axis]:
        chosen = self._entity_map.get(name)
        axes = super()._add(name, space)
        if chosen is not None:
            self._entity_map[name] = chosen
        return axes

    def __setitem__(self, name: str, entity: Entity) -> None:
        """Make the choice of a knob."""
        self._entity_map[name] = entity

    @checked
    def fallback_split(self, name: str, constraints: Sequence[int]) -> None:
        """Choose sizes of a split, the inner ones first: each the largest divisor of what is left
        that is at most its constraint; -1 is any.

        >>> cfg = FallbackConfigEntity()
        >>> axes = cfg.define_split("tile", cfg.axis(128), num_outputs=3)
        >>> cfg.fallback_split("tile", [-1, 8, 4])
        >>> cfg["tile"]
        [4, 8, 4]

        Raises
        ------
        DeclarationError if there are no such sizes.
        """
        space = self.space_map.get(name)
        if not isinstance(space, SplitSpace):
            raise KnobError(
                f"the configuration has no split {repr_of(name)}", "", "define it first"
            )
        if len(constraints) != space.num_output:
            raise DeclarationError(
                f"{len(constraints)} constraints are given for split {name}",
                f"it has {space.num_output} outputs",
                "pass one for each output, or -1 for any size",
            )
        sizes: list[int] = []
        rest = space.product
        for most in reversed(constraints):
            fitting = [factor for factor in get_factors(rest) if most == -1 or factor <= most]
            if not fitting:
                raise DeclarationError(
                    f"no sizes of split {name} satisfy constraints {list(constraints)}",
                    "a size is at least 1",
                    "raise them, or use -1 for any size",
                )
            sizes.insert(0, fitting[-1])
            rest //= fitting[-1]
        self._entity_map[name] = SplitEntity(sizes)

    def fallback_with_reference_log(self, ref_log: Iterable[Any]) -> None:
        """For each split take the sizes of the fastest record that fit, of a log of other tasks.

        Parameters
        ----------
        ref_log : pairs of MeasureInput and MeasureResult.
        """
        logged = [
            (inp.config, np.mean(result.costs)) for inp, result in ref_log if not result.error_no
        ]
        logged.sort(key=lambda entry: entry[1])
        for name, space in self.space_map.items():
            for config, _ in logged:
                if isinstance(space, SplitSpace) and _fits(config, name, space):
                    self._entity_map[name] = SplitEntity(list(config[name].size))
                    break

    def __repr__(self) -> str:
        return f"{_shown(self._entity_map)},{self.code_hash}"


def _fits(config: ConfigEntity, name: str, space: SplitSpace) -> bool:
    """Whether a split of a configuration is one of an axis of another length."""
    if name not in config or not isinstance(config[name], SplitEntity):
        return False
    size = config[name].size
    return len(size) == space.num_output and math.prod(map(abs, size)) <= space.product


def _plain(choice: Any) -> Any:
    """A choice as JSON can write it."""
    return list(choice) if isinstance(choice, range) else choice


def _shown(entities: Mapping[str, Entity]) -> str:
    return str(list(entities.items())) if entities else ""
