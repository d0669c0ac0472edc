"""Values of nodes as expressions of a graph, and what is read of tensors of torch."""

from __future__ import annotations

import numpy as np
import pytest

from te_sched import relax, tir
from te_sched.errors import GraphError
from te_sched.relax.frontend.torch.values import (
    TorchSizes,
    array_of,
    as_tuples,
    constant_of,
    dtype_of,
)

torch = pytest.importorskip("torch")

X = relax.Var("x", relax.TensorStructInfo([2, 3], "float32"))
N = tir.Var("n", "int64")


def test_sizes_are_a_shape() -> None:
    assert str(as_tuples(TorchSizes([2, N]))) == "R.shape([2, n])"


def test_lists_and_dictionaries_are_tuples() -> None:
    assert str(as_tuples([X, {"a": X, "b": (X,)}])) == "(x, (x, (x,)))"


def test_numbers_are_constants_and_sizes_values() -> None:
    assert as_tuples(True).struct_info.dtype == "bool"
    assert as_tuples(1.5).data.numpy() == np.float32(1.5)
    assert str(as_tuples(N)) == "R.prim_value(n)"


def test_as_tuples_rejects_what_is_not_a_value() -> None:
    with pytest.raises(GraphError, match="None is not a value of a graph"):
        as_tuples([X, None])


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8"])
def test_arrays_of_tensors_are_copies(dtype: str) -> None:
    tensor = torch.ones(2, 3).to(getattr(torch, dtype))
    array = array_of(tensor)
    tensor.zero_()
    assert str(array.dtype) == dtype == dtype_of(tensor.dtype)
    assert array.numpy().astype("float32").sum() == 6
    assert constant_of(torch.tensor(4)).struct_info.ndim == 0
