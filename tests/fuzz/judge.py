"""Judges a case: numpy's result, an error of te_sched, or a finding.

Runs in a worker, which may crash. Must not know the generation of cases.
"""

from __future__ import annotations

import linecache
import os
import re
import signal
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np

import te_sched
from te_sched import config, te, tir
from te_sched.errors import InternalError, TeSchedError
from tests.fuzz import blocks, hostile, models, shapes, special, tensorir, words
from tests.fuzz.case import BUILD, FILE, Case
from tests.peer.differential.arrays import arrays_of, coarsest_float, difference
from tests.schedule.programs import snapshot
from tests.tracebacks import PACKAGE, files_of, place_of
from tests.workers import Death, Worker

LARGEST = 1 << 26  # bytes of all arrays of a case that is run

FINE = ("right", "refused", "not judged")
# Reasons why a case that is legal by construction may be refused.
TELLING = ("set_store_predicate", "tensorize", "rolling_buffer", "transform_layout", "rfactor")
ALLOWED = (
    "needs at least one value to choose from",
    "which is computed in the same iteration",  # what a double buffer needs one iteration ahead
    "there is no next iteration to prefetch for",
    "thread indices start at zero",
    "cannot be read from any argument",
    "it is declared in scope 'global', but",  # what a body outside reads
    "the buffer of an output must hold all of it when the program ends",  # of a group
    "in that loop each thread reduces its part",  # of what is computed at the threads
    "which is not known there",  # registers of virtual threads
    "alternate between two buffers of one size",  # of different sizes: TVM fails too
    "the body is copied once per iteration",  # nor for TVM
    "a vector has a constant number of lanes",
    "an iteration fetches the data of the next one, but the iterations run at once",
    "bytes, expected a constant",  # of kernels
    "the launch is blockIdx.x = -",  # less than no blocks, as constants say
    "but is computed outside of the loop over it",  # registers of virtual threads
    "the divisor is the constant 0",  # in the text, where TVM fails too: a // (a - a)
)
# Overflows that the checked build reports, and that wrap around otherwise, as in numpy.
SANITIZED = "which int32 does not hold"
# Places where Python's errors are right: also where arguments do not bind.
PYTHONS_OWN = (
    "te/tensor.py:Array.__getitem__",
    "trace/primitive.py:primitive.<locals>.declare.<locals>.call",
)
_NAMES = re.compile(r"'[^']*'|\"[^\"]*\"|\b[A-Za-z]\w*[\d_]\w*(?:\.\w+)*|\b[ijklm]\b|-?\b\d[\w.]*")


@dataclass(frozen=True)
class Verdict:
    """outcome: one of FINE, or "wrong", "error", "changed", "accepted", "vague", "needless".

    group: the common part of similar findings; detail: the text to show; refusals: the refused
    lines.
    """

    outcome: str
    group: str = ""
    detail: str = ""
    refusals: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()  # those that were refused

    @property
    def is_finding(self) -> bool:
        """Whether the verdict is a finding."""
        return self.outcome not in FINE


_REFUSED = Verdict("refused")


class _Over(Exception):
    """Raised when the verdict is known."""

    def __init__(self, outcome: str, group: str = "", detail: str = "") -> None:
        super().__init__(outcome)
        self.outcome, self.group, self.detail = outcome, group, detail


class Judge(Worker):
    """Judges cases in processes, each of which judges some hundreds."""

    def __init__(self, limit: float = 30.0) -> None:
        super().__init__("tests.fuzz.judge:answer", limit, lasts=400)

    def verdict(self, case: Case, limit: float | None = None) -> Verdict:
        """The verdict on a case; "crashed" or "hung" if the process returned none."""
        record = self.answer(case.to_json(), limit)
        if record == Death("hung"):
            return Verdict("hung", "hung", f"no answer within {limit or self.limit} s")
        if isinstance(record, Death):
            return Verdict("crashed", f"crashed: {record.reason}", record.reason)
        record["refusals"], record["lines"] = tuple(record["refusals"]), tuple(record["lines"])
        return Verdict(**record)


def answer(case: dict[str, Any]) -> dict[str, Any]:
    """The verdict on a case of JSON."""
    return vars(judge(Case.from_json(case)))


def judge(case: Case) -> Verdict:
    """Declare, schedule, lower, build and call a case."""
    if case.kind == "hostile":
        line, what = hostile.problem(case)
        return Verdict("error", what.partition(": ")[0], f"{line}\n{what}") if what else _REFUSED
    if case.kind == "blocks":
        line, what = blocks.problem(case)
        group = what.partition(": ")[0]
        return Verdict("error", group, f"{line}\n{what}") if line else Verdict(what)
    if case.kind == "models":
        return Verdict(*models.problem(case))
    if case.kind == "special":
        return Verdict(*special.problem(case))
    if case.kind == "shapes":
        return Verdict(*shapes.problem(case))
    if case.kind == "tensorir":
        return Verdict(*tensorir.problem(case))
    run = _Run(case)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            with config.scoped(verify_passes=case.kind != "illegal"):
                run.run()
        except _Over as over:
            ended = over
    return Verdict(
        ended.outcome,
        ended.group or ended.outcome,
        ended.detail,
        tuple(run.refusals),
        tuple(run.lines),
    )


