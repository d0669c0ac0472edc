"""The patterns of convolutions of cuDNN."""

from __future__ import annotations

from te_sched.ir.stmt import IRModule
from te_sched.relax.backend.contrib.conditions import (
    attrs_in,
    dtypes_in,
    has_leaking_intermediate_variables,
)
from te_sched.relax.backend.pattern_registry import get_patterns_with_prefix
from te_sched.relax.backend.patterns import make_conv2d_pattern
from te_sched.relax.transform.fuse_ops_by_pattern import (
    FuseOpsByPattern,
    FusionPattern,
    PatternCheckContext,
)
from te_sched.signatures import checked

_LAYOUTS = (("NHWC", "OHWI"), ("NCHW", "OIHW"))


def _check(context: PatternCheckContext) -> bool:
    """Whether cuDNN computes a convolution."""
    attrs = attrs_in(context, "root")
    operands = dtypes_in(context, "input", "weight")
    return (
        not has_leaking_intermediate_variables(context)
        and (attrs["data_layout"], attrs["kernel_layout"]) in _LAYOUTS
        and operands in ({"float16"}, {"float32"})
    )


PATTERNS = [
    FusionPattern(
        f"cudnn.conv2d.nhwc_ohwi{name}", *make_conv2d_pattern(with_bias, activation), _check
    )
    for name, with_bias, activation in (
        ("", False, None),
        ("_bias", True, None),
        ("_bias_relu", True, "relax.nn.relu"),
    )
]


@checked
def partition_for_cudnn(mod: IRModule) -> IRModule:
    """The module with functions of the convolutions that cuDNN computes, for RunCodegen."""
    patterns = get_patterns_with_prefix("cudnn")
    return FuseOpsByPattern(patterns, False, annotate_codegen=True)(mod)
