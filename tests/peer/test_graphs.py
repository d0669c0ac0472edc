"""Graphs beside live TVM: texts that once differed, and a small campaign of random graphs.

`python -m tests.peer.graphs --count 2000 --seed 1` is the long campaign.
"""

from __future__ import annotations

import collections
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tvm")

import tvm.script
from tvm import relax as their_relax
from tvm.script import ir as their_ir
from tvm.script import relax as their_words
from tvm.script import tir as their_tir

from te_sched import relax, script
from tests.peer.graphs.campaign import compare, plain
from tests.peer.graphs.passes import ALL
from tests.sampling import IS_CAMPAIGN

VECTORS = 'x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32"), c: R.Tensor((), "bool")'
WORDS = {"I": their_ir, "R": their_words, "T": their_tir}
HELPER = """
    @R.function(private=True)
    def helper(a: R.Tensor((4,), "float32"), b: R.Tensor((4,), "float32")) -> R.Tensor((4,)):
        unused = R.exp(a)
        r = R.exp(b)
        return r
"""
LOOPS = """
    @T.prim_func(private=True)
    def loops(X: T.handle, Y: T.handle, m: T.int64):
        n = T.int64()
        x = T.match_buffer(X, (n,))
        y = T.match_buffer(Y, (n,))
        for i in range(n):
            with T.block("y"):
                v = T.axis.spatial(n, i)
                y[v] = x[v] + T.Cast("float32", m)
"""


def module(body: str, signature: str = VECTORS, others: str = "") -> str:
    """A module with a function "main" of some lines."""
    lines = "\n".join("        " + one for one in body.strip().splitlines())
    return (
        f"@I.ir_module\nclass Module:{others}\n    @R.function\n    def main({signature}):\n{lines}"
    )


