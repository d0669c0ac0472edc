"""The default rules of targets."""

from __future__ import annotations

import pytest

from te_sched import meta_schedule as ms
from te_sched.errors import DeclarationError
from te_sched.meta_schedule import schedule_rule as rules
from te_sched.meta_schedule.space_generator import PostOrderApply
from tests.meta_schedule.schedule_rule.spaces import (
    bytes_product,
    product,
)


@pytest.mark.parametrize(
    ("target", "intrinsics"),
    [
        ("llvm", []),
        ("llvm -mcpu=skylake-avx512", ["dot_16x4_avx512"]),
        ("llvm -mcpu=cascadelake", ["dot_16x4_vnni"]),
        ("llvm -device=arm_cpu", ["dot_4x4_i8i8s32_neon"]),
        (
            "llvm -mtriple=aarch64-linux-gnu -mattr=+dotprod",
            ["dot_4x4_i8i8s32_sdot", "dot_4x4_u8u8u32_udot", "dot_4x4_u8u8i32_hdot"],
        ),
    ],
)
def test_rules_of_a_processor_have_its_intrinsics(target: str, intrinsics: list[str]) -> None:
    generator = PostOrderApply(postprocs=[], mutator_probs={})
    ms.TuneContext(product(), target=f"{target} -num-cores=4", space_generator=generator)
    kind = rules.MultiLevelTilingWithIntrin
    found = [rule.intrin_name for rule in generator.sch_rules if isinstance(rule, kind)]
    assert found == intrinsics


@pytest.mark.parametrize("target", ["llvm -mcpu=cascadelake", "llvm -device=arm_cpu"])
def test_products_of_small_integers_are_computed_by_instructions(target: str) -> None:
    generator = PostOrderApply()
    func = bytes_product("uint8" if "cascade" in target else "int8")
    context = ms.TuneContext(func, target=f"{target} -num-cores=4", space_generator=generator)
    for sch in context.generate_design_space():
        sch.enter_postproc()
        assert all(one.apply(sch) for one in generator.postprocs)
        assert "llvm_pure_intrin" in sch.mod.script()
        assert "auto_tensorize" not in sch.mod.script()
    generator = PostOrderApply()
    ms.TuneContext(func, target="llvm -num-cores=4", space_generator=generator)
    assert not any(isinstance(one, ms.postproc.RewriteTensorize) for one in generator.postprocs)


def test_there_are_no_rules_for_other_targets() -> None:
    with pytest.raises(DeclarationError, match="no rules for target hexagon"):
        ms.TuneContext(product(), target="hexagon", space_generator="post-order-apply")


def test_default_rules_are_created_by_kind() -> None:
    assert len(ms.ScheduleRule.create("llvm")) == 7
    with pytest.raises(DeclarationError, match="'lvm' is not a kind of target"):
        ms.ScheduleRule.create("lvm")
