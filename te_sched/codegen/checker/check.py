"""Execution of a whole program in the checked mode: arguments, host function, launches.

A launch is executed in batches of blocks with limited numbers of lanes and bytes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from te_sched import config
from te_sched.codegen.checker import accesses, checks, intrinsics, occupancy, warps
from te_sched.codegen.checker.expressions import CallCompiler, Compiler, ExprClosure
from te_sched.codegen.checker.machine import KernelState, Stopped
from te_sched.codegen.checker.memory import TrackedMemory
from te_sched.codegen.checker.numbers import constant, from_argument, numpy_dtype, to_argument
from te_sched.codegen.checker.report import Report
from te_sched.codegen.checker.shadow import AccessHistory
from te_sched.codegen.checker.space import Space
from te_sched.codegen.checker.statements import statement
from te_sched.codegen.cuda.device_functions import expand_device_functions
from te_sched.codegen.cuda.tensor_cores import find_fragments
from te_sched.deep_recursion import walks_deeply
from te_sched.errors import BuildError, CallError, Subject, kind_of
from te_sched.ir import dtypes
from te_sched.ir import expr as E
from te_sched.ir import stmt as S
from te_sched.ir.device_limits import MAX_THREADS, TAGS
from te_sched.ir.kernel import is_kernel, thread_axes
from te_sched.ir.shared_arguments import pairs_to_check, shared_memory_fault
from te_sched.ir.storage_scopes import storage_scope
from te_sched.ir.visitor import walk
from te_sched.ir.written_memory import memory_written_by, written_memory
from te_sched.progress import progress

_BATCH_BYTES = 256 << 20
_MOST_STEPS = 20_000_000


@dataclass(frozen=True, slots=True)
class RunLimits:
    """Limits of a batch and of a run."""

    max_steps: int
    max_lanes: int
    max_blocks: int | None
    registers: Mapping[str, int]


@walks_deeply("check a program", again=False)
def check_program(
    module: S.IRModule,
    arguments: Sequence[Any],
    *,
    initialized: Collection[str] = (),
    max_steps: int | None = None,
    max_lanes: int = 65_536,
    max_blocks: int | None = None,
    registers: Mapping[str, int] | None = None,
) -> Report:
    """Execute the result of `device_passes` in the checked mode.

    The arguments are numpy arrays (bfloat16 also as uint16) and numbers, in the order of the
    function's parameters; arrays that it writes hold the results afterwards.

    Parameters
    ----------
    initialized : names of arguments that the program writes, and that hold values before. What is
        written is else taken for an output, which must not be read before.
    max_steps : iterations of loops, all loops together, before a kernel is stopped; by default
        `config.max_steps`, or 20 million.
    max_lanes : threads that run at once.
    max_blocks : of a launch, run at most this many (evenly spread); results are incomplete then.
    registers : registers of a thread by kernel, for the estimate of occupancy.

    Raises
    ------
    BuildError for what the checked mode does not execute; CallError for arguments that do not fit.
    """
    steps = max_steps or config.current().max_steps or _MOST_STEPS
    module = expand_device_functions(module)
    limits = RunLimits(steps, max_lanes, max_blocks, registers or {})
    host = next((func for func in module.functions.values() if not is_kernel(func)), None)
    if host is None:
        raise BuildError("program has no host function", help="pass the result of device_passes")
    with np.errstate(all="ignore"):
        return _Program(module, host, limits).run(arguments, frozenset(initialized))


def _share_memory(a: np.ndarray, b: np.ndarray) -> bool:
    try:
        return np.shares_memory(a, b, max_work=1 << 20)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return np.may_share_memory(a, b)


class _Program:
    """One run of a program."""

    def __init__(self, module: S.IRModule, host: S.PrimFunc, limits: RunLimits) -> None:
        self.module, self.host, self.limits = module, host, limits
        self.report = Report()
        self.name = str(host.attrs.get("global_symbol", "main"))
        space = Space((1, 1, 1), (1, 1, 1), np.zeros(1))
        self.machine = KernelState(self.name, self.report, limits.max_steps, space)
        self.machine.launch = self.launch
        calls = {**CALLS, "launch_kernel": _compile_launch}
        self.compiler = Compiler(self.machine, calls)
        self.written = memory_written_by(host, module)

    def run(self, arguments: Sequence[Any], initialized: frozenset[str]) -> Report:
        """Bind the arguments, run the host's function, bring back results."""
        params = self.host.params
        if len(arguments) != len(params):
            raise CallError(
                f"{self.name!r} expects {len(params)} arguments, got {len(arguments)}",
                help=f"pass {', '.join(param.name for param in params)}",
            )
        bound = []
        for param, argument in zip(params, arguments, strict=True):
            buffer = self.host.buffer_map.get(param)
            if buffer is None:
                self.machine.assign(self.machine.slot(param), constant(argument, param.dtype))
            else:
                bound.append((buffer, self._bind(buffer, argument, initialized), argument))
        for buffer, _, argument in bound:
            self._check_shape(buffer, argument)
        self._check_shared(arguments)
        body = statement(self.compiler, self.host.body)
        try:
            body()
        except Stopped:
            self.report.unchecked.append("what follows the step limit")
        for buffer, memory, argument in bound:
            if buffer.data in self.written:
                to_argument(memory.data, argument, buffer.dtype)
        return self.report

    def _bind(self, buffer: E.Buffer, array: Any, initialized: frozenset[str]) -> TrackedMemory:
        if not isinstance(array, np.ndarray):
            raise CallError(
                f"argument {buffer.name} of {self.name!r} must be an array, got {kind_of(array)}",
                help=f"pass a numpy array of {buffer.dtype}",
            )
        _check_dtype(self.name, buffer, array)
        if array.ndim != len(buffer.shape):
            raise CallError(
                f"argument {buffer.name} of {self.name!r} has {array.ndim} dimensions, expected "
                f"{len(buffer.shape)}",
                help="pass an array of the declared shape",
            )
        machine = self.machine
        for extent, size in zip(buffer.shape, array.shape, strict=True):
            if isinstance(extent, E.Var):
                machine.assign(machine.slot(extent), int(size))
        step = 1
        for stride, size in zip(reversed(buffer.strides), reversed(array.shape), strict=False):
            if isinstance(stride, E.Var):
                machine.assign(machine.slot(stride), step)
            step *= size
        if isinstance(buffer.elem_offset, E.Var):
            machine.assign(machine.slot(buffer.elem_offset), 0)
        elements = from_argument(array, buffer.dtype)
        memory = TrackedMemory(buffer.name, buffer.dtype, "global", elements.size, (), elements)
        if buffer.data not in self.written or buffer.name in initialized:
            memory.initialize()
        machine.memories[buffer.data] = memory
        return memory

    def _check_shape(self, buffer: E.Buffer, array: np.ndarray) -> None:
        for extent, size in zip(buffer.shape, array.shape, strict=True):
            expected = self.compiler.expression(extent).run()
            if expected != size:
                raise CallError(
                    f"argument {buffer.name} of {self.name!r} has shape {array.shape}, expected "
                    f"extent {expected} instead of {size}",
                    help="pass an array of the declared shape",
                )

    def _check_shared(self, arguments: Sequence[Any]) -> None:
        """Refuse arguments that share memory, as a call does."""
        buffers = [self.host.buffer_map.get(param) for param in self.host.params]

        def is_written(number: int) -> bool:
            buffer = buffers[number]
            return buffer is not None and buffer.data in self.written

        for pair in pairs_to_check(self.host, is_written):
            written, other = arguments[pair.written], arguments[pair.other]
            is_same = written.ctypes.data == other.ctypes.data and pair.may_be_same
            if not is_same and _share_memory(written, other):
                first, second = (buffers[number].name for number in pair[:2])  # type: ignore[union-attr]
                where = Subject("function", self.name, f"call of {self.name!r}")
                raise CallError(*shared_memory_fault(first, second), where)

    # -- launches ----------------------------------------------------------------------------------

    def launch(self, name: str, values: Sequence[Any]) -> None:
        """Run a kernel."""
        kernel = self.module[name]
        bindings = dict(zip(kernel.params, values, strict=False))
        axes, body = thread_axes(kernel)
        machine = KernelState(name, self.report, self.limits.max_steps, self.machine.space)
        for param, value in bindings.items():
            if param.dtype != "handle":
                machine.assign(machine.slot(param), value)
        compiler = Compiler(machine, CALLS)
        extents = {axis.tag: int(compiler.expression(axis.extent).run()) for axis in axes}
        grid, block = (
            (extents.get(tags[0], 1), extents.get(tags[1], 1), extents.get(tags[2], 1))
            for tags in (TAGS[:3], TAGS[3:])
        )
        threads, blocks = int(np.prod(block)), int(np.prod(grid, dtype=np.int64))
        if threads > MAX_THREADS:
            raise BuildError(
                f"kernel {name!r} has {threads} threads in a block, which has at most "
                f"{MAX_THREADS}",
                help="split by smaller factors before binding to threadIdx",
            )
        if min(*grid, *block) < 1:
            return
        slots = {axis.tag: machine.slot(axis.var) for axis in axes}
        compiler.threads.update(slots.values())
        machine.written = written_memory(kernel.body)
        compiler.fragments = find_fragments(walk(body))
        run = statement(compiler, body)
        shared, batch = self._batch(kernel, compiler, threads)
        globals_ = self._global_memories(machine, bindings)
        self._describe(name, threads, blocks, shared)
        for some in progress(self._batches(name, blocks, batch), f"checking {name}"):
            machine.space = Space(grid, block, some)
            machine.epoch = np.ones(len(some), np.int64)
            machine.warp_epoch = machine.steps = 0
            machine.mask = None
            machine.memories.clear()
            machine.memories.update(globals_)
            machine.fragments.clear()
            machine.loops.clear()
            machine.outside.clear()
            for tag, slot in slots.items():
                machine.assign(slot, machine.space.axis(tag))
            try:
                run()
            finally:
                for memory in globals_.values():
                    if memory.shadow is not None:
                        memory.shadow.flush()
        for memory in globals_.values():
            memory.shadow = None

    def _global_memories(
        self, machine: KernelState, bindings: Mapping[E.Var, Any]
    ) -> dict[E.Var, TrackedMemory]:
        memories = {
            param: value for param, value in bindings.items() if isinstance(value, TrackedMemory)
        }
        shadows: dict[int, AccessHistory] = {}
        for param, memory in memories.items():
            if param in machine.written:
                memory.shadow = shadows.setdefault(id(memory), AccessHistory(machine, memory))
        return memories

    def _batches(self, name: str, blocks: int, batch: int) -> list[np.ndarray]:
        most = self.limits.max_blocks
        chosen = np.arange(blocks)
        if most is not None and blocks > most:
            chosen = np.linspace(0, blocks - 1, max(1, most)).astype(np.int64)
            self.report.unchecked.append(
                f"{blocks - len(chosen)} of {blocks} blocks of {name} (max_blocks)"
            )
        return [chosen[start : start + batch] for start in range(0, len(chosen), batch)]

    def _batch(self, kernel: S.PrimFunc, compiler: Compiler, threads: int) -> tuple[int, int]:
        """Bytes of shared memory of a block, and how many blocks are run at once."""
        shared = local = 0
        for node in walk(kernel.body):
            if not isinstance(node, S.Allocate):
                continue
            size = dtypes.storage_bytes(node.dtype)
            for extent in node.extents:
                if isinstance(extent, E.IntImm):
                    size *= extent.value
                elif not any(isinstance(part, E.BufferLoad) for part in walk(extent)):
                    count = compiler.expression(extent).run()
                    size *= 1 if isinstance(count, np.ndarray) else int(count)
            if storage_scope(node.buffer_var.scope).owner == "block":
                shared += size
            else:
                local += size
        each = 8 * shared + 2 * local * threads + 1
        batch = min(self.limits.max_lanes // threads, _BATCH_BYTES // each)
        return shared, max(1, batch)

    def _describe(self, name: str, threads: int, blocks: int, shared: int) -> None:
        self.report.launches[name] = {
            "blocks": blocks,
            "threads": threads,
            "shared_bytes": shared,
        }
        registers = self.limits.registers.get(name)
        self.report.occupancy[name] = occupancy.estimate(threads, shared, registers)
        self.report.counters.setdefault(name, [])


def _check_dtype(name: str, buffer: E.Buffer, array: np.ndarray) -> None:
    element = dtypes.element(buffer.dtype)
    others = {"bfloat16": {"bfloat16", "uint16"}, "bool": {"bool", "int8"}}
    legal = others.get(element) or {str(numpy_dtype(element))}
    if array.dtype.name not in legal:
        raise CallError(
            f"argument {buffer.name} of {name!r} has dtype {array.dtype}, expected {buffer.dtype}",
            help=f"pass an array of {' or '.join(sorted(legal))}",
        )


def _kernel_name(node: E.Call) -> str:
    name = node.args[0]
    return name.value if isinstance(name, E.StringImm) else str(name)


def _compile_launch(c: Compiler, node: E.Call) -> ExprClosure:
    machine, name = c.machine, _kernel_name(node)
    parts: list[Any] = [
        arg if isinstance(arg, E.Var) and arg.dtype == "handle" else c.expression(arg)
        for arg in node.args[1:]
    ]

    def run() -> int:
        values = [
            machine.memories[part] if isinstance(part, E.Var) else part.run() for part in parts
        ]
        if machine.launch is not None:
            machine.launch(name, values)
        return 0

    return ExprClosure(run, frozenset(), False)


CALLS: dict[str, CallCompiler] = {
    **intrinsics.CALLS,
    **warps.CALLS,
    **accesses.CALLS,
    **checks.CALLS,
}