UNUSED = """
a = R.add(x, y)
b = a
unused = R.exp(a)
return b
"""
SEVERAL_BLOCKS = """
with R.dataflow():
    a = R.add(x, x)
    R.output(a)
unused = R.exp(x)
with R.dataflow():
    b = R.add(a, x)
    R.output(b)
return b
"""
TUPLES = """
f = R.split(x, 2)
g = f[0]
h = (f, g)
i = h[0]
j = i[1]
k = R.exp(j)
l = R.match_cast(k, R.Tensor)
m = R.exp(l)
return (x, m)
"""
CALLS = """
cls = Module
a = cls.helper(x, y)
unused = cls.helper(y, a)
return a
"""
CONSTANTS = """
s = R.shape([2, 2])
with R.dataflow():
    a = R.full_like(x, R.const(2.0, "float32"))
    b = R.eye(2, 2, 0, "float32")
    d = R.broadcast_to(R.const(1.5, "float32"), s)
    e = R.arange(0, 3, 1, "float32")
    R.output(a, b, d, e)
return (a, b, d, e)
"""
ALIAS_OF_OUTPUT = """
with R.dataflow():
    a = R.exp(x)
    b = a
    d = R.exp(a)
    R.output(a, b, d)
return (b, d)
"""
SYMBOLIC = """
n = T.int64()
cls = Module
a = R.call_tir(cls.loops, (x,), out_sinfo=R.Tensor((n,), "float32"), tir_vars=R.shape([n]))
return (a, x)
"""
BATCH_NORM = """
b = R.nn.batch_norm(x, g, g, g, g, axis=1)
return b
"""
NORMALIZED = 'x: R.Tensor((2, 3, 4, 4), "float32"), g: R.Tensor((3,), "float32")'
SHAPE = """
s = R.shape([4])
z = R.zeros(s, "float32")
a = R.add(z, x)
m = R.max(z, axis=[0])
e = R.exp(z)
u = R.const(3, "uint8")
return (z, a, m, e, u)
"""
WEIGHTS = """
R.func_attr({"num_input": 1})
a = R.add(y, y)
b = R.add(x, a)
return b
"""
EQUAL_VALUES = """
a = R.exp(x)
b = R.exp(x)
d = b
return (a, d)
"""
PRODUCT = """
a = R.matmul(x, y)
b = R.matmul(y, y)
return (a, b)
"""
MATRICES = 'x: R.Tensor((2, 1, 4, 4), "float32"), y: R.Tensor((1, 4, 4), "float32")'
ZERO_DIMENSIONS = """
a = R.bitwise_or(x, x)
b = R.add(a, x)
d = R.abs(y)
e = R.sign(y)
return (b, d, e)
"""
AXES = """
with R.dataflow():
    a = R.permute_dims(x)
    b = R.max(x, axis=[-1, 0], keepdims=True)
    d = R.nn.layer_norm(x, g, g, axes=[-1])
    R.output(a, b, d)
return (a, b, d)
"""
TEXTS = [
    ("ReorderTakeAfterMatmul", module(UNUSED)),
    ("AdjustMatmulOrder", module(SEVERAL_BLOCKS)),
    ("DeadCodeElimination", module(SEVERAL_BLOCKS)),
    ("KillAfterLastUse", module(TUPLES)),
    ("KillAfterLastUse", module(SEVERAL_BLOCKS)),
    ("RemoveUnusedParameters", module(CALLS, others=HELPER)),
    ("InlinePrivateFunctions", module(CALLS, others=HELPER)),
    ("FuseTIR", module(CALLS, others=HELPER)),
    ("SplitLayoutRewritePreproc", module(UNUSED)),
    ("FoldConstant", module(CONSTANTS)),
    ("CanonicalizeBindings", module(ALIAS_OF_OUTPUT)),
    ("EliminateCommonSubexpr", module(EQUAL_VALUES)),
    ("LegalizeOps", module(ZERO_DIMENSIONS, 'x: R.Tensor((), "int32"), y: R.Tensor((4,), "int8")')),
    ("InlinePrivateFunctions", module(UNUSED)),
    ("ConvertLayout", module(AXES, MATRICES + ', g: R.Tensor((4,), "float32")')),
    ("BundleModelParams", module(WEIGHTS)),
    ("DecomposeOpsForTraining", module(BATCH_NORM, NORMALIZED)),
    ("DecomposeOpsForInference", module(BATCH_NORM, NORMALIZED)),
    ("LegalizeOps", module(PRODUCT, MATRICES)),
    ("LegalizeOps", module("return R.shape_to_tensor(R.shape([2, 3]))")),
    ("Normalize", module(SHAPE)),
    ("VMShapeLower", module("return (x, y)", 'x: R.Tensor(("n",)), y: R.Tensor(())')),
    (
        "LegalizeOps CallTIRRewrite StaticPlanBlockMemory LowerAllocTensor",
        module("cls = Module\na = R.exp(x)\nb = cls.helper(a, y)\nreturn R.exp(b)", others=HELPER),
    ),
    (
        "CallTIRRewrite LowerAllocTensor LowerRuntimeBuiltin",
        module(SYMBOLIC, 'x: R.Tensor(("n",), "float32")', LOOPS),
    ),
    (
        "LegalizeOps CallTIRRewrite LowerAllocTensor LowerRuntimeBuiltin VMShapeLower",
        module("a = R.exp(x)\nreturn (a, x)", 'x: R.Tensor(("n",), "float32")'),
    ),
]


def names_of(transform: Any, passes: str) -> list[str]:
    """What passes print, which has the names of those in a sequence."""
    return [str(getattr(transform, one)()).split("optimization")[1] for one in passes.split()]


@pytest.mark.parametrize(("passes", "source"), TEXTS)
def test_texts_are_those_of_tvm(passes: str, source: str) -> None:
    theirs = tvm.script.from_source(source, WORDS)
    ours = script.from_source(source)
    assert plain(ours.script()) == plain(theirs.script())
    for name in passes.split():
        theirs = ALL[name](their_relax)(theirs)
        ours = ALL[name](relax)(ours)
        assert plain(ours.script()) == plain(theirs.script())


SEQUENCES = "FuseTIR DecomposeOpsForTraining ExpandTupleArguments AttachAttrLayoutFreeBuffers"


def test_sequences_of_passes_have_the_names_of_tvm() -> None:
    assert names_of(relax.transform, SEQUENCES) == names_of(their_relax.transform, SEQUENCES)


@pytest.mark.parametrize("value", [np.ones(2), np.ones(2, "int64"), np.float64(3), [1.5], 3])
def test_dtypes_of_constants_are_those_of_tvm(value: Any) -> None:
    assert relax.const(value).data.dtype == their_relax.const(value).data.dtype


def test_small_campaign() -> None:
    totals: collections.Counter[str] = collections.Counter()
    for seed in range(1, 200 if IS_CAMPAIGN else 3):
        totals += compare(seed).counts
    assert totals["results, the same"] == totals["results"] > 0
    assert totals["text, the same"] == totals["text"] > 0
