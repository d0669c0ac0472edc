"""The cache of objects, by their LLVM text and machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from te_sched.codegen.llvm.machine import PartsAhead, TargetMachine, machine_of
from te_sched.codegen.target import Target
from te_sched.runtime import compiled_objects
from te_sched.runtime.object_cache import ObjectCache

ARGUMENTS = ("text", ("linked",))


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Texts that were compiled, on a computer whose environment is known."""
    texts: list[Any] = []
    monkeypatch.setattr(compiled_objects, "environment", lambda: b"here")
    monkeypatch.setattr(
        compiled_objects, "compile_objects", lambda *args: texts.append(args) or (b"object",)
    )
    return texts


def machine(target: str = "llvm -mcpu=haswell") -> TargetMachine:
    return machine_of(Target(target))


def test_an_object_is_compiled_once(compiled: list[Any], tmp_path: Path) -> None:
    cache = ObjectCache(tmp_path, 10**6)
    for _ in range(2):
        key, objects = compiled_objects.objects_of(*ARGUMENTS, machine(), cache)
        assert objects == (b"object",)
    assert len(compiled) == 1
    assert compiled_objects.find_objects(cache, key) == (*ARGUMENTS, (b"object",))
    assert compiled_objects.find_objects(cache, "other") is None


def test_another_text_or_machine_is_compiled(compiled: list[Any], tmp_path: Path) -> None:
    cache = ObjectCache(tmp_path, 10**6)
    for text, linked, cpu in (("a", (), "haswell"), ("a", ("b",), "haswell"), ("a", (), "znver3")):
        compiled_objects.objects_of(text, linked, machine(f"llvm -mcpu={cpu}"), cache)
    assert len(compiled) == 3


@pytest.mark.parametrize("why", ["no cache", "unknown environment"])
def test_objects_without_a_key_are_compiled_each_time(
    why: str, compiled: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiled_objects, "environment", lambda: None)
    cache = None if why == "no cache" else ObjectCache(tmp_path, 10**6)
    for _ in range(2):
        assert compiled_objects.objects_of(*ARGUMENTS, machine(), cache) == ("", (b"object",))
    assert len(compiled) == 2


def test_parts_are_begun_unless_objects_with_the_first_one_were_kept(
    compiled: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = ObjectCache(tmp_path, 10**6)
    begun: list[str] = []
    monkeypatch.setattr(PartsAhead, "finished", lambda self, text: text.split()[:-1])
    monkeypatch.setattr(PartsAhead, "begin", lambda self, part: begun.append(part))
    for expected in (["a", "a", "b"], []):
        begun.clear()
        ahead = compiled_objects.ObjectsAhead(machine(), cache)
        for text in ("a", "a b", "a b c"):
            ahead.begin(text)
        assert begun == expected
        compiled_objects.objects_of("a b c", (), machine(), cache, ahead)
    assert len(compiled) == 1


def test_parts_are_begun_without_a_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[str] = []
    monkeypatch.setattr(PartsAhead, "finished", lambda self, text: text.split()[:-1])
    monkeypatch.setattr(PartsAhead, "begin", lambda self, part: begun.append(part))
    compiled_objects.ObjectsAhead(machine(), None).begin("a b")
    assert begun == ["a"]
