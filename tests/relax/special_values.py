"""The facts of operators about special values, as a table: what is compared with torch and ONNX.

Each row is an expression of torch, or a node of ONNX, of vectors x and y of special values, a
matrix m whose rows have NaN in several places, infinities alone, and ties, vectors i of infinity
and n of minus infinity, and w of one number. `tests/relax/test_special_values.py` runs all rows.
"""

from __future__ import annotations

import math

NAN, INF = math.nan, math.inf
X = (
    *(1.0, NAN, 2.0, INF, -INF, 0.0, -0.0, 1e-8, -1e-8, "tiny", "-tiny", -1.0, 0.5, -0.5, 3.0),
    *(-7.0, 30.0, "-max", 100.0, -100.0),
)
Y = (
    *(NAN, 1.0, 0.0, INF, INF, -0.0, 0.0, 2.0, 3.0, 1.0, NAN, -2.0, 2.0, -3.0, -INF, 0.5, 1.0),
    *(2.0, -INF, 0.0),
)
M = (
    *((1, NAN, 3, 2), (NAN, 1, 2, 3), (3, 2, 1, NAN), (INF, 1, NAN, -INF), (-INF,) * 4),
    *((INF, INF, 1, 2), (0.0, -0.0, 0.0, -1), (1e-8, -1e-8, 0.5, 2), (-INF, 1, INF, 2)),
)

# NaN wherever an operand is one, else the larger or smaller.
EXTREMA = (
    *("torch.relu(x)", "F.relu6(x)", "x.clamp(-1, 1)", "x.clamp(min=0.0)", "x.clamp(max=0.5)"),
    *("torch.clamp(x, y, y + 1)", "F.hardtanh(x)", "F.hardsigmoid(x)", "F.threshold(x, 0.1, 9.0)"),
    *("torch.maximum(x, y)", "torch.minimum(x, y)", "torch.maximum(y, x)", "torch.max(x, y)"),
    *("x.amax(0)", "x.amin(0)", "m.amax(1)", "m.amin(1)", "m.amax(0)", "n.amax(0)", "i.amin(0)"),
    *("m.max(1)[0]", "m.min(0)[0]", "n.max(0)[0]", "torch.linalg.vector_norm(m, -INF, 1)"),
    *("F.max_pool1d(x[None, None], 3, 1, 1)", "F.max_pool1d(n[None, None], 3, 1, 1)"),
    *("F.max_pool2d(m[None, None], 2)", "F.adaptive_max_pool1d(x[None, None], 3)"),
)
# The first NaN, else the first of equal ones.
PLACES = (
    *("x.argmax()", "x.argmin()", "m.argmax(1)", "m.argmin(1)", "m.argmax(0)", "m.argmin(0)"),
    *("n.argmax(0)", "i.argmin(0)", "(i * 0).argmax(0)", "m.max(1)[1]", "m.min(1)[1]"),
    *("m.median(1)[0]", "x.median()", "m.median(0)[1]"),
)
# NaN is larger than all numbers.
ORDERS = (
    *("x.sort()[0]", "x.sort(stable=True)[1]", "x.sort(descending=True, stable=True)[0]"),
    *("x.sort(descending=True, stable=True)[1]", "x.topk(5)[0]", "x.topk(5, largest=False)[0]"),
    *("m.topk(2, 1)[0]", "m.kthvalue(2, 1)[0]"),
)
# NaN is left out.
OF_NUMBERS = ("torch.fmax(x, y)", "torch.fmin(x, y)", "x.nansum()", "m.nanmean(1)")
# Small values keep their digits.
SMALL = (
    *("torch.expm1(x)", "torch.log1p(x)", "F.softplus(x)", "F.softplus(x, 2.0, 5.0)"),
    *("F.logsigmoid(x)", "F.elu(x)", "F.elu(x, 0.5)", "F.selu(x)", "F.celu(x)", "F.mish(x)"),
    *("torch.erfc(x)", "torch.sinh(x)", "torch.asinh(x)", "torch.atanh(x)", "torch.tanh(x)"),
    *("torch.erf(x)", "torch.sigmoid(x)", "F.silu(x)", "F.softsign(x)", "torch.hypot(x, y)"),
)
# Infinite and undefined results of arithmetic.
ARITHMETIC = (
    *("x / 0.0", "x / -0.0", "x * 0.0", "0.0 * x", "x - x", "x / x", "x + 0.0", "x / y", "y / x"),
    *(
        "x // y",
        "x % y",
        "x // (w * 0.2)",
        "x % (w * 0.2)",
        "x // 0.0",
        "x % 0.0",
        "torch.fmod(x, y)",
    ),
    *("torch.fmod(x, 0.0)", "torch.pow(x, 0.5)", "torch.pow(x, -0.5)", "torch.pow(x, 0)"),
    *("torch.pow(x, y)", "torch.pow(1.0, x)", "torch.rsqrt(x)", "torch.reciprocal(x)"),
    *("torch.log(x)", "torch.sqrt(x)", "torch.atan2(x, y)", "torch.xlogy(x, y)"),
    *(
        "torch.sign(x)",
        "torch.copysign(x, torch.nan_to_num(y))",
        "torch.trunc(x)",
        "torch.round(x)",
    ),
    *("F.leaky_relu(x)", "F.prelu(x, w)", "F.prelu(x, w * INF)", "F.hardswish(x)"),
    *("F.softshrink(x)", "F.hardshrink(x)", "torch.nan_to_num(x, 1.0)"),
)
# Comparisons with NaN are false, but !=.
CONDITIONS = (
    *("x == y", "x != y", "x < y", "x <= y", "x > y", "x >= y", "torch.where(x > y, x, y)"),
    *(
        "torch.isnan(x)",
        "torch.isinf(x)",
        "torch.isfinite(x)",
        "torch.signbit(torch.nan_to_num(x))",
        "m.any(1)",
    ),
    *("torch.isclose(x, y, equal_nan=True)", "torch.logical_and(x, y)", "torch.logical_not(x)"),
)
# Of rows of NaN, of infinities, and of numbers.
SUMS = (
    *("m.softmax(1)", "m.log_softmax(1)", "n.softmax(0)", "n.log_softmax(0)", "m.logsumexp(1)"),
    *("i.logsumexp(0)", "n.logsumexp(0)", "m.sum(1)", "m.mean(1)", "m.prod(1)", "m.std(1)"),
    *(
        "m.var(1, unbiased=False)",
        "m.var(1, correction=4)",
        "m.cumsum(1)",
        "m.cumprod(1)",
        "m.norm(2, 1)",
    ),
    *("F.layer_norm(m, (4,))", "F.normalize(m, dim=1)", "torch.linalg.vector_norm(m, INF, 1)"),
)
TORCH = {
    **{"extrema": EXTREMA, "places": PLACES, "orders": ORDERS, "of numbers": OF_NUMBERS},
    **{"small": SMALL, "arithmetic": ARITHMETIC, "conditions": CONDITIONS, "sums": SUMS},
}

