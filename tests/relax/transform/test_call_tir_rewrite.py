"""Calls that get the memory of their results."""

import numpy as np

import te_sched
from te_sched import relax
from te_sched.script import from_source
from tests.relax.transform.lowered import NAMES, after, chained, names


def test_calls_write_allocated_tensors():
    module = after(chained(1), "CallTIRRewrite")
    assert names(module["main"]) == ["alloc", "_", "lv", "alloc1", "_1", "gv"]
    assert module["main"].attrs["relax.force_pure"]
    assert type(module["main"].body.blocks[0]).__name__ == "BindingBlock"


def test_tuples_of_arguments_are_unpacked():
    module = from_source(
        """
        @I.ir_module
        class Module:
            @T.prim_func
            def add(a: T.Buffer((4,), "float32"), b: T.Buffer((4,), "float32"),
                    c: T.Buffer((4,), "float32")):
                for i in range(4):
                    with T.block("c"):
                        v = T.axis.spatial(4, i)
                        c[v] = a[v] + b[v]

            @R.function
            def main(t: R.Tuple(R.Tensor((4,), "float32"), R.Tensor((4,), "float32"))):
                c = R.call_tir(Module.add, t, out_sinfo=R.Tensor((4,), "float32"))
                return c
        """,
        NAMES,
    )
    machine = relax.VirtualMachine(relax.build(module, "llvm"), te_sched.cpu())
    x = np.arange(4, dtype="float32")
    assert machine["main"]((x, x)).numpy().tolist() == [0, 2, 4, 6]
