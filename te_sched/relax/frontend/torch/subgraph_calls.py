"""Calls of built subgraphs with tensors of torch, which give new tensors.

A function of constant shapes is native code, which is called with the addresses of tensors; others
are called as functions of a virtual machine. Must not know how subgraphs are found.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from te_sched import nd
from te_sched.errors import CallError
from te_sched.relax.frontend.torch.values import (
    FakeTensor,
    FxNode,
    SymbolicSize,
    TorchTensor,
    dtype_of,
)
from te_sched.relax.vm.executable import Executable
from te_sched.relax.vm.interpreter import InterpretedFunction
from te_sched.relax.vm.machine import VirtualMachine
from te_sched.relax.vm.native import NativePlan
from te_sched.relax.vm.native_function import NativeFunction
from te_sched.relax.vm.recorded_calls import RecordedCall, RecordedResult, record
from te_sched.runtime.ndarray import NDArray, memory_of

# Of all tensors of a call its results, as a tuple or list.
TensorFunction = Callable[..., Sequence[TorchTensor]]
_ALIGNMENT = 64  # of torch's memory, and of arrays
_MOST_RECORDS = 64  # of combinations of sizes
_CPU = nd.cpu()


def subgraph_call(
    executable: Executable, inputs: Sequence[FxNode], results: Sequence[FakeTensor]
) -> TensorFunction:
    """What calls the function main of an executable with the inputs of its subgraph, and gives
    tensors with the order of strides that torch expects of its results.

    Constant inputs are not arguments of the function.
    """
    machine = VirtualMachine(executable, _CPU)
    function = machine["main"]
    constants = executable.bytecode.constants
    kinds = [_kind(node.meta.get("val")) for node in inputs]
    call: TensorFunction | None = None
    if isinstance(function, NativeFunction) and all(kind is FakeTensor for kind in kinds):
        call = _native_call(function, constants)
    compute = call or _MachineCall(machine.interpreted("main"), kinds, constants)
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


class _MachineCall:
    """Calls of a function of a virtual machine, recorded for each combination of sizes.

    `inputs` are tensors, numbers, or None if the function does not take them.
    """

    def __init__(
        self,
        function: InterpretedFunction,
        inputs: Sequence[type | None],
        constants: Sequence[object],
    ) -> None:
        self.function, self.constants = function, constants
        self.used = [number for number, kind in enumerate(inputs) if kind is not None]
        self.kept = [memory_of(array) for array in constants if isinstance(array, NDArray)]
        self.repeated: dict[tuple[object, ...], Callable[..., list[TorchTensor]] | None] = {}

    def __call__(self, *args: TorchTensor) -> Sequence[TorchTensor]:
        """The results, as new tensors."""
        values: list[TorchTensor] = []
        key: list[object] = []
        for number in self.used:
            value = args[number]
            if isinstance(value, int):
                key.append(value)
            else:
                if value.data_ptr() % _ALIGNMENT or not value.is_contiguous():
                    value = _compact(value)
                key += (value.shape, value.dtype)
            values.append(value)
        sizes = tuple(key)
        repeated = self.repeated.get(sizes)
        return self._first(sizes, values) if repeated is None else repeated(values)

    def _first(self, key: tuple[object, ...], values: list[TorchTensor]) -> list[TorchTensor]:
        """The results of a call of the interpreter, which is recorded if its sizes are new."""
        if key in self.repeated or len(self.repeated) >= _MOST_RECORDS:
            return self._separate(self.function(*map(_array, values)), values)
        copies = [value if isinstance(value, int) else value.clone() for value in values]
        arrays = [_array(value) for value in copies]
        results, recorded = record(self.function, arrays, self.constants)
        self.repeated[key] = None if recorded is None else _repeating(recorded)
        return self._separate(results, copies)

    def _separate(self, results: object, args: Sequence[TorchTensor]) -> list[TorchTensor]:
        """Arrays as tensors that share no memory with another one."""
        arrays = [_array(arg) for arg in args if not isinstance(arg, int)]
        taken = [*self.kept, *[memory_of(value) for value in arrays if isinstance(value, NDArray)]]
        tensors: list[TorchTensor] = []
        for array in results if isinstance(results, tuple) else ():
            is_taken = any(array.address in memory for memory in taken)
            tensors.append(_tensor(array).clone() if is_taken else _tensor(array))
            taken.append(memory_of(array))
        return tensors


def _repeating(recorded: RecordedCall) -> Callable[..., list[TorchTensor]]:
    """What repeats a recorded call with other tensors of the same sizes."""
    import torch

    makers = [_result_maker(result) for result in recorded.results]
    empty, byte, size = torch.empty, torch.uint8, recorded.arena

    def run(values: Sequence[TorchTensor]) -> list[TorchTensor]:
        arena = empty(size, dtype=byte)
        results = [make() for make in makers]
        params = [value if isinstance(value, int) else value.data_ptr() for value in values]
        outputs = [tensor.data_ptr() for tensor in results]
        recorded.kernels.run([*params, *outputs, arena.data_ptr(), 0])
        return results

    return run


def _result_maker(result: RecordedResult) -> Callable[[], TorchTensor]:
    """What makes a tensor with the bytes that a call needs there."""
    import torch

    kind, shape, size = getattr(torch, result.dtype), result.shape, result.size
    empty = torch.empty
    own = math.prod(shape) * kind.itemsize
    if own >= size:
        return lambda: empty(shape, dtype=kind)
    return lambda: empty(size, dtype=torch.uint8)[:own].view(kind).view(shape)


def _array(value: TorchTensor | int) -> NDArray | int:
    """A compact tensor as an array over its memory; a number is itself."""
    import torch

    if isinstance(value, int):
        return value
    dtype = dtype_of(value.dtype)
    bits = value.view(torch.uint16) if dtype == "bfloat16" else value
    return NDArray(bits.detach().numpy(), dtype, _CPU)


def _compact(tensor: TorchTensor) -> TorchTensor:
    """A copy of a tensor that is aligned and has the strides of its shape."""
    import torch

    return tensor.clone(memory_format=torch.contiguous_format)


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
    known_hints = [hint for hint in hints if hint is not None]
    return known_hints if len(known_hints) == len(hints) else None


def _reordered(tensor: TorchTensor, order: Sequence[int]) -> TorchTensor:
    """A tensor of the same elements with strides of another order."""
    inverse = [order.index(axis) for axis in range(len(order))]
    return tensor.permute(order).contiguous().permute(inverse)
