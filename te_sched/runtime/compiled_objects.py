"""The cache of objects, by their LLVM text and machine. Must not know what the text computes."""

from __future__ import annotations

import hashlib
import pickle

from te_sched.codegen.llvm.machine import TargetMachine, compile_object
from te_sched.runtime.fingerprint import environment
from te_sched.runtime.object_cache import ObjectCache
from te_sched.unpickling import load_pickled


def find_object(cache: ObjectCache, key: str) -> tuple[str, tuple[str, ...], bytes] | None:
    """The LLVM text of an object, what was linked to it, and the object itself."""
    entry = cache.get(key)
    return None if entry is None else load_pickled(entry, {})


def object_of(
    text: str, linked: tuple[str, ...], machine: TargetMachine, cache: ObjectCache | None
) -> tuple[str, bytes]:
    """The key, if there is one, and the object of LLVM text, compiled if it is not kept."""
    key = _key(text, linked, machine) if cache is not None else ""
    if cache is None or not key:
        return "", compile_object(text, linked, machine)
    kept = find_object(cache, key)
    if kept is not None:
        return key, kept[2]
    data = compile_object(text, linked, machine)
    cache.put(key, pickle.dumps((text, linked, data)))
    return key, data


def _key(text: str, linked: tuple[str, ...], machine: TargetMachine) -> str:
    salt = environment()
    if salt is None:
        return ""
    content = repr((text, linked, description(machine))).encode()
    return hashlib.sha256(salt + content).hexdigest()


def description(machine: TargetMachine) -> tuple[str, str, str, int]:
    """What makes the objects of machines differ."""
    return machine.triple, machine.cpu, machine.features, machine.level