@dataclass
class _Run:
    case: Case
    refusals: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.names: dict[str, Any] = {
            **{name: value for name, value in vars(words).items() if not name.startswith("_")},
            **{"np": np, "te_sched": te_sched, "tvm": te_sched, "te": te, "tir": tir},
            **{"os": os, "signal": signal, "time": time},
        }

    def run(self) -> None:
        for line in [*self.case.declarations, *self.case.creation]:
            self._must(line)
        for line in self.case.program.steps:
            self._step(line)
        if self.case.kind == "sizes":
            self._call_with_sizes()
        for line in self.case.given:
            self._try(line)
        self._must("text = str(te_sched.lower(s, args, simple_mode=True))")
        self._must(BUILD.format(self.case))
        # A lowered program may do what its schedule may. But with double buffers it is printed as
        # by TVM, whose first fetch is unconditional.
        is_as_built = not any("double_buffer" in line for line in self.case.program.steps)
        if self.case.kind == "legal" and is_as_built:
            self._must("te_sched.analysis.check(te_sched.lower(s, args)).raise_refuted()")
        arrays = self._arrays()
        if self.case.target == "cuda":
            if not self.names["function"].kernels:
                raise _Over("not judged", "no kernels")
            device = te_sched.emulated_cuda(0)
            arrays = [te_sched.nd.array(array, device) for array in arrays]
        self.names["arrays"] = arrays
        for line in self.case.calls:
            self._try(line)
        before = [_copied(array) for array in self._listed()]
        if self.case.kind == "kernels":
            self._check(before)
        self._must("function(*arrays)")
        self._compare(before)

    def _check(self, arrays: Sequence[Any]) -> None:
        """Run in checked mode, which must find exactly the errors that a call refuses."""
        self.names["copies"] = [_copied(array) for array in arrays]
        if not self._try("report = function.check(*copies)"):
            return
        found = [one for one in self.names["report"].findings if one.kind == "out of bounds"]
        refused = len(self.refusals)
        self._try("function(*arrays)")
        ended = self.refusals[refused:]
        is_outside = bool(ended) and ended[0].startswith("AccessError")
        if bool(found) != is_outside and (not ended or is_outside):
            text = f"{found[:1]}\n{ended}"
            raise _Over("wrong", "wrong: a call and the checked mode disagree", text)

    def _call_with_sizes(self) -> None:
        """numpy's result, or a CallError; calls with valid sizes must succeed."""
        for line in [*self.case.given, *self.case.calls]:
            self._must(line)
        arrays = self.names["arrays"]
        frame = arrays[-1]
        while frame.base is not None:
            frame = frame.base
        if self.case.target == "cuda":
            on = te_sched.emulated_cuda(0)
            arrays[-2:] = [te_sched.nd.array(array, on) for array in arrays[-2:]]
        if not self._try("function(*arrays)"):
            if self.names["plain"]:
                raise _Over("needless", f"needless: {self.refusals[-1]}", self.refusals[-1])
            raise _Over("refused")
        if self.case.target == "cuda":
            arrays[-2:] = [array.numpy() for array in arrays[-2:]]
        result = np.asarray(arrays[-1])
        try:
            wanted = self.names["expected"]()
        except MemoryError:
            raise _Over("not judged", "too large") from None
        except Exception as error:
            raise _Over("accepted", f"accepted: {type(error).__name__}", str(error)) from None
        if (frame[:64] != -7).any() or (frame[-64:] != -7).any():
            raise _Over("wrong", "wrong: written outside of the result")
        if wanted.shape != result.shape or not np.allclose(wanted, result, rtol=1e-3):
            raise _Over("wrong", "wrong: sizes", f"{result} is not {wanted}"[:400])
        raise _Over("right")

    # Lines

    def _exec(self, line: str) -> None:
        linecache.cache[FILE] = (len(line), None, [line], FILE)
        exec(compile(line, FILE, "exec"), self.names)

    def _try(self, line: str) -> bool:
        """Execute a line, which may be refused; returns whether it succeeded."""
        try:
            self._exec(line)
        except TeSchedError as error:
            self._refused(line, error)
        except Exception as error:
            self._foreign(line, error)
        else:
            return True
        return False

    def _step(self, line: str) -> None:
        """Execute a line of a schedule, which must change nothing if it is refused."""
        before = snapshot(self.names["s"])
        text = str(self.names["s"].trace) if self.case.kind == "illegal" else ""
        if self._try(line):
            return
        if not _same(before, snapshot(self.names["s"])):
            raise _Over("changed", f"changed: {_method(line)}", f"{line}\n{self.refusals[-1]}")
        if text and text != str(self.names["s"].trace):
            raise _Over("changed", f"changed trace: {_method(line)}", line)

    def _must(self, line: str) -> None:
        """Execute a line; if it fails, the case ends."""
        if not self._try(line):
            raise _Over("refused")

    def _refused(self, line: str, error: TeSchedError) -> None:
        if isinstance(error, InternalError):
            raise _Over(
                "error", f"InternalError at {place_of(error)}", f"{line}\n{error}"
            ) from None
        kind, message = type(error).__name__, f"{error.fault} | {error.why}"
        group = f"{kind}: {_normal(message)}"
        if not error.help:
            raise _Over("vague", f"vague {group}", f"{line}\n{error}")
        self.refusals.append(group)
        self.lines.append(line)
        is_legal = self.case.kind in ("legal", "indices", "gpu", "values")
        if self.case.kind in ("kernels", "indices") and kind in ("AccessError", "BuildError"):
            is_legal = not self.case.calls and self._is_in_bounds()
        if is_legal and not self._may_be_refused(error):
            raise _Over("needless", group, f"{line}\n{error}")

    def _is_in_bounds(self) -> bool:
        """Whether the reads of a case are in bounds; numpy would accept negative indices."""
        arrays = self._arrays()
        given = {name: arrays[place] for place, name in enumerate(self.case.inputs)}
        try:
            self._expected(given)
        except _Over:
            return False
        return True

    def _may_be_refused(self, error: TeSchedError) -> bool:
        """Whether a legal case may be refused with this error."""
        if self.case.kind == "gpu" and type(error).__name__ in ("BuildError", "LoweringError"):
            return True
        text = f"{error.fault} | {error.why}"
        if any(name in text for name in self.case.program.sizes) and (
            "has no value where" in text  # it is in no shape of an argument
        ):
            return True
        if "create_group" in str(self.case.program.steps) and "would not exist" in text:
            return True
        if self.case.sanitize and SANITIZED in text:
            return True
        return any(words in text for words in ALLOWED)

    def _foreign(self, line: str, error: Exception) -> None:
        """An exception that is not te_sched's: the user's own, or a bug."""
        frames = files_of(error)
        inside = any(name.startswith(PACKAGE) for name in frames)
        last = frames[-1]
        is_own = last == FILE or last == words.__file__ or not inside
        is_own = is_own or place_of(error) in PYTHONS_OWN
        if isinstance(error, (RecursionError, MemoryError)) and inside:
            is_own = False
        if not is_own:
            name = type(error).__name__
            raise _Over(
                "error", f"{name} at {place_of(error)}", f"{line}\n{name}: {error}"
            ) from None
        self.refusals.append(f"Python: {type(error).__name__}: {_normal(str(error))}")
        self.lines.append(line)

    # Arrays

    def _arrays(self) -> list[np.ndarray]:
        args, case = self.names["args"], self.case
        if not isinstance(args, (list, tuple)) or not all(
            isinstance(arg, te.Tensor) for arg in args
        ):
            raise _Over("not judged", "arguments that are no tensors")
        total = 0
        try:
            for arg in args:
                extents = [int(eval(str(one), {}, dict(case.program.sizes))) for one in arg.shape]
                if min(extents, default=0) < 0:
                    raise _Over("not judged", "negative extents")
                total += int(np.prod([float(extent) for extent in extents])) * 8
                np.dtype(arg.dtype)
        except (NameError, TypeError) as error:  # free variables, vectors as elements
            raise _Over("not judged", f"arrays: {error}") from None
        if total > LARGEST:
            raise _Over("not judged", "too large")
        about = SimpleNamespace(sizes=case.program.sizes, below=case.below)
        return arrays_of(about, args)

    def _listed(self) -> Sequence[Any]:
        arrays = self.names["arrays"]
        return arrays if isinstance(arrays, (list, tuple)) else []

    def _compare(self, before: Sequence[Any]) -> None:
        """Check that the arrays have numpy's results."""
        names = self.case.program.arguments
        tensors = [self.names.get(name) for name in names]
        args = self.names["args"]
        places = {}
        for place, arg in enumerate(args):
            for name, tensor in zip(names, tensors, strict=True):
                if arg is tensor:
                    places.setdefault(name, place)
        missing = [name for name in self.case.inputs if name not in places]
        if missing:
            if not any(self._is_read(self.names.get(name)) for name in missing):
                raise _Over("not judged", "inputs that no iteration reads are not in args")
            raise _Over("accepted", "built without an input", f"{missing} are not in args")
        given = {name: before[places[name]] for name in self.case.inputs}
        if self.case.kind != "values" and any(
            isinstance(one, np.ndarray) and one.dtype.kind == "f" and np.isnan(one).any()
            for one in given.values()
        ):
            raise _Over("not judged", "NaN among the inputs")
        ops = [args[place].op for place in places.values()]
        if any(stage.layouts and stage.origin_op in ops for stage in self.names["s"].stages):
            raise _Over("not judged", "an argument in another order")
        expected = self._expected(given)
        after = [_copied(array) for array in self._listed()]
        for name, place in places.items():
            if name in given:
                if not self.case.calls and not _equal(before[place], after[place]):
                    raise _Over("wrong", "wrong: an input is written", name)
            elif name in expected:
                self._compare_one(
                    name,
                    after[place],
                    expected[name],
                    _largest([*given.values(), *expected.values()]),
                )
        raise _Over("right" if expected else "not judged")

    def _is_read(self, tensor: Any) -> bool:
        """Whether iterations of another tensor may read a tensor."""
        readers = [one for one in self.names.values() if isinstance(one, te.Tensor)]
        return not isinstance(tensor, te.Tensor) or any(
            any(tensor is read for read in reader.op.input_tensors)
            and not any(str(extent) == "0" for extent in _extents(reader))
            for reader in readers
        )

    def _compare_one(self, name: str, result: Any, value: Any, largest: float) -> None:
        """`largest` of the intermediate numbers bounds the rounding errors of sums that cancel."""
        value = np.asarray(value)
        if result is None:
            raise _Over("accepted", "a call with strange arguments", name)
        if self.case.kind == "values":
            wrong = int(np.count_nonzero(~_same_values(np.asarray(result), value)))
            if wrong:
                detail = f"{wrong} of {value.size} elements of {name} are wrong"
                raise _Over("wrong", f"wrong values of {value.dtype}", detail)
            return
        precision = coarsest_float(self.names["s"])
        wrong = difference(name, np.asarray(result), value, precision, largest)
        if wrong:
            if value.shape != np.shape(result):
                if self.case.calls and self.case.program.sizes:  # another size, which is right
                    raise _Over("not judged", "other sizes")
                raise _Over("wrong", "wrong shape", wrong)
            marks = ", ".join(one for one in TELLING if one in str(self.case.program.steps))
            raise _Over("wrong", f"wrong: {marks}", wrong)

    def _expected(self, given: dict[str, Any]) -> dict[str, Any]:
        """numpy's results; if it raises, the case should have been refused."""
        values: dict[str, Any] = {"np": np, **given}
        known: dict[str, Any] = {}
        for name, formula in self.case.formulas:
            if formula == "None":
                return known
            try:
                values[name] = known[name] = eval(formula, values)
            except Exception as error:
                raise _Over("accepted", f"accepted: {type(error).__name__}", str(error)) from None
        return known


