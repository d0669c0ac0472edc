"""Rules: what they do to a block, when they leave it alone, and that the results are right."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import meta_schedule as ms
from te_sched import te, tir
from te_sched.errors import DeclarationError
from te_sched.meta_schedule import schedule_rule as rules
from te_sched.meta_schedule.schedule_rule import ReuseType
from te_sched.meta_schedule.schedule_rule.multi_level_tiling_tensor_core import IntrinGroup
from te_sched.meta_schedule.space_generator import PostOrderApply
from te_sched.tensorir.tensor_intrin.cuda import get_wmma_intrin_group

CPU, GPU = "llvm -num-cores=4", "nvidia/geforce-rtx-2080"
TILING = rules.MultiLevelTiling("SSRSRS", reuse_write=ReuseType("may", [1, 2], "global"))


def uniform(*shape: int) -> Any:
    """Random numbers, the same in each run."""
    return np.random.default_rng(0).uniform(-1, 1, shape).astype("float32")


def _product(n: int = 16, m: int = 16, depth: int = 16, bias: Any = None) -> tir.PrimFunc:
    A, B = te.placeholder((n, depth), name="A"), te.placeholder((depth, m), name="B")
    k = te.reduce_axis((0, depth), "k")
    C = te.compute((n, m), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    last = C if bias is None else te.compute((n, m), lambda i, j: bias(C, i, j), name="D")
    return te.create_prim_func([A, B, last])


def _elementwise(value: Callable[..., Any], consumer: bool = True) -> tir.PrimFunc:
    """B is computed of A, and C sums its rows (or is B + 1)."""
    A = te.placeholder((16, 16), name="A")
    B = te.compute((16, 16), lambda i, j: value(A, i, j), name="B")
    k = te.reduce_axis((0, 16), "k")
    C = te.compute((16,), lambda i: te.sum(B[i, k], axis=k), name="C")
    plain = te.compute((16, 16), lambda i, j: B[i, j] + 1.0, name="C")
    return te.create_prim_func([A, C if consumer else plain])


def _row_sums(n: int = 4, depth: int = 64) -> tir.PrimFunc:
    A, k = te.placeholder((n, depth), name="A"), te.reduce_axis((0, depth), "k")
    return te.create_prim_func([A, te.compute((n,), lambda i: te.sum(A[i, k], axis=k), name="C")])


def _space(func: Any, *parts: ms.ScheduleRule, target: str = CPU) -> list[tir.Schedule]:
    generator = PostOrderApply(sch_rules=list(parts), postprocs=[], mutator_probs={})
    context = ms.TuneContext(func, target=target, space_generator=generator, rand_state=1)
    return context.generate_design_space()


def _steps(sch: tir.Schedule) -> list[str]:
    """The primitives that change the program."""
    return [e.method for e in sch.trace.entries if not e.primitive.is_naming]


def _check_product(sch: tir.Schedule, relu: bool = False) -> None:
    a, b = uniform(16, 16), uniform(16, 16)
    out = te_sched.nd.array(np.zeros((16, 16), "float32"))
    te_sched.build(sch.mod)(te_sched.nd.array(a), te_sched.nd.array(b), out)
    expected = np.maximum(a @ b, 0) if relu else a @ b
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-4, atol=1e-5)


# -- inlining --------------------------------------------------------------------------------------

INLINE = {
    "into_producer": False,
    "into_consumer": True,
    "inline_const_tensor": True,
    "disallow_if_then_else": True,
    "require_injective": True,
    "require_ordered": True,
    "disallow_op": ["tir.exp"],
}


@pytest.mark.parametrize(
    ("value", "allowing"),
    [
        (lambda A, i, j: A[i, j] * 2.0, {}),
        (lambda A, i, j: A[i, 0] * 2.0, {}),
        (lambda A, i, j: tir.const(1.0, "float32"), {}),
        (lambda A, i, j: te.exp(A[i, j]), {"disallow_op": None}),
        (lambda A, i, j: te.if_then_else(i > 2, A[i, j], 0.0), {"disallow_if_then_else": False}),
        (lambda A, i, j: A[j, i] * 2.0, {"require_ordered": False}),
        (lambda A, i, j: A[i, i], {"require_injective": False}),
        (lambda A, i, j: A[i, 15 - j], {"require_injective": False, "require_ordered": False}),
    ],
)
def test_auto_inline_inlines_what_is_cheap(value: Callable[..., Any], allowing: Any) -> None:
    func = _elementwise(value)
    (sch,) = _space(func, rules.AutoInline(**(INLINE | allowing)))
    assert _steps(sch) == ["compute_inline"]
    if allowing:
        (sch,) = _space(func, rules.AutoInline(**INLINE))
        assert _steps(sch) == []


def test_auto_inline_has_no_limits_without_reductions() -> None:
    func = _elementwise(lambda A, i, j: te.exp(A[j, i]), consumer=False)
    (sch,) = _space(func, rules.AutoInline(**INLINE))
    assert _steps(sch) == ["compute_inline"]


def test_auto_inline_into_the_producer() -> None:
    rule = rules.AutoInline(**(INLINE | {"into_producer": True, "into_consumer": False}))
    func = _elementwise(lambda A, i, j: A[i, j] * 2.0, consumer=False)
    (sch,) = _space(func, rule)
    assert _steps(sch) == ["reverse_compute_inline"]


def test_inline_constant_scalars() -> None:
    A = te.placeholder((8,), name="A")
    one = te.compute((), lambda: tir.const(3.0, "float32"), name="one")
    func = te.create_prim_func([A, te.compute((8,), lambda i: A[i] + one(), name="B")])
    (sch,) = _space(func, rules.InlineConstantScalars())
    assert _steps(sch) == ["compute_inline"]


# -- tiling ----------------------------------------------------------------------------------------


def test_multi_level_tiling_caches_what_it_writes_or_not() -> None:
    spaces = _space(_product(), TILING)
    assert [_steps(sch)[-2:] for sch in spaces] == [
        ["cache_write", "reverse_compute_at"],
        ["cache_write", "reverse_compute_at"],
        ["split", "reorder"],
    ]
    for sch in spaces:
        _check_product(sch)


def test_multi_level_tiling_takes_the_consumer_as_cache() -> None:
    relu = lambda C, i, j: te.max(C[i, j], 0.0)  # noqa: E731
    spaces = _space(_product(bias=relu), TILING)
    assert [_steps(sch)[-1] for sch in spaces] == ["reorder", *["reverse_compute_at"] * 2]
    for sch in spaces:
        _check_product(sch, relu=True)


def test_multi_level_tiling_leaves_blocks_without_reuse() -> None:
    assert [_steps(sch) for sch in _space(_row_sums(), TILING)] == [[]]


def test_an_iterator_of_one_iteration_is_no_reuse() -> None:
    A, k = te.placeholder((16, 64), name="A"), te.reduce_axis((0, 64), "k")
    C = te.compute((16, 1), lambda i, j: te.sum(A[i, k], axis=k), name="C")
    assert [_steps(sch) for sch in _space(te.create_prim_func([A, C]), TILING)] == [[]]


def test_multi_level_tiling_takes_what_a_filter_accepts() -> None:
    rule = rules.MultiLevelTiling("SRS", filter_fn=lambda sch, block: block.name == "C")
    (sch,) = _space(_row_sums(), rule)
    assert [loop.name for loop in sch.get_loops("C")] == ["i_0", "k", "i_1"]


def test_multi_level_tiling_for_a_gpu_binds_and_fetches() -> None:
    rule = rules.MultiLevelTiling(
        "SSSRRSRS",
        tile_binds=["blockIdx.x", "vthread.x", "threadIdx.x"],
        vector_load_lens=[1, 2],
        reuse_read={"req": "must", "levels": [4], "scope": "shared"},
        reuse_write={"req": "must", "levels": [3], "scope": "local"},
    )
    (sch,) = _space(_product(), rule, target=GPU)
    marks = dict(sch.get(sch.get_block("C")).annotations)
    assert marks["meta_schedule.thread_extent_low_inclusive"] == 32
    fetched = sch.get(sch.get_block("A_shared")).annotations
    assert fetched["meta_schedule.cooperative_fetch"] in (1, 2)
    assert len(_space(_product(), rule, target="nvidia/nvidia-a100")) == 3


def test_write_cache_level_states_where_the_cache_is() -> None:
    sch = tir.Schedule(_product())
    sch.annotate("C", "meta_schedule.write_cache_level", [2])
    (found,) = _space(sch.mod, TILING)
    assert _steps(found)[-2:] == ["cache_write", "reverse_compute_at"]


@pytest.mark.parametrize("structure", ["SXR", ""])
def test_multi_level_tiling_rejects_a_structure(structure: Any) -> None:
    with pytest.raises(DeclarationError, match="is not a tiling structure"):
        rules.MultiLevelTiling(structure)


@pytest.mark.parametrize(
    ("reuse", "match"),
    [
        (3, "reuse_read is 3, expected a ReuseType"),
        (ReuseType("may", [1], "shared"), "reuse_read cannot be required as 'may'"),
        (ReuseType("must", [4], "shared"), r"reuse_read has levels \[4\]"),
    ],
)
def test_multi_level_tiling_rejects_a_reuse(reuse: Any, match: str) -> None:
    with pytest.raises(DeclarationError, match=match):
        rules.MultiLevelTiling("SRS", reuse_read=reuse)


def _bytes_product(left: str = "uint8", n: int = 32) -> tir.PrimFunc:
    A, B = te.placeholder((16, 16), left, "A"), te.placeholder((n, 16), "int8", "B")
    k = te.reduce_axis((0, 16), "k")
    C = te.compute(
        (16, n),
        lambda i, j: te.sum(A[i, k].astype("int32") * B[j, k].astype("int32"), axis=k),
        name="C",
    )
    return te.create_prim_func([A, B, C])


def test_multi_level_tiling_with_intrin_makes_a_block_of_its_tile() -> None:
    (sch,) = _space(_bytes_product(), rules.MultiLevelTilingWithIntrin("dot_16x4_vnni", "SRS"))
    (block,) = [one for one in sch.get_child_blocks("root") if one.name == "C_o"]
    marks = sch.get(block).annotations
    assert marks["meta_schedule.auto_tensorize"] == "dot_16x4_vnni"
    outer = sch.get_loops(block)[0]
    sch.decompose_reduction(block, outer)
    (update,) = [b for b in sch.get_child_blocks("root") if b.name == "C_o_update"]
    sch.tensorize(update, "dot_16x4_vnni")


@pytest.mark.parametrize("func", [_bytes_product("int8"), _bytes_product(n=8), _product()])
def test_multi_level_tiling_with_intrin_leaves_other_blocks(func: Any) -> None:
    (sch,) = _space(func, rules.MultiLevelTilingWithIntrin("dot_16x4_vnni", "SRS"))
    assert _steps(sch) == []


def test_multi_level_tiling_with_intrin_rejects_a_name() -> None:
    with pytest.raises(DeclarationError, match="there is no intrinsic 'absent'"):
        rules.MultiLevelTilingWithIntrin("absent", "SRS")


@pytest.mark.parametrize(("bits", "lanes"), [(128, 4), (1024, 16)])
def test_multi_level_tiling_wide_vector(bits: int, lanes: int) -> None:
    (sch,) = _space(_product(), rules.MultiLevelTilingWideVector("SSRS", bits))
    inner = [sch.get(loop) for loop in sch.get_loops("C") if loop.name.startswith("j")]
    assert inner[-1].extent == lanes
    _check_product(sch)


def test_multi_level_tiling_wide_vector_rejects_a_size() -> None:
    with pytest.raises(DeclarationError, match="a vector has 0 bits"):
        rules.MultiLevelTilingWideVector("SRS", 0)


# -- units for matrices ---------------------------------------------------------------------------

SHARED = {"req": "must", "levels": [4], "scope": "shared"}
RESULT = {"req": "must", "levels": [2], "scope": "shared"}


def _tensor_core(**options: Any) -> rules.MultiLevelTilingTensorCore:
    given: dict[str, Any] = {
        "intrin_groups": [
            get_wmma_intrin_group("shared", "shared", "float16", "float32", is_trans)
            for is_trans in (False, True)
        ],
        "structure": "SSSRRSRS",
        "tile_binds": ["blockIdx.y", "blockIdx.x", "threadIdx.y"],
        "max_innermost_factor": 4,
        "vector_load_lens": [1, 2, 3, 4, 8, 16],
        "reuse_read": SHARED,
        "reuse_write": RESULT,
    }
    return rules.MultiLevelTilingTensorCore(**(given | options))


def _half_product(n: Any = 64, element: Any = lambda B, i, j, k: B[k, j]) -> tir.PrimFunc:
    A, B = te.placeholder((n, 64), "float16", "A"), te.placeholder((64, 64), "float16", "B")
    k = te.reduce_axis((0, 64), "k")
    C = te.compute(
        (n, 64),
        lambda i, j: te.sum(
            A[i, k].astype("float32") * element(B, i, j, k).astype("float32"), axis=k
        ),
        name="C",
    )
    return te.create_prim_func([A, B, C])


@pytest.mark.parametrize("n", [64, 60])
def test_tensor_core_makes_fragments(n: int) -> None:
    spaces = _space(_half_product(n), _tensor_core(), target=GPU)
    assert len(spaces) == 2
    for sch, trans in zip(spaces, ("", "_trans"), strict=True):
        names = [
            entry.arguments["ann_val"]
            for entry in sch.trace.entries
            if entry.arguments.get("ann_key") == "meta_schedule.auto_tensorize"
        ]
        assert names == [
            f"wmma_sync_16x16x16_f16f16f32{trans}",
            "wmma_store_16x16x16_f32_shared",
            "wmma_load_16x16x16_f16_a_shared",
            f"wmma_load_16x16x16_f16_b{trans}_shared",
        ]


def test_tensor_core_annotates_a_pipeline() -> None:
    rule = _tensor_core(use_software_pipeline=True)
    sch, _ = _space(_half_product(), rule, target=GPU)
    last = [entry for entry in sch.trace.entries if entry.method == "annotate"][-1]
    assert last.arguments["ann_key"] == "software_pipeline_order"


@pytest.mark.parametrize(
    "func",
    [
        _product(64, 64, 64),
        _half_product(te.var("n")),
        _half_product(element=lambda B, i, j, k: B[i, j]),
        _half_product(element=lambda B, i, j, k: B[k, j] + tir.const(1.0, "float16")),
    ],
)
def test_tensor_core_leaves_other_blocks(func: Any) -> None:
    (sch,) = _space(func, _tensor_core(), target=GPU)
    assert _steps(sch) == []


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"reuse_write": None}, "reuse_write of MultiLevelTilingTensorCore is None"),
        ({"intrin_groups": [{"init": "f"}]}, "is not a group of intrinsics"),
        ({"intrin_groups": [dict.fromkeys(IntrinGroup._fields, "f")]}, "there is no intrinsic"),
    ],
)
def test_tensor_core_rejects(options: Any, match: str) -> None:
    with pytest.raises(DeclarationError, match=match):
        _tensor_core(**options)


def test_groups_of_wmma_intrinsics_are_of_known_types() -> None:
    with pytest.raises(DeclarationError, match="in_dtype of a group of wmma intrinsics is 'f'"):
        get_wmma_intrin_group("shared", "shared", "f", "float32", False)


# -- reductions ------------------------------------------------------------------------------------


def test_add_rfactor_factors_either_loop() -> None:
    spaces = _space(_row_sums(), rules.AddRFactor(16, 64))
    assert ["rfactor" in _steps(sch) for sch in spaces] == [False, True, True]
    a = uniform(4, 64)
    for sch in spaces:
        out = te_sched.nd.array(np.zeros(4, "float32"))
        te_sched.build(sch.mod)(te_sched.nd.array(a), out)
        np.testing.assert_allclose(out.numpy(), a.sum(1), rtol=1e-4)


@pytest.mark.parametrize(("n", "depth", "count"), [(2, 64, 3), (16, 4, 1), (64, 64, 1)])
def test_add_rfactor_needs_few_parallel_iterations(n: int, depth: int, count: int) -> None:
    assert len(_space(_product(n, 2, depth), rules.AddRFactor(16, 64))) == count


def test_cross_thread_reduction_is_computed_beside_its_consumer() -> None:
    A, k = te.placeholder((16, 64), name="A"), te.reduce_axis((0, 64), "k")
    S = te.compute((16,), lambda i: te.sum(A[i, k], axis=k), name="S")
    func = te.create_prim_func([A, te.compute((16, 64), lambda i, j: A[i, j] / S[i], name="D")])
    found, plain = _space(func, rules.CrossThreadReduction([4, 8]), target=GPU)[::-1]
    assert _steps(plain) == []
    assert _steps(found) == ["split", "bind", "compute_at", "set_scope", "split", "bind"]


def test_random_compute_location_moves_blocks_with_consumers() -> None:
    func = _elementwise(lambda A, i, j: A[i, j] * 2.0)
    (sch,) = _space(func, rules.RandomComputeLocation())
    assert _steps(sch) == ["compute_at"]


def test_parallelize_vectorize_unroll_annotates_the_root() -> None:
    rule = rules.ParallelizeVectorizeUnroll(16, 64, [0, 16])
    (sch,) = _space(_product(), rule)
    marks = sch.get(sch.get_block("root")).annotations
    assert marks["meta_schedule.parallel"] == 64
    assert marks["meta_schedule.vectorize"] == 64
    assert marks["meta_schedule.unroll_explicit"] in (0, 16)


# -- threads ---------------------------------------------------------------------------------------


def test_auto_bind_splits_the_fused_loops() -> None:
    func = _elementwise(lambda A, i, j: A[i, j] * 2.0, consumer=False)
    (sch,) = _space(func, rules.AutoBind(), target=GPU)
    outer, inner = [sch.get(loop) for loop in sch.get_loops("C")]
    assert outer.thread_binding.thread_tag == "blockIdx.x"
    assert inner.thread_binding.thread_tag == "threadIdx.x"


def test_auto_bind_of_a_large_loop_runs_through_a_part() -> None:
    func = _elementwise(lambda A, i, j: A[i, j] * 2.0, consumer=False)
    (sch,) = _space(func, rules.AutoBind(2, [32], 32), target=GPU)
    assert [sch.get(loop).extent for loop in sch.get_loops("C")] == [2, 32, 4]


def test_auto_bind_without_parallel_loops_adds_one() -> None:
    A, k = te.placeholder((16,), name="A"), te.reduce_axis((0, 16), "k")
    func = te.create_prim_func([A, te.compute((), lambda: te.sum(A[k], axis=k), name="C")])
    (sch,) = _space(func, rules.AutoBind(), target=GPU)
    assert [sch.get(loop).extent for loop in sch.get_loops("C")] == [1, 1, 16]


# -- custom rules ----------------------------------------------------------------------------------


def _annotated(rule: str) -> Any:
    sch = tir.Schedule(_product())
    sch.annotate("C", "schedule_rule", rule)
    return sch.mod


def test_custom_rule_calls_the_function_of_a_key() -> None:
    def schedule(sch: tir.Schedule, block: tir.BlockRV) -> list[tir.Schedule]:
        sch.parallel(sch.get_loops(block)[0])
        return [sch]

    te_sched.register_func("meta_schedule.cpu.of_test", schedule)
    try:
        (sch,) = _space(_annotated("of_test"), rules.ApplyCustomRule(), TILING)
    finally:
        te_sched.runtime.remove_global_func("meta_schedule.cpu.of_test")
    assert _steps(sch) == ["parallel"]


def test_custom_rule_that_is_not_registered_is_removed(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        spaces = _space(_annotated("absent"), rules.ApplyCustomRule(), TILING)
    assert _steps(spaces[0])[:2] == ["unannotate", "annotate"]
    assert "no schedule rule absent is registered; tried meta_schedule.cpu.absent" in caplog.text


def test_custom_rules_that_operators_name_are_no_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        _space(_annotated("meta_schedule.pool_max"), rules.ApplyCustomRule(), TILING)
    assert caplog.text == ""


def test_blocks_with_the_rule_none_are_left() -> None:
    (sch,) = _space(_annotated("None"), rules.ApplyCustomRule(), TILING)
    assert _steps(sch) == []


def test_custom_rule_rejects_another_result() -> None:
    te_sched.register_func("meta_schedule.cpu.of_test", lambda sch, block: 3)
    try:
        with pytest.raises(DeclarationError, match="schedule rule of_test of block C returned an"):
            _space(_annotated("of_test"), rules.ApplyCustomRule())
    finally:
        te_sched.runtime.remove_global_func("meta_schedule.cpu.of_test")


# -- targets ---------------------------------------------------------------------------------------


def test_rules_need_the_number_of_processors() -> None:
    with pytest.raises(DeclarationError, match="has 0 processors, expected a positive number"):
        _space(_product(), rules.AddRFactor(), target="llvm -num-cores=0")


def test_rules_need_a_target() -> None:
    sch = tir.Schedule(_annotated("of_test"))
    with pytest.raises(DeclarationError, match="the task has no target"):
        rules.ApplyCustomRule().apply(sch, sch.get_block("C"))


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
    ms.TuneContext(_product(), target=f"{target} -num-cores=4", space_generator=generator)
    kind = rules.MultiLevelTilingWithIntrin
    found = [rule.intrin_name for rule in generator.sch_rules if isinstance(rule, kind)]
    assert found == intrinsics


@pytest.mark.parametrize("target", ["llvm -mcpu=cascadelake", "llvm -device=arm_cpu"])
def test_products_of_small_integers_are_computed_by_instructions(target: str) -> None:
    generator = PostOrderApply()
    func = _bytes_product("uint8" if "cascade" in target else "int8")
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
        ms.TuneContext(_product(), target="hexagon", space_generator="post-order-apply")


def test_default_rules_are_created_by_kind() -> None:
    assert len(ms.ScheduleRule.create("llvm")) == 7
    with pytest.raises(DeclarationError, match="'lvm' is not a kind of target"):
        ms.ScheduleRule.create("lvm")
