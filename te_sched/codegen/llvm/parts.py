"""Long modules in parts, which are compiled at the same time.

A part has some of the functions, what these use that other modules cannot see, and declarations of
the other functions. Parts depend on the text alone, so that a program becomes the same code on each
computer, and a part can be compiled before later functions are written. Functions for which LLVM
leaves out other passes are in other parts. Must not know what functions compute.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from te_sched.codegen.llvm import quirks

_LEAST_CUT = 80_000  # characters of functions; LLVM takes 0.1 s and more for them
PART = 40_000  # characters, at least
_MANY_PARTS = 16  # after which the next ones are twice as long
_SYMBOL = re.compile(r'@("[^"]*"|[\w.$-]+)')
_NODE = re.compile(r"!(\d+)")
_PARAMETER = re.compile(r" %[\w.]+")
_SLOTS = re.compile(r"(@te_sched_slots = )global \[\d+ x ptr\] zeroinitializer")
_TABLES = ("@te_sched_metadata ", "@te_sched_functions ")
_COPIED = re.compile(r"@\S+ = (?:private|internal) (?:unnamed_addr )?constant ")


@dataclass
class _Function:
    text: str

    @cached_property
    def symbol(self) -> str:
        return _SYMBOL.search(self.text)[1]  # type: ignore[index]

    @cached_property
    def is_internal(self) -> bool:
        return self.text.startswith("define internal ")

    @cached_property
    def uses(self) -> set[str]:
        """The symbols in it."""
        return {*_SYMBOL.findall(self.text)}

    def declaration(self) -> str:
        """What other parts say of it."""
        head = self.text[: self.text.index(" {\n")].partition(" !dbg ")[0]
        start = head.index("(", head.index(self.symbol) + len(self.symbol))
        return head[:start].replace("define", "declare", 1) + _PARAMETER.sub("", head[start:])


@dataclass
class _Module:
    header: list[str] = field(default_factory=list)
    slots: str = ""
    tables: list[str] = field(default_factory=list)  # of which there is one
    named: dict[str, str] = field(default_factory=dict)  # constants and declarations by symbols
    nodes: dict[str, str] = field(default_factory=dict)  # of metadata
    functions: dict[str, _Function] = field(default_factory=dict)

    def read_line(self, line: str) -> bool:
        """Keep a line that is not of a function; False if it is of an unknown kind."""
        if line.startswith("!") and (number := _NODE.match(line)) is not None:
            self.nodes[number[1]] = line
        elif line.startswith("declare ") or _COPIED.match(line):
            self.named[_SYMBOL.search(line)[1]] = line  # type: ignore[index]
        elif line.startswith("target "):
            self.header.append(line)
        elif line.startswith(_TABLES):
            self.tables.append(line)
        elif _SLOTS.match(line):
            self.slots = line
        else:
            return not line
        return True

    def reached_from(self, roots: Iterable[str]) -> dict[str, None]:
        """The symbols that the code of some functions uses, also through internal functions."""
        reached: dict[str, None] = {}
        stack = list(roots)
        while stack:
            symbol = stack.pop()
            if symbol not in reached:
                reached[symbol] = None
                function = self.functions.get(symbol)
                if function is not None and (function.is_internal or symbol in roots):
                    stack += sorted(function.uses)
        return reached

    def part(self, roots: set[str], is_first: bool) -> str:
        """The text of the part that has some functions; the first one has the tables."""
        reached = self.reached_from(roots)
        own = [
            function
            for name, function in self.functions.items()
            if name in roots or (function.is_internal and name in reached)
        ]
        others = [
            function.declaration()
            for name, function in self.functions.items()
            if not function.is_internal and name not in roots and (is_first or name in reached)
        ]
        lines = [
            *self.header,
            self.slots if is_first else _SLOTS.sub(r"\1external global [0 x ptr]", self.slots),
            *(self.tables if is_first else ()),
            *(line for name, line in self.named.items() if name in reached),
            *others,
            *(function.text for function in own),
            *self._nodes_of(own),
        ]
        return "\n".join(lines) + "\n"

    def _nodes_of(self, functions: Iterable[_Function]) -> list[str]:
        """The metadata of functions."""
        stack = [number for function in functions for number in {*_NODE.findall(function.text)}]
        reached = set()
        while stack:
            number = stack.pop()
            if number not in reached and number in self.nodes:
                reached.add(number)
                stack += _NODE.findall(self.nodes[number])
        return [line for number, line in self.nodes.items() if number in reached]


def parts_of(text: str, level: int) -> list[str]:
    """The texts of the parts of a module, first the one with the tables; of a short one, its text.

    `level` is LLVM's effort.
    """
    return PartCutter(level).parts(text)


class PartCutter:
    """Cuts the text of a module, also while functions are added to it: what a part that is finished
    has does not depend on later functions.
    """

    def __init__(self, level: int) -> None:
        self._level = level
        self._measured: dict[str, tuple[frozenset[str], int]] = {}  # functions, by symbol
        self._count = 0  # of the parts that were finished before

    def finished(self, text: str) -> list[str]:
        """The parts that are finished since the last call, of a module to which functions will be
        added.
        """
        module = _read(text)
        if module is None:
            return []
        shares = self._shares(module).finished
        new, self._count = shares[self._count :], len(shares)
        return [module.part(names, False) for names in new]

    def parts(self, text: str) -> list[str]:
        """All parts of a module."""
        module = _read(text)
        if module is None:
            return [text]
        shares = self._shares(module)
        growing = [names for _, names in shares.growing.values()] or [set()]
        *others, last = [*shares.finished, *growing]
        if not others:
            return [text]
        return [module.part(last, True), *(module.part(names, False) for names in others)]

    def _shares(self, module: _Module) -> _Shares:
        """Functions in shares, in their order; in one share, if they are short."""
        shares, total = _Shares(), 0
        for name, function in module.functions.items():
            if not function.is_internal:
                passes, size = self._measure(module, name)
                shares.add(name, size, passes)
                total += size
        if total >= _LEAST_CUT:
            return shares
        names = {name for name, function in module.functions.items() if not function.is_internal}
        return _Shares(growing={frozenset(): (total, names)})

    def _measure(self, module: _Module, name: str) -> tuple[frozenset[str], int]:
        """The passes that are left out for a function, and its length with what it uses."""
        if name not in self._measured:
            own = module.reached_from([name])
            texts = [module.functions[one].text for one in own if _is_inside(module, one, name)]
            passes = quirks.passes_left_out("\n".join(texts), self._level)
            self._measured[name] = passes, sum(map(len, texts))
        return self._measured[name]


@dataclass
class _Shares:
    """The functions of parts: of those that are finished, and of one for each set of passes."""

    finished: list[set[str]] = field(default_factory=list)
    growing: dict[frozenset[str], tuple[int, set[str]]] = field(default_factory=dict)

    def add(self, name: str, size: int, passes: frozenset[str]) -> None:
        """Add a function; its share is finished when it is large enough."""
        length, names = self.growing.pop(passes, (0, set()))
        length, names = length + size, {*names, name}
        if length >= PART << len(self.finished) // _MANY_PARTS:
            self.finished.append(names)
        else:
            self.growing[passes] = length, names


def _is_inside(module: _Module, symbol: str, root: str) -> bool:
    function = module.functions.get(symbol)
    return function is not None and (function.is_internal or symbol == root)


def _read(text: str) -> _Module | None:
    """The parts of the text of a module; None if it has something that may not be cut."""
    module = _Module()
    first, *chunks = text.split("\ndefine ")
    lines = first.split("\n")
    for chunk in chunks:
        body, _, rest = chunk.partition("\n}")
        function = _Function(f"define {body}\n}}")
        module.functions[function.symbol] = function
        lines += rest.split("\n")
    return module if all(map(module.read_line, lines)) else None
