"""Detection of data races: the accesses to each element since the last barrier.

For each element the last writer is kept, the last reader, and the last readers of another thread,
of another warp (where warps have barriers) and of another block; of atomic operations likewise. If
any reader races with a writer, one of the recorded readers does: a later one is unordered as well,
or belongs to the thread, warp or block of the writer. The records are stamps:

    bits 0-9 thread   10-20 site   21-36 barriers of the warp   37-62 barriers of the block

(the way of Eraser-like detectors, with barriers instead of locks). Accesses of two threads of a
block race if they are between the same two barriers; those of different blocks always do. Writing
the value that is there already is not a race: all threads may compute the same value.

Reads are collected and recorded at the next write. Must not know expressions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from te_sched.codegen.checker.machine import KernelState, Site
from te_sched.codegen.checker.memory import Index, Mask, Place, TrackedMemory, elements_of
from te_sched.codegen.checker.numbers import Value, same_bits
from te_sched.codegen.checker.report import ViolationKind
from te_sched.ir.device_limits import WARP

_SITE, _WARP_EPOCH, _EPOCH = 10, 21, 37
_THREADS = (1 << _SITE) - 1
_SITES = (1 << (_WARP_EPOCH - _SITE)) - 1
_WARP_EPOCHS = (1 << (_EPOCH - _WARP_EPOCH)) - 1
_NOTED_BYTES = 32 << 20
_NOTED = 4096
_SEEN = 512
_STEPS = 4096
_READERS, _ATOMICS = (
    (name, *[f"{name} of another {kind}" for kind in ("thread", "warp", "block")])
    for name in ("reader", "atomic")
)


@dataclass(slots=True)
class _Who:
    """Accesses to some elements, one row for each: stamps and blocks of the threads."""

    flat: np.ndarray
    stamps: np.ndarray
    blocks: np.ndarray
    epochs: np.ndarray


@dataclass(slots=True)
class _Noted:
    """A read that is not recorded yet."""

    place: Place
    mask: Mask
    epoch: np.ndarray
    warp_epoch: int
    site: Site
    batch: Any


class _SequenceStep:
    """A place in the tree of known sequences; `access` is kept alive, as keys are its identity."""

    __slots__ = ("access", "next")

    def __init__(self, access: tuple[Place, Mask] | None = None) -> None:
        self.access = access
        self.next: dict[tuple[Any, ...], _SequenceStep] = {}


_IsOther = Callable[[np.ndarray, np.ndarray, _Who], np.ndarray]


class _Role:
    """The last access of one sort to each element."""

    def __init__(self, size: int) -> None:
        self.stamps = np.zeros(size, np.int64)
        self.blocks = np.zeros(size, np.int64)


class AccessHistory:
    """Detects races in one memory that threads write."""

    def __init__(self, machine: KernelState, memory: TrackedMemory) -> None:
        self.machine, self.memory = machine, memory
        self.is_shared = memory.scope != "global"
        self.roles: dict[str, _Role] = {}
        self.noted: list[_Noted] = []
        self.noted_bytes = 0
        self.is_dirty = False  # there was a write since the last barrier (global: in this kernel)
        self.seen: dict[tuple[Any, ...], tuple[Any, ...]] = {}
        # While only one access with a thread of its own for each element goes on, as for a sum that
        # is kept in global memory, its last write and read are kept here and not entered.
        self.own: tuple[Place, Mask] | None = None
        self.own_last: dict[str, _Noted] = {}
        self.kept: np.ndarray | None = None  # what `own` has written last, not yet in the memory
        # Sequences of accesses between two barriers that were found free of clashes. `step` is
        # where in the tree this sequence is (None: off it), `followed` what it has done so far.
        self.tree = _SequenceStep()
        self.tree_size = 0
        self.step: _SequenceStep | None = self.tree if self.is_shared else None
        self.followed: list[tuple[str, _Noted]] = []
        self.follows = self.is_shared
        self.is_clean = True

    def pass_barrier(self, all_blocks: bool) -> None:
        """Note that blocks have passed a barrier."""
        self.seen.clear()
        if self.is_shared and not all_blocks:
            self._leave()
            self.step = None
        elif self.is_shared:
            self.noted.clear()
            self.noted_bytes = 0
            self.is_dirty = False
            self.followed.clear()
            self.step, self.follows = self.tree, True

    # -- accesses ----------------------------------------------------------------------------------

    def _note(self, position: Place, mask: Mask, site: Site) -> _Noted:
        machine = self.machine
        return _Noted(position, mask, machine.epoch, machine.warp_epoch, site, machine.space)

    def read(self, position: Place, mask: Mask, site: Site) -> None:
        """Threads read."""
        noted = self._note(position, mask, site)
        if self._is_own(position, mask):
            self.own_last["read"] = noted
            return
        self._release()
        key = _key(position, mask, "r")
        if key in self.seen:
            return
        self._remember(key, position, mask)
        if self._follow(key, noted):
            return
        self.is_clean = True
        if self.is_dirty:
            for who in self._who(noted):
                self._check(who, site, ViolationKind.READ_WRITE_RACE, ("writer", *_ATOMICS))
        self._extend(key, noted)
        self.noted.append(noted)
        self.noted_bytes += position.values.nbytes if isinstance(position, Index) else 0
        if self.noted_bytes > _NOTED_BYTES or len(self.noted) > _NOTED:
            self.enter_reads()

    def is_free_to_read(self, position: Place, mask: Mask) -> bool:
        """Whether a read surely clashes with nothing."""
        key = _key(position, mask, "r")
        if key in self.seen or (self.follows and self.step is not None and key in self.step.next):
            return True
        is_written = self.is_dirty or any(does == "w" for does, _ in self.followed)
        return self.own is None and not is_written

    def write(self, position: Place, mask: Mask, value: Value, dtype: str, site: Site) -> None:
        """Threads write; the value is brought into the memory, too."""
        noted = self._note(position, mask, site)
        if self._is_own(position, mask):
            self.own_last["write"] = noted
            if mask is None and dtype == self.memory.dtype and isinstance(value, np.ndarray):
                self.kept = np.array(
                    value, self.memory.data.dtype, copy=value.base is not None or None
                )
            else:
                self.flush()
                self.memory.put(dtype, position, mask, value)
            return
        self._release()
        key = _key(position, mask, "w")
        if (key in self.seen and not self.noted) or self._follow(key, noted):
            self.memory.put(dtype, position, mask, value)
            return
        self.is_clean = True
        who, values, every = self._spread(noted, value)
        if self.noted:
            self.enter_reads()
        self._check(who, site, ViolationKind.READ_WRITE_RACE, _READERS)
        data = self.memory.view(dtype).reshape(-1)
        stored = values.astype(data.dtype, copy=False)
        if self.is_dirty:
            differs = ~same_bits(data[who.flat], stored)
            self._check(who, site, ViolationKind.WRITE_WRITE_RACE, ("writer", *_ATOMICS), differs)
        self.is_dirty = True
        data[who.flat] = stored
        role = self._enter("writer", who)
        lost = role.stamps[who.flat] != who.stamps
        if not self.is_shared:
            lost |= role.blocks[who.flat] != who.blocks
        if lost.any():
            lost &= ~same_bits(data[who.flat], stored)
            self._check(who, site, ViolationKind.WRITE_WRITE_RACE, ("writer",), lost)
            self.step = None
        elif every:
            self._remember(key, position, mask)
            self._extend(key, noted)
            if not self.is_shared:
                self.own = (position, mask)
        else:
            self.step = None

    def update(self, position: Place, mask: Mask, site: Site) -> None:
        """Threads update atomically (the memory is not changed here)."""
        noted = self._note(position, mask, site)
        self._release()
        self._leave()
        self.step = None
        self.enter_reads()
        for who in self._who(noted):
            self._check(who, site, ViolationKind.READ_WRITE_RACE, ("writer", *_READERS))
            self._enter_others("atomic", who)
        self.is_dirty = True

    # -- sequences that are known ------------------------------------------------------------------

    def _follow(self, key: tuple[Any, ...], noted: _Noted) -> bool:
        """Whether this access continues a known sequence; then it is recorded later, if at all."""
        if not self.follows or self.step is None:
            return False
        following = self.step.next.get(key)
        if following is None:
            self._leave()
            return False
        self.step = following
        self.followed.append((key[-1], noted))
        return True

    def _leave(self) -> None:
        """Record the accesses of the sequence, which continues in an unknown way."""
        self.follows = False
        for does, noted in self.followed:
            if does == "w":
                self._enter_write(noted)
            else:
                self.noted.append(noted)
        self.followed.clear()

    def _extend(self, key: tuple[Any, ...], noted: _Noted) -> None:
        """Remember that the sequence so far, with this access, is free of clashes."""
        if self.step is None:
            return
        if not self.is_clean:
            self.step = None
            return
        if self.tree_size >= _STEPS:
            self.tree, self.tree_size, self.step = _SequenceStep(), 0, None
            return
        step = _SequenceStep((noted.place, noted.mask))
        self.step.next[key] = step
        self.step = step
        self.tree_size += 1

    def _enter_write(self, noted: _Noted) -> None:
        self._enter("writer", self._spread(noted, None)[0])
        self.is_dirty = True

    def _enter(self, name: str, who: _Who) -> _Role:
        """Note the last accesses of a role."""
        role = self._role(name)
        role.stamps[who.flat] = who.stamps
        role.blocks[who.flat] = who.blocks
        return role

    # -- the only access ---------------------------------------------------------------------------

    def _is_own(self, position: Place, mask: Mask) -> bool:
        own = self.own
        return own is not None and own[0] is position and own[1] is mask

    def flush(self) -> None:
        """Write the cached elements to the memory."""
        if self.kept is not None and self.own is not None:
            self.memory.put(self.memory.dtype, self.own[0], self.own[1], self.kept)
        self.kept = None

    def _release(self) -> None:
        """Record the accesses of `own`: another access follows."""
        if self.own is None:
            return
        self.flush()
        self.own = None
        write, read = self.own_last.pop("write", None), self.own_last.pop("read", None)
        if write is not None:
            self._enter_write(write)
        if read is not None:
            self.noted.append(read)

    def enter_reads(self) -> None:
        """Enter the reads that were noted."""
        for noted in self.noted:
            for who in self._who(noted):
                self._enter_others("reader", who)
        self.noted.clear()
        self.noted_bytes = 0
        self.seen = {key: kept for key, kept in self.seen.items() if key[-1] == "r"}

    def _enter_others(self, name: str, who: _Who) -> None:
        """Enter readers or atomic operations, of which several may come between two barriers."""
        first, flat = self._role(name), who.flat
        stamps, blocks = first.stamps[flat], first.blocks[flat]
        self._enter(name, who)
        last = _Who(flat, first.stamps[flat], first.blocks[flat], who.epochs)
        for kind, is_other in self._groups():
            kept = (stamps != 0) & is_other(stamps, blocks, last)
            lost = is_other(who.stamps, who.blocks, last)
            for where, old, block in ((kept, stamps, blocks), (lost, who.stamps, who.blocks)):
                if where.any():
                    role = self._role(f"{name} of another {kind}")
                    role.stamps[flat[where]] = old[where]
                    role.blocks[flat[where]] = block[where]

    def _groups(self) -> Iterator[tuple[str, _IsOther]]:
        """The bits of a stamp in which threads differ."""
        yield "thread", partial(self._is_other, 1)
        if self.machine.has_warp_barriers:
            yield "warp", partial(self._is_other, WARP)
        if not self.is_shared:
            yield "block", lambda stamps, blocks, who: np.asarray(blocks != who.blocks)

    # -- clashes -----------------------------------------------------------------------------------

    def _is_other(self, size: int, stamps: np.ndarray, blocks: np.ndarray, who: _Who) -> np.ndarray:
        """Where a stamp is of another group of `size` threads than the one in `who`."""
        other = (stamps & _THREADS) // size != (who.stamps & _THREADS) // size
        return np.asarray(other if self.is_shared else other | (blocks != who.blocks))

    def _check(
        self,
        who: _Who,
        site: Site,
        kind: ViolationKind,
        roles: tuple[str, ...],
        where: np.ndarray | None = None,
    ) -> None:
        """Report accesses of another thread to the element without a barrier in between."""
        for name in roles:
            role = self.roles.get(name)
            if role is None:
                continue
            stamps, blocks = role.stamps[who.flat], role.blocks[who.flat]
            clash = ((stamps & _THREADS) != (who.stamps & _THREADS)) & (
                (stamps >> _EPOCH) == who.epochs
            )
            if self.machine.warp_epoch and clash.any():
                clash &= ~_ordered_in_warp(stamps, who.stamps)
            if not self.is_shared:
                away = blocks != who.blocks
                clash = (stamps != 0) & (away | clash)
            if not clash.any():
                continue
            self.is_clean = False  # whatever the values are
            if where is not None:
                clash &= where
            if clash.any():
                self._report(who, site, kind, clash, stamps, blocks)

    def _report(
        self,
        who: _Who,
        site: Site,
        kind: ViolationKind,
        clash: np.ndarray,
        stamps: np.ndarray,
        blocks: np.ndarray,
    ) -> None:
        machine, space = self.machine, self.machine.space
        row = int(np.argmax(clash))
        stamp = int(who.stamps[row])
        number, block = stamp & _THREADS, int(who.blocks[row])
        x, y, _ = space.block
        lane = int(np.argmax(space.blocks == block))
        position = (number // (x * y), number // x % y, number % x, lane)
        finding = machine.new_finding(kind, site, position)
        finding.thread = space.thread_of(number, block)
        old = int(stamps[row])
        finding.other = space.thread_of(old & _THREADS, int(blocks[row]))
        other = machine.sites[min((old >> _SITE) & _SITES, len(machine.sites) - 1)]
        finding.other_access = f"{other.does} {other.access}"
        flat = int(who.flat[row])
        finding.index = flat // self.memory.width if self.is_shared else flat
        machine.add(finding, (other.access, other.does), int(clash.sum()))

    # -- threads -----------------------------------------------------------------------------------

    def _who(self, noted: _Noted) -> list[_Who]:
        """The accessing threads: the first and the last of those that access the same element."""
        first, _, every = self._spread(noted, None)
        return [first] if every else [first, self._spread(noted, None, last=True)[0]]

    def _spread(
        self, noted: _Noted, value: Value, last: bool = False
    ) -> tuple[_Who, np.ndarray, bool]:
        """One row for each access; the values that are written; whether all threads have one."""
        space = noted.batch
        position, mask = noted.place, noted.mask
        values = elements_of(position)
        flat = self.memory.flat(values)
        shape = np.broadcast_shapes(
            flat.shape, () if mask is None else mask.shape, np.shape(value), (1, 1, 1, 1)
        )
        every = shape[-4:] == space.shape
        numbers = space.numbers(shape, last)
        lanes = np.arange(space.shape[3])
        if shape[-1] != space.shape[3]:
            lanes = lanes[-1:] if last else lanes[:1]
        epochs = noted.epoch[lanes]
        site = min(noted.site.number, _SITES)
        fixed = ((noted.warp_epoch & _WARP_EPOCHS) << _WARP_EPOCH) | (site << _SITE)
        stamps = (epochs << _EPOCH) + (numbers + fixed)
        parts = [flat, stamps, space.blocks[lanes], epochs, 0 if value is None else value]
        full = [np.broadcast_to(part, shape) for part in parts]
        if mask is None:
            rows = [part.reshape(-1) for part in full]
        else:
            where = np.broadcast_to(mask, shape)
            rows = [part[where] for part in full]
        return _Who(*rows[:4]), rows[4], every

    def _role(self, name: str) -> _Role:
        role = self.roles.get(name)
        if role is None:
            role = self.roles[name] = _Role(self.memory.size * self.memory.width)
        return role

    def _remember(self, key: tuple[Any, ...], position: Place, mask: Mask) -> None:
        """The threads of an access, cached until a barrier."""
        if len(self.seen) > _SEEN:
            self.seen.clear()
        self.seen[key] = (position, mask)  # kept alive: the key is their identity


def _key(position: Place, mask: Mask, does: str) -> tuple[Any, ...]:
    return (position if type(position) is int else (id(position),), id(mask), does)


def _ordered_in_warp(old: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Where both threads are of one warp, which has come by a barrier of its own in between."""
    same = (old & _THREADS) // WARP == (new & _THREADS) // WARP
    different = ((old ^ new) >> _WARP_EPOCH) & _WARP_EPOCHS != 0
    return np.asarray(same & different)
