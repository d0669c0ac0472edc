"""A fuzzing case as data, its lines, and a script that reproduces it.

Must not know the generation or judging of cases.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from tests.fuzz import words
from tests.peer.differential.arrays import extremes
from tests.peer.differential.program import ANY, Dim, Program, Value

FILE = "<case>"  # the file of the lines of a case, in tracebacks and errors
BUILD = 'function = te_sched.build(s, args, target="{0.target}", sanitize={0.sanitize})'


@dataclass(frozen=True)
class Case:
    """A program, and lines that change `args` before it is built and `arrays` before it is called.

    kind: "legal" by construction, also with "indices" from memory or extreme "values", hostile
    ("illegal", "calls"), for a device ("gpu", "kernels"), or with dynamic sizes ("sizes": `given`
    ends with the line of `build`, `calls` make all of `arrays`).
    """

    kind: str
    program: Program
    given: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    target: str = "llvm"
    sanitize: bool = False

    @property
    def declarations(self) -> list[str]:
        """The lines that declare tensors."""
        lines = [f'{name} = te.var("{name}")' for name in self.program.sizes]
        return lines + [line for value in self.program.values for line in value.declaration()]

    @property
    def creation(self) -> list[str]:
        """The lines that begin a schedule and a list of arguments."""
        outputs = ", ".join(f"{name}.op" for name in self.program.outputs)
        return [
            f"s = te.create_schedule([{outputs}])",
            f"args = [{', '.join(self.program.arguments)}]",
        ]

    @property
    def below(self) -> dict[str, int]:
        """Inputs that are indices, with their limits."""
        return {value.names[0]: value.below for value in self.program.values if value.below}

    @property
    def inputs(self) -> list[str]:
        """Names of the placeholders."""
        return [name for v in self.program.values if v.is_placeholder for name in v.names]

    @property
    def formulas(self) -> Iterator[tuple[str, str]]:
        """The formula of each computed tensor, for numpy."""
        for value in self.program.values:
            yield from zip(value.names, value.numpy, strict=False)

    def to_json(self) -> dict[str, Any]:
        """The case in types of JSON."""
        return asdict(self)

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Case:
        """The case from a record of JSON."""
        program = record["program"]
        values = tuple(_value(**value) for value in program["values"])
        return cls(
            record["kind"],
            Program(
                program["number"],
                values,
                tuple(program["outputs"]),
                tuple(program["steps"]),
                program["sizes"],
            ),
            tuple(record["given"]),
            tuple(record["calls"]),
            record["target"],
            record["sanitize"],
        )

    def script(self, note: str = "", refused: frozenset[str] = frozenset()) -> str:
        """A script that reproduces the case; `refused` lines are known to raise."""
        return "\n".join(self._script(note, refused)) + "\n"

    def _script(self, note: str, refused: frozenset[str]) -> Iterator[str]:
        body: list[str] = [*self.declarations, *self.creation]
        for line in self.program.steps:
            if line in refused:
                line = f"with contextlib.suppress(te_sched.TeSchedError):\n    {line}"
            body.append(line)
        is_told = self.kind == "sizes"
        body += self.given if is_told else (*self.given, BUILD.format(self))
        yield from (f"# {line}".rstrip() for line in note.splitlines())
        yield "import contextlib\nfrom typing import Any\n\nimport numpy as np\n"
        yield "import te_sched\nimport te_sched as tvm\nfrom te_sched import te, tir\n"
        yield from _words_of("\n".join([*body, *self.calls]))
        yield from body
        if is_told:
            yield from self.calls
            yield from _call_of_sizes(self.target)
            return
        device = ", te_sched.emulated_cuda(0)" if self.target == "cuda" else ""
        yield "rng = np.random.default_rng(0)"
        yield f"sizes, below = {self.program.sizes}, {self.below}"
        if ANY in self.below.values():
            yield inspect.getsource(extremes)
        for name in self.inputs:
            yield f"shape = tuple(int(eval(str(n), {{}}, dict(sizes))) for n in {name}.shape)"
            if self.below.get(name) == ANY:
                yield f"{name}_ = extremes(rng, shape, {name}.dtype)"
                continue
            yield f'high = below.get("{name}", 2 if {name}.dtype == "bool" else 8)'
            yield (
                f"{name}_ = (rng.uniform(-2, 2, shape) if {name}.dtype.startswith('float') "
                f"else rng.integers(0, high, shape)).astype({name}.dtype)"
            )
        for name in self.program.outputs:
            yield f"shape = tuple(int(eval(str(n), {{}}, dict(sizes))) for n in {name}.shape)"
            yield f"{name}_ = np.zeros(shape, {name}.dtype)"
        yield f"arrays = [{', '.join(f'{name}_' for name in self.program.arguments)}]"
        yield from self.calls
        if device:
            yield f"arrays = [te_sched.nd.array(array{device}) for array in arrays]"
        yield "function(*arrays)"
        if not self.calls and not self.given:
            yield from _comparison(self, bool(device))


def _call_of_sizes(target: str) -> Iterator[str]:
    if target == "cuda":
        yield "on = te_sched.emulated_cuda(0)"
        yield "arrays[-2:] = [te_sched.nd.array(array, on) for array in arrays[-2:]]"
    yield "function(*arrays)"
    if target == "cuda":
        yield "arrays[-2:] = [array.numpy() for array in arrays[-2:]]"
    yield "np.testing.assert_allclose(arrays[-1], expected(), rtol=1e-3)"


def _comparison(case: Case, on_device: bool) -> Iterator[str]:
    results = {name: place for place, name in enumerate(case.program.arguments)}
    yield "arrays = [array.numpy() for array in arrays]" if on_device else ""
    for name in case.inputs:
        yield f"{name} = {name}_"
    for name, formula in case.formulas:
        yield f"{name} = {formula}"
    for name in case.program.outputs:
        yield f"np.testing.assert_allclose(arrays[{results[name]}], {name}, rtol=1e-3, atol=1e-3)"


def _words_of(text: str) -> Iterator[str]:
    """The functions that a script needs."""
    found: list[str] = []
    for name, _ in inspect.getmembers(words, inspect.isfunction):
        if re.search(rf"\b{name}\(|\b{name}\b(?=[,)])", text):
            found.append(name)
            if name == "strange_stage":
                found.append("strange_tensor")
    for name in sorted(set(found)):
        function = getattr(words, name)
        yield inspect.getsource(function) + "\n"


def _value(**record: Any) -> Value:
    record["dims"] = tuple(Dim(**dim) for dim in record["dims"])
    for name in ("names", "dtypes", "reads", "lines", "numpy"):
        record[name] = tuple(record[name])
    return Value(**record)
