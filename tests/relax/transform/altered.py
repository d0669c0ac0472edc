"""Calls of functions that have other implementations."""

from te_sched import relax, te


def calls(functions, sizes=(16,), count=1):
    """A module that calls functions one after the other: each of its result, or of two `count`."""
    info = relax.TensorStructInfo(sizes, "float32")
    builder = relax.BlockBuilder()
    params = [relax.Var(name, info) for name in "xy"[:count]]
    with builder.function("main", params):
        with builder.dataflow():
            values = params
            for name, function in functions:
                attrs = {"operator_name": name}
                found = builder.emit_te(function, *values, primfunc_attrs=attrs)
                values = [found, *params[1:]]
            out = builder.emit_output(relax.op.negative(found))
        builder.emit_func_output(out)
    return builder.get()


def implementation(function, *sizes):
    """The function for inputs of these sizes."""
    inputs = [te.placeholder(one, name=f"p{at}") for at, one in enumerate(sizes)]
    made = function(*inputs)
    outputs = made if isinstance(made, list) else [made]
    return te.create_prim_func([*inputs, *outputs], index_dtype_override="int64")


TILES = lambda i: (i // 4, i % 4)  # noqa: E731
