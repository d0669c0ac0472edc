"""The passes that are compared: of both libraries, made from their `relax` by the same function."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

Maker = Callable[[Any], Any]


def _named(name: str, *args: Any, **options: Any) -> Maker:
    return lambda relax: getattr(relax.transform, name)(*args, **options)


def _call(dpl: Any, name: str, *args: Any) -> Any:
    return dpl.is_op(f"relax.{name}")(*args)


def _patterns(relax: Any) -> list[tuple[str, Any]]:
    """Patterns of operators for FuseOpsByPattern, the largest first."""
    dpl = relax.dpl
    some = dpl.wildcard
    product = _call(dpl, "matmul", some(), some())
    image = _call(dpl, "nn.conv2d", some(), dpl.is_const())
    return [
        ("lib.matmul_relu", _call(dpl, "nn.relu", product)),
        ("lib.matmul_add", _call(dpl, "add", _call(dpl, "matmul", some(), some()), some())),
        ("lib.conv_relu", _call(dpl, "nn.relu", image)),
        ("lib.twice", _call(dpl, "multiply", _call(dpl, "add", some(), some()), some())),
        ("lib.exp", _call(dpl, "exp", some()) | _call(dpl, "tanh", some())),
        ("lib.transposed", _call(dpl, "matmul", some(), _call(dpl, "permute_dims", some()))),
        ("lib.matmul", _call(dpl, "matmul", some(), some())),
    ]


def _by_pattern(bind: bool, annotate: bool, some: slice) -> Maker:
    return lambda relax: relax.transform.FuseOpsByPattern(
        _patterns(relax)[some], bind_constants=bind, annotate_codegen=annotate
    )


GRAPH: dict[str, Maker] = {
    "Normalize": _named("Normalize"),
    "CanonicalizeBindings": _named("CanonicalizeBindings"),
    "EliminateCommonSubexpr": _named("EliminateCommonSubexpr"),
    "EliminateCommonSubexpr calls": _named("EliminateCommonSubexpr", call_only=True),
    "DeadCodeElimination": _named("DeadCodeElimination"),
    "FoldConstant": _named("FoldConstant"),
    "LegalizeOps": _named("LegalizeOps"),
    "ConvertToDataflow": _named("ConvertToDataflow", 2),
    "ConvertToDataflow 1": _named("ConvertToDataflow", 1),
    "ToNonDataflow": _named("ToNonDataflow"),
    "LambdaLift": _named("LambdaLift"),
    "RemovePurityChecking": _named("RemovePurityChecking"),
    "TopologicalSort": _named("TopologicalSort", "depth-first", "from-inputs"),
    "TopologicalSort outputs": _named("TopologicalSort", "breadth-first", "from-outputs"),
    "InlinePrivateFunctions": _named("InlinePrivateFunctions"),
    "ExpandTupleArguments": _named("ExpandTupleArguments"),
    "RemoveUnusedParameters": _named("RemoveUnusedParameters"),
    "RemoveUnusedOutputs": _named("RemoveUnusedOutputs"),
    "DecomposeOpsForInference": _named("DecomposeOpsForInference"),
    "DecomposeOpsForTraining": _named("DecomposeOpsForTraining"),
    "ReorderTakeAfterMatmul": _named("ReorderTakeAfterMatmul"),
    "ReorderPermuteDimsAfterConcat": _named("ReorderPermuteDimsAfterConcat"),
    "AdjustMatmulOrder": _named("AdjustMatmulOrder"),
    "ExpandMatmulOfSum": _named("ExpandMatmulOfSum"),
    "CombineParallelMatmul": _named("CombineParallelMatmul"),
    "FuseTransposeMatmul": _named("FuseTransposeMatmul"),
    "RemoveRedundantReshape": _named("RemoveRedundantReshape"),
    "FastMathTransform": _named("FastMathTransform"),
    "ToMixedPrecision": _named("ToMixedPrecision"),
    "ToMixedPrecision 16": _named("ToMixedPrecision", "float16"),
    "ConvertLayout": _named("ConvertLayout", {"relax.nn.conv2d": ["NHWC", "OHWI"]}),
    "BindParams": _named("BindParams", "main", {}),
    "BindSymbolicVars": _named("BindSymbolicVars", {"n": 5}),
    "LiftTransformParams": _named("LiftTransformParams"),
    "BundleModelParams": _named("BundleModelParams"),
    "DataflowUseInplaceCalls": lambda relax: relax.transform.DataflowUseInplaceCalls(),
    "NormalizeGlobalVar": _named("NormalizeGlobalVar"),
    "AttachGlobalSymbol": _named("AttachGlobalSymbol"),
    "AnnotateTIROpPattern": _named("AnnotateTIROpPattern"),
    "FuseOps": _named("FuseOps"),
    "FuseOpsByPattern": _by_pattern(False, False, slice(None)),
    "FuseOpsByPattern bound": _by_pattern(True, True, slice(0, 4)),
    "FuseOpsByPattern few": _by_pattern(False, False, slice(3, 7)),
    "ComputePrimValue": _named("ComputePrimValue"),
    "RewriteDataflowReshape": _named("RewriteDataflowReshape"),
    "CallTIRRewrite": _named("CallTIRRewrite"),
    "AttachAttrLayoutFreeBuffers": _named("AttachAttrLayoutFreeBuffers"),
    "SplitLayoutRewritePreproc": _named("SplitLayoutRewritePreproc"),
}

# Those after which the function "main" takes and gives the same.
KEEPING = [
    "Normalize",
    "CanonicalizeBindings",
    "EliminateCommonSubexpr",
    "EliminateCommonSubexpr calls",
    "DeadCodeElimination",
    "FoldConstant",
    "ConvertToDataflow",
    "ConvertToDataflow 1",
    "ToNonDataflow",
    "LambdaLift",
    "TopologicalSort",
    "TopologicalSort outputs",
    "InlinePrivateFunctions",
    "ExpandTupleArguments",
    "RemoveUnusedParameters",
    "RemoveUnusedOutputs",
    "DecomposeOpsForInference",
    "ReorderTakeAfterMatmul",
    "ReorderPermuteDimsAfterConcat",
    "AdjustMatmulOrder",
    "ExpandMatmulOfSum",
    "CombineParallelMatmul",
    "FuseTransposeMatmul",
    "RemoveRedundantReshape",
    "ConvertLayout",
    "LegalizeOps",
    "NormalizeGlobalVar",
    "FuseOpsByPattern few",
    "FuseOpsByPattern",
]
ZERO = ["LegalizeOps", "AnnotateTIROpPattern", "FoldConstant", "FuseOps", "FuseTIR"]
LAST = [
    "RewriteDataflowReshape",
    "ToNonDataflow",
    "RemovePurityChecking",
    "CallTIRRewrite",
    "StaticPlanBlockMemory",
    "LowerAllocTensor",
    "KillAfterLastUse",
    "LowerRuntimeBuiltin",
    "ComputePrimValue",
    "VMShapeLower",
    "AttachGlobalSymbol",
]
ALL: dict[str, Maker] = {**{one: _named(one) for one in [*ZERO, *LAST]}, **GRAPH}


def chain(rng: random.Random) -> tuple[list[str], list[str]]:
    """Passes that keep what "main" computes, and those that lower the module."""
    early = ["DecomposeOpsForInference"]
    early += [rng.choice(KEEPING) for _ in range(rng.randint(1, 5))]
    return early, [*(ZERO if rng.random() < 0.7 else ["LegalizeOps"]), *LAST]