# Operator, names of inputs, attributes.
ONNX: tuple[tuple[str, str, dict[str, object]], ...] = (
    *[(kind, "x", {}) for kind in ("Relu", "Elu", "Selu", "HardSigmoid", "HardSwish", "Softplus")],
    *[(kind, "x", {}) for kind in ("LeakyRelu", "Sign", "Softsign", "Abs", "Neg", "Floor", "Ceil")],
    *[(kind, "x", {}) for kind in ("Exp", "Log", "Sqrt", "Reciprocal", "Sigmoid", "Tanh", "Erf")],
    *[(kind, "x", {}) for kind in ("IsNaN", "IsInf", "Round", "ThresholdedRelu", "Celu")],
    *[(kind, "x y", {}) for kind in ("Max", "Min", "Div", "Pow", "Mul", "Sub", "PRelu")],
    *[(kind, "x y", {}) for kind in ("Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual")],
    *[(kind, "y x", {}) for kind in ("Max", "Min", "Div", "PRelu")],
    ("PRelu", "x w", {}),
    ("Elu", "x", {"alpha": 2.0}),
    ("Clip", "x low high", {}),
    ("Mod", "x y", {"fmod": 1}),
    *[(f"Reduce{kind}", "m ones", {}) for kind in ("Max", "Min", "Sum", "Mean", "L1", "L2")],
    *[(f"Reduce{kind}", "m ones", {}) for kind in ("LogSumExp", "SumSquare", "Prod", "LogSum")],
    *[
        (f"Reduce{kind}", "m none", {"noop_with_empty_axes": 1})
        for kind in ("SumSquare", "LogSum", "L1", "L2", "LogSumExp", "Sum", "Mean", "Max", "Min")
    ],
    ("ReduceMax", "empty ones", {}),
    ("ReduceMin", "empty ones", {}),
    ("ReduceSum", "empty ones", {}),
    ("ReduceLogSumExp", "n zeros", {}),
    ("ReduceLogSumExp", "i zeros", {}),
    *[("ArgMax", "m", {"axis": axis, "keepdims": 0}) for axis in (0, 1)],
    *[("ArgMin", "m", {"axis": axis, "keepdims": 0}) for axis in (0, 1)],
    ("Softmax", "m", {"axis": 1}),
    ("LogSoftmax", "m", {"axis": 1}),
    ("CumSum", "m one", {}),
    ("Where", "holds x y", {}),
)
