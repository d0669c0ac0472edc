"""The memory that the tensors of a module need, before and after memory is planned."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from te_sched.ir import dtypes
from te_sched.ir.expr import Expr
from te_sched.ir.graph import GraphCall, GraphFunction
from te_sched.ir.stmt import IRModule
from te_sched.ir.struct_info import ShapeExpr
from te_sched.relax.analysis.variables import nodes_of
from te_sched.relax.core.sizes import constant_sizes


@dataclass
class _Memory:
    """Counts and bytes of allocations: of all tensors, and of those that remain after planning."""

    tensors: int = 0
    tensor_bytes: int = 0
    dynamic: int = 0
    planned: int = 0
    planned_bytes: int = 0


def estimate_memory_usage(mod: IRModule | GraphFunction) -> str:
    """A report of the allocations of each function of graphs.

    It counts `builtin.alloc_tensor`, and after planning `memory.alloc_storage` and
    `memory.alloc_tensor`.

    >>> from te_sched import IRModule
    >>> print(estimate_memory_usage(IRModule()))
    Memory usage estimation:
    <BLANKLINE>
    """
    module = IRModule({"foo": mod}) if isinstance(mod, GraphFunction) else mod
    texts = [
        _report(str(name), _memory_of(func))
        for name, func in sorted(module.functions.items())
        if isinstance(func, GraphFunction)
    ]
    return "Memory usage estimation:\n" + "".join(texts)


def _memory_of(func: GraphFunction) -> _Memory:
    memory = _Memory()
    for call in nodes_of(func):
        if not isinstance(call, GraphCall):
            continue
        name = str(call.op)
        if name == "relax.memory.alloc_storage":
            memory.planned += 1
            memory.planned_bytes += _bytes(call.args[0].values, "uint8") or 0
        elif name == "relax.builtin.alloc_tensor":
            _count(memory, call.args[0], call.args[1].value, is_planned=False)
        elif name == "relax.memory.alloc_tensor":
            _count(memory, call.args[2], call.args[3].value, is_planned=True)
    return memory


def _count(memory: _Memory, shape: ShapeExpr, dtype: str, is_planned: bool) -> None:
    size = _bytes(shape.values, dtype)
    if size is None:
        memory.dynamic += 1
        return
    memory.tensors += 1
    memory.tensor_bytes += size
    if not is_planned:
        memory.planned += 1
        memory.planned_bytes += size


def _bytes(sizes: Sequence[Expr], dtype: str) -> int | None:
    """The bytes of an array; None if a size is not known."""
    numbers = constant_sizes(sizes)
    return None if numbers is None else math.prod(numbers) * ((dtypes.bits(dtype) + 7) // 8)


def _report(name: str, memory: _Memory) -> str:
    lines = [f"- Function {name}:"]
    dynamic = f", and {memory.dynamic} dynamic-size allocation(s)" if memory.dynamic else ""
    lines.append(
        f" * Without memory planning, there are {memory.tensors} constant-size memory "
        f"allocation(s) with total size {_gigabytes(memory.tensor_bytes)} GB{dynamic}."
    )
    lines.append(
        f" * With memory planning, there are {memory.planned} constant-size memory "
        f"allocation(s) with total size {_gigabytes(memory.planned_bytes)} GB."
    )
    if memory.tensor_bytes:
        share = 100 * memory.planned_bytes / memory.tensor_bytes
        lines.append(f" * Memory planning reduces constant memory size to {share:.1f}%.")
    elif memory.dynamic:
        lines.append("")
    return "".join(f"{line}\n" for line in lines)


def _gigabytes(count: int) -> str:
    return f"{count / (1 << 30):.4}"
