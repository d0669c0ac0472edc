"""The alignments that kernels require of the array arguments of a host function.

A wide access needs an address that is a multiple of its bytes. Must not know devices.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from te_sched.ir import dtypes
from te_sched.ir.expr import BufferLoad, Call, Expr, IntImm, Ramp, StringImm, Var
from te_sched.ir.kernel import LAUNCH
from te_sched.ir.stmt import BufferStore, IRModule, PrimFunc
from te_sched.ir.visitor import walk

_WIDEST = 16  # bytes of the widest load
_FRAGMENT = 32  # bytes: what addresses of the tensor cores' matrices are multiples of
_FRAGMENTS = ("tir.tvm_load_matrix_sync", "tir.tvm_store_matrix_sync")


def alignments_of_arguments(program: IRModule, name: str) -> dict[int, int]:
    """The required alignment of each argument that kernels access, by its number."""
    func, required = program[name], dict[Var, int]()
    for node in walk(func.body):
        if isinstance(node, Call) and node.op == LAUNCH and isinstance(node.args[0], StringImm):
            kernel = program[node.args[0].value]
            alignments = _alignments_in(kernel)
            for param, argument in zip(kernel.params, node.args[1:], strict=False):
                if isinstance(argument, Var) and param in alignments:
                    required[argument] = max(required.get(argument, 1), alignments[param])
    buffers = [func.buffer_map.get(param) for param in func.params]
    return {
        number: required[buffer.data]
        for number, buffer in enumerate(buffers)
        if buffer is not None and buffer.data in required
    }


def _alignments_in(kernel: PrimFunc) -> dict[Var, int]:
    alignments = {param: 1 for param in kernel.params if param.dtype == "handle"}
    for pointer, alignment in _accesses(kernel):
        if pointer in alignments:
            alignments[pointer] = max(alignments[pointer], alignment)
    return alignments


def _accesses(kernel: PrimFunc) -> Iterator[tuple[Var, int]]:
    for node in walk(kernel.body):
        if isinstance(node, BufferLoad | BufferStore):
            yield node.buffer.data, _bytes_at_once(node)
        elif isinstance(node, Call) and node.op in _FRAGMENTS:
            for pointer in _pointers_among(node.args):
                yield pointer, _FRAGMENT


def _pointers_among(arguments: Iterable[Expr]) -> Iterator[Var]:
    """The memory that a call reaches through its arguments."""
    for argument in arguments:
        for node in walk(argument) if argument.dtype == "handle" else ():
            if isinstance(node, BufferLoad):
                yield node.buffer.data
            elif isinstance(node, Var):
                yield node


def _bytes_at_once(node: BufferLoad | BufferStore) -> int:
    index = node.indices[-1] if node.indices else None
    lanes = dtypes.lanes(node.buffer.dtype)
    if isinstance(index, Ramp) and isinstance(index.stride, IntImm) and index.stride.value == 1:
        lanes *= index.lanes
    elif index is not None and dtypes.lanes(index.dtype) > 1:
        return 1  # elements that lie apart
    if lanes == 1:
        return 1
    size = lanes * dtypes.storage_bytes(dtypes.element(node.buffer.dtype))
    return min(size & -size, _WIDEST)
