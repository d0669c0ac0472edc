"""The cache of objects, by their LLVM text and machine. Must not know what the text computes."""

from __future__ import annotations

import hashlib
import pickle

from te_sched.codegen.llvm.machine import PartsAhead, TargetMachine, compile_objects
from te_sched.runtime.fingerprint import environment
from te_sched.runtime.object_cache import ObjectCache
from te_sched.unpickling import load_pickled

Objects = tuple[bytes, ...]  # of one program


def find_objects(cache: ObjectCache, key: str) -> tuple[str, tuple[str, ...], Objects] | None:
    """The LLVM text of objects, what was linked to it, and the objects themselves."""
    entry = cache.get(key)
    return None if entry is None else load_pickled(entry, {})


def objects_of(
    text: str,
    linked: tuple[str, ...],
    machine: TargetMachine,
    cache: ObjectCache | None,
    ahead: ObjectsAhead | None = None,
) -> tuple[str, Objects]:
    """The key, if there is one, and the objects of LLVM text, compiled if they are not kept."""
    parts = ahead.parts if ahead is not None else None
    key = _key(text, linked, machine) if cache is not None else ""
    if cache is None or not key:
        return "", compile_objects(text, linked, machine, parts)
    kept = find_objects(cache, key)
    if kept is not None:
        return key, kept[2]
    objects = compile_objects(text, linked, machine, parts)
    cache.put(key, pickle.dumps((text, linked, objects)))
    if ahead is not None and ahead.key:
        cache.put(ahead.key, b"")
    return key, objects


class ObjectsAhead:
    """The parts of LLVM text that are compiled while it is written, unless its first part is that
    of a text whose objects were kept: then the whole may be one of these.
    """

    def __init__(self, machine: TargetMachine, cache: ObjectCache | None) -> None:
        self._machine, self._cache = machine, cache
        self.parts = PartsAhead(machine)
        self.key = ""  # of the first part
        self._is_kept: bool | None = None

    def begin(self, text: str) -> None:
        """Compile the parts that are finished."""
        finished = [] if self._is_kept else self.parts.finished(text)
        if finished and self._is_kept is None:
            self.key = _key(finished[0], (), self._machine) if self._cache is not None else ""
            self._is_kept = bool(self.key and self._cache and self._cache.get(self.key) is not None)
        for part in () if self._is_kept else finished:
            self.parts.begin(part)


def _key(text: str, linked: tuple[str, ...], machine: TargetMachine) -> str:
    salt = environment()
    if salt is None:
        return ""
    content = repr((text, linked, description(machine))).encode()
    return hashlib.sha256(salt + content).hexdigest()


def description(machine: TargetMachine) -> tuple[str, str, str, int]:
    """What makes the objects of machines differ."""
    return machine.triple, machine.cpu, machine.features, machine.level
