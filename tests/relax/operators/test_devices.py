"""Devices of tensors."""

from __future__ import annotations

from typing import Any

import pytest

from te_sched import cuda, nd
from te_sched.errors import CallError, GraphTypeError
from te_sched.ir import VDevice
from te_sched.relax import op
from te_sched.relax.operators.registry import operator_of
from tests.relax.operator_tables import N, inferred, shape, tensor, unknown

CUDA = VDevice("cuda", 1)


@pytest.mark.parametrize("device", [nd.cuda(1), CUDA, "cuda:1"])
def test_hints_have_the_numbers_of_devices(device: Any) -> None:
    x = tensor(2)
    hint = op.hint_on_device(x, device)
    assert hint.attrs == {"dev_type": 2, "dev_id": 1}
    assert inferred(hint) is x.struct_info


@pytest.mark.parametrize("x", [tensor(2, N, dtype="int8"), unknown(3), tensor(2, device=CUDA)])
def test_a_moved_tensor_differs_in_its_device(x: Any) -> None:
    info, old = inferred(op.to_vdevice(x, VDevice("llvm"))), x.struct_info
    assert str(info.vdevice) == str(VDevice("llvm"))
    assert (info.shape, info.dtype, info.ndim) == (old.shape, old.dtype, old.ndim)


@pytest.mark.parametrize("device", [VDevice("cuda", 1), VDevice("cuda", -1), cuda(1)])
def test_copies_name_the_device_by_numbers(device: Any) -> None:
    lower = operator_of("relax.to_vdevice").lower
    assert lower is not None
    call = op.to_vdevice(tensor(2), device)
    inferred(call)
    copied = lower(call)
    number = 0 if getattr(device, "vdevice_id", 1) < 0 else 1
    assert copied.op.global_symbol == "vm.builtin.to_device"
    assert [arg.value.value for arg in copied.args[1:]] == [2, number]


def test_what_has_no_device_is_refused() -> None:
    with pytest.raises(CallError, match="unknown device 'nothing'"):
        op.hint_on_device(tensor(2), "nothing")
    for call in (op.to_vdevice(shape(2), CUDA), op.hint_on_device(shape(2), CUDA)):
        with pytest.raises(GraphTypeError, match="expected a tensor"):
            inferred(call)
