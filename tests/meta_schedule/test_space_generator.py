"""Generators of spaces: functions, unions, and rules over all blocks."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

import te_sched
from te_sched import meta_schedule as ms
from te_sched import te, tir
from te_sched.errors import DeclarationError
from te_sched.ir.stmt import IRModule
from te_sched.meta_schedule import schedule_rule as rules
from te_sched.meta_schedule.space_generator import (
    PostOrderApply,
    ScheduleFn,
    SpaceGenerator,
    SpaceGeneratorUnion,
)
from te_sched.script import tir as T


@T.prim_func
def chain(A: T.Buffer((8,), "float32"), D: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,))
    C = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] * T.float32(2)
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[vi] + T.float32(3)
    for i in range(8):
        with T.block("D"):
            vi = T.axis.spatial(8, i)
            D[vi] = C[vi] * T.float32(5)


MODULE = IRModule({"main": chain})


def _tile(sch: tir.Schedule) -> None:
    (loop,) = sch.get_loops("B")
    sch.split(loop, sch.sample_perfect_tile(loop, n=2))


class Noting(ms.ScheduleRule):
    """Notes the blocks that it sees, and returns as many schedules of some as asked."""

    seen: list[str]

    def __init__(self, key: str = "seen", counts: dict[str, int] | None = None) -> None:
        self.key, self.counts, self.seen = key, counts or {}, []

    def apply(self, sch: tir.Schedule, block: tir.BlockRV) -> list[tir.Schedule]:
        self.seen.append(block.name)
        if block.name not in self.counts:
            return [sch]
        found = [sch.copy() for _ in range(self.counts[block.name])]
        for number, one in enumerate(found):
            one.annotate(block, self.key, number)
        return found


def _space(*parts: ms.ScheduleRule, mod: Any = chain, **options: Any) -> list[tir.Schedule]:
    generator = PostOrderApply(sch_rules=list(parts), postprocs=[], mutator_probs={}, **options)
    context = ms.TuneContext(mod, target="llvm -num-cores=4", space_generator=generator)
    return context.generate_design_space()


@pytest.mark.parametrize("result", [lambda sch: None, lambda sch: sch, lambda sch: [sch]])
def test_schedule_fn_takes_what_a_function_returns(result: Callable[[Any], Any]) -> None:
    def function(sch: tir.Schedule) -> Any:
        _tile(sch)
        return result(sch)

    (sch,) = ScheduleFn(function).generate_design_space(MODULE)
    assert [inst.kind.name for inst in sch.trace.insts][-1] == "Split"


def test_schedule_fn_rejects_another_result() -> None:
    space = ScheduleFn(lambda sch: 3)
    with pytest.raises(DeclarationError, match="the function of a space returned an int"):
        space.generate_design_space(MODULE)


def test_schedule_fn_rejects_what_is_no_function() -> None:
    with pytest.raises(DeclarationError, match=r"argument sch_fn of .*ScheduleFn is 3"):
        ScheduleFn(3)  # type: ignore[arg-type]


def test_union_has_the_spaces_of_all() -> None:
    space = SpaceGeneratorUnion([ScheduleFn(_tile), ScheduleFn(_tile)])
    context = ms.TuneContext(chain, target="llvm -num-cores=4", space_generator=space.clone())
    assert len(context.generate_design_space()) == 2


def test_generators_are_created_by_name_and_of_functions() -> None:
    assert isinstance(SpaceGenerator.create("post-order-apply"), PostOrderApply)
    assert isinstance(SpaceGenerator.create(_tile), ScheduleFn)
    with pytest.raises(DeclarationError, match="'post-order' is not a space generator"):
        SpaceGenerator.create("post-order")


@pytest.mark.parametrize("target", ["llvm -num-cores=2", "cuda -arch=sm_80"])
@pytest.mark.parametrize("sizes", [(0, 4, 4), (4, 0, 4), (4, 4, 0)])
def test_blocks_that_are_never_executed_are_left(target: str, sizes: tuple[int, int, int]) -> None:
    n, m, depth = sizes
    A, B = te.placeholder((n, depth), name="A"), te.placeholder((depth, m), name="B")
    k = te.reduce_axis((0, depth), name="k")
    C = te.compute((n, m), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    func = te.create_prim_func([A, B, C])
    context = ms.TuneContext(func, target=target, space_generator="post-order-apply")
    (sch,) = context.generate_design_space()
    assert len(sch.get_loops("C")) == 3


def test_post_order_apply_visits_later_blocks_first() -> None:
    rule = Noting()
    (sch,) = _space(rule)
    assert rule.seen == ["root", "D", "C", "B"]
    assert [entry.arguments["name"] for entry in sch.trace.entries] == ["B", "C", "D", "root"]


def test_post_order_apply_applies_a_rule_to_all_schedules_of_the_one_before() -> None:
    spaces = _space(Noting("x", {"D": 3, "B": 2}), Noting("y", {"C": 2}))
    found = [
        [entry.arguments["ann_val"] for entry in sch.trace.entries if entry.method == "annotate"]
        for sch in spaces
    ]
    expected = [[d, b, c] for d in (0, 1, 2) for b in (0, 1) for c in (1, 0)]
    assert found == expected


def test_post_order_apply_leaves_blocks_that_are_gone() -> None:
    class Inline(ms.ScheduleRule):
        def apply(self, sch: tir.Schedule, block: tir.BlockRV) -> list[tir.Schedule]:
            if block.name == "C":
                sch.compute_inline(block)
            return [sch]

    rule = Noting()
    _space(Inline(), rule)
    assert rule.seen == ["root", "D", "B"]


def test_f_block_filter_chooses_blocks() -> None:
    rule = Noting()
    _space(rule, f_block_filter=lambda block: block.name_hint in ("B", "D"))
    assert rule.seen == ["D", "B"]


def test_post_order_apply_rejects_a_name_of_two_blocks() -> None:
    twice = chain.with_body(te_sched.script.from_source(chain.script().replace('"C"', '"B"')).body)
    with pytest.raises(DeclarationError, match="several blocks of function main have the name B"):
        _space(Noting(), mod=twice)


def test_post_order_apply_rejects_a_use_without_a_task() -> None:
    with pytest.raises(DeclarationError, match="the space generator has no rules yet"):
        PostOrderApply().generate_design_space(MODULE)


def test_parts_of_a_generator_are_checked() -> None:
    with pytest.raises(DeclarationError, match=re.escape("are not parts of a space generator")):
        _space(3)  # type: ignore[arg-type]


def test_rules_of_a_target_are_created_for_it() -> None:
    context = ms.TuneContext(chain, target="llvm -num-cores=4", space_generator="post-order-apply")
    assert context.space_generator is not None
    kinds = [type(rule) for rule in context.space_generator.sch_rules]
    assert kinds[0] is rules.ApplyCustomRule
    assert kinds[-1] is rules.RandomComputeLocation


def test_the_same_seed_makes_the_same_space() -> None:
    def space(seed: int) -> list[str]:
        A, B = [te.placeholder((64, 64), name=name) for name in "AB"]
        k = te.reduce_axis((0, 64), "k")
        C = te.compute((64, 64), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
        context = ms.TuneContext(
            te.create_prim_func([A, B, C]),
            target="llvm -num-cores=4",
            space_generator="post-order-apply",
            rand_state=seed,
        )
        return [str(sch.trace) for sch in context.generate_design_space()]

    assert space(7) == space(7)
    assert space(7) != space(8)
