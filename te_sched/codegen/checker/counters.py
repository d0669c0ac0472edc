"""Counters of memory accesses by warps: bank passes and sectors.

Shared memory has 32 banks of 4 bytes: the passes of a request are the largest number of different
words in one bank (vectors of 8 and 16 bytes go in halves and quarters of the warp). Global memory
moves sectors of 32 bytes. Only the 1st, 2nd, 4th, 8th, ... execution of an access is looked at,
and four blocks of it.
"""

from __future__ import annotations

import math

import numpy as np

from te_sched.codegen.checker.machine import KernelState, Site
from te_sched.codegen.checker.memory import Index, Mask, Place, TrackedMemory, elements_of
from te_sched.codegen.checker.report import AccessCounter
from te_sched.ir.device_limits import WARP

_BANKS, _WORD, _SECTOR = 32, 4, 32
_BLOCKS = 4


def count(
    machine: KernelState,
    site: Site,
    memory: TrackedMemory,
    position: Place,
    mask: Mask,
    extents: tuple[int, ...] = (),
) -> None:
    """Count one execution of an access, or those in all iterations of loops of some extents."""
    if not site.is_counted:
        return
    counter = site.counter
    if counter is None:
        scope = "global" if memory.scope == "global" else "shared"
        counter = site.counter = AccessCounter(site.access, site.buffer, scope, site.does)
        machine.report.counters.setdefault(machine.kernel, []).append(counter)
    iterations = math.prod(extents)
    counter.executions += machine.space.shape[3] * iterations
    before, following = site.times, 1 << site.times.bit_length()
    site.times += iterations
    while following <= site.times:
        sampled = _of_iteration(position, following - before - 1, extents) if extents else position
        _sample(machine, counter, memory, sampled, mask)
        following *= 2


def _of_iteration(position: Place, number: int, extents: tuple[int, ...]) -> Place:
    """What one of the iterations accesses."""
    if not isinstance(position, Index) or position.values.ndim == 4:
        return position
    axes = zip(np.unravel_index(number, extents), position.values.shape[:-4], strict=True)
    return Index(position.values[tuple(min(at, extent - 1) for at, extent in axes)])


def _sample(
    machine: KernelState, counter: AccessCounter, memory: TrackedMemory, position: Place, mask: Mask
) -> None:
    space = machine.space
    values = elements_of(position)
    blocks = min(_BLOCKS, space.shape[3])

    def rows(value: np.ndarray) -> np.ndarray:
        """(warps of some blocks, 32)"""
        shape = (*space.shape[:3], blocks)
        some = np.broadcast_to(value[..., :blocks], shape)
        full = some.reshape(space.threads, blocks)
        if space.threads % WARP:
            full = np.pad(full, ((0, -space.threads % WARP), (0, 0)))
        return full.reshape(-1, WARP, blocks).transpose(0, 2, 1).reshape(-1, WARP)

    active = rows(np.ones((1, 1, 1, 1), np.bool_))
    if mask is not None:
        of_lanes = np.asarray(mask if mask.ndim == 4 else mask.any(axis=0))  # of any vector lane
        active = active & rows(of_lanes)
    active_rows = active.any(axis=1)
    if not active_rows.any():
        return
    active = active[active_rows]
    parts = values if values.ndim == 5 else values[None]
    size = memory.itemsize
    elements = np.stack([rows(part)[active_rows] for part in parts], axis=2)  # (warps, 32, V)
    counter.requests += len(elements)
    if counter.scope == "shared":
        taken, ideal = _passes(elements * size, size, active)
    else:
        taken, ideal = _sectors(elements * size, size, active)
    counter.taken += taken
    counter.ideal += ideal


def _passes(starts: np.ndarray, size: int, active: np.ndarray) -> tuple[int, int]:
    """Passes that requests take, and the fewest possible."""
    warps, _, lanes = starts.shape
    words_each = max(1, size // _WORD)
    words = starts[..., None] // _WORD + np.arange(words_each)
    words = words.reshape(warps, WARP, lanes * words_each)
    groups = min(4, max(1, lanes * size // _WORD))  # parts of the warp that go one by one
    groups = 1 << (groups.bit_length() - 1)
    words = words.reshape(warps * groups, -1)
    where = np.repeat(active.reshape(warps * groups, -1), lanes * words_each, axis=1)
    ordered, new = _distinct(words, where)
    banks = np.nonzero(new)[0] * _BANKS + ordered[new] % _BANKS
    counts = np.bincount(banks, minlength=len(ordered) * _BANKS).reshape(-1, _BANKS)
    taken, needed = counts.max(axis=1).sum(), counts.sum(axis=1)
    return int(taken), int((-(-needed // _BANKS)).sum())


def _sectors(starts: np.ndarray, size: int, active: np.ndarray) -> tuple[int, int]:
    """Sectors that requests access, and the fewest sectors of the same number of bytes."""
    where = np.repeat(active, starts.shape[2], axis=1)
    ordered, different = _distinct(starts.reshape(len(starts), -1), where)
    needed = different.sum(axis=1) * size
    sectors = ordered // _SECTOR
    different[:, 1:] &= sectors[:, 1:] != sectors[:, :-1]
    return int(different.sum()), int((-(-needed // _SECTOR)).sum())


def _distinct(rows: np.ndarray, where: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sorted rows, and the first position of each distinct value."""
    unused = np.iinfo(np.int64).max
    ordered = np.sort(np.where(where, rows, unused), axis=1)
    new = np.ones(ordered.shape, np.bool_)
    new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    return ordered, new & (ordered != unused)
