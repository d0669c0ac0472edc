"""Tensors of torch as arguments of native functions, and as arrays over their memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import nd, te
from te_sched.errors import CallError
from te_sched.runtime.torch_tensors import TensorMemory, view_of_tensor

torch = pytest.importorskip("torch")


def test_the_description_of_a_tensor() -> None:
    x = torch.arange(12, dtype=torch.int16).reshape(3, 4)[:, 1:]
    view = view_of_tensor(x)
    assert view is not None
    assert view == ("int16", (3, 3), (4, 1), True, 1, 0, x.data_ptr())
    assert view_of_tensor(torch.tensor(1.5)).shape == ()


@pytest.mark.parametrize(
    "value",
    [
        *(np.ones(2), 3, [1.0], torch.ones(0), torch.ones(2, requires_grad=True)),
        *(
            torch.nn.Parameter(torch.ones(2)),
            torch.ones(2, device="meta"),
            torch.ones(2).to_sparse(),
        ),
        *(torch.ones(2, dtype=torch.complex64), torch.tensor([1j]).conj().imag),
        torch.ones(2).to(torch.float8_e4m3fn),
    ],
    ids=str,
)
def test_other_values_have_no_description(value: Any) -> None:
    assert view_of_tensor(value) is None


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int64", "bool"])
def test_arrays_share_the_memory_of_tensors(dtype: str) -> None:
    x = torch.tensor([[0.0, 1.0], [2.0, 3.0]]).to(getattr(torch, dtype))
    for tensor in (x, x.t(), x[1], x[:, 0]):
        array = nd.from_dlpack(tensor)
        assert (array.dtype, array.shape) == (dtype, tuple(tensor.shape))
        assert array.address == tensor.data_ptr()
        np.testing.assert_array_equal(np.asarray(array, "float32"), tensor.float().numpy())
    array = nd.from_dlpack(x)
    x.zero_()
    del x
    assert not np.asarray(array, "float32").any()


def test_the_memory_of_a_tensor_is_kept() -> None:
    x = torch.ones(3)
    memory = np.asarray(TensorMemory(x, view_of_tensor(x)))
    del x
    assert memory.tolist() == [1.0, 1.0, 1.0]


def test_functions_take_tensors_and_refuse_others() -> None:
    a = te.placeholder((4,), name="A")
    b = te.compute((4,), lambda i: a[i] * 2.0, name="B")
    function = te_sched.build(te.create_schedule(b.op), [a, b], "llvm")["main"]
    x, y = torch.arange(4.0), torch.zeros(4)
    function(x, y)
    assert y.tolist() == [0.0, 2.0, 4.0, 6.0]
    with pytest.raises(CallError, match="tensors that require gradient"):
        function(torch.ones(4, requires_grad=True), y)
    with pytest.raises(CallError, match="float64, expected float32"):
        function(x.double(), y)
    with pytest.raises(CallError, match="argument A has strides"):
        function(torch.arange(8.0)[::2], y)
