"""The knobs of templates: the choices of a split, an order, annotations, or any values.

A space is the list of entities of one knob; an entity is one choice, which is applied to a stage.
Must not know configurations, which have an entity for each knob.
"""

from __future__ import annotations

import itertools
import math
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from te_sched.errors import DeclarationError, did_you_mean, repr_of
from te_sched.ir.expr import IntImm, IterVar
from te_sched.schedule.schedule import Schedule
from te_sched.signatures import checked
from te_sched.te.declare import thread_axis

_E = TypeVar("_E", bound="Entity")
_MOST = 1 << 20  # choices of a knob, which are listed


class ErrorSink(Protocol):
    """A configuration that collects the reasons why it cannot be used."""

    def raise_error(self, msg: str) -> None:
        """Add a reason."""


class Entity:
    """One choice of a knob."""

    kind = ""  # in logs
    field = ""  # the attribute that holds the choice

    def __repr__(self) -> str:
        return str(self.choice)

    @property
    def choice(self) -> Any:
        """The choice as logs have it."""
        return getattr(self, self.field)

    def numbers(self) -> Iterator[float]:
        """The choice as features of a cost model."""
        return map(float, self.choice)


class TransformSpace(Generic[_E]):
    """The choices of a knob, in the order of their indices."""

    def __init__(self, entities: Iterable[_E], num_output: int) -> None:
        self.entities, self.num_output = list(entities), num_output

    def __len__(self) -> int:
        return len(self.entities)

    def __getitem__(self, index: int) -> _E:
        """A choice by its index."""
        return self.entities[index]


class Axis(NamedTuple):
    """An output of a knob: the axis that it will be in a schedule."""

    space: Any
    index: int  # type: ignore[assignment]  # a tuple has a method of this name


class VirtualAxis:
    """An axis to define knobs for: of a stage, or only a length.

    >>> VirtualAxis(8).length
    8
    """

    _count = itertools.count()

    def __init__(self, var: Any, name: str | None = None) -> None:
        self.length = _length_of(var)
        if name is None:
            name = var.var.name if isinstance(var, IterVar) else f"axis_{next(self._count)}"
        self.name = name

    def __repr__(self) -> str:
        return f"vaxis({self.name})"


def _length_of(var: Any) -> int:
    if isinstance(var, VirtualAxis):
        return var.length
    if isinstance(var, IterVar):
        extent = None if var.dom is None else var.dom.extent
        if not isinstance(extent, IntImm):
            raise DeclarationError(
                f"axis {var.var.name} has no constant length",
                "the choices of a knob are listed when it is defined",
                "fix the size of the tensor",
            )
        return extent.value
    if isinstance(var, IntImm):
        var = var.value
    if not isinstance(var, int) or isinstance(var, bool) or var < 1:
        raise DeclarationError(
            f"cannot define a knob for {repr_of(var)}",
            "an axis is an axis of a stage, or its length: an integer of at least 1",
            "pass s[C].op.axis[0], or cfg.axis(128)",
        )
    return var


# Splits.


class SplitEntity(Entity):
    """The sizes of the axes that a split yields; -1 is as large as needed.

    >>> SplitEntity([-1, 4])
    [-1, 4]
    """

    kind, field = "sp", "size"

    def __init__(self, size: Sequence[int]) -> None:
        self.size = size

    def apply(self, sch: Schedule, op: Any, axis: IterVar) -> list[IterVar]:
        """Split an axis of a stage; gives the new axes, outermost first."""
        axes: list[IterVar] = []
        for number in range(1, len(self.size)):
            outer, axis = sch[op].split(axis, factor=math.prod(self.size[number:]))
            axes.append(outer)
        return [*axes, axis]


