"""A random program as data: declarations, and lines that schedule them.

Its text is a program of the corpus (tests/golden), which is executed, so that failures can be saved
as files. Must not know generation or judging.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from types import ModuleType

ANY = -1  # as Value.below


@dataclass(frozen=True)
class Dim:
    """An extent: its text in the program, and its value at run time."""

    text: str
    value: int

    def __add__(self, number: int) -> Dim:
        if self.text == str(self.value):
            return Dim(str(self.value + number), self.value + number)
        sign = "+" if number >= 0 else "-"
        return Dim(f"{self.text} {sign} {abs(number)}", self.value + number)


@dataclass(frozen=True)
class Value:
    """A declaration: one or several tensors of one shape.

    `lines` declare them, `numpy` has their formulas. A placeholder has neither; with `below`, its
    values are indices less than that, or with ANY any integers, many near the limits of their type.
    """

    names: tuple[str, ...]
    dims: tuple[Dim, ...]
    dtypes: tuple[str, ...]
    reads: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    numpy: tuple[str, ...] = ()
    below: int = 0

    @property
    def is_placeholder(self) -> bool:
        """Whether it is an input."""
        return not self.lines

    def placeholders(self) -> list[Value]:
        """Inputs that replace this declaration."""
        return [
            Value((name,), self.dims, (dtype,))
            for name, dtype in zip(self.names, self.dtypes, strict=True)
        ]

    def declaration(self) -> tuple[str, ...]:
        """The lines of the program that declare the tensors."""
        if not self.is_placeholder:
            return self.lines
        dtype = "" if self.dtypes[0] == "float32" else f', dtype="{self.dtypes[0]}"'
        return (
            f'{self.names[0]} = te.placeholder({shape(self.dims)}, name="{self.names[0]}"{dtype})',
        )


def shape(dims: tuple[Dim, ...]) -> str:
    """The text of a shape."""
    inside = ", ".join(dim.text for dim in dims)
    return f"({inside},)" if len(dims) == 1 else f"({inside})"


@dataclass(frozen=True)
class Program:
    """Declarations in order, names of the outputs, and the lines that schedule them.

    `sizes` are the values of the variables of shapes.
    """

    number: int
    values: tuple[Value, ...]
    outputs: tuple[str, ...]
    steps: tuple[str, ...] = ()
    sizes: dict[str, int] = field(default_factory=dict)

    def pruned(self) -> Program:
        """The program without unused declarations."""
        needed = set(self.outputs)
        for value in reversed(self.values):
            if needed & set(value.names):
                needed |= set(value.reads)
        return replace(
            self, values=tuple(value for value in self.values if needed & set(value.names))
        )

    @property
    def arguments(self) -> list[str]:
        """Names of the parameters of the function: inputs, then outputs."""
        given = [name for v in self.values if v.is_placeholder for name in v.names]
        return given + [name for name in self.outputs if name not in given]

    def text(self, note: str = "") -> str:
        """The program as a Python file."""
        return "\n".join(self._text(note)) + "\n"

    def _text(self, note: str) -> Iterator[str]:
        if note:
            first, _, rest = note.partition("\n")
            yield f'"""{first}\n{rest}"""' if rest else f'"""{first}"""'
        else:
            yield f'"""Random program {self.number}."""'
        yield ""
        if self.sizes:
            yield f"sizes = {self.sizes}"
        below = {value.names[0]: value.below for value in self.values if value.below}
        if below:
            yield f"below = {below}"
        yield ""
        yield "def steps(tvm):"
        yield "    te = tvm.te"
        for name in self.sizes:
            yield f'    {name} = te.var("{name}")'
        for value in self.values:
            yield from (f"    {line}" for line in value.declaration())
        ops = [f"{name}.op" for name in self.outputs if self._is_first(name)]
        roots = ops[0] if len(ops) == 1 else f"[{', '.join(ops)}]"
        yield f"    s = te.create_schedule({roots})"
        yield from (f"    {line}" for line in self.steps)
        yield f"    yield s, [{', '.join(self.arguments)}]"
        yield "\n"
        inputs = [name for v in self.values if v.is_placeholder for name in v.names]
        yield f"def reference({', '.join(['np', *inputs])}):"
        for value in self.values:
            for name, formula in zip(value.names, value.numpy, strict=False):
                yield f"    {name} = {formula}"
        yield f"    return [{', '.join(self.outputs)}]"

    def _is_first(self, name: str) -> bool:
        """Whether this is the first result of its declaration."""
        value = next(value for value in self.values if name in value.names)
        return next(one for one in self.outputs if one in value.names) == name


def load_text(text: str, name: str = "random_program") -> ModuleType:
    """The module that a program's text defines."""
    module = ModuleType(name)
    exec(compile(text, name, "exec"), module.__dict__)
    return module
