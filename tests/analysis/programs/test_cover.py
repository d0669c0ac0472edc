"""What is proved is true: random nests of loops, counted in Python."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest

from te_sched import tir
from te_sched.analysis.programs.accesses import Access, accesses_of
from te_sched.analysis.programs.cover import FormInterval, covers_region
from te_sched.arith.aliasing import Apart, Touch
from te_sched.ir.stmt import PrimFunc

Point = tuple[int, ...]


class Case:
    """C[index(i, j, k)] = 1 below three loops, the outermost of them parallel, maybe guarded."""

    def __init__(self, seed: int) -> None:
        self.rng = rng = random.Random(seed)
        self.extents = [rng.randint(1, 4) for _ in range(3)]
        self.rank = rng.randint(1, 2)
        self.shape = [rng.randint(1, 12) for _ in range(self.rank)]
        self.texts = [self.index() for _ in range(self.rank)]
        self.guard = (
            f"{rng.choice(self.texts)} < {rng.randint(1, 12)}" if rng.random() < 0.4 else ""
        )

    def index(self) -> str:
        rng = self.rng
        terms = [f"{rng.choice([1, 1, 2, 3, 4, 6, -1])} * {v}" for v in "ijk" if rng.random() < 0.6]
        total = " + ".join([*terms, str(rng.choice([0, 0, 1, 3]))])
        how = rng.random()
        if how < 0.2:
            return f"({total}) // {rng.randint(2, 4)}"
        return f"({total}) % {rng.randint(2, 6)}" if how < 0.4 else total

    def function(self) -> PrimFunc:
        ib = tir.ir_builder.create()
        buffer = tir.decl_buffer(self.shape, "float32", "C")
        view = ib.buffer_ptr(buffer)
        with (
            ib.for_range(0, self.extents[0], "i", kind="parallel") as i,
            ib.for_range(0, self.extents[1], "j") as j,
            ib.for_range(0, self.extents[2], "k") as k,
        ):
            names = {"i": i, "j": j, "k": k}
            place = tuple(eval(text, names) for text in self.texts)
            if self.guard:
                with ib.if_scope(eval(self.guard, names)):
                    view[place] = 1.0
            else:
                view[place] = 1.0
        handle = tir.Var("c", "handle")
        return tir.PrimFunc([handle], ib.get(), buffer_map={handle: buffer})

    def written(self) -> dict[Point, set[int]]:
        """The elements that are written, and by which iterations of the parallel loop."""
        found: dict[Point, set[int]] = {}
        for i, j, k in itertools.product(*map(range, self.extents)):
            names = {"i": i, "j": j, "k": k}
            if not self.guard or eval(self.guard, names):
                place = tuple(eval(text, names) for text in self.texts)
                found.setdefault(place, set()).add(i)
        return found

    def __str__(self) -> str:
        return f"{self.extents} {self.shape} C[{', '.join(self.texts)}] if {self.guard or True}"


class Pair(Case):
    """A store in loops of their own below the parallel one, then another; conditions may differ."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        rng = self.rng
        self.shape, self.texts = self.shape[:1], self.texts[:1]
        self.other = [*self.extents[:1], rng.randint(1, 4), rng.randint(1, 4)]
        self.stores = [(self.extents, *self.store()), (self.other, *self.store())]

    def store(self) -> tuple[str, str]:
        rng = self.rng
        limit = f"{rng.choice([1, 2, 4])} * i + {rng.choice([0, 1, 2])} * j + k"
        return self.index(), f"{limit} < {rng.randint(1, 9)}" if rng.random() < 0.5 else "i >= 0"

    def function(self) -> PrimFunc:
        ib = tir.ir_builder.create()
        buffer = tir.decl_buffer(self.shape, "float32", "C")
        view = ib.buffer_ptr(buffer)
        with ib.for_range(0, self.extents[0], "i", kind="parallel") as i:
            for extents, text, guard in self.stores:
                with (
                    ib.for_range(0, extents[1], "j") as j,
                    ib.for_range(0, extents[2], "k") as k,
                    ib.if_scope(eval(guard, {"i": i, "j": j, "k": k})),
                ):
                    view[eval(text, {"i": i, "j": j, "k": k})] = 1.0
        handle = tir.Var("c", "handle")
        return tir.PrimFunc([handle], ib.get(), buffer_map={handle: buffer})

    def meet(self) -> bool:
        """Whether one store touches in an iteration what the other touches in another one."""
        first: dict[int, set[int]] = {}
        second: dict[int, set[int]] = {}
        for touched, (extents, text, guard) in zip((first, second), self.stores, strict=True):
            for i, j, k in itertools.product(*map(range, extents)):
                names = {"i": i, "j": j, "k": k}
                if eval(guard, names):
                    touched.setdefault(eval(text, names), set()).add(i)
        return any(len(first[at] | second[at]) > 1 for at in first.keys() & second.keys())

    def __str__(self) -> str:
        return f"{self.shape} {self.stores}"


def touch_of(access: Access) -> Touch:
    assert access.index is not None
    return Touch(access.index, access.sizes, access.conditions)


def proofs(case: Case) -> tuple[bool, bool]:
    """Whether it is proved that iterations are apart, and that all of C is written."""
    program = accesses_of(case.function())
    (access,) = program.accesses
    parallel = [access.loops[0].var]
    touch = touch_of(access)
    apart = Apart(program.forms(access), parallel, [], []).is_proved(touch, touch)
    forms = program.forms()
    ends = [tir.IntImm("int32", extent - 1) for extent in case.shape]
    region = [FormInterval(({},), (forms.of(end),)) for end in ends]
    return apart, covers_region(program, [access], region)


@pytest.mark.parametrize("seed", range(20))
def test_what_is_proved_is_true(seed: int) -> None:
    for number in range(40 * seed, 40 * seed + 40):
        case = Case(number)
        apart, covered = proofs(case)
        written = case.written()
        if apart:
            assert all(len(iterations) == 1 for iterations in written.values()), str(case)
        if covered:
            everywhere = itertools.product(*map(range, case.shape))
            assert all(place in written for place in everywhere), str(case)


@pytest.mark.parametrize("seed", range(10))
def test_two_stores_that_are_proved_apart_never_meet(seed: int) -> None:
    proved = 0
    for number in range(60 * seed, 60 * seed + 60):
        case = Pair(number)
        program = accesses_of(case.function())
        a, b = program.accesses
        forms = program.forms(a, b)
        apart = Apart(forms, [a.loops[0].var], [], []).is_proved(touch_of(a), touch_of(b))
        proved += apart
        assert not (apart and case.meet()), str(case)
    assert proved


def test_much_that_is_true_is_proved() -> None:
    counts: dict[Any, int] = {}
    for number in range(400):
        case = Case(number)
        apart, covered = proofs(case)
        written = case.written()
        is_apart = case.extents[0] > 1 and all(len(one) == 1 for one in written.values())
        everywhere = itertools.product(*map(range, case.shape))
        is_covered = all(place in written for place in everywhere)
        for what, proved in ((is_apart and "apart", apart), (is_covered and "covered", covered)):
            if what:
                counts[what, proved] = counts.get((what, proved), 0) + 1
    assert counts["apart", True] > counts.get(("apart", False), 0)
    assert counts["covered", True] > counts.get(("covered", False), 0) / 3, counts
