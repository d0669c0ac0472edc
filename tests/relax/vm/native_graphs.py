"""Graphs whose functions are native."""

import numpy as np

import te_sched
from te_sched import relax

CPU = te_sched.cpu()


MATRIX = relax.TensorStructInfo([4, 8], "float32")


def built(write, *infos):
    """The executable and machine of a function that `write(builder, *params)` writes."""
    builder = relax.BlockBuilder()
    params = [relax.Var(name, info) for name, info in zip("xyz", infos, strict=False)]
    with builder.function("main", params):
        with builder.dataflow():
            result = write(builder, *params)
        builder.emit_func_output(result)
    executable = relax.build(builder.get(), "llvm", pipeline="default_build")
    return executable, relax.VirtualMachine(executable, CPU)


def chain(builder, x):
    values = np.arange(8, dtype="float32")
    for _ in range(4):
        x = builder.emit(relax.op.exp(relax.op.nn.softmax(x)))
        x = builder.emit(relax.op.add(x, relax.const(values)))
    return builder.emit_output(x)
