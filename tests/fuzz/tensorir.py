"""Cases of kind "tensorir": random programs of blocks under three to eight primitives of
`tir.Schedule`, against the program without a schedule.

A case has the text of a program (`given`) and lines, of which each draws a step for the state of
the schedule (`tests.peer.block_schedules.steps`). The interpreter executes the program before and
after the steps, statement by statement. What it computes before them is the answer. A refusal by
`build` is needless if what it computes after them is the same.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

import te_sched
from te_sched import config, tir
from te_sched.errors import InternalError, TeSchedError
from te_sched.ir import dtypes
from te_sched.ir.expr import Buffer, IntImm
from te_sched.ir.stmt import PrimFunc
from te_sched.script import from_source
from tests.fuzz.block_programs import draw_program
from tests.fuzz.case import Case
from tests.peer.block_schedules.steps import namespace, step
from tests.peer.differential import interpret
from tests.peer.differential.program import Program
from tests.read_back import as_read
from tests.tensorir.test_random_schedules import check_index
from tests.tracebacks import place_of

TRIES = 4  # steps that are drawn for one that is accepted
TOLERANCES = {"float16": 2e-2, "float32": 1e-4, "float64": 1e-9}
_REGIONS = re.compile(r"^ *T\.(?:reads|writes)\(.*\n", re.MULTILINE)
# Reasons why build may refuse what computes the same statement by statement.
ALLOWED = (
    "overwrites the results of the reduction",  # with the same values by chance, such as 0
)


def generate(rng: random.Random, number: int) -> Case:
    """A program, and steps of which three to eight are to be accepted."""
    target = "cuda" if rng.random() < 0.15 else "llvm"
    text = draw_program(rng)
    wanted = rng.randint(3, 8)
    lines = tuple(f"step({rng.randrange(10**6)})" for _ in range(TRIES * wanted))
    program = Program(number, (), (), lines, {"wanted": wanted})
    return Case("tensorir", program, tuple(text.splitlines()), target=target)


class _Finding(Exception):
    """Raised when the verdict is known: outcome, common part of such findings, detail."""


@dataclass
class _Run:
    case: Case
    accepted: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.before: PrimFunc = from_source("\n".join(self.case.given))
        self.schedule = tir.Schedule(self.before, seed=1)

    @property
    def after(self) -> PrimFunc:
        func = self.schedule.mod["main"]
        assert isinstance(func, PrimFunc)
        return func

    def steps(self) -> None:
        """Draw and execute steps until enough are accepted."""
        for line in self.case.program.steps:
            if len(self.accepted) == self.case.program.sizes["wanted"]:
                return
            state = _state(self.schedule)
            if not state:
                return
            seed = int(line.removeprefix("step(").removesuffix(")"))
            call = step(random.Random(seed), state, self.case.target == "cuda")
            text = self.schedule.mod.script()
            try:
                eval(call, namespace(te_sched, self.schedule))
            except InternalError as error:
                raise self._finding("error", f"InternalError: {error.fault}", call) from error
            except TeSchedError as error:
                if self.schedule.mod.script() != text:
                    raise self._finding("changed", "changed: a refused primitive", call) from error
            except Exception as error:
                if not isinstance(error, IndexError) or place_of(error) != "?":
                    raise self._foreign(error, call) from error  # not of the step: l(name)[7]
            else:
                self.accepted.append(call)

    def _finding(self, outcome: str, group: str, detail: str) -> _Finding:
        lines = [detail, *self.accepted, str(self.schedule.mod.script())]
        return _Finding(outcome, group, "\n".join(lines))

    def _foreign(self, error: Exception, where: str) -> _Finding:
        group = f"{type(error).__name__} at {place_of(error)}"
        return self._finding("error", group, f"{where}\n{error}")

    def checks(self) -> None:
        """The index of the schedule, and its text, which is read again."""
        for what, check in (("index", self._check_index), ("text", self._check_text)):
            try:
                check()
            except Exception as error:
                group = f"{what}: {type(error).__name__}"
                raise self._finding("wrong", group, str(error)[:500]) from error

    def _check_index(self) -> None:
        check_index(self.schedule)

    def _check_text(self) -> None:
        """The text is read as the same program, whose regions and extents are simplified when they
        are read.
        """
        mod = self.schedule.mod
        again, text = from_source(mod.script()).script(), as_read(mod).script()
        assert _REGIONS.sub("", again) == _REGIONS.sub("", text), "the text is read otherwise"

    def results(self) -> None:
        """Compare what the interpreter and a build compute."""
        data = _data(self.before, self.case.program.number)
        expected = self._interpreted(self.before, data)
        if isinstance(expected, str):
            raise _Finding("broken", f"broken: {expected}", "\n".join(self.case.given))
        plain = self._built(self.before, data, "llvm")
        if isinstance(plain, TeSchedError):
            raise self._finding("needless", f"needless: {plain.fault}", f"unscheduled\n{plain}")
        self._compare("build of the program without steps", plain, expected)
        pairs = zip(_buffers(self.before), _buffers(self.after), strict=True)
        is_alike = all(before is after for before, after in pairs)
        if not is_alike:  # arguments in another layout
            data = _data(self.after, self.case.program.number)
        stated = self._interpreted(self.after, data, is_strict=True)
        built = self._built(self.after, data, self.case.target)
        if isinstance(built, TeSchedError):
            if isinstance(stated, list) and is_alike and self.case.target == "llvm":
                text = f"{built.fault} | {built.why}"
                is_right = self._difference("", stated, expected) is None
                if is_right and not any(one in text for one in ALLOWED):
                    raise self._finding("needless", f"needless: {built.fault}", str(built))
            raise _Finding("refused", "", "")
        if is_alike:
            self._compare("build", built, expected)
        elif isinstance(stated, list):
            self._compare("build with other layouts", built, stated)
        raise _Finding("right" if is_alike or isinstance(stated, list) else "not judged", "", "")

    def _interpreted(self, func: PrimFunc, data: list[Any], is_strict: bool = False) -> Any:
        """The arrays after an execution by the interpreter; what is undefined; None if unknown."""
        arrays = [one.copy() for one in data]
        try:
            interpret.run(func, arrays, {}, is_strict)
        except interpret.Undefined as why:
            return str(why)
        except interpret.Unsupported:
            return None
        return arrays

    def _built(self, func: PrimFunc, data: list[Any], target: str) -> Any:
        """The arrays after a call of the program, or the error that refuses it."""
        device = te_sched.emulated_cuda(0) if target == "cuda" else te_sched.cpu()
        arrays = [te_sched.nd.array(one, device) for one in data]
        try:
            with config.scoped(verify_passes=self.case.program.number % 4 == 0):
                te_sched.build(func, target=target)(*arrays)
        except InternalError as error:
            group = f"InternalError: {error.fault}"
            raise self._finding("error", group, str(error)) from error
        except TeSchedError as error:
            return error
        except Exception as error:
            raise self._foreign(error, "build") from error
        return [one.numpy() for one in arrays]

    def _compare(self, what: str, found: list[Any], expected: list[Any] | None) -> None:
        """Raise a finding if arrays differ from those that are expected."""
        detail = self._difference(what, found, expected)
        if detail is not None:
            raise self._finding("wrong", f"wrong: {what}", detail)

    def _difference(self, what: str, found: list[Any], expected: list[Any] | None) -> str | None:
        """How arrays differ; None if they do not."""
        if expected is None:
            raise _Finding("not judged", "", "")
        floats = [one[np.isfinite(one)] for one in expected if one.dtype.kind == "f"]
        largest = max([float(np.abs(one).max(initial=1)) for one in floats], default=1.0)
        for number, (a, b) in enumerate(zip(found, expected, strict=True)):
            tolerance = TOLERANCES.get(str(b.dtype))
            if tolerance is None:
                is_right = bool((a == b).all())
            elif not np.isfinite(b).all():
                continue
            else:
                is_right = np.allclose(a, b, tolerance, tolerance * largest)
            if not is_right:
                detail = f"argument {number} of {what}\n{a}\ninstead of\n{b}"
                return detail
        return None


def problem(case: Case) -> tuple[str, str, str]:
    """The outcome of a case, the common part of such findings, and what is wrong."""
    run = _Run(case)
    try:
        with np.errstate(all="ignore"):
            run.steps()
            run.checks()
            run.results()
    except _Finding as finding:
        outcome, group, detail = finding.args
        return outcome, group, detail
    raise AssertionError("no verdict")


def _state(schedule: Any) -> Mapping[str, list[int]]:
    """The blocks whose names are unique, with the extents of their loops (1 if unknown)."""
    names = [schedule.block(key).name_hint for key in schedule.keys.values()]
    found = [one for one in names if names.count(one) == 1 and one != "root"]
    probe = schedule.copy()
    loops = {name: probe.get_loops(probe.get_block(name)) for name in found}
    return {name: [_extent(probe.get(one)) for one in many] for name, many in loops.items()}


def _extent(loop: Any) -> int:
    return loop.extent.value if type(loop.extent) is IntImm else 1


def _buffers(func: PrimFunc) -> list[Buffer]:
    return [func.buffer_map[param] for param in func.params]


def _data(func: PrimFunc, seed: int) -> list[Any]:
    """Arguments: integers of all sizes, and floats whose sums are exact."""
    rng = np.random.default_rng(seed)
    arrays = []
    has_floats = any(dtypes.is_float(one.dtype) for one in _buffers(func))
    for buffer in _buffers(func):
        shape, dtype = [int(one) for one in buffer.shape], np.dtype(buffer.dtype)
        if dtype.kind == "f":
            values = rng.integers(-4, 5, shape) / 2
        elif has_floats or rng.random() < 0.5:  # others leave the range of float16
            values = rng.integers(0 if dtype.kind == "u" else -4, 9, shape)
        else:
            limits = np.iinfo(dtype)
            values = rng.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)
        arrays.append(values.astype(dtype))
    return arrays


def smaller(case: Case) -> Iterator[Case]:
    """The case with fewer steps."""
    steps = case.program.steps
    for count in (len(steps) // 2, len(steps) // 4, 1):
        for start in range(0, len(steps), max(count, 1)):
            if count and len(steps) > count:
                kept = steps[:start] + steps[start + count :]
                yield replace(case, program=replace(case.program, steps=kept))


def script(case: Case) -> list[str]:
    """The lines of a script that reproduces a case, in the repository."""
    return [
        "from tests.fuzz.case import Case",
        "from tests.fuzz.tensorir import problem",
        "from tests.peer.differential.program import Program",
        "",
        *[f"# {line}" for line in case.given],
        f"case = {case!r}",
        'print(*problem(case), sep="\\n")',
    ]
