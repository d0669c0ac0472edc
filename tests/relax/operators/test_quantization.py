"""Quantization: real numbers as small integers with a scale and a zero point, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from te_sched import relax
from te_sched.errors import GraphError, GraphTypeError
from te_sched.relax import op
from te_sched.relax.operators import quantization
from tests.relax.operator_tables import (
    RNG,
    Build,
    Case,
    N,
    Results,
    floats,
    inferred,
    of_rank,
    operators_of,
    tensor,
    text_of,
    unknown,
)

ARRAYS: dict[str, Any] = {
    "x": floats(3, 4),
    "s": np.array([0.5, 0.25, 2.0, 1.0], "float32"),
    "z": np.array([1, 0, -3, 5], "int8"),
    "q": RNG.integers(-128, 127, (3, 4)).astype("int8"),
    "half": np.array([60000, -5, np.inf, 1], "float16"),
    "one": np.array(1, "float16"),
    "edges": np.array([0.5, 1.5, -0.5, 200, -np.inf], "float32"),
}


def quantized(v: Any) -> Any:
    """The values of x by a scale and a zero point for each column."""
    scaled = np.round(v["x"] / v["s"]) + v["z"].astype("float32")
    return np.clip(scaled, -128, 127).astype("int8")


CASES: dict[str, Case] = {
    "quantize": (lambda v: op.quantize(v["x"], v["s"], v["z"]), quantized),
    "quantize number": (
        lambda v: op.quantize(v["x"], relax.const(0.1), relax.const(3, "int8"), 0, "uint8"),
        lambda v: np.clip(np.round(v["x"] / np.float32(0.1)) + 3, 0, 255).astype("uint8"),
    ),
    "dequantize": (
        lambda v: op.dequantize(v["q"], v["s"], v["z"]),
        lambda v: (v["q"].astype("int32") - v["z"]) * v["s"],
    ),
    "dequantize float16": (
        lambda v: op.dequantize(v["q"], v["s"], v["z"], -1, "float16"),
        lambda v: ((v["q"].astype("int32") - v["z"]) * v["s"]).astype("float16"),
    ),
    "quantize halves and limits": (
        lambda v: op.quantize(v["edges"], relax.const(1.0), relax.const(0, "int8")),
        lambda v: np.array([0, 2, 0, 127, -128], "int8"),
    ),
    "quantize int16": (
        lambda v: op.quantize(v["edges"], relax.const(0.001), relax.const(1, "int8"), 0, "int16"),
        lambda v: np.array([501, 1501, -499, 32767, -32768], "int16"),
    ),
    "quantize uint16 of float16": (
        lambda v: op.quantize(v["half"], v["one"], relax.const(0, "int8"), 0, "uint16"),
        lambda v: np.array([60000, 0, 65535, 1], "uint16"),
    ),
    "dequantize limited": (
        lambda v: op.dequantize(v["q"], relax.const(1e4), relax.const(0, "int8"), 0, "float16"),
        lambda v: np.clip(v["q"] * 1e4, -65504, 65504).astype("float16"),
    ),
}
RESULTS = Results(ARRAYS, CASES)


@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_numpy(name: str) -> None:
    RESULTS.check(name)


def test_every_operator_is_run() -> None:
    assert RESULTS.operators() == operators_of(quantization)


INFERRED: list[tuple[Build, str]] = [
    (
        lambda: op.quantize(tensor(2, N), tensor(2), tensor(2, dtype="int8"), 0),
        text_of("2, n", "int8"),
    ),
    (
        lambda: op.dequantize(unknown(2, "int8"), tensor(), tensor(dtype="int8")),
        of_rank(2),
    ),
    (lambda: op.quantize(tensor(), tensor(), tensor(dtype="int8")), text_of("", "int8")),
]


@pytest.mark.parametrize(("build", "text"), INFERRED)
def test_inference(build: Build, text: str) -> None:
    assert str(inferred(build())) == text


REFUSED: list[tuple[Build, type[Exception], str]] = [
    (
        lambda: op.quantize(tensor(2, 3, dtype="int32"), tensor(3), tensor(3, dtype="int8")),
        GraphTypeError,
        "argument 0 of relax.quantize .*float16 or float32",
    ),
    (
        lambda: op.quantize(tensor(2, 3), tensor(3), tensor(3, dtype="int8"), 1, "int64"),
        GraphError,
        "out_dtype of relax.quantize is int64",
    ),
    (
        lambda: op.quantize(tensor(2, 3), tensor(2, 3), tensor(3, dtype="int8")),
        GraphTypeError,
        "argument 1 of relax.quantize .*a tensor of one dimension at most",
    ),
    (
        lambda: op.quantize(tensor(2, 3), tensor(2), tensor(2, dtype="int8")),
        GraphError,
        "the sizes along axis 1 of relax.quantize differ",
    ),
    (
        lambda: op.quantize(tensor(2, 3), tensor(), tensor(dtype="int8"), 2),
        GraphError,
        "axis 2 of relax.quantize is out of range",
    ),
]


@pytest.mark.parametrize(("build", "kind", "text"), REFUSED)
def test_calls_are_refused(build: Build, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        inferred(build())