def _extents(tensor: te.Tensor) -> list[Any]:
    """The extents of the loops that compute a tensor."""
    return [*tensor.shape, *(axis.dom.extent for axis in getattr(tensor.op, "reduce_axis", ()))]


def _largest(arrays: Sequence[Any]) -> float:
    """The largest magnitude of finite floats."""
    floats = [one for one in map(np.asarray, arrays) if one.dtype.kind == "f"]
    finite = [np.abs(one[np.isfinite(one)]).max(initial=0.0) for one in floats]
    return max(map(float, finite), default=0.0)


def _same_values(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """A mask of equal numbers, including signs of zeros; all NaN are equal."""
    same = np.asarray(a == b)
    if a.dtype.kind == "f":
        same = (same & (np.signbit(a) == np.signbit(b))) | (np.isnan(a) & np.isnan(b))
    return same


def _copied(array: Any) -> Any:
    """The values of an array; None for other objects."""
    try:
        return np.array(array.numpy() if hasattr(array, "numpy") else array)
    except Exception:
        return None


def _equal(a: Any, b: Any) -> bool:
    return a is b or (
        a is not None and b is not None and bool(np.array_equal(a, b, equal_nan=True))
    )


def _same(a: Sequence[Any], b: Sequence[Any]) -> bool:
    try:
        return len(a) == len(b) and all(x is y or x == y for x, y in zip(a, b, strict=True))
    except TeSchedError:  # different expressions
        return False


def _normal(message: str) -> str:
    """A message without names and numbers."""
    return _NAMES.sub("_", message.replace("\n", " "))[:200]


def _method(line: str) -> str:
    found = re.search(r"\.(\w+)\((?!.*\]\.\w+\()", line) or re.search(r"\.(\w+)\(", line)
    return found[1] if found else line
