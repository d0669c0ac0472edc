"""Calls of built subgraphs with tensors of torch, which give new tensors.

A function of constant shapes is native code, which is called with the addresses of tensors; others
are called as functions of a virtual machine. Must not know how subgraphs are found.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from te_sched import nd
from te_sched.errors import CallError
from te_sched.ir import dtypes
from te_sched.relax.frontend.torch.values import (
    FakeTensor,
    FxNode,
    SymbolicSize,
    TorchTensor,
    dtype_of,
)
from te_sched.relax.vm.bytecode import VmFunction
from te_sched.relax.vm.executable import Executable
from te_sched.relax.vm.machine import VirtualMachine
from te_sched.relax.vm.native import NativePlan
from te_sched.relax.vm.native_function import NativeFunction
from te_sched.runtime.ndarray import NDArray

# Of all tensors of a call its results, as a tuple or list.
TensorFunction = Callable[..., Sequence[TorchTensor]]
_ALIGNMENT = 64  # of torch's memory, and of arrays
_CPU = nd.cpu()


def subgraph_call(
    executable: Executable, inputs: Sequence[FxNode], results: Sequence[FakeTensor]
) -> TensorFunction:
    """What calls the function main of an executable with the inputs of its subgraph, and gives
    tensors with the order of strides that torch expects of its results.

    Constant inputs are not arguments of the function.
    """
    function = VirtualMachine(executable, _CPU)["main"]
    constants = executable.bytecode.constants
    kinds = [_kind(node.meta.get("val")) for node in inputs]
    call: TensorFunction | None = None
    if isinstance(function, NativeFunction) and all(kind is FakeTensor for kind in kinds):
        call = _native_call(function, constants)
    compute = call or _machine_call(function, kinds, constants)
    orders = [_order(result) for result in results]
    if not any(orders):
        return compute

    def run(*args: TorchTensor) -> Sequence[TorchTensor]:
        return [
            tensor if order is None else _reordered(tensor, order)
            for tensor, order in zip(compute(*args), orders, strict=True)
        ]

    return run


def _kind(value: object) -> type | None:
    """FakeTensor for a tensor, int for a symbolic number, None for a constant."""
    if isinstance(value, FakeTensor):
        return FakeTensor
    return int if isinstance(value, SymbolicSize) else None


def _native_call(function: NativeFunction, constants: Sequence[object]) -> TensorFunction | None:
    """Calls with addresses; None if the function gives something else than arrays."""
    import torch

    plan = function.plan
    makers = _makers(plan, constants)
    if makers is None:
        return None
    examples = [nd.empty(tuple(shape), dtype) for dtype, shape in [*plan.params, *plan.outputs]]
    bound, misaligned = function.function.bound(*examples), function.function.misaligned
    params = [(torch.Size(shape), getattr(torch, dtype)) for dtype, shape in plan.params]
    outputs = [(tuple(shape), getattr(torch, dtype)) for dtype, shape in plan.outputs]
    empty, compact = torch.empty, torch.contiguous_format
    is_plain = plan.result[1] == [["output", number] for number in range(len(outputs))]

    def run(*args: TorchTensor) -> Sequence[TorchTensor]:
        addresses, copies = [], []
        for tensor, (shape, dtype) in zip(args, params, strict=True):
            if tensor.shape != shape or tensor.dtype is not dtype:
                raise _wrong_tensor(tensor, shape, dtype)
            address = tensor.data_ptr()
            if address & misaligned or not tensor.is_contiguous():
                copies.append(tensor.clone(memory_format=compact))
                address = copies[-1].data_ptr()
            addresses.append(address)
        tensors = [empty(shape, dtype=dtype) for shape, dtype in outputs]
        bound(*addresses, *[tensor.data_ptr() for tensor in tensors])
        return tensors if is_plain else [maker(args, tensors) for maker in makers]

    return run


_Maker = Callable[[Sequence[TorchTensor], Sequence[TorchTensor]], TorchTensor]


def _makers(plan: NativePlan, constants: Sequence[object]) -> list[_Maker] | None:
    """What makes each result of the arguments and of new tensors, so that no two share memory."""
    makers: list[_Maker] = []
    taken: set[int] = set()
    for kind, number, *rest in plan.result[1]:
        if kind == "param":
            makers.append(_copied_argument(number))
        elif kind == "constant":
            makers.append(_copied_constant(_tensor(constants[number])))
        elif kind == "output" and number not in taken:
            makers.append(_new_tensor(number))
            taken.add(number)
        elif kind in ("output", "view"):
            offset, dtype, shape = rest or (0, *plan.outputs[number])
            makers.append(_part(number, offset, dtype, shape))
        else:
            return None
    return makers


def _copied_argument(number: int) -> _Maker:
    return lambda args, tensors: args[number].clone()


def _copied_constant(constant: TorchTensor) -> _Maker:
    return lambda args, tensors: constant.clone()


def _new_tensor(number: int) -> _Maker:
    return lambda args, tensors: tensors[number]


def _part(number: int, offset: int, dtype: str, shape: Sequence[int]) -> _Maker:
    """A copy of bytes of a new tensor as another one."""
    import torch

    kind = getattr(torch, dtype)
    size = math.prod(shape) * kind.itemsize

    def copy(args: Sequence[TorchTensor], tensors: Sequence[TorchTensor]) -> TorchTensor:
        memory = tensors[number].view(-1).view(torch.uint8)
        part: TorchTensor = torch.narrow_copy(memory, 0, offset, size)
        return part.view(kind).view(tuple(shape))

    return copy


def _wrong_tensor(tensor: TorchTensor, shape: Sequence[int], dtype: object) -> CallError:
    return CallError(
        f"a tensor has shape {tuple(tensor.shape)} and dtype {tensor.dtype}, "
        f"expected {tuple(shape)} and {dtype}",
        "the graph was compiled for these",
        "keep the guards of torch.compile",
    )


def _machine_call(
    function: VmFunction, inputs: Sequence[type | None], constants: Sequence[object]
) -> TensorFunction:
    """Calls of a function of a virtual machine; inputs are tensors, numbers, or None if the
    function does not take them.
    """
    kept = {array.address for array in constants if isinstance(array, NDArray)}

    def run(*args: TorchTensor) -> Sequence[TorchTensor]:
        values = [
            _array(value) if kind is FakeTensor else value
            for value, kind in zip(args, inputs, strict=True)
            if kind is not None
        ]
        taken = [_memory(value) for value in values if isinstance(value, NDArray)]
        results = []
        for array in function(*values):
            is_taken = array.address in kept or any(array.address in memory for memory in taken)
            tensor = _tensor(array)
            results.append(tensor.clone() if is_taken else tensor)
            taken.append(_memory(array))
        return results

    return run


def _memory(array: NDArray) -> range:
    """The addresses of the bytes of an array."""
    size = array.size * dtypes.storage_bytes(array.dtype)
    return range(array.address, array.address + size)


def _array(tensor: TorchTensor) -> NDArray:
    """A tensor as an array over its memory, or over a copy that is compact and aligned."""
    import torch

    tensor = tensor.detach()
    if tensor.data_ptr() % _ALIGNMENT or not tensor.is_contiguous():
        tensor = tensor.clone(memory_format=torch.contiguous_format)
    dtype = dtype_of(tensor.dtype)
    bits = tensor.view(torch.uint16) if dtype == "bfloat16" else tensor
    return NDArray(bits.numpy(), dtype, _CPU)


def _tensor(array: object) -> TorchTensor:
    """A tensor over the memory of an array."""
    import torch

    tensor: TorchTensor = torch.from_dlpack(array)
    return tensor


def _order(result: FakeTensor) -> list[int] | None:
    """The dimensions from the largest stride to the smallest; None if that is their order.

    Strides of graphs with dynamic shapes are those of the example.
    """
    strides, sizes = _hints(result.stride()), _hints(result.shape)
    if strides is None or sizes is None or 0 in sizes:
        return None
    used = [axis for axis, size in enumerate(sizes) if size != 1]
    compact = [math.prod(sizes[axis + 1 :]) for axis in used]
    if [strides[axis] for axis in used] == compact or 0 in [strides[axis] for axis in used]:
        return None
    order = sorted(range(len(sizes)), key=lambda axis: (-strides[axis], axis))
    return None if order == list(range(len(sizes))) else order


def _hints(sizes: Sequence[int]) -> list[int] | None:
    """Sizes in the example; None if one is not known."""
    hints = [size.node.hint if isinstance(size, SymbolicSize) else size for size in sizes]
    known = [hint for hint in hints if hint is not None]
    return known if len(known) == len(hints) else None


def _reordered(tensor: TorchTensor, order: Sequence[int]) -> TorchTensor:
    """A tensor of the same elements with strides of another order."""
    inverse = [order.index(axis) for axis in range(len(order))]
    return tensor.permute(order).contiguous().permute(inverse)
