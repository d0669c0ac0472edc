"""Products: matmul, linear and einsum."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from te_sched import nd, relax
from te_sched.errors import GraphError, GraphTypeError
from te_sched.relax import op
from te_sched.relax.operators import linear_algebra
from te_sched.relax.transform import LegalizeOps
from tests.relax.operator_tables import (
    RNG,
    UNKNOWN,
    Build,
    Case,
    M,
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
    "y": floats(3, 5),
    "row": floats(4),
    "cube": floats(2, 3, 4),
    "w": floats(3, 5),  # of sizes 3, n
    "half": floats(3, 4).astype("float16"),
}
CASES: dict[str, Case] = {
    "matmul": (
        lambda v: op.matmul(v["cube"], op.permute_dims(v["x"])),
        lambda v: v["cube"] @ v["x"].T,
    ),
    "matmul symbolic": (
        lambda v: op.matmul(op.permute_dims(v["x"]), v["w"]),
        lambda v: v["x"].T @ v["w"],
    ),
    "matmul vector": (
        lambda v: op.matmul(v["row"], op.permute_dims(v["x"])),
        lambda v: v["row"] @ v["x"].T,
    ),
    "matmul vectors": (lambda v: op.matmul(v["row"], v["row"]), lambda v: v["row"] @ v["row"]),
    "matmul float16": (
        lambda v: op.matmul(v["half"], op.permute_dims(v["half"]), "float32"),
        lambda v: v["half"].astype("float32") @ v["half"].T.astype("float32"),
    ),
    "linear": (
        lambda v: op.linear(v["cube"], v["x"], op.sum(v["x"], 1)),
        lambda v: v["cube"] @ v["x"].T + v["x"].sum(1),
    ),
    "einsum": (
        lambda v: op.einsum((v["x"], v["y"]), "ij,ik->jk"),
        lambda v: np.einsum("ij,ik->jk", v["x"], v["y"]),
    ),
}
RESULTS = Results(ARRAYS, CASES, {"w": [3, N]}, is_exact=False)


@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_numpy(name: str) -> None:
    RESULTS.check(name)


def test_every_operator_is_run() -> None:
    assert RESULTS.operators() == operators_of(linear_algebra)


INFERRED: list[tuple[Build, str]] = [
    (lambda: op.matmul(tensor(N, 4), tensor(4, M)), text_of("n, m")),
    (lambda: op.matmul(tensor(4), tensor(2, 4, M)), text_of("2, m")),
    (lambda: op.matmul(tensor(N, 2, 4), tensor(M, 4, 2)), of_rank(3)),
    (lambda: op.matmul(unknown(2), tensor(4)), of_rank(1)),
    (lambda: op.matmul(unknown(), tensor(4)), UNKNOWN),
    (lambda: op.einsum((tensor(2, N), tensor(N, 3)), "...j,jk"), text_of("2, 3")),
    (lambda: op.einsum((unknown(2), tensor(2, 3)), "ij,jk"), UNKNOWN),
]


@pytest.mark.parametrize(("build", "text"), INFERRED)
def test_inference(build: Build, text: str) -> None:
    assert str(inferred(build())) == text


REFUSED: list[tuple[Build, type[Exception], str]] = [
    (lambda: op.matmul(tensor(), tensor(2)), GraphTypeError, "at least 1 dimension"),
    (
        lambda: op.matmul(tensor(2, 3), tensor(4, 2)),
        GraphError,
        "the summed sizes of relax.matmul differ",
    ),
    (lambda: op.einsum((tensor(2, 3),), "i"), GraphError, "do not fit operands"),
    (lambda: op.einsum((tensor(2),), "i->ii"), GraphError, "a result with a letter twice"),
    (lambda: op.einsum((tensor(2),), "i->k"), GraphError, r"have a result of \['k'\]"),
]


@pytest.mark.parametrize(("build", "kind", "text"), REFUSED)
def test_calls_are_refused(build: Build, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        inferred(build())


# The shapes of matrices that do not fit, and the advice.
PRODUCTS = [
    ((4, 16), (8, 16), "transpose the second argument: relax.op.permute_dims(x)"),
    ((16, 4), (16, 8), "transpose the first argument: relax.op.permute_dims(x)"),
    ((2, 4, 16), (2, 8, 16), "relax.op.permute_dims(x, [0, 2, 1])"),
    ((16, 4), (16,), "transpose the first argument"),
    ((16,), (8, 16), "transpose the second argument"),
    ((4, 16), (8, 9), "as many rows as the first has columns"),
]


@pytest.mark.parametrize(("left", "right", "advice"), PRODUCTS)
def test_products_that_fit_transposed_say_so(left: Any, right: Any, advice: str) -> None:
    with pytest.raises(GraphError, match=r"the summed sizes of relax\.matmul differ: ") as caught:
        inferred(op.matmul(tensor(*left), tensor(*right)))
    assert advice in caught.value.help
    assert f"{left[-1]} and {right[0 if len(right) == 1 else -2]}" in caught.value.fault


# Products of signed bytes are those of unsigned and signed ones in builds, and stay exact.


def bytes_of(*shape: int) -> Any:
    """Signed bytes, also the least and the greatest one."""
    return RNG.choice([-128, -127, -1, 0, 1, 127], shape).astype("int8")


def module_of(a: Any, b: Any, is_constant: bool) -> Any:
    """The module of a product of two arrays with sums of 32 bits."""
    x, w = (relax.Var(n, relax.TensorStructInfo(v.shape, "int8")) for n, v in (("x", a), ("w", b)))
    builder = relax.BlockBuilder()
    with builder.function("main", [x] if is_constant else [x, w]):
        with builder.dataflow():
            weight = relax.const(b) if is_constant else w
            output = builder.emit_output(op.matmul(x, weight, out_dtype="int32"))
        builder.emit_func_output(output)
    return builder.get()


@pytest.mark.parametrize(
    ("shapes", "is_constant"),
    [
        (((33, 30), (30, 41)), False),
        (((2, 3, 8), (8, 16)), True),
        (((5,), (5, 4)), True),
    ],
)
def test_products_of_bytes_are_exact(shapes: Any, is_constant: bool) -> None:
    a, b = bytes_of(*shapes[0]), bytes_of(*shapes[1])
    arrays = [nd.array(a)] if is_constant else [nd.array(a), nd.array(b)]
    machine = relax.VirtualMachine(relax.build(module_of(a, b, is_constant), "llvm"))
    expected = a.astype("int32") @ b.astype("int32")
    np.testing.assert_array_equal(machine["main"](*arrays).numpy(), expected)


def test_builds_make_one_operand_unsigned() -> None:
    for shape, is_unsigned in (((33, 30), True), ((3, 30), False)):
        module = module_of(bytes_of(*shape), bytes_of(30, 41), False)
        text = LegalizeOps(to_run=True)(module).script()
        assert ("uint8" in text) == is_unsigned


def test_text_of_a_legalized_product_is_that_of_tvm() -> None:
    text = LegalizeOps()(module_of(bytes_of(33, 30), bytes_of(30, 41), False)).script()
    assert "uint8" not in text
