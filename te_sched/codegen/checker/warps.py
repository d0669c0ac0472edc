"""Collective operations of threads: barriers, shuffles, matrix fragments."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from te_sched.codegen.checker import accesses
from te_sched.codegen.checker.expressions import CallCompiler, Compiler, ExprClosure
from te_sched.codegen.checker.machine import KernelState, Site, first_of
from te_sched.codegen.checker.memory import Index, elements_of
from te_sched.codegen.checker.numbers import Value, numpy_dtype, rounded, typed
from te_sched.codegen.checker.report import ViolationKind
from te_sched.codegen.cuda.matrix_registers import Registers, element, load_of, product_of
from te_sched.codegen.cuda.tensor_cores import fragment_extents
from te_sched.errors import BuildError
from te_sched.ir import dtypes
from te_sched.ir import expr as E
from te_sched.ir import stmt as S
from te_sched.ir.device_limits import SHUFFLE_WIDTHS, WARP
from te_sched.ir.storage_scopes import barrier_of


def _site(c: Compiler, node: E.Call, does: str) -> Site:
    site = Site(len(c.machine.sites), "", str(node), does)
    c.machine.sites.append(site)
    return site


# -- barriers --------------------------------------------------------------------------------------


def _barrier(c: Compiler, node: E.Call) -> ExprClosure:
    scope = node.args[0].value if isinstance(node.args[0], E.StringImm) else ""
    waiting = barrier_of(scope)
    if not waiting:
        raise c.unknown(f"a barrier of scope {scope!r}")
    machine, site = c.machine, _site(c, node, "wait at")
    if waiting == "warp":
        machine.has_warp_barriers = True

    def run() -> int:
        if waiting == "warp":
            _check_together(machine, site, machine.space.by_warp, axis=1)
            machine.warp_epoch += 1
            for memory in machine.memories.values():
                if memory.shadow is not None:
                    memory.shadow.pass_barrier(False)
        else:
            _pass_barrier(machine, site)
        return 0

    return ExprClosure(run, frozenset(), False)


def _check_together(machine: KernelState, site: Site, grouped: Any, axis: int) -> np.ndarray | None:
    """Report divergent groups of threads; returns the groups that are complete."""
    mask = machine.mask
    if mask is None:
        return None
    space = machine.space
    full = np.broadcast_to(mask, space.shape)
    here, present = grouped(full), grouped(np.ones(space.shape, np.bool_))
    some = here.any(axis=axis)
    missing = np.expand_dims(some, axis) & ~here & present
    if missing.any():
        absent = space.from_warps(missing) if axis == 1 else missing.reshape(space.shape)
        away = first_of(absent)
        block = np.zeros(space.shape, np.bool_)
        block[..., away[-1]] = full[..., away[-1]]
        if axis == 1:
            block &= space.from_warps(
                np.broadcast_to(missing.any(axis=1, keepdims=True), here.shape)
            )
        finding = machine.new_finding(ViolationKind.BARRIER_DIVERGENCE, site, first_of(block))
        finding.other = space.thread_at(away)
        finding.other_access = "does not come here"
        machine.add(finding, (), int((missing.any(axis=axis)).sum()))
    return np.asarray(some)


def _pass_barrier(machine: KernelState, site: Site) -> None:
    space = machine.space
    blocks = _check_together(
        machine, site, lambda value: value.reshape(space.threads, space.shape[3]), axis=0
    )
    everywhere = blocks is None or bool(blocks.all())
    machine.epoch = machine.epoch + (1 if blocks is None else blocks.astype(np.int64))
    if everywhere:
        machine.warp_epoch = 0
    for memory in machine.memories.values():
        if memory.shadow is not None:
            memory.shadow.pass_barrier(everywhere)


# -- shuffles --------------------------------------------------------------------------------------


def _active_mask(c: Compiler, node: E.Call) -> ExprClosure:
    machine = c.machine

    def run() -> Value:
        space = machine.space
        active = _active(machine)
        weights = np.left_shift(np.uint32(1), np.arange(WARP, dtype=np.uint32))
        bits = (active * weights[:, None]).sum(axis=1, keepdims=True, dtype=np.uint32)
        return space.from_warps(np.broadcast_to(bits, active.shape))

    return ExprClosure(run, frozenset(), False)


def _active(machine: KernelState) -> np.ndarray:
    """(warps, 32, blocks): who takes part."""
    mask = machine.mask
    return machine.space.by_warp(np.ones((1,) * 4, np.bool_) if mask is None else mask)


def _shuffle(c: Compiler, node: E.Call) -> ExprClosure:
    name = node.op.removeprefix("tir.tvm_warp_shuffle").removeprefix("_")
    value, lane = c.expression(node.args[1]), c.value(node.args[2])
    width = node.args[3].value if isinstance(node.args[3], E.IntImm) else 0
    if width not in SHUFFLE_WIDTHS:
        raise c.unknown(f"a shuffle of width {node.args[3]}")
    if dtypes.lanes(node.dtype) > 1:
        raise c.unknown("a shuffle of vectors")
    machine, site = c.machine, _site(c, node, "shuffle")
    dtype, lane_dtype = node.dtype, node.args[2].dtype
    own = np.arange(WARP).reshape(1, WARP, 1)
    start = own // width * width

    def run() -> Value:
        space = machine.space
        values = space.by_warp(np.asarray(typed(value.run(), dtype)))
        operand = space.by_warp(np.asarray(typed(lane.run(), lane_dtype))).astype(np.int64)
        active = _active(machine)
        wrong = np.zeros(active.shape, np.bool_)
        if name == "up":
            source = np.where((operand >= 0) & (own - operand >= start), own - operand, own)
        elif name == "down":
            is_there = (operand >= 0) & (operand < start + width - own)
            source = np.where(is_there, own + operand, own)
        else:
            wrong = active & ((operand < 0) | (operand >= width))
            source = start + operand % width
        source = np.broadcast_to(source, active.shape)
        wrong = wrong | (active & ~np.take_along_axis(active, source, axis=1))
        if wrong.any():
            bad = space.from_warps(wrong)
            detail = f"a lane is asked that does not exist (width {width}) or does not take part"
            machine.find(ViolationKind.SHUFFLE, site, bad, space.from_warps(operand), detail)
        return space.from_warps(np.take_along_axis(values, source, axis=1))

    return ExprClosure(run, value.slots | lane.slots, False, value.reads or lane.reads)


# -- fragments -------------------------------------------------------------------------------------


class FragmentStorage:
    """Fragments of one allocation: (elements, warps, blocks), each fragment row by row."""

    def __init__(
        self, node: S.Allocate, size: int, extents: tuple[int, int], machine: KernelState
    ) -> None:
        space = machine.space
        if space.threads % WARP:
            raise BuildError(
                f"block of {space.threads} threads in kernel {machine.kernel!r} is not made of "
                "whole warps",
                f"fragment {node.buffer_var.name} belongs to a whole warp",
                "launch a multiple of 32 threads",
            )
        self.name, self.dtype = node.buffer_var.name, dtypes.element(node.dtype)
        self.extents = extents  # rows and columns of one fragment
        shape = (size, space.threads // WARP, space.shape[3])
        self.data = np.zeros(shape, numpy_dtype(node.dtype))
        self.written = np.zeros(size, np.bool_)

    def part(self, machine: KernelState, site: Site, number: int) -> slice | None:
        """The elements of one fragment; None where there is no such fragment."""
        size = math.prod(self.extents)
        part = slice(number * size, (number + 1) * size)
        if part.start >= 0 and part.stop <= len(self.data):
            return part
        finding = machine.new_finding(ViolationKind.OUT_OF_BOUNDS, site, machine.first_active())
        count = len(self.data) // max(size, 1)
        finding.detail = f"{self.name} has {count} fragments, and number {number} is asked for"
        machine.add(finding, (self.name,))
        return None


def _fragment_call(c: Compiler, node: E.Call) -> tuple[E.Var, ExprClosure]:
    var, has_shape = node.args[0], sum(isinstance(arg, E.IntImm) for arg in node.args[1:4]) == 3
    if not isinstance(var, E.Var) or not has_shape:
        raise c.unknown(f"{node.op} of a fragment without constant m, n, k")
    return var, c.value(node.args[4])


def _number(c: Compiler, value: Value) -> int:
    if isinstance(value, np.ndarray):
        if value.size != 1:
            raise c.unknown("a number of a fragment that differs between threads")
        value = value.reshape(-1)[0]
    return int(value)


def _fill(c: Compiler, node: E.Call) -> ExprClosure:
    var, number = _fragment_call(c, node)
    value, machine, site = c.value(node.args[5]), c.machine, _site(c, node, "fill")

    def run() -> int:
        fragment: FragmentStorage = machine.fragments[var]
        part = fragment.part(machine, site, _number(c, number.run()))
        if part is None:
            return 0
        filled = value.run()
        if isinstance(filled, np.ndarray):
            filled = machine.space.by_warp(filled)[:, 0]
        fragment.data[part] = filled
        fragment.written[part] = True
        return 0

    return ExprClosure(run, frozenset(), False)


def _rows_of(c: Compiler, node: E.Call, does: str) -> Any:
    """Runs a function with the fragment and the elements of memory of each of its rows."""
    var, number = _fragment_call(c, node)
    data, start, site, dtype = accesses.pointer(c, node.args[5], does)
    stride = c.value(node.args[6])
    layout = node.args[7].value if isinstance(node.args[7], E.StringImm) else "row_major"
    by_row = not layout.replace("mem_", "").startswith("col")
    machine, barrier = c.machine, _site(c, node, "take part in")

    def each(action: Any) -> int:
        space = machine.space
        _check_together(machine, barrier, space.by_warp, axis=1)
        fragment: FragmentStorage = machine.fragments[var]
        part = fragment.part(machine, site, _number(c, number.run()))
        if part is None:
            return 0
        position, step = start.run(), _number(c, stride.run())
        first = elements_of(position)
        rows, columns = fragment.extents
        leads = space.from_warps(
            np.broadcast_to(
                (np.arange(WARP) == 0).reshape(1, WARP, 1),
                (space.threads // WARP, WARP, space.shape[3]),
            )
        )
        before = machine.mask
        machine.mask = leads if before is None else leads & before
        try:
            for row in range(rows):
                along = np.arange(columns) * (1 if by_row else step)
                offset = row * (step if by_row else 1)
                values = first + (offset + along).reshape(-1, 1, 1, 1, 1)
                at = slice(part.start + row * columns, part.start + (row + 1) * columns)
                action(fragment, at, machine.memories[data], Index(values), site, dtype)
        finally:
            machine.mask = before
        return 0

    return each


def _load(c: Compiler, node: E.Call) -> ExprClosure:
    each, machine = _rows_of(c, node, "read"), c.machine

    def load_row(
        fragment: FragmentStorage, at: slice, memory: Any, position: Index, site: Site, dtype: str
    ) -> None:
        value = np.asarray(accesses.read(machine, memory, position, site, dtype))
        space, count = machine.space, at.stop - at.start
        full = np.broadcast_to(value, (count, *space.shape))
        fragment.data[at] = full.reshape(count, -1, WARP, space.shape[3])[:, :, 0]
        fragment.written[at] = True

    return ExprClosure(lambda: each(load_row), frozenset(), False, True)


def _store(c: Compiler, node: E.Call) -> ExprClosure:
    each, machine = _rows_of(c, node, "write"), c.machine

    def store_row(
        fragment: FragmentStorage, at: slice, memory: Any, position: Index, site: Site, dtype: str
    ) -> None:
        space = machine.space
        if not fragment.written[at].all():
            _unwritten(machine, fragment, site)
        rows = np.repeat(fragment.data[at], WARP, axis=1)
        value = rows.reshape(at.stop - at.start, *space.shape)
        accesses.write(machine, memory, position, value, site, dtype)

    return ExprClosure(lambda: each(store_row), frozenset(), False, True)


def _unwritten(machine: KernelState, fragment: FragmentStorage, site: Site) -> None:
    finding = machine.new_finding(ViolationKind.UNINITIALIZED_READ, site, machine.first_active())
    finding.detail = f"the fragment {fragment.name} was neither filled nor loaded"
    machine.add(finding, (fragment.name,))


def _multiply(c: Compiler, node: E.Call) -> ExprClosure:
    variables = [arg for arg in node.args[::2] if isinstance(arg, E.Var)]
    if len(variables) != 4:
        raise c.unknown("tvm_mma_sync without four fragments")
    numbers = [c.value(arg) for arg in node.args[1::2]]
    machine, site = c.machine, _site(c, node, "multiply in")

    def run() -> int:
        _check_together(machine, site, machine.space.by_warp, axis=1)
        fragments: list[FragmentStorage] = [machine.fragments[var] for var in variables]
        operands = []
        for fragment, number in zip(fragments, numbers, strict=True):
            part = fragment.part(machine, site, _number(c, number.run()))
            if part is None:
                return 0
            operands.append((fragment, part))
        for fragment, part in operands[1:]:
            if not fragment.written[part].all():
                _unwritten(machine, fragment, site)
        d, a, b, c_ = operands
        wide = d[0].data.dtype if d[0].data.dtype.kind != "f" else np.dtype(np.float32)
        wide = np.dtype(np.float64) if d[0].data.dtype == np.float64 else wide
        left, right, added = (
            operand.data[part].astype(wide).reshape(*operand.extents, *operand.data.shape[1:])
            for operand, part in (a, b, c_)
        )
        product = np.matmul(np.moveaxis(left, (0, 1), (2, 3)), np.moveaxis(right, (0, 1), (2, 3)))
        total = np.moveaxis(product, (2, 3), (0, 1)) + added
        d[0].data[d[1]] = rounded(total.reshape(-1, *d[0].data.shape[1:]), d[0].dtype)
        d[0].written[d[1]] = True
        return 0

    return ExprClosure(run, frozenset(), False)


def allocate_fragment(c: Compiler, node: S.Allocate) -> Any:
    """Room for fragments."""
    if not all(isinstance(extent, E.IntImm) for extent in node.extents):
        raise c.unknown(f"the fragment {node.buffer_var.name} of a size that is not constant")
    size = math.prod(extent.value for extent in node.extents if isinstance(extent, E.IntImm))
    shape = c.fragments[node.buffer_var].shape if node.buffer_var in c.fragments else ()
    use = node.buffer_var.scope.removeprefix("wmma.")
    extents = fragment_extents(use, shape if len(shape) == 3 else (0, 0, 0))
    machine = c.machine

    def run() -> None:
        machine.fragments[node.buffer_var] = FragmentStorage(node, size, extents, machine)

    return run


# -- matrices in registers -------------------------------------------------------------------------

_LANES = np.arange(WARP)


class _Registers:
    """What the lanes have of one matrix."""

    def __init__(self, c: Compiler, registers: Registers) -> None:
        self.machine, self.one = c.machine, registers
        loads = [registers.element(number) for number in range(registers.count)]
        self.codes = [c.expression(load) for load in loads]
        self.places = [c.place(load.buffer, load.indices) for load in loads]
        self.site = c.site(loads[0].buffer, loads[0].indices, "write")
        rows, columns = zip(
            *[
                registers.place(number, _LANES // 4, _LANES % 4)
                for number in range(registers.count)
            ],
            strict=True,
        )
        self.rows, self.columns = np.stack(rows), np.stack(columns)  # (elements, lanes)

    def matrix(self, wide: np.dtype[Any]) -> np.ndarray:
        """(warps, blocks, rows, columns)"""
        space, registers = self.machine.space, self.one
        values = np.stack(
            [space.by_warp(np.asarray(typed(code.run(), registers.dtype))) for code in self.codes]
        )
        warps, blocks = values.shape[1], values.shape[3]
        whole = np.zeros((registers.rows, registers.columns, warps, blocks), wide)
        whole[self.rows, self.columns] = values.transpose(0, 2, 1, 3)
        return np.moveaxis(whole, (0, 1), (2, 3))

    def keep(self, whole: np.ndarray) -> None:
        """Give the lanes their elements."""
        space, registers = self.machine.space, self.one
        values = np.moveaxis(whole, (2, 3), (0, 1))[self.rows, self.columns].transpose(0, 2, 1, 3)
        for value, slot in zip(values, self.places, strict=True):
            accesses.write(
                self.machine,
                self.machine.memories[registers.data],
                slot.run(),
                rounded(
                    space.from_warps(value).astype(numpy_dtype(registers.dtype)), registers.dtype
                ),
                self.site,
                registers.dtype,
            )


def _multiply_registers(c: Compiler, node: E.Call) -> ExprClosure:
    product = product_of(node)
    a, b, sums = (_Registers(c, operand) for operand in (product.a, product.b, product.c))
    machine, site = c.machine, _site(c, node, "multiply in")
    wide = np.dtype(product.wide)

    def run() -> int:
        _check_together(machine, site, machine.space.by_warp, axis=1)
        total = np.matmul(a.matrix(wide), b.matrix(wide)) + sums.matrix(wide)
        if wide.kind == "i" and product.saturates:
            limits = np.iinfo(np.int32)
            total = total.clip(limits.min, limits.max)
        sums.keep(total)
        return 0

    return ExprClosure(run, frozenset(), False, True)


def _load_registers(c: Compiler, node: E.Call) -> ExprClosure:
    load = load_of(node)
    data, start, site, dtype = accesses.pointer(c, load.source, "read")
    offset, machine, barrier = c.value(load.offset), c.machine, _site(c, node, "take part in")
    numbers = [(j, e) for j in range(load.count) for e in range(load.packed)]
    positions = [
        element(load.data, load.start, j * load.packed + e, load.dtype).indices for j, e in numbers
    ]
    buffer = element(load.data, load.start, 0, load.dtype).buffer
    places = [c.place(buffer, indices) for indices in positions]
    into = c.site(buffer, positions[0], "write")

    def run() -> int:
        space = machine.space
        _check_together(machine, barrier, space.by_warp, axis=1)
        addresses = space.by_warp(np.asarray(elements_of(start.run()) + offset.run(), np.int64))
        memory, local = machine.memories[data], machine.memories[load.data]
        for (j, e), slot in zip(numbers, places, strict=True):
            row, column = load.place(e, _LANES // 4, _LANES % 4)
            elements = addresses[:, 8 * j + row] + column.reshape(1, WARP, 1)
            index = Index(space.from_warps(elements))
            value = accesses.read(machine, memory, index, site, dtype)
            accesses.write(machine, local, slot.run(), value, into, load.dtype)
        return 0

    return ExprClosure(run, frozenset(), False, True)


CALLS: Mapping[str, CallCompiler] = {
    "tvm_storage_sync": _barrier,
    "tvm_warp_activemask": _active_mask,
    "cuda.__activemask": _active_mask,
    "tvm_warp_shuffle": _shuffle,
    "tvm_warp_shuffle_up": _shuffle,
    "tvm_warp_shuffle_down": _shuffle,
    "tvm_fill_fragment": _fill,
    "tvm_load_matrix_sync": _load,
    "tvm_store_matrix_sync": _store,
    "tvm_mma_sync": _multiply,
    "ptx_mma": _multiply_registers,
    "ptx_ldmatrix": _load_registers,
}
