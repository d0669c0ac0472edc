"""What the inference of operators shares: checks of arguments, broadcasting, dtypes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from te_sched import relax, tir
from te_sched.errors import GraphError, GraphTypeError
from te_sched.ir import VDevice
from te_sched.relax.operators import inference
from te_sched.relax.operators.registry import make_call
from tests.relax.operator_tables import (
    UNKNOWN,
    M,
    N,
    number,
    of_rank,
    shape,
    tensor,
    text_of,
    unknown,
)

LLVM, CUDA = VDevice("llvm"), VDevice("cuda")
BUILDER = relax.BlockBuilder()


def call_of(*args: Any) -> Any:
    """A call of an operator, of which nothing is inferred."""
    return make_call("relax.add", args)


def broadcast(*args: Any) -> str:
    """The tensor to which values are broadcast."""
    infos = [arg.struct_info for arg in args]
    return str(inference.broadcast(call_of(*args), BUILDER, infos, "float32"))


BROADCAST: list[tuple[tuple[Any, ...], str]] = [
    ((tensor(1, 3), tensor(2, 1)), text_of("2, 3")),
    ((tensor(M, 1), tensor(N)), text_of("m, n")),
    ((tensor(N), tensor(1, N)), text_of("1, n")),
    ((tensor(2, 3), tensor()), text_of("2, 3")),
    ((tensor(0), tensor(1)), text_of("0,")),
    ((tensor(N), tensor(M)), of_rank(1)),  # one of them may be 1
    ((unknown(2), tensor(1, 2, 3)), of_rank(3)),
    ((unknown(), tensor(3)), UNKNOWN),
    ((tensor(3), number()), text_of("3,")),
    ((tensor(1), tensor(3), tensor(2, 1)), text_of("2, 3")),
]


@pytest.mark.parametrize(("args", "text"), BROADCAST)
def test_broadcasting(args: tuple[Any, ...], text: str) -> None:
    assert broadcast(*args) == text


@pytest.mark.parametrize("sizes", [(3, 4), (0, 2)])
def test_sizes_that_never_fit_are_refused(sizes: tuple[Any, Any]) -> None:
    with pytest.raises(GraphError, match=r"of relax\.add do not fit.*\n.*\n?.*none of them is 1"):
        broadcast(*[tensor(size) for size in sizes])


def dtype_of(*dtypes: str) -> str:
    """The dtype that tensors share."""
    args = [tensor(2, dtype=dtype) for dtype in dtypes]
    infos = [arg.struct_info for arg in args]
    return inference.common_dtype(call_of(*args), infos)


def test_a_dtype_is_shared_or_not_known() -> None:
    assert dtype_of("int8", "int8") == "int8"
    assert dtype_of("int8", "") == dtype_of("", "") == ""
    with pytest.raises(GraphTypeError, match="have dtypes int8, float32"):
        dtype_of("int8", "float32")


def test_the_advice_for_numbers_has_the_dtype_of_the_tensor() -> None:
    args = (tensor(2, dtype="int8"), relax.const(1.5))
    error = inference.different_dtypes(call_of(*args), [arg.struct_info for arg in args])
    assert error.help == 'give the number this dtype: relax.const(1.5, "int8")'


def test_a_device_is_that_of_the_tensors_that_have_one() -> None:
    infos = [tensor(2, device=device).struct_info for device in (None, CUDA, None, CUDA)]
    infos.append(tensor(2, device=VDevice("cuda")).struct_info)  # another one that is equal
    assert inference.common_vdevice(call_of(), infos) is CUDA
    assert inference.common_vdevice(call_of(), infos[:1]) is None
    with pytest.raises(GraphTypeError, match=r"are on devices .*cuda.* and .*llvm"):
        inference.common_vdevice(call_of(), [*infos, tensor(2, device=LLVM).struct_info])


def test_a_shape_that_is_a_variable_has_the_sizes_of_the_variable() -> None:
    info = relax.TensorStructInfo(shape(2, N), "float32")
    assert inference.shape_of(info) is None
    assert str(inference.with_sizes(info)) == text_of("2, n")
    assert str(inference.with_sizes(tensor(2, N).struct_info)) == text_of("2, n")


FLOAT, INT, SHAPE = tensor(2), tensor(2, dtype="int8"), shape(2)
CHECKS: list[tuple[Callable[[Any, int], Any], tuple[Any, ...], str]] = [
    (inference.tensor_of, (number(), SHAPE), "a tensor"),
    (inference.operand_of, (SHAPE,), "a tensor or a number"),
    (inference.check_floats, (INT, tensor(2, dtype="bool")), "a tensor of floating-point numbers"),
    (inference.check_indices, (FLOAT, tensor(2, dtype="bool")), "a tensor of integers"),
]


@pytest.mark.parametrize(("check", "arguments", "expected"), CHECKS)
def test_checks_of_an_argument(check: Any, arguments: tuple[Any, ...], expected: str) -> None:
    right = INT if check is inference.check_indices else FLOAT
    check(call_of(right), 0)
    check(call_of(unknown(dtype="")), 0)
    for argument in arguments:
        call = call_of(right, argument)
        with pytest.raises(
            GraphTypeError, match=rf"argument 1 of relax\.add .*expected {expected}"
        ):
            check(call, 1)


def test_a_new_tensor_has_a_shape_and_a_dtype() -> None:
    dtype = relax.DataTypeImm("int8")
    assert str(inference.allocated(call_of(), shape(2, N), dtype)) == text_of("2, n", "int8")
    assert str(inference.allocated(call_of(), shape(ndim=3), dtype)) == of_rank(3, "int8")
    with pytest.raises(GraphError, match=r"the shape of relax\.add is R\.Tensor"):
        inference.allocated(call_of(), tensor(2), dtype)
    with pytest.raises(GraphTypeError, match=r"the dtype of relax\.add is 'int8'"):
        inference.allocated(call_of(), shape(2), "int8")


def test_numbers_of_attributes() -> None:
    assert inference.as_int(np.int64(3), "axis") == inference.as_int(tir.const(3), "axis") == 3
    assert inference.as_float(2, "alpha") == 2.0
    for value in (2.5, "2", N, None):
        with pytest.raises(GraphTypeError, match="axis is "):
            inference.as_int(value, "axis")
    with pytest.raises(GraphTypeError, match="alpha is '2'"):
        inference.as_float("2", "alpha")


def test_a_tensor_like_another_one() -> None:
    info = tensor(2, N, device=CUDA).struct_info
    same = inference.like(info, "int8")
    assert (same.shape, same.dtype, same.vdevice) == (info.shape, "int8", CUDA)
    assert str(inference.like(unknown(3).struct_info)) == of_rank(3)
