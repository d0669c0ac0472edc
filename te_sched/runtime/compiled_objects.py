"""The cache of objects, by their LLVM text and machine. Must not know what the text computes."""

from __future__ import annotations

import hashlib
import pickle

from te_sched.codegen.llvm.machine import TargetMachine, compile_objects
from te_sched.runtime.fingerprint import environment
from te_sched.runtime.object_cache import ObjectCache
from te_sched.unpickling import load_pickled

Objects = tuple[bytes, ...]  # of one program


def find_objects(cache: ObjectCache, key: str) -> tuple[str, tuple[str, ...], Objects] | None:
    """The LLVM text of objects, what was linked to it, and the objects themselves."""
    entry = cache.get(key)
    return None if entry is None else load_pickled(entry, {})


def objects_of(
    text: str, linked: tuple[str, ...], machine: TargetMachine, cache: ObjectCache | None
) -> tuple[str, Objects]:
    """The key, if there is one, and the objects of LLVM text, compiled if they are not kept."""
    key = _key(text, linked, machine) if cache is not None else ""
    if cache is None or not key:
        return "", compile_objects(text, linked, machine)
    kept = find_objects(cache, key)
    if kept is not None:
        return key, kept[2]
    objects = compile_objects(text, linked, machine)
    cache.put(key, pickle.dumps((text, linked, objects)))
    return key, objects


def _key(text: str, linked: tuple[str, ...], machine: TargetMachine) -> str:
    salt = environment()
    if salt is None:
        return ""
    content = repr((text, linked, description(machine))).encode()
    return hashlib.sha256(salt + content).hexdigest()


def description(machine: TargetMachine) -> tuple[str, str, str, int]:
    """What makes the objects of machines differ."""
    return machine.triple, machine.cpu, machine.features, machine.level
