"""Indices as sums of digits."""

from __future__ import annotations

import random

import numpy as np
import pytest

from te_sched import tir
from te_sched.ir.stmt import BufferStore, PrimFunc
from te_sched.meta_schedule.feature_extractor import index_sums as forms
from te_sched.meta_schedule.feature_extractor import stores
from te_sched.tir.schedule import Schedule
from tests.meta_schedule.feature_extractor.rows import (
    features,
    matmul,
    picked,
)

_LOOPS = tuple([forms.LoopLevel(extent, depth, "serial") for depth, extent in enumerate((3, 4, 2))])


@pytest.mark.parametrize("seed", range(100))
def test_quotients_and_remainders_have_their_values(seed: int) -> None:
    rng = random.Random(seed)
    scales = [rng.randint(-9, 40) for _ in _LOOPS]
    base, divisor, other = rng.randint(-50, 50), rng.randint(1, 24), rng.randint(1, 6)
    whole = forms.constant(base)
    for loop, scale in zip(_LOOPS, scales, strict=True):
        whole = forms.plus(whole, forms.variable(loop), scale)
    for form, meaning in [
        (forms.floor_divided(whole, divisor), lambda v: v // divisor),
        (forms.remainder(whole, divisor), lambda v: v % divisor),
        (
            forms.remainder(forms.floor_divided(whole, other), divisor),
            lambda v: v // other % divisor,
        ),
    ]:
        low, last = forms.bounds(form)
        for place in np.ndindex(3, 4, 2):
            value = meaning(base + int(np.dot(place, scales)))
            assert low <= value <= last
            assert _value(form, place) == value


def _value(form: forms.IndexSum, place: tuple[int, ...]) -> int:
    """The value of a form in one iteration."""
    total = form.base
    for term, scale in form.terms.items():
        if isinstance(term, forms.LoopLevel):
            total += scale * place[term.depth]
        else:
            inside = _value(term.operands[0], place)
            quotient = inside // term.divisor
            total += scale * (quotient if term.kind == "//" else inside - quotient * term.divisor)
    return total


def test_digits_of_outer_loops_are_no_part_of_local_indices() -> None:
    sch = Schedule(matmul(64))
    block = sch.get_block("C")
    local = sch.cache_write(block, 0, "local")
    i, j, k = sch.get_loops(block)
    (i_0, i_1), (j_0, j_1) = sch.split(i, [None, 8]), sch.split(j, [None, 16])
    sch.reorder(i_0, j_0, i_1, j_1, k)
    sch.reverse_compute_at(local, sch.fuse(i_0, j_0))
    update, copy = features(sch)
    # The fused loop gives i_0 and j_0, of A and B; C_local begins at their tile.
    assert picked(update, "int_divmod", "alloc_size") == (2 * 64**3, 8 * 16 * 4)
    assert picked(copy, "int_divmod", "int_addsub") == (0, 0)


def test_shared_indices_take_linear_time() -> None:
    i, A = tir.Var("i", "int32"), tir.decl_buffer((64,), "float32", name="A")
    index = i
    for _ in range(60):
        index = tir.FloorMod(index + index, i)  # not a function of loops
    store = BufferStore(A, A[index], (i,))
    handle = tir.Var("a", "handle")
    func = PrimFunc((handle,), tir.For(i, 0, 16, "serial", store), {handle: A})
    assert len(stores.read(func).stores[0].accesses) == 2
