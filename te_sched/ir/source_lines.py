"""The lines of the user's program that declare the blocks, loops and buffers of a function, by
their names.

A function keeps them from its declaration on (`PrimFunc.lines`). They are not part of the program:
nothing compares, prints, saves or pickles them. Errors name what they are about; `adding_lines`
looks up its lines. Must not know statements.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, repeat

from te_sched.errors import SourceLocation, Subject, TeSchedError

About = Sequence[Subject | SourceLocation]
MATCH_CAST = "R.match_cast"  # the name of casts among the operators of graphs
_MOST = 3  # lines of one subject
_MOST_INSIDE = 64  # lines by which loops of one name are told apart


class SourceLines:
    """The lines by the kind and name of what they declare: a "block", "loop", "buffer" or "stage";
    those of each "assignment" by the name of the buffer, and of calls of an "operator". Programs
    may give a name to several of a kind; loops are also known by their variables.

    >>> lines = SourceLines()
    >>> lines.add("block", "C", SourceLocation("a.py", 12))
    >>> for subject in lines.located([Subject("block", "C"), Subject("block", "D")]):
    ...     print(subject)
    block C (declared at a.py:12)
    block D
    """

    __slots__ = ("_lines", "_of_variables")

    def __init__(self, *joined: SourceLines) -> None:
        self._lines: dict[tuple[str, str], dict[SourceLocation, None]] = {}
        self._of_variables: dict[object, SourceLocation] = {}
        for other in joined:
            self._of_variables |= other._of_variables
            for (kind, name), lines in other._lines.items():
                for line in lines:
                    self.add(kind, name, line)

    def __reduce__(self) -> tuple[type[SourceLines], tuple[()]]:
        return SourceLines, ()

    def __deepcopy__(self, memo: object) -> SourceLines:
        return self

    def add(self, kind: str, name: str, line: SourceLocation, variable: object = None) -> None:
        """Note a line, while the function is made; `variable` is that of a loop."""
        if line.file:
            self._lines.setdefault((kind, name), {})[line] = None
            if variable is not None:
                self._of_variables[variable] = line

    def with_part(self, part: SourceLines, without: Container[str] = ()) -> SourceLines:
        """These lines and those of a program that replaces a part of the function, except those of
        the buffers `without`; a name that both have gets no lines, as it is unknown which it means.
        """
        joined = SourceLines(self)
        for key in [key for key, lines in self._lines.items() if not lines]:
            joined._lines[key] = {}
        for (kind, name), lines in part._lines.items():
            if kind == "buffer" and name in without:
                continue
            own = self._lines.get((kind, name), lines)
            joined._lines[kind, name] = dict(lines) if own == lines else {}
        joined._of_variables |= part._of_variables
        return joined

    def of(self, kind: str, name: str) -> Sequence[SourceLocation]:
        """The lines of what has a name."""
        return [*self._lines.get((kind, name), ())]

    def located(self, about: About, variables: Sequence[object] = ()) -> About:
        """The subjects of an error with their lines; `variables` are those of the loops among them,
        where they are known, and something else at other positions.
        """
        named = [subject for subject in about if isinstance(subject, Subject)]
        inside = [
            line
            for subject in named
            for kind in ("block", "assignment")
            for line in self.of(kind, subject.name)
        ]
        return [
            self._with_lines(item, inside, variable) if isinstance(item, Subject) else item
            for item, variable in zip(about, chain(variables, repeat(None)), strict=False)
        ]

    def _with_lines(
        self, subject: Subject, inside: Sequence[SourceLocation], variable: object
    ) -> Subject:
        """A subject with its lines; `inside` are lines inside of its loop."""
        declared = self.of(subject.kind, subject.name)
        if variable in self._of_variables:
            declared = [self._of_variables[variable]]
        elif subject.kind == "loop" and len(declared) > 1 and 0 < len(inside) <= _MOST_INSIDE:
            declared = _nearest_above(declared, inside)
        is_buffer = subject.kind == "buffer"
        assigned = self.of("assignment", subject.name) if is_buffer else ()
        does = "called" if subject.kind == "operator" else "declared"
        texts = [f"{does} {_listed(declared)}"] if 0 < len(declared) <= _MOST else []
        if 0 < len(assigned) <= _MOST:
            texts.append(f"assigned {_listed(assigned, declared)}")
        if subject.lines or not texts:
            return subject
        return subject._replace(lines=", ".join(texts))


NO_LINES = SourceLines()


def _nearest_above(
    loops: Sequence[SourceLocation], inside: Sequence[SourceLocation]
) -> list[SourceLocation]:
    """Of loops with one name, the last ones that begin before lines inside of them."""
    nearest: dict[SourceLocation, None] = {}
    for line in inside:
        above = [loop for loop in loops if loop.file == line.file and loop.line <= line.line]
        nearest.update(dict.fromkeys(above[-1:]))
    return [*nearest]


def _listed(lines: Sequence[SourceLocation], declared: Sequence[SourceLocation] = ()) -> str:
    """Lines, without their file if it is that of the declaration."""
    if len({line.file for line in (*lines, *declared)}) > 1 or not declared:
        return f"at {' and '.join(map(str, lines))}"
    numbers = " and ".join(str(line.line) for line in lines)
    return f"in line{'s' if len(lines) > 1 else ''} {numbers}"


@contextmanager
def adding_lines(locate: Callable[[About], About]) -> Iterator[None]:
    """Add to errors the lines of the subjects that they name."""
    try:
        yield
    except TeSchedError as error:
        error.about = tuple(locate(error.about))
        raise


def lines_of(functions: Iterable[object]) -> SourceLines:
    """The lines of all functions that have some."""
    return SourceLines(*[getattr(func, "lines", NO_LINES) for func in functions])
