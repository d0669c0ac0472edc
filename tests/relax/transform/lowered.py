"""Graphs that are lowered step by step."""

from te_sched import relax
from te_sched.relax import transform
from te_sched.script import ir as I
from te_sched.script import relax as R
from te_sched.script import tir as T

INFO = relax.TensorStructInfo([4], "float32")


NAMES = {"I": I, "R": R, "T": T}


STEPS = (
    *("LegalizeOps", "RewriteDataflowReshape", "ToNonDataflow", "RemovePurityChecking"),
    *("CallTIRRewrite", "StaticPlanBlockMemory", "LowerAllocTensor", "KillAfterLastUse"),
    *("LowerRuntimeBuiltin", "VMShapeLower", "AttachGlobalSymbol"),
)


def after(module, last):
    """The module after the passes up to one."""
    for name in STEPS[: STEPS.index(last) + 1]:
        module = getattr(transform, name)()(module)
    return module


def names(func):
    return [one.var.name_hint for block in func.body.blocks for one in block.bindings]


def chained(count=4):
    x = relax.Var("x", INFO)
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        with builder.dataflow():
            value = x
            for _ in range(count):
                value = builder.emit(relax.op.exp(value))
            out = builder.emit_output(relax.op.exp(value))
        builder.emit_func_output(out)
    return builder.get()
