"""The cache of compiled programs, by the identity of the input.

Objects are kept under the name of their LLVM text and machine (`compiled_objects`). A program
(anything with a `fingerprint`) is stored as the name of its objects and the answers of the registry
during compilation, which must be the same again. A repeated build thus neither lowers nor compiles,
and one with irrelevant differences only lowers. Must not know programs.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Self

from te_sched.codegen.llvm.compile import CompiledObject
from te_sched.codegen.llvm.machine import TargetMachine, machine_of
from te_sched.codegen.target import Target
from te_sched.runtime import registry
from te_sched.runtime.compiled_objects import (
    Objects,
    ObjectsAhead,
    description,
    find_objects,
    objects_of,
)
from te_sched.runtime.fingerprint import fingerprint
from te_sched.runtime.loader import metadata_text
from te_sched.runtime.object_cache import ObjectCache, current_cache


@dataclass
class QueryRecorder:
    """Answers the questions of `codegen` about the registry and LLVM, and records them; inside its
    `with`, parts of the text are compiled while it is written.
    """

    cache: ObjectCache | None
    kinds: dict[str, str | None] = field(default_factory=dict)
    key: str = ""  # of the objects
    _ahead: ObjectsAhead | None = None

    def extern_kind(self, name: str) -> str | None:
        """How generated code calls a registered name."""
        self.kinds[name] = registry.extern_kind(name)
        return self.kinds[name]

    def begin(self, text: str, machine: TargetMachine) -> None:
        """Compile parts of LLVM text, to which functions will be added."""
        if self._ahead is None:
            self._ahead = ObjectsAhead(machine, self.cache)
        self._ahead.begin(text)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Compile nothing more; a Ctrl-C does not wait for what is being compiled."""
        if self._ahead is not None:
            self._ahead.parts.stop(waits=kind is None or issubclass(kind, Exception))

    def emit(self, text: str, linked: tuple[str, ...], machine: TargetMachine) -> Objects:
        """The objects of LLVM text, compiled if they are not kept."""
        key, objects = objects_of(text, linked, machine, self.cache, self._ahead)
        self.key = key or self.key
        return objects


def name_program(graph: Any, target: Target, ignored: frozenset[type] = frozenset()) -> str | None:
    """The name of a program that is built for a target; None if it cannot be kept."""
    if current_cache() is None:
        return None
    return fingerprint((graph, target, description(machine_of(target))), ignored)


def find_program(name: str, target: Target) -> CompiledObject | None:
    """The compiled program of a name, if it is kept and would be compiled to the same today."""
    cache = current_cache()
    entry = cache.get(name) if cache is not None else None
    if cache is None or entry is None:
        return None
    key, kinds = json.loads(entry)
    if any(registry.extern_kind(extern) != kind for extern, kind in kinds.items()):
        return None
    kept = find_objects(cache, key)
    if kept is None:
        return None
    text, linked, objects = kept
    return CompiledObject(objects, metadata_text(objects[0]), text, linked, target)


def keep_program(name: str, recorder: QueryRecorder) -> None:
    """Keep what was just compiled under the name of its program."""
    if recorder.cache is not None and recorder.key:
        recorder.cache.put(name, json.dumps([recorder.key, recorder.kinds]).encode())
