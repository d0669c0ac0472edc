"""The programs of the corpus and their goldens.

A program is a text that defines `steps(tvm)`, a generator of (schedule, args), where `tvm` is the
implementation under test: a file, or, of random programs, a part of one. The functions of this
module take the implementation as a parameter.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

HERE = Path(__file__).resolve().parent
FAMILIES = ("primitives", "gemm_gpu", "programs", "random")
DIALECTS = ("script", "primfn")
_SEPARATOR = "---- step "
_PROGRAM = re.compile(r"^---- program (\w+)\n", re.MULTILINE)
_PREFLATTENED = re.compile(r"(?<=preflattened_buffer_map = \{).*(?=\} \{)")
_BETWEEN_BUFFERS = re.compile(r", (?=\w+: \w+: )")
_SMALL_MAP = 4


@dataclass(frozen=True)
class Program:
    """A program of the corpus; `name` is unique within its `family`."""

    family: str
    name: str
    path: Path

    @property
    def text(self) -> str:
        """The source, on the lines that it has in its file."""
        is_alone = self.path.suffix == ".py"
        return self.path.read_text() if is_alone else texts_in(self.path)[self.name]

    @cached_property
    def module(self) -> ModuleType:
        """The module of the program, loaded once per Program object."""
        return executed(self.name, self.text, self.path)

    @property
    def step_count(self) -> int:
        """The number of schedules of the program."""
        return len(self.golden("script"))

    def step_names(self) -> tuple[str, ...]:
        """The names of the steps; "before" and "after" by default."""
        count = self.step_count
        names = ("before", "after") if count == 2 else tuple(map(str, range(count)))
        return getattr(self.module, "step_names", names)

    def golden(self, dialect: str) -> list[str]:
        """The known text of each step."""
        return sections((self.path.parent / "golden" / f"{self.name}.{dialect}.txt").read_text())

    def steps(self, tvm: Any) -> Iterator[tuple[Any, list[Any]]]:
        """(schedule, args) of each step. Requesting the next step changes the schedule."""
        return self.module.steps(tvm)


def load(path: Path) -> ModuleType:
    """The module of a file, which need not be importable by name."""
    spec = importlib.util.spec_from_file_location(f"corpus_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def texts_in(path: Path) -> dict[str, str]:
    """The programs of a file by name, each on the lines that it has there."""
    text = path.read_text()
    heads = list(_PROGRAM.finditer(text))
    ends = [*(head.start() for head in heads[1:]), len(text)]
    return {
        head[1]: "\n" * text.count("\n", 0, head.end()) + text[head.end() : end]
        for head, end in zip(heads, ends, strict=True)
    }


def executed(name: str, text: str, path: Path) -> ModuleType:
    """The module of a text that stands in a file."""
    module = ModuleType(f"corpus_{name}")
    module.__file__ = str(path)
    exec(compile(text, path, "exec"), module.__dict__)
    return module


def programs(*families: str, root: Path = HERE) -> list[Program]:
    """The programs of some families (by default all), ordered by name."""
    return [
        Program(family, name, path)
        for family in families or FAMILIES
        for path in sorted([*(root / family).glob("*.py"), *(root / family).glob("*.txt")])
        for name in ([path.stem] if path.suffix == ".py" else texts_in(path))
    ]


def sections(text: str) -> list[str]:
    """The text of each step of a golden file."""
    parts = text.split(_SEPARATOR)[1:]
    return [part.partition("\n")[2].rstrip("\n") for part in parts]


def as_golden(text: str) -> str:
    """A printed program in the form of the golden files: without trailing blanks."""
    return "\n".join(line.rstrip() for line in text.rstrip().splitlines())


def text_of(module: Any, dialect: str) -> str:
    """The text of a lowered IRModule in one dialect."""
    return as_golden(module.script() if dialect == "script" else module.astext())


def without_chance(text: str) -> str:
    """A text in which the list that TVM 0.9 printed in order of memory addresses is sorted.

    Maps of up to four entries keep the order of their insertion in TVM, larger ones are hash maps.
    """
    return _PREFLATTENED.sub(_sorted_if_large, text)


def _sorted_if_large(entries: re.Match[str]) -> str:
    buffers = _BETWEEN_BUFFERS.split(entries[0])
    return ", ".join(sorted(buffers) if len(buffers) > _SMALL_MAP else buffers)


def function_of(script: str) -> str:
    """The function of a printed module, without the module and the attributes."""
    _, found, function = as_golden(script).partition("    @T.prim_func\n")
    lines = [line[4:] for line in function.split("\n") if "T.func_attr(" not in line]
    return "\n".join(lines) if found else script