@checked
def get_factors(n: int) -> list[int]:
    """The divisors of a number.

    >>> get_factors(12)
    [1, 2, 3, 4, 6, 12]
    """
    small = [divisor for divisor in range(1, math.isqrt(n) + 1) if n % divisor == 0]
    return sorted({*small, *[n // divisor for divisor in small]})


@checked
def get_pow2s(n: int) -> list[int]:
    """The powers of two up to a number.

    >>> get_pow2s(12)
    [1, 2, 4, 8]
    """
    return [1 << exponent for exponent in range(n.bit_length())]


_FACTORS: dict[str, Callable[[int], list[int]]] = {
    "factors": get_factors,
    "power2": get_pow2s,
    # in the order of CPython's sets, as in TVM: indices in logs count on it
    "verbose": lambda n: list(set(get_factors(n)) | set(get_pow2s(n))),
}


class SplitSpace(TransformSpace[SplitEntity]):
    """Ways to split an axis into several.

    >>> SplitSpace([VirtualAxis(12)], "factors", num_outputs=2).entities
    [[-1, 1], [-1, 2], [-1, 3], [-1, 4], [-1, 6], [-1, 12]]
    """

    def __init__(
        self,
        axes: Sequence[Any],
        policy: str,
        num_outputs: int = 0,
        filter: Callable[[SplitEntity], Any] | None = None,
        max_factor: int | None = None,
        no_tail: bool | None = None,
        candidate: Sequence[Sequence[int]] | None = None,
        **unused: Any,
    ) -> None:
        del unused
        if not isinstance(num_outputs, int) or num_outputs < 1:
            raise DeclarationError(
                f"num_outputs of a split is {repr_of(num_outputs)}, expected at least 1",
                "",
                "pass num_outputs=2 for an outer and an inner axis",
            )
        _check_policy("a split", policy, (*_FACTORS, "candidate"))
        self.policy, self.product = policy, _length_of(axes[0])
        if policy == "candidate":
            entities: Iterable[list[int]] = _candidates("split", candidate, num_outputs)
        else:
            most = math.inf if max_factor is None else max_factor
            self.factors = [factor for factor in _FACTORS[policy](self.product) if factor <= most]
            divides = policy == "factors" if no_tail is None else bool(no_tail)
            entities = self._products(num_outputs - 1, divides)
        accepted = _listed(map(SplitEntity, entities), "a split")
        super().__init__(accepted if filter is None else _filtered(filter, accepted), num_outputs)
        if not self.entities:
            raise _empty(f"a split of an axis of length {self.product}")

    def _products(self, count: int, divides: bool) -> Iterator[list[int]]:
        """[-1, ...] with `count` factors whose product fits into the axis, the first fastest."""
        for sizes in _tuples(self.factors, self.product, count, divides):
            yield [-1, *reversed(sizes)]

    def __repr__(self) -> str:
        return (
            f"Split(policy={self.policy}, product={self.product}, num_outputs={self.num_output})"
            f" len={len(self)}"
        )


def _tuples(
    factors: Sequence[int], product: int, count: int, divides: bool
) -> Iterator[tuple[int, ...]]:
    """The tuples of factors whose product divides a number, or else is at most that."""
    if count == 0:
        yield ()
        return
    for factor in factors:
        if factor <= product and (not divides or product % factor == 0):
            for rest in _tuples(factors, product // factor, count - 1, divides):
                yield (factor, *rest)


def _candidates(what: str, values: Any, length: int) -> list[list[Any]]:
    if values is None:
        raise DeclarationError(
            f"policy 'candidate' of a {what} has no candidates", "", "pass candidate=[[1, 4], ...]"
        )
    candidates = [list(value) for value in values]
    for candidate in candidates:
        if len(candidate) != length:
            raise DeclarationError(
                f"candidate {repr_of(candidate)} of a {what} has {len(candidate)} items, "
                f"expected {length}",
                "",
                "pass a value for each axis",
            )
    return candidates


def _listed(entities: Iterable[_E], what: str) -> list[_E]:
    """All choices of a knob, unless there are too many."""
    entity_list = list(itertools.islice(entities, _MOST + 1))
    if len(entity_list) > _MOST:
        raise DeclarationError(
            f"{what} has more than {_MOST} choices",
            "the choices of a knob are listed when it is defined",
            "use fewer outputs or axes, max_factor, or another policy",
        )
    return entity_list


def _filtered(accepts: Callable[[_E], Any], entities: Iterable[_E]) -> list[_E]:
    return [entity for entity in entities if accepts(entity)]


def _empty(what: str) -> DeclarationError:
    return DeclarationError(
        f"{what} has no choice",
        "the filter or max_factor rejects all, or the list is empty",
        "let them accept at least one",
    )


def _check_policy(what: str, policy: Any, legal: Iterable[str]) -> None:
    if policy not in (names := list(legal)):
        raise DeclarationError(
            f"invalid policy {repr_of(policy)} of {what}",
            "",
            f"use one of {', '.join(names)}{did_you_mean(policy, names)}",
        )


# Orders.


class ReorderEntity(Entity):
    """A permutation of axes."""

    kind, field = "re", "perm"

    def __init__(self, perm: Sequence[int]) -> None:
        self.perm = perm

    def apply(self, sch: Schedule, op: Any, axes: Sequence[IterVar]) -> list[IterVar]:
        """Reorder axes of a stage; gives them in the new order."""
        if sorted(self.perm) != list(range(len(axes))):
            raise DeclarationError(
                f"cannot reorder {len(axes)} axes by permutation {list(self.perm)}",
                f"it is one of {len(self.perm)} axes",
                "pass the axes for which the knob was defined",
            )
        ordered = [axes[index] for index in self.perm]
        sch[op].reorder(*ordered)
        return ordered


class ReorderSpace(TransformSpace[ReorderEntity]):
    """Orders of axes.

    >>> axes = [VirtualAxis(4), VirtualAxis(8)]
    >>> ReorderSpace(axes, "all").entities
    [(0, 1), (1, 0)]
    """

    def __init__(
        self,
        axes: Sequence[Any],
        policy: str,
        interval: tuple[int, int] | None = None,
        candidate: Sequence[Sequence[Any]] | None = None,
        spatial: Sequence[Sequence[Any]] = (),
        reduce: Sequence[Sequence[Any]] = (),
        **unused: Any,
    ) -> None:
        del unused
        legal = ("identity", "all", "interval_all", "interleave", "candidate")
        _check_policy("an order", policy, legal)
        self.policy, count = policy, len(axes)
        orders: Iterable[Sequence[int]] = [range(count)]
        if policy == "all":
            orders = itertools.permutations(range(count))
        elif policy == "interval_all":
            orders = _interval_orders(count, interval)
        elif policy == "interleave":
            orders = [_numbers(axes, _interleaved(spatial, reduce))]
        elif policy == "candidate":
            orders = [_numbers(axes, order) for order in _candidates("n order", candidate, count)]
        super().__init__(_listed(map(ReorderEntity, orders), "an order"), count)

    def __repr__(self) -> str:
        return f"Reorder(policy={self.policy}) len={len(self)}"


def _interval_orders(count: int, interval: Any) -> Iterator[tuple[int, ...]]:
    if interval is None or len(interval) != 2 or not 0 <= interval[0] <= interval[1] <= count:
        raise DeclarationError(
            f"interval of an order is {repr_of(interval)}, expected a first axis and an end",
            f"there are {count} axes",
            "pass interval=(begin, end)",
        )
    begin, end = interval
    for order in itertools.permutations(range(begin, end)):
        yield (*range(begin), *order, *range(end, count))


def _numbers(axes: Sequence[Any], order: Iterable[Any]) -> list[int]:
    """The position of each axis of an order among all axes."""
    numbers: list[int] = []
    for axis in order:
        places = [
            number
            for number, candidate in enumerate(axes)
            if candidate is axis or candidate == axis
        ]
        if not places:
            raise DeclarationError(
                f"{repr_of(axis)} of an order is not among its axes",
                "candidates and chains are lists of the axes of the knob",
                "use the axes that define_reorder is given",
            )
        numbers.append(places[0])
    return numbers


def _interleaved(spatial: Sequence[Any], reduce: Sequence[Any]) -> list[Any]:
    """Chains of axes merged level by level, from inside; the innermost level of the spatial chains
    goes between the outer levels and the innermost level of the reduction chains.
    """
    outer_spatial, inner_spatial = _merged(spatial)
    outer_reduce, inner_reduce = _merged(reduce)
    return [*outer_spatial, *outer_reduce, *inner_spatial, *inner_reduce]


def _merged(chains: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    depth = max(map(len, chains), default=0)
    levels = [
        [chain[len(chain) - level] for chain in chains if len(chain) >= level]
        for level in range(depth, 0, -1)
    ]
    return [axis for level in levels[:-1] for axis in level], levels[-1] if levels else []


# Annotations.

_THREADS = ("blockIdx.x", "blockIdx.y", "blockIdx.z", "threadIdx.x", "threadIdx.y", "threadIdx.z")
_ANNOTATIONS = ("none", "vec", "unroll", *_THREADS, "vthread", "fuse")


class AnnotateEntity(Entity):
    """Annotations of axes, or for `locate_cache` the numbers of the axes to attach caches at."""

    kind, field = "an", "anns"

    def __init__(self, anns: Sequence[Any]) -> None:
        self.anns = anns

    def numbers(self) -> Iterator[float]:
        """One number for each possible annotation of each axis."""
        for ann in self.anns:
            yield from [float(ann == annotation) for annotation in _ANNOTATIONS]

    def apply(
        self,
        sch: Schedule,
        op: Any,
        axes: Sequence[IterVar],
        axis_lens: Sequence[int] | None = None,
        max_unroll: int | None = None,
        vec_size: Sequence[int] | None = None,
        cfg: ErrorSink | None = None,
        source: Sequence[Sequence[Any]] | None = None,
    ) -> list[IterVar]:
        """Annotate axes of a stage; gives them, fused ones with those that they are fused into.

        Parameters
        ----------
        axis_lens : the lengths of the axes, for `max_unroll` and `vec_size`.
        max_unroll, vec_size : the largest length to unroll, and the lengths to vectorize; others
            are reported to `cfg`.
        source : for `locate_cache`, the tensors to attach at each of the chosen axes.
        """
        new_axes, stage = list(axes), sch[op]
        if source is not None:
            for tensors, number in zip(source, self.anns, strict=True):
                for tensor in tensors:
                    sch[tensor].compute_at(stage, new_axes[number])
            return new_axes
        if len(self.anns) > len(new_axes):
            raise DeclarationError(
                f"{len(self.anns)} annotations are given {len(new_axes)} axes",
                "",
                "pass the axes for which the knob was defined",
            )
        for number, ann in enumerate(self.anns):
            length = None if axis_lens is None else axis_lens[number]
            if ann == "fuse":
                new_axes[number + 1] = stage.fuse(new_axes[number], new_axes[number + 1])
            else:
                _annotate(stage, new_axes[number], ann)
            _report(cfg, ann, length, max_unroll, vec_size)
        return new_axes


def _annotate(stage: Any, axis: IterVar, ann: str) -> None:
    if ann == "unroll":
        stage.unroll(axis)
    elif ann == "vec":
        stage.vectorize(axis)
    elif ann in _THREADS or ann == "vthread":
        stage.bind(axis, thread_axis(ann))
    elif ann != "none":
        legal = ", ".join(_ANNOTATIONS)
        raise DeclarationError(
            f"invalid annotation {repr_of(ann)}",
            "",
            f"use one of {legal}{did_you_mean(ann, _ANNOTATIONS)}",
        )


def _report(
    cfg: ErrorSink | None,
    ann: str,
    length: int | None,
    max_unroll: int | None,
    vec_size: Sequence[int] | None,
) -> None:
    if cfg is None or length is None:
        return
    if ann == "unroll" and max_unroll is not None and length > max_unroll:
        cfg.raise_error("Too large factor for unrolling")
    if ann == "vec" and vec_size is not None and length not in vec_size:
        cfg.raise_error("Wrong size of lanes in vectorization")


def _bindings(count: int, policy: str) -> list[str]:
    """The threads of axes, from outside; those without one are fused into the next."""
    kinds = (
        ("blockIdx", "vthread", "threadIdx") if "virtual" in policy else ("blockIdx", "threadIdx")
    )
    each = min(count // len(kinds), 3)
    if each == 0:
        raise DeclarationError(
            f"cannot bind {count} axes by policy {policy!r}",
            f"it needs at least {len(kinds)} axes",
            "split the axes first, or use another policy",
        )
    bound = [
        kind if kind == "vthread" else f"{kind}.{letter}"
        for kind in kinds
        for letter in "zyx"[-each:]
    ]
    return ["fuse"] * (count - len(bound)) + bound


def _trials(count: int, annotations: Sequence[str]) -> Iterator[list[str]]:
    """All annotations of axes, at most one of which is vectorized."""
    for choice in itertools.product(annotations, repeat=count):
        if choice.count("vec") <= 1:
            yield list(choice)


_TRIALS = {
    "try_unroll": ("none", "unroll"),
    "try_vec": ("none", "vec"),
    "try_unroll_vec": ("none", "unroll", "vec"),
}


class AnnotateSpace(TransformSpace[AnnotateEntity]):
    """Annotations of axes.

    >>> AnnotateSpace([VirtualAxis(4)], "try_unroll_vec").entities
    [['none'], ['unroll'], ['vec']]
    """

    def __init__(
        self, axes: Sequence[Any], policy: str, num_anchor: int | None = None, **unused: Any
    ) -> None:
        del unused
        legal = ("bind_gpu", "bind_gpu_virtual", "locate_cache", "unroll", "vec", "none", *_TRIALS)
        _check_policy("annotations", policy, legal)
        self.policy, count = policy, len(axes)
        entities: Iterable[Sequence[Any]] = [[policy] * count]
        if policy.startswith("bind_gpu"):
            entities = [_bindings(count, policy)]
        elif policy == "locate_cache":
            entities = itertools.combinations(range(count), _anchors(num_anchor, count))
        elif policy == "vec" and count != 1:
            raise DeclarationError(
                f"cannot vectorize {count} axes", "", "pass one axis, or use policy 'try_vec'"
            )
        elif policy in _TRIALS:
            entities = _trials(count, _TRIALS[policy])
        super().__init__(_listed(map(AnnotateEntity, entities), "a knob of annotations"), count)

    def __repr__(self) -> str:
        return f"Annotate(policy={self.policy}) len={len(self)}"


def _anchors(anchor_count: Any, count: int) -> int:
    if not isinstance(anchor_count, int) or not 1 <= anchor_count <= count:
        raise DeclarationError(
            f"num_anchor of policy 'locate_cache' is {repr_of(anchor_count)}, "
            f"expected 1 to {count}",
            "it is the number of axes to choose",
            "pass num_anchor=1",
        )
    return anchor_count


# Other values.


class OtherOptionEntity(Entity):
    """A value of a knob that is neither a split, an order nor an annotation."""

    kind, field = "ot", "val"

    def __init__(self, val: Any) -> None:
        self.val = val

    def numbers(self) -> Iterator[float]:
        """The value, or the numbers of a list; another value as a number that stands for it."""
        values = self.val if isinstance(self.val, list | tuple) else [self.val]
        for value in values:
            is_number = isinstance(value, int | float)
            yield float(value) if is_number else float(zlib.crc32(repr(value).encode()) % 1024)


class OtherOptionSpace(TransformSpace[OtherOptionEntity]):
    """A list of values.

    >>> OtherOptionSpace([1, 2])
    OtherOption([1, 2]) len=2
    """

    def __init__(self, candidate: Iterable[Any]) -> None:
        super().__init__(map(OtherOptionEntity, candidate), 0)
        if not self.entities:
            raise _empty("a knob")

    def __repr__(self) -> str:
        return f"OtherOption([{', '.join(map(repr, self.entities))}]) len={len(self)}"


ENTITIES: dict[str, Callable[[Any], Entity]] = {
    "sp": SplitEntity,
    "re": ReorderEntity,
    "an": AnnotateEntity,
    "ot": OtherOptionEntity,
}


def as_axes(axes: Any) -> list[Any]:
    """The axes that a knob is defined for, as virtual ones where they are of a stage."""
    items = axes if isinstance(axes, list | tuple) and not isinstance(axes, Axis) else [axes]
    return [axis if isinstance(axis, Axis | VirtualAxis) else VirtualAxis(axis) for axis in items]
