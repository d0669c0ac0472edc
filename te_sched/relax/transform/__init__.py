"""Passes over graphs, with TVM's names: `relax.transform.FuseOps()(module)`.

A pass stands in a module of its own, which is loaded at its first use; the table lists them.
`function_pass`, `dataflowblock_pass` and `te_sched.transform.module_pass` make passes of functions
and classes of a user.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.errors import GraphTypeError
from te_sched.passes import checked_maker
from te_sched.relax.transform.base import DataflowBlockPass as DataflowBlockPass
from te_sched.relax.transform.base import FunctionPass as FunctionPass
from te_sched.relax.transform.base import dataflowblock_pass as dataflowblock_pass
from te_sched.relax.transform.base import function_pass as function_pass

# The passes, and the module of each; those that tune are in a package above this one.
PASSES: dict[str, str] = {
    "AdjustMatmulOrder": "adjust_matmul_order",
    "AllocateWorkspace": "allocate_workspace",
    "AlterOpImpl": "alter_op_impl",
    "AnnotateTIROpPattern": "annotate_tir_op_pattern",
    "AttachAttrLayoutFreeBuffers": "attach_attr_layout_free_buffers",
    "AttachGlobalSymbol": "attach_global_symbol",
    "BindParams": "bind_params",
    "BindSymbolicVars": "bind_symbolic_vars",
    "BundleModelParams": "bundle_model_params",
    "CallTIRRewrite": "call_tir_rewrite",
    "CanonicalizeBindings": "canonicalize_bindings",
    "CombineParallelMatmul": "combine_parallel_matmul",
    "ComputePrimValue": "compute_prim_value",
    "ConvertLayout": "convert_layout",
    "ConvertToDataflow": "convert_to_dataflow",
    "DataflowUseInplaceCalls": "dataflow_inplace",
    "DeadCodeElimination": "dead_code_elimination",
    "DecomposeOpsForInference": "decompose_ops",
    "DecomposeOpsForTraining": "decompose_ops",
    "EliminateCommonSubexpr": "eliminate_common_subexpr",
    "ExpandMatmulOfSum": "expand_matmul_of_sum",
    "ExpandTupleArguments": "expand_tuple_args",
    "FastMathTransform": "fast_math_transform",
    "FewShotTuning": "te_sched.meta_schedule.graph_tuning_passes",
    "FoldBatchnormToConv2D": "fold_batch_norm_to_conv2d",
    "FoldConstant": "fold_constant",
    "FuseOps": "fuse_ops",
    "FuseOpsByPattern": "fuse_ops_by_pattern",
    "FuseTIR": "fuse_tir",
    "FuseTransposeMatmul": "fuse_transpose_matmul",
    "FusionPattern": "fuse_ops_by_pattern",
    "InlinePrivateFunctions": "inline_private_functions",
    "KillAfterLastUse": "kill_after_last_use",
    "LambdaLift": "lambda_lift",
    "LegalizeOps": "legalize_ops",
    "LiftTransformParams": "lift_transform_params",
    "LowerAllocTensor": "lower_alloc_tensor",
    "LowerRuntimeBuiltin": "lower_runtime_builtin",
    "MergeCompositeFunctions": "merge_composite_functions",
    "MetaScheduleApplyDatabase": "te_sched.meta_schedule.graph_passes",
    "MetaScheduleTuneIRMod": "te_sched.meta_schedule.graph_tuning_passes",
    "MetaScheduleTuneTIR": "te_sched.meta_schedule.graph_tuning_passes",
    "Normalize": "normalize",
    "NormalizeGlobalVar": "normalize_global_var",
    "OptimizeLayoutTransform": "optimize_layout_transform",
    "PatternCheckContext": "fuse_ops_by_pattern",
    "QuantizeWeights": "quantize_weights",
    "RealizeVDevice": "vdevices",
    "RemovePurityChecking": "remove_purity_checking",
    "RemoveRedundantReshape": "remove_redundant_reshape",
    "RemoveUnusedOutputs": "remove_unused_outputs",
    "RemoveUnusedParameters": "remove_unused_parameters",
    "ReorderPermuteDimsAfterConcat": "reorder_permute_dims_after_concat",
    "ReorderTakeAfterMatmul": "reorder_take_after_matmul",
    "RewriteDataflowReshape": "rewrite_dataflow_reshape",
    "RunCodegen": "run_codegen",
    "SplitCallTIRByPattern": "split_call_tir_by_pattern",
    "SplitLayoutRewritePreproc": "split_layout_rewrite_preproc",
    "StaticPlanBlockMemory": "static_plan_block_memory",
    "ToMixedPrecision": "to_mixed_precision",
    "ToNonDataflow": "to_non_dataflow",
    "TopologicalSort": "topological_sort",
    "UpdateParamStructInfo": "update_param_struct_info",
    "UpdateVDevice": "vdevices",
    "VMBuiltinLower": "lower_runtime_builtin",
    "VMShapeLower": "vm_shape_lower",
}

__all__ = [
    "DataflowBlockPass",
    "FunctionPass",
    "dataflowblock_pass",
    "function_pass",
    *PASSES,
]


def __getattr__(name: str) -> Any:
    """Load the module of a pass at its first use."""
    if name not in PASSES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module_name = (
        PASSES[name] if "." in PASSES[name] else f"te_sched.relax.transform.{PASSES[name]}"
    )
    maker = checked_maker(
        getattr(import_module(module_name), name), GraphTypeError, "relax.transform."
    )
    globals()[name] = maker
    return maker


_tell_of_absent_names(__name__)
