"""Graphs of which patterns of libraries match parts."""

from te_sched import relax
from te_sched.relax.dpl import is_op, wildcard

INFO = relax.TensorStructInfo([4], "float32")


EXP = is_op("relax.exp")(wildcard())


def built(write):
    x = relax.Var("x", INFO)
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        with builder.dataflow():
            output = builder.emit_output(write(builder, x))
        builder.emit_func_output(output)
    return builder.get()


def exp_sin(builder, x):
    return relax.op.sin(builder.emit(relax.op.exp(x)))
