"""Functions with weights, and running a function of a module."""

from te_sched import relax


def run(module, *given, name="main"):
    return relax.VirtualMachine(relax.build(module, "llvm"))[name](*given)


def weights_of(name, *, count=2, size=4):
    infos = [relax.TensorStructInfo([size, size], "float32") for _ in range(count)]
    x = relax.Var("x", relax.TensorStructInfo([size, size], "float32"))
    weights = [relax.Var(f"w{place}", info) for place, info in enumerate(infos)]
    builder = relax.BlockBuilder()
    with builder.function(name, [x, *weights], {"num_input": 1}):
        with builder.dataflow():
            y = x
            for one in weights:
                y = builder.emit(relax.op.matmul(y, relax.op.permute_dims(one)))
            gv = builder.emit_output(y)
        builder.emit_func_output(gv)
    return builder.get()
