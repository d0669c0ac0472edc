"""Functions that are built and measured."""

from te_sched.script import tir as T


@T.prim_func
def double(a: T.Buffer((8,), "bfloat16"), b: T.Buffer((8,), "bfloat16")):
    for i in range(8):
        with T.block("b"):
            vi = T.axis.spatial(8, i)
            b[vi] = a[vi] + a[vi]


@T.prim_func
def triple(a: T.Buffer((8,), "bfloat16"), b: T.Buffer((8,), "bfloat16")):
    for i in range(8):
        with T.block("b"):
            vi = T.axis.spatial(8, i)
            b[vi] = a[vi] + a[vi] + a[vi]


@T.prim_func
def count(a: T.Buffer((8,), "int32"), b: T.Buffer((8,), "int32")):
    for i in range(8):
        with T.block("b"):
            vi = T.axis.spatial(8, i)
            b[vi] = a[vi] * 2


@T.prim_func
def asleep(a: T.Buffer((8,), "int32"), b: T.Buffer((8,), "int32")):
    T.evaluate(T.call_extern("int32", "sleep", 60))
    for i in range(8):
        with T.block("b"):
            vi = T.axis.spatial(8, i)
            b[vi] = a[vi] * 2
