"""Refusals of primitives, which do not change the schedule."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from te_sched import te
from te_sched.ir.expr import IterVar, Var
from tests.refusals.table import enter_primitives
from tests.schedule.programs import chain, pair, product, scan

P = SimpleNamespace


def _split_k(p: P) -> Any:
    return p.s[p.C].split(p.k, factor=4)


def _fused(p: P) -> Any:
    return p.s[p.C].fuse(*p.C.op.axis)


def _cached(p: P) -> Any:
    return p.s.cache_read(p.A, "shared", [p.C])


def _grouped(p: P) -> Any:
    return p.s.create_group(outputs=[p.C], inputs=[p.B], include_inputs=True)


def after(program: Callable[[], P], do: Callable[[P], Any]) -> Callable[[], P]:
    """The program after an action."""

    def made() -> P:
        p = program()
        do(p)
        return p

    return made


THREAD = te.thread_axis("threadIdx.x")
OTHER = chain()

# program, refused call, part of the message
CASES: list[tuple[Callable[[], P], Callable[[P], Any], str]] = [
    # axes
    (
        after(product, _split_k),
        lambda p: p.s[p.C].unroll(p.k),
        r"axis k of stage C: the axis was split into k.outer, k.inner at .*",
    ),
    (
        after(product, _fused),
        lambda p: p.s[p.C].split(p.C.op.axis[0], 2),
        r"was fused into i.j.fused at",
    ),
    (
        product,
        lambda p: p.s[p.D].split(p.k, 2),
        r"axis k: it is an axis of stage C, not of stage D",
    ),
    (product, lambda p: p.s[p.C].split(OTHER.B.op.axis[0], 2), r"not the i of stage C"),
    (product, lambda p: p.s[p.C].split(te.reduce_axis((0, 4), "q"), 2), r"belongs to no stage"),
    (product, lambda p: p.s[p.C].split("i", 2), r"expected an axis of stage C, got a str"),
    (product, lambda p: p.s[p.C].split(THREAD, 2), r"axis of stage C can be bound to it"),
    (scan, lambda p: p.s[p.scan].split(p.scan.op.spatial_axis_[0], 2), r"is not a loop"),
    # split
    (product, lambda p: p.s[p.C].split(p.k), r"either factor or nparts, got neither"),
    (product, lambda p: p.s[p.C].split(p.k, 2, nparts=3), r"either factor or nparts, got both"),
    (product, lambda p: p.s[p.C].split(p.k, 0), r"factor of axis k must be at least 1"),
    (product, lambda p: p.s[p.C].split(p.k, nparts=-4), r"nparts of axis k must be at least 1"),
    (product, lambda p: p.s[p.C].split(p.k, 2.5), r"got 2.5\n.*\n.*for example 2"),
    (product, lambda p: p.s[p.C].split(p.k, True), r"got True"),
    (product, lambda p: p.s[p.C].split(p.k, "4"), r"got '4'"),
    # fuse, reorder, tile
    (product, lambda p: p.s[p.C].fuse(p.C.op.axis[0], p.k), r"k is not next to"),
    (
        product,
        lambda p: p.s[p.C].fuse([p.C.op.axis[0], p.k]),
        r"cannot fuse a list: (.|\n)*help: give one of its axes, each as an argument of its own: i",
    ),
    (product, lambda p: p.s[p.C].fuse(p.k, p.k), r"axis k is given twice to fuse"),
    (product, lambda p: p.s[p.C].reorder(p.k, p.k), r"axis k is given twice"),
    (scan, lambda p: p.s[p.scan].reorder(p.scan.op.scan_axis), r"run in order"),
    (product, lambda p: p.s[p.C].tile(p.k, p.k, 2, 2), r"axis k is given twice"),
    (product, lambda p: p.s[p.C].tile(*p.C.op.axis, 2, 0), r"y_factor of axis j must be"),
    # annotations
    (
        product,
        lambda p: p.s[p.C].vectorize(p.k),
        r"reduction axis k of stage C\n(.*\n)*.*use one of i, j",
    ),
    (product, lambda p: p.s[p.C].bind(p.k, p.k), r"not a thread axis\n.*\n.*thread_axis"),
    (
        product,
        lambda p: p.s[p.C].bind(p.k, IterVar(None, Var("w"), "ThreadIndex", "threadIdx.w")),
        r"unknown thread tag\n.*\n.*blockIdx.x/y/z",
    ),
    (product, lambda p: p.s[p.C].pragma(p.k, 3), r"must be a non-empty string"),
    (product, lambda p: p.s[p.C].prefetch(p.D, p.k, 1), r"does not read it\n.*\n.*A, B"),
    (product, lambda p: p.s[p.C].prefetch(p.A, p.k, 1.5), r"offset must be an integer"),
    (product, lambda p: p.s[p.C].tensorize(p.k, None), r"expected a tensor intrinsic"),
    (product, lambda p: p.s[p.C].set_store_predicate(1), r"must be a condition, got 1"),
    # attachment
    (chain, lambda p: p.s[p.C].compute_at(p.s[p.C], p.C.op.axis[0]), r"inside itself"),
    (
        chain,
        lambda p: p.s[p.C].compute_at(p.s[p.B], p.B.op.axis[0]),
        r"B does not use it.*\n(.*\n)*.*attach it to a consumer: D",
    ),
    (
        chain,
        lambda p: p.s[p.D].compute_at(p.s[p.C], p.C.op.axis[0]),
        r"D is an output",
    ),
    (
        chain,
        lambda p: p.s[p.B].compute_at(p.s[p.C], p.D.op.axis[0]),
        r"axis i: it is an axis of stage D",
    ),
    (chain, lambda p: p.s[p.B].compute_at(p.C, p.C.op.axis[0]), r"expected a stage, got a Tensor"),
    (
        chain,
        lambda p: p.s[p.B].compute_at(OTHER.s[OTHER.C], OTHER.C.op.axis[0]),
        r"another schedule",
    ),
    (
        after(chain, _grouped),
        lambda p: p.s[p.B].compute_at(p.s[p.D], p.D.op.axis[0]),
        r"in a group that stage D is not in",
    ),
    (chain, lambda p: p.s[p.D].compute_inline(), r"it is an output"),
    (chain, lambda p: p.s[p.A].compute_inline(), r"not a te.compute"),
    (product, lambda p: p.s[p.C].compute_inline(), r"a reduction, and D computes with"),
    (pair, lambda p: p.s[p.B0].compute_inline(), r"2 tensors at once"),
    (scan, lambda p: p.s[p.init].compute_inline(), r"its consumer scan is a ScanOp"),
    (scan, lambda p: p.s.groups[0].compute_root(), r"in the loop of the scan"),
    (after(chain, _grouped), lambda p: p.s.groups[0].compute_inline(), r"cannot inline a group"),
    # caches
    (
        after(product, _cached),
        lambda p: p.s.cache_read(p.A, "local", [p.C]),
        r"does not read A but the copy A.shared",
    ),
    (
        product,
        lambda p: p.s.cache_read(p.A, "local", [p.D]),
        r"Tensor D: it does not read A\n.*\n.*consumers: C",
    ),
    (product, lambda p: p.s.cache_read(p.A, "local", []), r"readers is empty"),
    (
        product,
        lambda p: p.s.cache_read(p.A, "locale", [p.C]),
        r"unknown storage scope 'locale'.*\n.*\n.*local",
    ),
    (product, lambda p: p.s.cache_read(p.A, "local", [OTHER.C]), r"has no stage"),
    (
        product,
        lambda p: p.s.cache_read(p.A, "local", [p.s[p.C]]),
        r"cannot cache A for stage C: expected a tensor or operation, got a Stage\n",
    ),
    (product, lambda p: p.s.cache_read(OTHER.A, "local", [p.C]), r"not in this schedule"),
    (product, lambda p: p.s.cache_read(p.k, "local", [p.C]), r"expected a tensor"),
    (product, lambda p: p.s.cache_read(p.A, "local", [p.C, p.C]), r"is given twice"),
    (product, lambda p: p.s.cache_write(p.A, "local"), r"not a te.compute"),
    (
        after(product, _split_k),
        lambda p: p.s.cache_write(p.C, "local"),
        r"k.outer is a reduction axis",
    ),
    (pair, lambda p: p.s.cache_write(p.B0, "local"), r"\n.*cache_write\(\[B.v0, B.v1\]"),
    (pair, lambda p: p.s.cache_write([p.B0, p.C], "local"), r"outputs of one operation"),
    (pair, lambda p: p.s.cache_write([], "local"), r"at least one tensor, got none"),
    # rfactor
    (product, lambda p: p.s.rfactor(p.D, p.D.op.axis[0]), r"stage D: it is not a reduction"),
    (
        product,
        lambda p: p.s.rfactor(p.C, p.C.op.axis[0]),
        r"expected a reduction axis\n.*\n.*use one of k",
    ),
    (product, lambda p: p.s.rfactor(p.C, p.k, 3), r"from 0 to 2, or from -3 to -1"),
    (
        after(product, lambda p: setattr(p, "f", p.s[p.C].fuse(p.C.op.axis[1], p.k))),
        lambda p: p.s.rfactor(p.C, p.f),
        r"made from output axis j",
    ),
    # storage
    (product, lambda p: p.s[p.C].storage_align(p.k, 4, 1), r"axes: i, j"),
    (product, lambda p: p.s[p.C].storage_align(p.C.op.axis[0], 0, 1), r"at least 1"),
    (product, lambda p: p.s[p.C].storage_align(p.C.op.axis[0], 2.0, 1), r"is a float"),
    (product, lambda p: p.s[p.C].set_scope(3), r"unknown storage scope 3"),
    (product, lambda p: p.s[p.D].double_buffer(), r"caller owns its memory"),
    (product, lambda p: p.s[p.A].double_buffer(), r"it is an input"),
    (product, lambda p: p.s[p.C].env_threads([THREAD]), r"it is not a scan"),
    (
        after(scan, lambda p: p.s[p.scan].env_threads([THREAD])),
        lambda p: p.s[p.scan].env_threads([THREAD]),
        r"already",
    ),
    # invalid numbers and truth values
    (
        product,
        lambda p: p.s[p.C].tile(*p.s[p.C].op.axis, 2, 2**31),
        r"at most 2147483647",
    ),
    (
        chain,
        lambda p: p.s[p.C].storage_align(p.s[p.C].op.axis[0], np.array([2, 3]), 0),
        r"an ndarray",
    ),
    (
        chain,
        lambda p: p.s.create_group(p.C, p.B, np.zeros(3)),
        r"must be True or False",
    ),
    (
        chain,
        lambda p: p.s[p.C].split(p.s[p.C].op.axis[0], 4, disable_predication=te.var("q") > 0),
        r"must be True or False",
    ),
    # groups and stages
    (chain, lambda p: p.s.create_group(p.B, p.D), r"no stage is between"),
    (
        chain,
        lambda p: p.s.create_group(p.s[p.B], p.A),
        r"cannot group stage B: expected a tensor or operation, got a Stage\n",
    ),
    (
        after(chain, _grouped),
        lambda p: p.s.create_group([p.D], [p.B]),
        r"in a group with B",
    ),
    (chain, lambda p: p.s[OTHER.C], r"declared again: .*\n.*A, B, C, D"),
    (chain, lambda p: p.s["C"], r"indexed by a tensor or operation"),
    (chain, lambda p: te.create_schedule(3), r"an operation or a list of operations, got 3"),
    (chain, lambda p: p.s.trace.replay(product().s), r"of the same declarations"),
]

enter_primitives("primitives", CASES)
