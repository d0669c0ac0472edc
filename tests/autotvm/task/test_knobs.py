"""The choices of knobs, and their application to stages."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import te
from te_sched.autotvm.task import knobs
from te_sched.autotvm.task.space import ConfigEntity, ConfigSpace
from te_sched.errors import DeclarationError


def choices(kind: str, axes: Any, *args: Any, **options: Any) -> list[Any]:
    cfg = ConfigSpace()
    getattr(cfg, f"define_{kind}")("knob", axes, *args, **options)
    return [list(one.choice) for one in cfg.space_map["knob"].entities]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"num_outputs": 2}, [[-1, 1], [-1, 2], [-1, 3], [-1, 6]]),
        ({"num_outputs": 2, "policy": "power2"}, [[-1, 1], [-1, 2], [-1, 4]]),
        ({"num_outputs": 2, "policy": "power2", "no_tail": True}, [[-1, 1], [-1, 2]]),
        ({"num_outputs": 2, "max_factor": 2}, [[-1, 1], [-1, 2]]),
        ({"num_outputs": 2, "filter": lambda one: one.size[1] > 2}, [[-1, 3], [-1, 6]]),
        ({"num_outputs": 2, "policy": "candidate", "candidate": [[2, 3]]}, [[2, 3]]),
        ({"num_outputs": 1}, [[-1]]),
    ],
)
def test_splits_of_an_axis_of_six(options: dict[str, Any], expected: list[list[int]]) -> None:
    assert choices("split", 6, **options) == expected


def test_the_first_factor_of_a_split_varies_fastest() -> None:
    expected = [[-1, 1, 1], [-1, 2, 1], [-1, 4, 1], [-1, 1, 2], [-1, 2, 2], [-1, 1, 4]]
    assert choices("split", 4, num_outputs=3) == expected


def test_large_splits_are_listed_in_time() -> None:
    assert len(choices("split", 2**25, num_outputs=4)) == 3276


def test_orders() -> None:
    cfg = ConfigSpace()
    a, b, c = axes = [cfg.axis(size) for size in (2, 3, 4)]
    assert choices("reorder", axes, "identity") == [[0, 1, 2]]
    assert len(choices("reorder", axes, "all")) == 6
    assert choices("reorder", axes, "interval_all", interval=(1, 3)) == [[0, 1, 2], [0, 2, 1]]
    assert choices("reorder", axes, "candidate", candidate=[[c, a, b]]) == [[2, 0, 1]]


def test_chains_of_axes_are_interleaved_from_inside() -> None:
    cfg = ConfigSpace()
    y, x, k = ([cfg.axis(2) for _ in range(count)] for count in (3, 2, 2))
    order = choices("reorder", [*y, *x, *k], "interleave", spatial=[y, x], reduce=[k])
    assert order == [[0, 1, 3, 5, 2, 4, 6]]


def test_chains_may_be_outputs_of_splits() -> None:
    cfg = ConfigSpace()
    y, x = (cfg.define_split(name, cfg.axis(8), num_outputs=2) for name in "yx")
    order = choices("reorder", [*y, *x], "interleave", spatial=[y, x])
    assert order == [[0, 2, 1, 3]]


@pytest.mark.parametrize(
    ("policy", "count", "expected"),
    [
        ("none", 2, [["none", "none"]]),
        ("unroll", 1, [["unroll"]]),
        ("try_vec", 2, [["none", "none"], ["none", "vec"], ["vec", "none"]]),
        ("bind_gpu", 3, [["fuse", "blockIdx.x", "threadIdx.x"]]),
        ("bind_gpu_virtual", 4, [["fuse", "blockIdx.x", "vthread", "threadIdx.x"]]),
    ],
)
def test_annotations(policy: str, count: int, expected: list[list[str]]) -> None:
    assert choices("annotate", [ConfigSpace.axis(4)] * count, policy) == expected


def test_places_of_caches() -> None:
    found = choices("annotate", [ConfigSpace.axis(4)] * 3, "locate_cache", num_anchor=2)
    assert found == [[0, 1], [0, 2], [1, 2]]


# Application.


def scaling() -> tuple[Any, Any, Any, Any]:
    A = te.placeholder((8, 6), name="A")
    B = te.compute((8, 6), lambda i, j: A[i, j] + 1.0, name="B")
    C = te.compute((8, 6), lambda i, j: B[i, j] * 2.0, name="C")
    return te.create_schedule(C.op), A, B, C


def check_scaling(s: Any, A: Any, C: Any) -> None:
    a, c = np.random.default_rng(0).random((8, 6)).astype("float32"), np.zeros((8, 6), "float32")
    te_sched.build(s, [A, C])(a, c)
    np.testing.assert_allclose(c, (a + 1) * 2, rtol=1e-6)


def test_a_split_is_applied_from_outside() -> None:
    s, A, _, C = scaling()
    axes = knobs.SplitEntity([-1, 2, 2]).apply(s, C, C.op.axis[0])
    assert [one.var.name for one in axes] == ["i.outer", "i.inner.outer", "i.inner.inner"]
    assert [one.factor.value for one in s[C].relations] == [4, 2]
    check_scaling(s, A, C)


def test_an_order_and_annotations_are_applied() -> None:
    s, A, _, C = scaling()
    axes = knobs.ReorderEntity([1, 0]).apply(s, C, list(C.op.axis))
    assert s[C].leaf_iter_vars == axes
    found = knobs.AnnotateEntity(["unroll", "vec"]).apply(s, C, axes)
    assert found == axes
    assert [s[C].iter_var_attrs[one].iter_type for one in axes] == ["Unrolled", "Vectorized"]
    check_scaling(s, A, C)


def test_annotations_fuse_and_bind() -> None:
    s, _, _, C = scaling()
    outer, inner = s[C].split(C.op.axis[1], 2)
    axes = [C.op.axis[0], outer, inner]
    found = knobs.AnnotateEntity(["fuse", "blockIdx.x", "threadIdx.x"]).apply(s, C, axes)
    assert s[C].leaf_iter_vars == found[1:]
    threads = [s[C].iter_var_attrs[one].bind_thread.thread_tag for one in found[1:]]
    assert threads == ["blockIdx.x", "threadIdx.x"]


def test_caches_are_attached_at_the_chosen_axes() -> None:
    s, A, B, C = scaling()
    knobs.AnnotateEntity((1,)).apply(s, C, list(C.op.axis), source=[[B]])
    assert s[B].attach_ivar is C.op.axis[1]
    check_scaling(s, A, C)


def test_annotations_of_other_lengths_are_reported() -> None:
    s, _, _, C = scaling()
    cfg = ConfigEntity(0, None, {})
    knobs.AnnotateEntity(["unroll", "vec"]).apply(
        s, C, list(C.op.axis), axis_lens=[8, 6], max_unroll=4, vec_size=[4, 8], cfg=cfg
    )
    assert cfg.errors == ["Too large factor for unrolling", "Wrong size of lanes in vectorization"]


# Refusals.

AXIS = ConfigSpace.axis(4)


@pytest.mark.parametrize(
    ("kind", "args", "options", "fault"),
    [
        ("split", (0,), {"num_outputs": 2}, "cannot define a knob for 0"),
        ("split", ("i",), {"num_outputs": 2}, "cannot define a knob for 'i'"),
        ("split", (4,), {}, "num_outputs of a split is 0, expected at least 1"),
        ("split", (4, "factor"), {"num_outputs": 2}, "invalid policy 'factor' of a split"),
        ("split", (4, "candidate"), {"num_outputs": 2}, "'candidate' of a split has no candidates"),
        (
            "split",
            (4, "candidate"),
            {"num_outputs": 2, "candidate": [[1, 2, 2]]},
            "of a split has 3 items, expected 2",
        ),
        ("split", (4,), {"num_outputs": 2, "filter": lambda one: False}, "has no choice"),
        ("split", (2**40,), {"num_outputs": 9}, "a split has more than 1048576 choices"),
        ("reorder", ([AXIS], "every"), {}, "invalid policy 'every' of an order"),
        ("reorder", ([AXIS], "interval_all"), {}, "interval of an order is None"),
        ("reorder", ([AXIS], "candidate"), {"candidate": [[1]]}, "1 of an order is not among"),
        ("annotate", ([AXIS], "unrol"), {}, "invalid policy 'unrol' of annotations"),
        ("annotate", ([AXIS], "bind_gpu"), {}, "cannot bind 1 axes by policy 'bind_gpu'"),
        ("annotate", ([AXIS, AXIS], "vec"), {}, "cannot vectorize 2 axes"),
        ("annotate", ([AXIS], "locate_cache"), {}, "num_anchor of policy 'locate_cache' is None"),
        ("knob", (5,), {}, "argument candidate of define_knob is 5, expected a list"),
        ("knob", ([],), {}, "a knob has no choice"),
    ],
)
def test_a_knob_rejects(kind: str, args: Any, options: Any, fault: str) -> None:
    cfg = ConfigSpace()
    with pytest.raises(DeclarationError, match=fault):
        getattr(cfg, f"define_{kind}")("knob", *args, **options)
    assert not cfg.space_map


def test_a_knob_rejects_axes_without_a_length() -> None:
    A = te.placeholder((te.var("n"),), name="A")
    B = te.compute(A.shape, lambda i: A[i], name="B")
    with pytest.raises(DeclarationError, match="axis i has no constant length"):
        ConfigSpace().define_split("tile", B.op.axis[0], num_outputs=2)


def test_application_rejects_other_numbers_of_axes() -> None:
    s, _, _, C = scaling()
    with pytest.raises(DeclarationError, match=r"cannot reorder 2 axes by permutation \[1, 0, 2\]"):
        knobs.ReorderEntity([1, 0, 2]).apply(s, C, list(C.op.axis))
    with pytest.raises(DeclarationError, match="3 annotations are given 2 axes"):
        knobs.AnnotateEntity(["none"] * 3).apply(s, C, list(C.op.axis))
    with pytest.raises(DeclarationError, match="invalid annotation 'vect'"):
        knobs.AnnotateEntity(["vect"]).apply(s, C, list(C.op.axis))
