"""How kernels access the array arguments of a host function: writes, wide accesses.

A wide access needs an address that is a multiple of its bytes. Must not know devices.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from te_sched.ir import dtypes
from te_sched.ir.expr import BufferLoad, Call, Expr, IntImm, Ramp, StringImm, Var
from te_sched.ir.kernel import LAUNCH
from te_sched.ir.stmt import BufferStore, IRModule, PrimFunc
from te_sched.ir.visitor import walk

_WIDEST = 16  # bytes of the widest load
_FRAGMENT = 32  # bytes: what addresses of the tensor cores' matrices are multiples of
_FRAGMENTS = ("tir.tvm_load_matrix_sync", "tir.tvm_store_matrix_sync")
# Calls that only read what their pointers point to; others may write.
_READING = ("tir.tvm_load_matrix_sync", "tir.ptx_ldmatrix")

_POINTERS = ("tir.address_of", "tir.tvm_access_ptr")  # these do nothing by themselves


@dataclass(slots=True)
class Use:
    """The accesses through a pointer."""

    alignment: int = 1
    written: bool = False


def uses_of_arguments(program: IRModule, name: str) -> dict[Var, Use]:
    """What kernels do with the memory behind each pointer of a host's function."""
    uses: dict[Var, Use] = {}
    for node in walk(program[name].body):
        if isinstance(node, Call) and node.op == LAUNCH and isinstance(node.args[0], StringImm):
            kernel = program[node.args[0].value]
            inside = _uses_in(kernel)
            for param, given in zip(kernel.params, node.args[1:], strict=False):
                if isinstance(given, Var) and param in inside:
                    use, more = uses.setdefault(given, Use()), inside[param]
                    use.alignment = max(use.alignment, more.alignment)
                    use.written |= more.written
    return uses


def alignments_of_arguments(program: IRModule, name: str) -> dict[int, int]:
    """The required alignment of each argument, by its number."""
    func, uses = program[name], uses_of_arguments(program, name)
    buffers = [func.buffer_map.get(param) for param in func.params]
    return {
        number: uses[buffer.data].alignment
        for number, buffer in enumerate(buffers)
        if buffer is not None and buffer.data in uses
    }


def _uses_in(kernel: PrimFunc) -> dict[Var, Use]:
    uses = {param: Use() for param in kernel.params if param.dtype == "handle"}
    for pointer, alignment, written in _accesses(kernel):
        if pointer in uses:
            use = uses[pointer]
            use.alignment = max(use.alignment, alignment)
            use.written |= written
    return uses


def _accesses(kernel: PrimFunc) -> Iterator[tuple[Var, int, bool]]:
    for node in walk(kernel.body):
        if isinstance(node, BufferLoad | BufferStore):
            yield node.buffer.data, _bytes_at_once(node), isinstance(node, BufferStore)
        elif isinstance(node, Call) and node.op not in _POINTERS:
            alignment = _FRAGMENT if node.op in _FRAGMENTS else 1
            for pointer in _pointers_among(node.args):
                yield pointer, alignment, node.op not in _READING


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
