"""Texts of programs are read back: each function and module that a test prints, by default one in
eight of the different ones, all in a campaign.

The program that is read must be equal to the printed one, whose extents are simplified. Not judged
are programs that use variables outside of what defines them, which `build` refuses, too. A test
whose texts cannot be read for another reason says why: `@pytest.mark.not_read_back("it has no
body")`. conftest.py imports the fixture.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any

import pytest

from te_sched.arith.analyzer import Analyzer
from te_sched.deep_recursion import walks_deeply
from te_sched.errors import TeSchedError
from te_sched.ir import graph as G
from te_sched.ir import ops
from te_sched.ir import stmt as S
from te_sched.ir.buffer import flat_offset
from te_sched.ir.expr import Buffer
from te_sched.ir.printer import text as printer
from te_sched.ir.printer.style import PLAIN, Style
from te_sched.ir.structural import structural_difference
from te_sched.ir.verify import free_variables
from te_sched.ir.visitor import ReferenceMapper, replace, walk
from te_sched.script import from_source
from tests.sampling import IS_CAMPAIGN

_EVERY = 1 if IS_CAMPAIGN else 8
_PROGRAMS = (S.IRModule, S.PrimFunc, G.GraphFunction)
_seen: set[int] = set()
_printed: list[tuple[Any, str]] = []
_print = printer._text


def _arguments(node: Any) -> tuple[Any, ...]:
    arguments = getattr(node, "args", ())
    return arguments if isinstance(arguments, tuple) else ()


class _AsRead(ReferenceMapper):
    """Simplifies the extents of loops, as reading does, and TVM's parser. Offsets of 0, which are
    not printed, are of the type of the extents.
    """

    def visit_For(self, node: S.For) -> Any:
        loop = self.generic(node)
        return replace(loop, extent=Analyzer().simplify(loop.extent))

    def renewed(self, node: Any) -> Any:
        new = self.generic(node)
        if isinstance(new, Buffer) and new.shape and ops.is_const(new.elem_offset, 0):
            return replace(new, elem_offset=flat_offset(new, new.shape))
        return new


def as_read(program: Any) -> Any:
    """The program that is read from the text of a program."""
    if isinstance(program, S.IRModule):
        return program.with_functions({n: as_read(one) for n, one in program.functions.items()})
    return _AsRead().visit(program) if isinstance(program, S.PrimFunc) else program


def difference(program: Any, text: str) -> str | None:
    """What is wrong with the text of a program; None if the program can be read from it."""
    nodes = () if isinstance(program, S.IRModule) else walk(program)
    values = [value for one in nodes for value in (getattr(one, "op", None), *_arguments(one))]
    others = {value: value for value in values if isinstance(value, S.GlobalVar)}
    try:
        again = from_source(text, others, False)
    except TeSchedError as error:
        return f"the text is not read:\n{error}"
    if structural_difference(again, program, True) is None:
        return None
    if (where := structural_difference(again, as_read(program), True)) is not None:
        return f"the text is read as another program: {where}"
    return None


def is_closed(program: Any) -> bool:
    """Whether all variables of the functions of loops are used where they are defined."""
    functions = program.functions.values() if isinstance(program, S.IRModule) else (program,)
    return not any(free_variables(one) for one in functions if isinstance(one, S.PrimFunc))


@walks_deeply("print a program")
def _recorded(node: Any, style: Style) -> str:
    text = _print(node, style)
    if style is PLAIN and isinstance(node, _PROGRAMS):
        key = zlib.crc32(text.encode())
        if key % _EVERY == 0 and key not in _seen:
            _seen.add(key)
            _printed.append((node, text))
    return text


def record() -> None:
    """Record what is printed from now on."""
    printer._text = _recorded


@pytest.fixture(autouse=True)
def _read_back(request: pytest.FixtureRequest) -> Iterator[None]:
    _printed.clear()  # of fixtures of other tests
    yield
    printed, _printed[:] = [*_printed], []
    if request.node.get_closest_marker("not_read_back") is not None:
        return
    for program, text in printed:
        if "metadata[" in text:
            text = _print(program, Style(show_meta=True))
        wrong = difference(program, text)
        assert wrong is None or not is_closed(program), (
            f"{wrong}\n\nThe text that was printed:\n{text}"
        )
