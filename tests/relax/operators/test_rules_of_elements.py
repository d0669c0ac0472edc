"""Every operator with a legalization rule, built in one module and compared with numpy."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from te_sched import nd, relax, tir
from te_sched.relax import op

RNG = np.random.default_rng(0)
N = tir.Var("n", "int64")
ARRAYS: dict[str, Any] = {
    "x": RNG.uniform(-2, 2, (3, 4)).astype("float32"),
    "y": RNG.uniform(0.5, 2, (3, 4)).astype("float32"),
    "row": RNG.uniform(-2, 2, (4,)).astype("float32"),
    "unit": RNG.uniform(-0.9, 0.9, (3, 4)).astype("float32"),
    "cube": RNG.uniform(-2, 2, (2, 3, 4)).astype("float32"),
    "odd": np.array([[1.5, np.inf, np.nan, -np.inf]], "float32"),
    "i": RNG.integers(-9, 9, (3, 4)).astype("int32"),
    "j": RNG.integers(1, 5, (4,)).astype("int32"),
    "b": RNG.integers(0, 2, (3, 4)).astype("bool"),
    "c": RNG.integers(0, 2, (4,)).astype("bool"),
    "places": np.array([2, 0, 1], "int64"),
    "scalar": np.array(2.5, "float32"),
    "s": np.array([0.5, 0.25, 2.0, 1.0], "float32"),
    "z": np.array([1, 0, -3, 5], "int8"),
    "q": RNG.integers(-128, 127, (3, 4)).astype("int8"),
    "prob": np.array([[0.1, 0.2, 0.7], [0.5, 0.25, 0.25]], "float32"),
    "uniform": np.array([[0.05], [0.3], [0.99], [0.6]], "float32"),
    "picks": np.array([[0], [0], [1], [1]], "int64"),
    "image": RNG.uniform(0, 1, (1, 2, 4, 4)).astype("float32"),
    "ties": np.array([[1, 3, 3, 0], [2, 2, 1, 2]], "float32"),
    "begin": np.array([2, -3], "int64"),
    "end": np.array([-4, 9], "int64"),
    "strides": np.array([-1, 2], "int64"),
    "w": RNG.uniform(-2, 2, (5,)).astype("float32"),  # of size n
}
Case = tuple[str, Callable[..., Any], Callable[..., Any]]
_erf = np.vectorize(math.erf)


def _unary(name: str, given: str = "x", reference: Any = None) -> Case:
    return (
        f"{name} {given}",
        lambda v: getattr(op, name)(v[given]),
        lambda v: (reference or getattr(np, name))(v[given]),
    )


def _binary(name: str, one: str, other: str, reference: Any) -> Case:
    return (
        f"{name} {one} {other}",
        lambda v: getattr(op, name)(v[one], v[other]),
        lambda v: reference(v[one], v[other]),
    )


def _reduction(name: str, reference: Any = None) -> list[Case]:
    func = reference or getattr(np, name)
    return [
        (
            f"{name} {axis} {keepdims}",
            lambda v, axis=axis, keepdims=keepdims: getattr(op, name)(v["cube"], axis, keepdims),
            lambda v, axis=axis, keepdims=keepdims: func(v["cube"], axis=axis, keepdims=keepdims),
        )
        for axis, keepdims in [(None, False), (1, True), ((0, 2), False), ((), False)]
    ]


def _same(name: str, build: Any, reference: Any) -> Case:
    return name, build, reference


def _quantized(v: Any) -> Any:
    scaled = np.round(v["x"] / v["s"]) + v["z"].astype("float32")
    return np.clip(scaled, -128, 127).astype("int8")


def _first_above(v: Any) -> Any:
    sums = np.cumsum(v["prob"], 1)[v["picks"][:, 0]]
    return np.minimum((sums <= v["uniform"]).sum(1, keepdims=True), 2).astype("int64")


def _sorted_down(x: Any, axis: int) -> Any:
    return -np.sort(-x, axis=axis)


def _order_down(x: Any) -> Any:
    return np.argsort(-x, axis=-1, kind="stable")


CASES: list[Case] = [
    *[
        _unary(name)
        for name in [
            "abs",
            "ceil",
            "cos",
            "exp",
            "floor",
            "negative",
            "sign",
            "sin",
            "square",
            "tan",
        ]
    ],
    *[_unary(name) for name in ["cosh", "sinh", "tanh"]],
    *[_unary(name, "y") for name in ["log", "sqrt"]],
    *[
        _unary(name, "unit", getattr(np, f"arc{name[1:]}"))
        for name in ["acos", "asin", "atan", "atanh"]
    ],
    *[_unary(name, "odd") for name in ["isfinite", "isinf", "isnan"]],
    *[
        _unary(name, "i")
        for name in ["abs", "ceil", "floor", "negative", "round", "sign", "square", "bitwise_not"]
    ],
    _unary("asinh", "x", np.arcsinh),
    _same("acosh", lambda v: op.acosh(v["y"] + relax.const(1.0)), lambda v: np.arccosh(v["y"] + 1)),
    _unary("erf", "x", _erf),
    _unary("round", "x", np.round),
    _unary("rsqrt", "y", lambda x: 1 / np.sqrt(x)),
    _unary("sigmoid", "x", lambda x: 1 / (1 + np.exp(-x))),
    _unary("logical_not", "b"),
    _same("clip", lambda v: op.clip(v["x"], -1, 0.5), lambda v: np.clip(v["x"], -1, 0.5)),
    *[
        _binary(name, "x", "row", getattr(np, name))
        for name in ["add", "subtract", "multiply", "divide", "maximum", "minimum", "floor_divide"]
    ],
    *[
        _binary(name, "i", "j", getattr(np, name))
        for name in [
            "floor_divide",
            "left_shift",
            "right_shift",
            "bitwise_and",
            "bitwise_or",
            "bitwise_xor",
        ]
    ],
    *[
        _binary(name, "ties", "row", getattr(np, name))
        for name in ["equal", "not_equal", "greater", "greater_equal", "less", "less_equal"]
    ],
    *[
        _binary(f"logical_{name}", "b", "c", getattr(np, f"logical_{name}"))
        for name in ("and", "or", "xor")
    ],
    _binary("power", "y", "row", np.power),
    _binary("floor_mod", "i", "j", np.mod),
    _binary("mod", "i", "j", np.fmod),
    _binary("floor_mod", "x", "y", np.mod),
    _same("add number", lambda v: v["x"] + relax.const(2.0), lambda v: v["x"] + 2),
    _same("number subtract", lambda v: relax.const(2.0) - v["x"], lambda v: 2 - v["x"]),
    _same(
        "ewise_fma",
        lambda v: op.ewise_fma(v["x"], v["y"], v["x"]),
        lambda v: v["x"] * v["y"] + v["x"],
    ),
    _same(
        "where",
        lambda v: op.where(v["c"], v["x"], v["row"]),
        lambda v: np.where(v["c"], v["x"], v["row"]),
    ),
    _same(
        "masked_fill",
        lambda v: op.masked_fill(v["x"], v["b"], 7.0),
        lambda v: np.where(v["b"], np.float32(7), v["x"]),
    ),
    _same(
        "full",
        lambda v: op.full((2, N), v["scalar"], "int32"),
        lambda v: np.full((2, 5), 2, "int32"),
    ),
    _same(
        "full number", lambda v: op.full((2,), 3, "float32"), lambda v: np.full((2,), 3, "float32")
    ),
    _same(
        "full_like",
        lambda v: op.full_like(v["i"], v["scalar"]),
        lambda v: np.full_like(v["i"], 2),
    ),
    _same("ones", lambda v: op.ones((N, 2), "int8"), lambda v: np.ones((5, 2), "int8")),
    _same("zeros", lambda v: op.zeros((3,), "float32"), lambda v: np.zeros((3,), "float32")),
    _same("ones_like", lambda v: op.ones_like(v["i"]), lambda v: np.ones_like(v["i"])),
    _same(
        "zeros_like",
        lambda v: op.zeros_like(v["i"], "float32"),
        lambda v: np.zeros((3, 4), "float32"),
    ),
    _same("arange", lambda v: op.arange(1, 10, 3), lambda v: np.arange(1, 10, 3)),
    _same("arange down", lambda v: op.arange(5, 0, -2), lambda v: np.arange(5, 0, -2)),
    _same("arange n", lambda v: op.arange(1, N, 2), lambda v: np.arange(1, 5, 2)),
    _same("arange n down", lambda v: op.arange(N, 0, -2), lambda v: np.arange(5, 0, -2)),
    _same(
        "arange of reals",
        lambda v: op.arange(0, 2, 0.5),
        lambda v: np.arange(0, 2, 0.5, "float32"),
    ),
    _same("eye", lambda v: op.eye(3, N, 1, "int32"), lambda v: np.eye(3, 5, 1, "int32")),
    _same("eye_like", lambda v: op.eye_like(v["x"], -1), lambda v: np.eye(3, 4, -1, "float32")),
    _same("tril", lambda v: op.tril(v["cube"], 1), lambda v: np.tril(v["cube"], 1)),
    _same("triu", lambda v: op.triu(v["cube"], -1), lambda v: np.triu(v["cube"], -1)),
    _same("astype", lambda v: op.astype(v["x"], "int32"), lambda v: v["x"].astype("int32")),
    _same(
        "astype number",
        lambda v: op.astype(relax.const(1.5), "int32"),
        lambda v: np.array(1, "int32"),
    ),
    *[case for name in ["max", "min", "sum", "prod", "mean", "std"] for case in _reduction(name)],
    *_reduction("variance", np.var),
    *[
        _same(
            f"{name} {axis} {exclusive}",
            lambda v, name=name, axis=axis, e=exclusive: getattr(op, name)(
                v["cube"], axis, None, e
            ),
            lambda v, name=name, axis=axis, e=exclusive: _scan(name, v["cube"], axis, e),
        )
        for name in ("cumsum", "cumprod")
        for axis, exclusive in [(1, False), (None, False), (2, True)]
    ],
    _same("sort", lambda v: op.sort(v["cube"], 1), lambda v: np.sort(v["cube"], 1)),
    _same("sort down", lambda v: op.sort(v["x"], 0, True), lambda v: _sorted_down(v["x"], 0)),
    _same(
        "argsort",
        lambda v: op.argsort(v["x"], -1, True),
        lambda v: _order_down(v["x"]).astype("int32"),
    ),
    _same(
        "topk",
        lambda v: relax.TupleGetItem(op.topk(v["x"], 2), 0),
        lambda v: _sorted_down(v["x"], 1)[:, :2],
    ),
    _same(
        "topk indices",
        lambda v: op.topk(v["x"], 9, 1, "indices", False, "int64"),
        lambda v: np.argsort(v["x"], axis=1),
    ),
    _same("argmax", lambda v: op.argmax(v["ties"], 1), lambda v: v["ties"].argmax(1)),
    _same("argmin", lambda v: op.argmin(v["ties"]), lambda v: v["ties"].argmin()),
    _same(
        "argmin kept",
        lambda v: op.argmin(v["cube"], 1, True),
        lambda v: v["cube"].argmin(1, keepdims=True),
    ),
    _same(
        "take", lambda v: op.take(v["cube"], v["places"], 1), lambda v: v["cube"][:, v["places"]]
    ),
    _same(
        "take of a row", lambda v: op.take(v["row"], v["places"]), lambda v: v["row"][v["places"]]
    ),
    _same(
        "take number",
        lambda v: op.take(v["cube"], relax.PrimValue(2), -1),
        lambda v: v["cube"][:, :, 2],
    ),
    _same("take size", lambda v: op.take(v["w"], relax.PrimValue(N - 1), 0), lambda v: v["w"][4]),
    _same(
        "strided_slice",
        lambda v: op.strided_slice(v["cube"], [1, -1], [2, -3], [0, 4], [-1, 2]),
        lambda v: v["cube"][:, 2:0:-1, -3:4:2],
    ),
    *[
        _same(
            f"strided_slice of n {bounds}",
            lambda v, bounds=bounds: op.strided_slice(v["w"], [0], *[[one] for one in bounds]),
            lambda v, bounds=bounds: v["w"][slice(*[5 if one is N else one for one in bounds])],
        )
        for bounds in [
            *((1, 3), (0, N, 2), (-3, N), (-2, -1), (4, 1), (3, 99), (99, 0, -2), (-99, 2)),
            *((10, -10, -1), (-1, 0, -1), (N, 9), (1, 1 << 62)),
        ]
    ],
    _same(
        "dynamic_strided_slice",
        lambda v: op.dynamic_strided_slice(v["x"], v["begin"], v["end"], v["strides"]),
        lambda v: v["x"][2:-4:-1, -3:9:2],
    ),
    _same(
        "multinomial_from_uniform",
        lambda v: op.multinomial_from_uniform(v["prob"], v["uniform"], v["picks"]),
        _first_above,
    ),
    _same("quantize", lambda v: op.quantize(v["x"], v["s"], v["z"]), _quantized),
    _same(
        "quantize number",
        lambda v: op.quantize(v["x"], relax.const(0.1), relax.const(3, "int8"), 0, "uint8"),
        lambda v: np.clip(np.round(v["x"] / np.float32(0.1)) + 3, 0, 255).astype("uint8"),
    ),
    _same(
        "dequantize",
        lambda v: op.dequantize(v["q"], v["s"], v["z"]),
        lambda v: (v["q"].astype("int32") - v["z"]) * v["s"],
    ),
    _same(
        "dequantize float16",
        lambda v: op.dequantize(v["q"], v["s"], v["z"], -1, "float16"),
        lambda v: ((v["q"].astype("int32") - v["z"]) * v["s"]).astype("float16"),
    ),
    _same(
        "resize2d nearest",
        lambda v: op.image.resize2d(
            v["image"],
            (8, 8),
            method="nearest_neighbor",
            coordinate_transformation_mode="asymmetric",
        ),
        lambda v: v["image"].repeat(2, 2).repeat(2, 3),
    ),
    _same(
        "resize2d same",
        lambda v: op.image.resize2d(v["image"], (4, 4), method="linear"),
        lambda v: v["image"],
    ),
    _same("unique", lambda v: op.unique(v["ties"]), lambda v: np.unique(v["ties"])),
    _same(
        "unique counts",
        lambda v: relax.TupleGetItem(op.unique(v["ties"], True, False, False, True), 1),
        lambda v: np.unique(v["ties"], return_counts=True)[1],
    ),
    _same("nonzero", lambda v: op.nonzero(v["ties"]), lambda v: np.array(np.nonzero(v["ties"]))),
]


def _scan(name: str, x: Any, axis: int | None, is_exclusive: bool) -> Any:
    found = getattr(np, name)(x, axis=axis)
    if not is_exclusive:
        return found
    first = np.full_like(x[..., :1], 0 if name == "cumsum" else 1)
    return np.concatenate([first, found[..., :-1]], axis=-1)


@pytest.fixture(scope="module")
def results() -> dict[str, Any]:
    """The result of each case, from one executable."""
    variables = {
        name: relax.Var(
            name,
            relax.TensorStructInfo([N] if name == "w" else list(array.shape), str(array.dtype)),
        )
        for name, array in ARRAYS.items()
    }
    builder = relax.BlockBuilder()
    with builder.function("main", list(variables.values())):
        values = [builder.emit(build(variables)) for _, build, _ in CASES]
        builder.emit_func_output(relax.Tuple(tuple(values)))
    machine = relax.VirtualMachine(relax.build(builder.get(), "llvm -opt-level=0"), nd.cpu())
    found = machine["main"](*[nd.array(array) for array in ARRAYS.values()])
    return {name: one.numpy() for (name, _, _), one in zip(CASES, found, strict=True)}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_operator_equals_numpy(results: dict[str, Any], case: Case) -> None:
    name, _, reference = case
    expected = np.asarray(reference(ARRAYS))
    assert results[name].shape == expected.shape
    np.testing.assert_allclose(results[name], expected, rtol=2e-5, atol=1e-6)


def test_every_rule_of_these_operators_is_run() -> None:
    """The table has all operators of the modules that it is about."""
    modules = (
        *("binary", "creation", "slicing", "quantization", "sampling", "searching", "sets"),
        *("sorting", "reductions", "ternary", "unary"),
    )
    names = {
        name
        for name in dir(op)
        if getattr(getattr(op, name), "__module__", "").rpartition(".")[2] in modules
        and getattr(getattr(op, name), "__module__", "").startswith("te_sched.relax.operators.")
    }
    assert names - {case[0].split()[0] for case in CASES} == {"wrap_param"}
