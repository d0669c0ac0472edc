"""What primitives refuse; the schedule is not changed."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from te_sched import te
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
    """The program, to which something has been done before."""

    def made() -> P:
        p = program()
        do(p)
        return p

    return made


THREAD = te.thread_axis("threadIdx.x")
OTHER = chain()

# program, what is refused, a part of the message
CASES: list[tuple[Callable[[], P], Callable[[P], Any], str]] = [
    # axes
    (
        after(product, _split_k),
        lambda p: p.s[p.C].unroll(p.k),
        r"k was split into k.outer, k.inner at .*",
    ),
    (
        after(product, _fused),
        lambda p: p.s[p.C].split(p.C.op.axis[0], 2),
        r"was fused into i.j.fused at",
    ),
    (product, lambda p: p.s[p.D].split(p.k, 2), r"k is an axis of stage C"),
    (product, lambda p: p.s[p.C].split(OTHER.B.op.axis[0], 2), r"belongs to no stage"),
    (product, lambda p: p.s[p.C].split("i", 2), r"a str is not an axis"),
    (product, lambda p: p.s[p.C].split(THREAD, 2), r"bind an axis of the stage to it"),
    (scan, lambda p: p.s[p.scan].split(p.scan.op.spatial_axis_[0], 2), r"is not a loop"),
    # split
    (product, lambda p: p.s[p.C].split(p.k), r"without factor and nparts"),
    (product, lambda p: p.s[p.C].split(p.k, 2, nparts=3), r"by factor and nparts"),
    (product, lambda p: p.s[p.C].split(p.k, 0), r"factor is at least 1"),
    (product, lambda p: p.s[p.C].split(p.k, nparts=-4), r"nparts is at least 1"),
    (product, lambda p: p.s[p.C].split(p.k, 2.5), r"not a float\n.*for example 2"),
    (product, lambda p: p.s[p.C].split(p.k, True), r"not a bool"),
    (product, lambda p: p.s[p.C].split(p.k, "4"), r"with factor='4'"),
    # fuse, reorder, tile
    (product, lambda p: p.s[p.C].fuse(p.C.op.axis[0], p.k), r"k is not next to"),
    (product, lambda p: p.s[p.C].fuse(p.k, p.k), r"axis k twice"),
    (product, lambda p: p.s[p.C].reorder(p.k, p.k), r"axis k twice"),
    (scan, lambda p: p.s[p.scan].reorder(p.scan.op.scan_axis), r"follow each other"),
    (product, lambda p: p.s[p.C].tile(p.k, p.k, 2, 2), r"axis k twice"),
    (product, lambda p: p.s[p.C].tile(*p.C.op.axis, 2, 0), r"y_factor is at least 1"),
    # annotations
    (product, lambda p: p.s[p.C].vectorize(p.k), r"k is a reduction axis.*\n.*on i, j"),
    (product, lambda p: p.s[p.C].bind(p.k, p.k), r"not a thread axis\n.*thread_axis"),
    (
        product,
        lambda p: p.s[p.C].bind(p.k, te.thread_axis("threadIdx.w")),
        r"no such threads\n.*blockIdx.x/y/z",
    ),
    (product, lambda p: p.s[p.C].pragma(p.k, 3), r"known by its name"),
    (product, lambda p: p.s[p.C].prefetch(p.D, p.k, 1), r"does not read it\n.*A, B"),
    (product, lambda p: p.s[p.C].prefetch(p.A, p.k, 1.5), r"a number of iterations"),
    (product, lambda p: p.s[p.C].tensorize(p.k, None), r"not a tensor intrinsic"),
    (product, lambda p: p.s[p.C].set_store_predicate(1), r"it is an int32"),
    # attachment
    (chain, lambda p: p.s[p.C].compute_at(p.s[p.C], p.C.op.axis[0]), r"inside itself"),
    (
        chain,
        lambda p: p.s[p.C].compute_at(p.s[p.B], p.B.op.axis[0]),
        r"B does not use it.*\n.*attach it to what uses it: D",
    ),
    (
        chain,
        lambda p: p.s[p.D].compute_at(p.s[p.C], p.C.op.axis[0]),
        r"D is an output",
    ),
    (
        chain,
        lambda p: p.s[p.B].compute_at(p.s[p.C], p.D.op.axis[0]),
        r"i is an axis of stage D",
    ),
    (chain, lambda p: p.s[p.B].compute_at(p.C, p.C.op.axis[0]), r"is not a stage"),
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
    (chain, lambda p: p.s[p.A].compute_inline(), r"result of te.compute only"),
    (product, lambda p: p.s[p.C].compute_inline(), r"a reduction, and D computes with"),
    (pair, lambda p: p.s[p.B0].compute_inline(), r"2 tensors at once"),
    (scan, lambda p: p.s[p.init].compute_inline(), r"scan \(ScanOp\) reads it"),
    (scan, lambda p: p.s.groups[0].compute_root(), r"in the loop of the scan"),
    (after(chain, _grouped), lambda p: p.s.groups[0].compute_inline(), r"a group has no loops"),
    # caches
    (
        after(product, _cached),
        lambda p: p.s.cache_read(p.A, "local", [p.C]),
        r"reads the copy A.shared",
    ),
    (
        product,
        lambda p: p.s.cache_read(p.A, "local", [p.D]),
        r"D does not read A\n.*by C",
    ),
    (product, lambda p: p.s.cache_read(p.A, "local", []), r"nobody would read"),
    (product, lambda p: p.s.cache_read(p.A, "locale", [p.C]), r"no such memory\n.*local"),
    (product, lambda p: p.s.cache_read(p.A, "local", [OTHER.C]), r"has no stage"),
    (product, lambda p: p.s.cache_read(OTHER.A, "local", [p.C]), r"not in this schedule"),
    (product, lambda p: p.s.cache_read(p.k, "local", [p.C]), r"is not a tensor"),
    (product, lambda p: p.s.cache_read(p.A, "local", [p.C, p.C]), r"is given twice"),
    (product, lambda p: p.s.cache_write(p.A, "local"), r"result of te.compute only"),
    (
        after(product, _split_k),
        lambda p: p.s.cache_write(p.C, "local"),
        r"k.outer is a reduction axis",
    ),
    (pair, lambda p: p.s.cache_write(p.B0, "local"), r"\n.*cache_write\(\[B.v0, B.v1\]"),
    (pair, lambda p: p.s.cache_write([p.B0, p.C], "local"), r"outputs of one operation"),
    (pair, lambda p: p.s.cache_write([], "local"), r"no tensor is given"),
    # rfactor
    (product, lambda p: p.s.rfactor(p.D, p.D.op.axis[0]), r"D is not a reduction"),
    (product, lambda p: p.s.rfactor(p.C, p.C.op.axis[0]), r"\n.*use one of k"),
    (product, lambda p: p.s.rfactor(p.C, p.k, 3), r"from 0 to 2, or from -3 to -1"),
    (
        after(product, lambda p: setattr(p, "f", p.s[p.C].fuse(p.C.op.axis[1], p.k))),
        lambda p: p.s.rfactor(p.C, p.f),
        r"made from j, which is an axis of the output",
    ),
    # storage
    (product, lambda p: p.s[p.C].storage_align(p.k, 4, 1), r"axes: i, j"),
    (product, lambda p: p.s[p.C].storage_align(p.C.op.axis[0], 0, 1), r"at least 1"),
    (product, lambda p: p.s[p.C].storage_align(p.C.op.axis[0], 2.0, 1), r"is a float"),
    (product, lambda p: p.s[p.C].set_scope(3), r"no such memory"),
    (product, lambda p: p.s[p.D].double_buffer(), r"memory is the caller's"),
    (product, lambda p: p.s[p.A].double_buffer(), r"it is an input"),
    (product, lambda p: p.s[p.C].env_threads([THREAD]), r"round a scan only"),
    (
        after(scan, lambda p: p.s[p.scan].env_threads([THREAD])),
        lambda p: p.s[p.scan].env_threads([THREAD]),
        r"already",
    ),
    # numbers and truth values that are none
    (
        product,
        lambda p: p.s[p.C].tile(*p.s[p.C].op.axis, 2, 2**31),
        r"up to 2147483647",
    ),
    (
        chain,
        lambda p: p.s[p.C].storage_align(p.s[p.C].op.axis[0], np.array([2, 3]), 0),
        r"a ndarray",
    ),
    (
        chain,
        lambda p: p.s.create_group(p.C, p.B, np.zeros(3)),
        r"neither true nor false",
    ),
    (
        chain,
        lambda p: p.s[p.C].split(p.s[p.C].op.axis[0], 4, disable_predication=te.var("q") > 0),
        r"neither true nor false",
    ),
    # groups and stages
    (chain, lambda p: p.s.create_group(p.B, p.D), r"no stage lies between"),
    (
        after(chain, _grouped),
        lambda p: p.s.create_group([p.D], [p.B]),
        r"in a group together with B",
    ),
    (chain, lambda p: p.s[OTHER.C], r"declared again: .*\n.*A, B, C, D"),
    (chain, lambda p: p.s["C"], r"tensors and operations"),
    (chain, lambda p: te.create_schedule(3), r"an int is not an operation"),
    (chain, lambda p: p.s.trace.replay(product().s), r"of the same declarations"),
]

enter_primitives("primitives", CASES)
