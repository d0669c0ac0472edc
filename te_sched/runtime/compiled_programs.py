"""The cache of compiled programs, by the identity of the input or by LLVM text.

An object is kept under the name of its LLVM text and machine. A program (anything with a
`fingerprint`) is stored as the name of its object and the answers of the registry during
compilation, which must be the same again. A repeated build thus neither lowers nor compiles, and
one with irrelevant differences only lowers. Must not know programs.
"""

from __future__ import annotations

import hashlib
import json
import pickle
from dataclasses import dataclass, field
from typing import Any

from te_sched.codegen.llvm.compile import CompiledObject
from te_sched.codegen.llvm.machine import TargetMachine, compile_object, machine_of
from te_sched.codegen.target import Target
from te_sched.runtime import registry
from te_sched.runtime.fingerprint import environment, fingerprint
from te_sched.runtime.loader import metadata_text
from te_sched.runtime.object_cache import ObjectCache, current_cache


@dataclass
class QueryRecorder:
    """Answers the questions of `codegen` about the registry and LLVM, and records them."""

    cache: ObjectCache | None
    kinds: dict[str, str | None] = field(default_factory=dict)
    key: str = ""  # of the object

    def extern_kind(self, name: str) -> str | None:
        """How generated code calls a registered name."""
        self.kinds[name] = registry.extern_kind(name)
        return self.kinds[name]

    def emit(self, text: str, linked: tuple[str, ...], machine: TargetMachine) -> bytes:
        """The object of LLVM text, compiled if it is not kept."""
        key = _object_key(text, linked, machine) if self.cache is not None else None
        if key is None or self.cache is None:
            return compile_object(text, linked, machine)
        self.key = key
        kept = _find_object(self.cache, key)
        if kept is not None:
            return kept[2]
        data = compile_object(text, linked, machine)
        self.cache.put(key, pickle.dumps((text, linked, data)))
        return data


def name_program(graph: Any, target: Target, ignored: frozenset[type] = frozenset()) -> str | None:
    """The name of a program that is built for a target; None if it cannot be kept."""
    if current_cache() is None:
        return None
    return fingerprint((graph, target, _description(machine_of(target))), ignored)


def find_program(name: str, target: Target) -> CompiledObject | None:
    """The compiled program of a name, if it is kept and would be compiled to the same today."""
    cache = current_cache()
    entry = cache.get(name) if cache is not None else None
    if cache is None or entry is None:
        return None
    key, kinds = json.loads(entry)
    if any(registry.extern_kind(extern) != kind for extern, kind in kinds.items()):
        return None
    kept = _find_object(cache, key)
    if kept is None:
        return None
    text, linked, data = kept
    return CompiledObject(data, metadata_text(data), text, linked, target)


def keep_program(name: str, recorder: QueryRecorder) -> None:
    """Keep what was just compiled under the name of its program."""
    if recorder.cache is not None and recorder.key:
        recorder.cache.put(name, json.dumps([recorder.key, recorder.kinds]).encode())


def _object_key(text: str, linked: tuple[str, ...], machine: TargetMachine) -> str | None:
    salt = environment()
    if salt is None:
        return None
    content = repr((text, linked, _description(machine))).encode()
    return hashlib.sha256(salt + content).hexdigest()


def _description(machine: TargetMachine) -> tuple[str, str, str, int]:
    return machine.triple, machine.cpu, machine.features, machine.level


def _find_object(cache: ObjectCache, key: str) -> tuple[str, tuple[str, ...], bytes] | None:
    """The LLVM text of an object, what was linked to it, and the object itself."""
    entry = cache.get(key)
    return None if entry is None else pickle.loads(entry)
