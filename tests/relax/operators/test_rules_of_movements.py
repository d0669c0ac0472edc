"""Operators that move elements, and products: built in one module and compared with numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from te_sched import relax, tir
from te_sched.relax import op
from tests.relax.machine import Case, run_cases

RNG = np.random.default_rng(0)
N = tir.Var("n", "int64")
ARRAYS: dict[str, Any] = {
    "x": RNG.uniform(-2, 2, (3, 4)).astype("float32"),
    "y": RNG.uniform(-2, 2, (3, 5)).astype("float32"),
    "row": RNG.uniform(-2, 2, (4,)).astype("float32"),
    "ones": RNG.uniform(-2, 2, (1, 3, 1, 4)).astype("float32"),
    "cube": RNG.uniform(-2, 2, (2, 3, 4)).astype("float32"),
    "k": np.array([[0, 2, -1, 1], [1, 0, 2, -2]], "int64"),
    "rows": np.array([[0, 2, 1, 1], [1, 0, 2, 0]], "int64"),
    "pairs": np.array([[0, 1], [2, 3]], "int64"),
    "inner": np.array([[[1], [0]], [[2], [2]]], "int64"),
    "points": np.array([[2], [0]], "int64"),
    "u": RNG.uniform(-2, 2, (2, 4)).astype("float32"),
    "w": RNG.uniform(-2, 2, (3, 5)).astype("float32"),  # of sizes 3, n
    "half": RNG.uniform(-2, 2, (3, 4)).astype("float16"),
}


def _scattered(data: Any, indices: Any, updates: Any, combine: Any) -> Any:
    out = data.copy()
    for i, j in np.ndindex(*indices.shape):
        at = (indices[i, j], j)
        out[at] = combine(out[at], updates[i, j])
    return out


def _updated(data: Any, points: Any, updates: Any) -> Any:
    out = data.copy()
    out[points[:, 0]] = updates
    return out


CASES: list[Case] = [
    (
        "broadcast_to",
        lambda v: op.broadcast_to(v["row"], (2, 3, 4)),
        lambda v: np.broadcast_to(v["row"], (2, 3, 4)),
    ),
    (
        "concat",
        lambda v: op.concat([v["x"], v["y"], v["w"]], 1),
        lambda v: np.concatenate([v["x"], v["y"], v["w"]], 1),
    ),
    (
        "concat flat",
        lambda v: op.concat([v["row"], v["row"]], None),
        lambda v: np.concatenate([v["row"], v["row"]]),
    ),
    ("expand_dims", lambda v: op.expand_dims(v["x"], [-1, 1]), lambda v: v["x"][:, None, :, None]),
    ("flatten", lambda v: op.flatten(v["cube"]), lambda v: v["cube"].ravel()),
    ("reshape", lambda v: op.reshape(v["cube"], (0, -1)), lambda v: v["cube"].reshape(2, 12)),
    ("squeeze", lambda v: op.squeeze(v["ones"]), lambda v: v["ones"].squeeze()),
    ("squeeze axis", lambda v: op.squeeze(v["ones"], 2), lambda v: v["ones"].squeeze(2)),
    ("permute_dims", lambda v: op.permute_dims(v["w"]), lambda v: v["w"].T),
    (
        "permute_dims axes",
        lambda v: op.permute_dims(v["cube"], [1, -1, 0]),
        lambda v: v["cube"].transpose(1, 2, 0),
    ),
    ("split", lambda v: op.split(v["x"], 2, 1), lambda v: np.split(v["x"], 2, 1)),
    ("split places", lambda v: op.split(v["x"], [1, 3], 1), lambda v: np.split(v["x"], [1, 3], 1)),
    (
        "split symbolic",
        lambda v: op.split(op.concat([v["w"], v["w"]], 1), 2, 1),
        lambda v: [v["w"], v["w"]],
    ),
    ("split one", lambda v: op.split(v["x"], [], 1), lambda v: [v["x"]]),
    ("repeat", lambda v: op.repeat(v["x"], 2), lambda v: np.repeat(v["x"], 2)),
    ("repeat axis", lambda v: op.repeat(v["w"], 3, 1), lambda v: np.repeat(v["w"], 3, 1)),
    ("tile", lambda v: op.tile(v["x"], (2, 1, 3)), lambda v: np.tile(v["x"], (2, 1, 3))),
    ("flip", lambda v: op.flip(v["x"], 1), lambda v: v["x"][:, ::-1]),
    (
        "collapse_sum_to",
        lambda v: op.collapse_sum_to(v["cube"], (3, 1)),
        lambda v: v["cube"].sum((0, 2))[:, None],
    ),
    (
        "collapse_sum_like",
        lambda v: op.collapse_sum_like(v["cube"], v["row"]),
        lambda v: v["cube"].sum((0, 1)),
    ),
    (
        "gather_elements",
        lambda v: op.gather_elements(v["x"], v["rows"], 0),
        lambda v: np.take_along_axis(v["x"], v["rows"], 0),
    ),
    ("gather_nd", lambda v: op.gather_nd(v["x"], v["pairs"]), lambda v: v["x"][[0, 2], [1, 3]]),
    (
        "gather_nd batches",
        lambda v: op.gather_nd(v["cube"], v["inner"], 1),
        lambda v: np.stack([v["cube"][b][v["inner"][b, :, 0]] for b in range(2)]),
    ),
    (
        "scatter_elements",
        lambda v: op.scatter_elements(v["x"], v["k"], v["u"]),
        lambda v: _scattered(v["x"], v["k"], v["u"], lambda a, b: b),
    ),
    (
        "scatter_elements add",
        lambda v: op.scatter_elements(v["x"], v["k"], v["u"], 0, "add"),
        lambda v: _scattered(v["x"], v["k"], v["u"], lambda a, b: a + b),
    ),
    (
        "scatter_nd",
        lambda v: op.scatter_nd(v["x"], v["points"], v["u"]),
        lambda v: _updated(v["x"], v["points"], v["u"]),
    ),
    (
        "one_hot",
        lambda v: op.one_hot(v["pairs"], relax.PrimValue(2.0), relax.PrimValue(-1.0), 4, 1),
        lambda v: np.where(np.arange(4)[:, None] == v["pairs"][:, None], 2.0, -1.0),
    ),
    (
        "layout_transform",
        lambda v: op.layout_transform(v["x"], lambda i, j: (j // 2, i, j % 2)),
        lambda v: v["x"].reshape(3, 2, 2).transpose(1, 0, 2),
    ),
    (
        "layout_transform pad",
        lambda v: op.layout_transform(v["x"], lambda i, j: (i, j // 3, j % 3), 7.0),
        lambda v: np.pad(v["x"], ((0, 0), (0, 2)), constant_values=7).reshape(3, 2, 3),
    ),
    (
        "layout_transform pad of zeros",
        lambda v: op.layout_transform(v["x"], lambda i, j: (i, j // 3, j % 3)),
        lambda v: np.pad(v["x"], ((0, 0), (0, 2))).reshape(3, 2, 3),
    ),
    (
        "matmul",
        lambda v: op.matmul(v["cube"], op.permute_dims(v["x"])),
        lambda v: v["cube"] @ v["x"].T,
    ),
    (
        "matmul symbolic",
        lambda v: op.matmul(op.permute_dims(v["x"]), v["w"]),
        lambda v: v["x"].T @ v["w"],
    ),
    (
        "matmul vector",
        lambda v: op.matmul(v["row"], op.permute_dims(v["x"])),
        lambda v: v["row"] @ v["x"].T,
    ),
    ("matmul vectors", lambda v: op.matmul(v["row"], v["row"]), lambda v: v["row"] @ v["row"]),
    (
        "matmul float16",
        lambda v: op.matmul(v["half"], op.permute_dims(v["half"]), "float32"),
        lambda v: v["half"].astype("float32") @ v["half"].T.astype("float32"),
    ),
    (
        "linear",
        lambda v: op.linear(v["cube"], v["x"], op.sum(v["x"], 1)),
        lambda v: v["cube"] @ v["x"].T + v["x"].sum(1),
    ),
    (
        "einsum",
        lambda v: op.einsum((v["x"], v["y"]), "ij,ik->jk"),
        lambda v: np.einsum("ij,ik->jk", v["x"], v["y"]),
    ),
]


@pytest.fixture(scope="module")
def results() -> dict[str, Any]:
    return run_cases(CASES, ARRAYS, {"w": [3, N]})


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_operator_equals_numpy(results: dict[str, Any], case: Case) -> None:
    name, _, reference = case
    expected = reference(ARRAYS)
    for one, other in zip(_list(results[name]), _list(expected), strict=True):
        assert one.shape == other.shape
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-6)


def _list(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


def test_every_operator_is_run() -> None:
    """The table has all operators of the modules that it is about."""
    families = ("gathering", "joining", "linear_algebra", "reshaping")
    modules = [f"te_sched.relax.operators.{family}" for family in families]
    names = {name for name in dir(op) if getattr(getattr(op, name), "__module__", "") in modules}
    names -= {"take"}  # in the table of `test_rules_of_elements.py`
    assert names == {case[0].split()[0] for case in CASES}
