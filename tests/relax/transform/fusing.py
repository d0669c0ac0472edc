"""Graphs that are fused, as texts."""

from te_sched import relax, topi
from te_sched.relax.transform import AnnotateTIROpPattern, FuseOps
from tests.relax.described import described_module

TENSOR = relax.TensorStructInfo([8, 8], "float32")


def built(write, *infos):
    """A module with a function of which `write(builder, *params)` writes the dataflow block."""
    params = [relax.Var(name, info) for name, info in zip("xyz", infos, strict=False)]
    builder = relax.BlockBuilder()
    with builder.function("main", params):
        with builder.dataflow():
            output = write(builder, *params)
        builder.emit_func_output(output)
    return builder.get()


def fused(write, *infos, **options):
    """The functions after FuseOps, by name."""
    return described_module(FuseOps(**options)(AnnotateTIROpPattern()(built(write, *infos))))


def chain(builder, x):
    y = builder.emit_te(topi.add, x, relax.const(1.0))
    return builder.emit_output(builder.call_te(topi.tanh, builder.emit_te(topi.exp, y)))
