"""Rows of features of programs."""

from __future__ import annotations

import textwrap

from te_sched import script, te
from te_sched.ir.stmt import PrimFunc
from te_sched.meta_schedule import MeasureCandidate, TuneContext
from te_sched.meta_schedule.feature_extractor import PerStoreFeature
from te_sched.tir.schedule import Schedule

OPERATIONS = ("mad", "addsub", "mul", "divmod", "cmp", "mathfunc", "otherfunc")


OF_A_BUFFER = (
    *("read", "write", "both", "bytes", "unique_bytes", "lines", "unique_lines"),
    *("loop", "serial", "none", "dis_iter", "dis_bytes", "ct"),
    *("bytes_d", "unique_bytes_d", "lines_d", "unique_lines_d", "stride"),
)


NAMES = (
    *(f"{kind}_{one}" for kind in ("float", "int") for one in OPERATIONS),
    *("bool_op", "select_op"),
    *(
        f"{kind}_{one}"
        for kind in ("vec", "unroll", "parallel")
        for one in ("num", "prod", "len", *range(8))
    ),
    *("is_gpu", "blockIdx.x", "blockIdx.y", "blockIdx.z"),
    *("threadIdx.x", "threadIdx.y", "threadIdx.z", "vthread"),
    *(f"B{number}.{one}" for number in range(5) for one in OF_A_BUFFER),
    *(f"curve{number}" for number in range(10)),
    *("alloc_size", "alloc_prod", "alloc_outer_prod", "alloc_inner_prod"),
    *("outer_prod", "num_loops", "auto_unroll_max_step"),
)


def features(what: PrimFunc | Schedule | str, target: str = "llvm") -> list[dict[str, float]]:
    """The numbers by name, before the logarithm; of a text, of the function with its body."""
    if isinstance(what, str):
        what = function(what)
    sch = what if isinstance(what, Schedule) else Schedule(what)
    context = TuneContext(target=target)
    (rows,) = PerStoreFeature().extract_from(context, [MeasureCandidate(sch, None)])
    assert rows.shape[1] == len(NAMES)
    return [dict(zip(NAMES, (2**row - 1).round(6).tolist(), strict=True)) for row in rows.numpy()]


def function(body: str) -> PrimFunc:
    """A function of float buffers A and B of (64, 64) and C of (64,), and of int32 I of (64,)."""
    text = """
    # from tvm.script import tir as T
    @T.prim_func
    def main(A: T.Buffer((64, 64)), B: T.Buffer((64, 64)), C: T.Buffer((64,)),
             I: T.Buffer((64,), "int32")):
    """
    found = script.from_source(
        textwrap.dedent(text) + textwrap.indent(textwrap.dedent(body), "    ")
    )
    assert isinstance(found, PrimFunc)
    return found


def picked(row: dict[str, float], *names: str) -> tuple[float, ...]:
    return tuple([row[name] for name in names])


def matmul(n: int) -> PrimFunc:
    """A matrix product."""
    A, B = te.placeholder((n, n), name="A"), te.placeholder((n, n), name="B")
    k = te.reduce_axis((0, n), "k")
    C = te.compute((n, n), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    return te.create_prim_func([A, B, C])
