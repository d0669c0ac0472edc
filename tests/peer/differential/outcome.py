"""The results of a program under te_sched and TVM, and their differences."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any
from unittest import mock

import numpy as np
import tvm

import te_sched
from te_sched.arith import int_set
from te_sched.arith.analyzer import Analyzer
from te_sched.errors import TeSchedError
from te_sched.ir.expr import Expr, IntImm, Range
from te_sched.lowering.inject_prefetch import _Injector as Injector
from tests.golden import execution
from tests.golden.corpus import as_golden
from tests.peer.bridge import from_tvm
from tests.peer.differential.arrays import arrays_of, coarsest_float, difference, is_in
from tests.peer.differential.faults import faults
from tests.peer.differential.minimize import block_after

_ahead = Injector._ahead
_FLOAT = re.compile(r"T\.float(\d+)\(([^()]*)\)")
_NAME = re.compile(r"\b[A-Za-z]+_?\w*\d\w*|\d+")
# TVM 0.19 stores the result of a cross-thread reduction without the checks of its data axes.
FORGOTTEN = "differs by store guards that TVM forgets"
# TVM's program has a fault (see `faults`) that te_sched's does not have.
FAULTY = "differs where TVM's program has "
# TVM's result differs from numpy's.
WRONG = "differs where TVM computes something else than numpy"


@dataclass(frozen=True)
class Outcome:
    """The verdicts on texts and results, and the details.

    text: same, differs, "refused by both/TVM/te_sched", or "error in te_sched".
    numbers: equal, differs, "not run", refused, or "error in te_sched"; if te_sched's are wrong,
    `peer` is whether TVM's are right. printed: of a program in TVMScript, the same for its text as
    read and printed.
    """

    text: str
    numbers: str
    detail: str = ""
    peer: str = ""
    printed: str = ""

    @property
    def is_failure(self) -> bool:
        """Whether the outcome is a failure."""
        return self.text in (
            "differs",
            "error in te_sched",
            "refused by te_sched",
            "not known",
        ) or (
            self.numbers not in ("equal", "not run", "refused")
            or self.printed in ("differs", "not read again")
        )

    @property
    def kind(self) -> tuple[str, ...]:
        """The properties that a smaller program must share."""
        return self.text, self.numbers, self.printed, self.peer

    @property
    def group(self) -> str:
        """The outcome without numbers and names, to group similar failures."""
        return (
            f"{self.printed}/{self.text}/{self.numbers}/{self.peer}: "
            + _NAME.sub("_", self.detail)[:160]
        )


def judge(module: ModuleType) -> Outcome:
    """Lower a program with both and compare; then run it if the CPU can."""
    with mock.patch.object(Injector, "_ahead", _ahead_as_tvm):
        ours, our_refusal = _lowered(te_sched, module)
    theirs, their_refusal = _lowered(tvm, module)
    if ours is None:
        return _refusal(our_refusal, refused_by_both=theirs is None)
    text, detail = "same", ""
    if theirs is None:
        text, detail = "refused by TVM", their_refusal
    elif (mine := normal(ours.script())) != (peers := normal(theirs.script())):
        text, detail = "differs", first_difference(mine, peers)
        if any(mine == again for again in _more_texts(module)):
            text, detail = "same", ""
        else:
            text = _why_they_differ(module, ours, theirs)
    numbers, reason = _numbers_if_on_cpu(module, ours)
    peer = ""
    if text == "differs" and numbers == "equal" and _numbers(tvm, module)[0] == "differs":
        text = WRONG
    if reason:
        detail = f"{detail} | {reason}" if detail else reason
    if numbers in ("differs", "refused") and theirs is not None:
        peer = "TVM: " + _numbers(tvm, module)[0]
    return Outcome(text, numbers, detail, peer)


def _why_they_differ(module: ModuleType, ours: Any, theirs: Any) -> str:
    """The verdict on different texts: whether a fault of TVM's program is the reason."""
    if _differ_by_store_guards(normal(ours.script()), normal(theirs.script())):
        return FORGOTTEN
    sizes = getattr(module, "sizes", {})
    more = faults(from_tvm(theirs["main"]), sizes) - faults(ours["main"], sizes)
    return f"{FAULTY}{min(more)}" if more else "differs"


def _differ_by_store_guards(mine: str, peers: str) -> bool:
    """Whether texts differ only by guards of stores and positions of declarations."""
    bare = without_store_guards(mine)
    if bare == mine and without_store_guards(peers) == peers:
        return False
    kept = [
        [line for line in text.splitlines() if " = T.Buffer(" not in line]
        for text in (bare, without_store_guards(peers))
    ]
    return kept[0] == kept[1]


def judge_alone(module: ModuleType) -> Outcome:
    """The outcome under te_sched of a program that crashes TVM."""
    ours, refusal = _lowered(te_sched, module)
    if ours is None:
        return _refusal(refusal, refused_by_both=True)
    numbers, reason = _numbers_if_on_cpu(module, ours)
    return Outcome("refused by TVM", numbers, f"TVM crashes {reason}")


def _numbers_if_on_cpu(module: ModuleType, lowered: Any) -> tuple[str, str]:
    schedule, _ = next(module.steps(te_sched))
    if execution.why_not_on_cpu(schedule, lowered.script()) is not None:
        return "not run", ""
    return _numbers(te_sched, module)


def _more_texts(module: ModuleType) -> Iterator[str]:
    """Further texts of TVM for the program: it unites regions in order of memory addresses.

    Lowering other programs in between changes the addresses.
    """
    keep = []
    for _ in range(24):
        schedule, args = next(module.steps(tvm))
        keep.append(schedule)
        yield normal(tvm.lower(schedule, args, simple_mode=True).script())


def _ahead_as_tvm(injector: Injector, bound: Range, steps: Expr) -> Range:
    """The prefetched range in TVM 0.17 and later: twice as far ahead for a single element.

    They substitute i + steps for i, and then again in the result.
    """
    if injector.loops and type(bound.extent) is IntImm and bound.extent.value == 1:
        loop = injector.loops[-1]
        later = int_set.single_point(loop + steps)
        whole = int_set.eval_set(bound.min, {loop: later})
        bound = int_set.cover_range(whole, bound)
        bound = Range(Analyzer().simplify(bound.min), bound.extent)
        steps = IntImm(0)
    return _ahead(injector, bound, steps)


def _lowered(implementation: Any, module: ModuleType) -> tuple[Any, str]:
    try:
        schedule, args = next(module.steps(implementation))
        return implementation.lower(schedule, args, simple_mode=True), ""
    except TeSchedError as refusal:
        return None, f"{type(refusal).__name__}: {refusal}"
    except Exception as refusal:
        lines = str(refusal).strip().splitlines() or [""]
        return None, f"!{type(refusal).__name__}: {lines[-1]}"


def _refusal(reason: str, refused_by_both: bool) -> Outcome:
    if reason.startswith("!"):
        return Outcome("error in te_sched", "not run", reason[1:])
    who = "both" if refused_by_both else "te_sched"
    return Outcome(f"refused by {who}", "not run", reason)


def normal(script: str) -> str:
    """A text with its floats in one notation."""
    return _FLOAT.sub(lambda match: f"T.float{match[1]}({_float(match[2])})", as_golden(script))


def without_store_guards(script: str) -> str:
    """A text without the guards of stores of cross-thread reductions."""
    lines = script.splitlines()
    place = 0
    while place < len(lines):
        inside = block_after(lines, place)
        if lines[place].lstrip().startswith("if T.likely(") and any(
            "= reduce_temp" in line for line in inside
        ):
            lines[place : place + 1 + len(inside)] = [line[4:] for line in inside]
        else:
            place += 1
    return "\n".join(lines)


def _float(text: str) -> str:
    try:
        return repr(float(text))
    except ValueError:
        return text


def first_difference(ours: str, theirs: str) -> str:
    """The first different line: te_sched's, then TVM's."""
    mine, peers = ours.splitlines(), theirs.splitlines()
    for a, b in zip(mine, peers, strict=False):
        if a != b:
            return f"{a.strip()}  <>  {b.strip()}"
    return f"{len(mine)} lines  <>  {len(peers)} lines"


def _numbers(implementation: Any, module: ModuleType) -> tuple[str, str]:
    """Whether the results equal numpy's, and the details if they do not."""
    schedule, args = next(module.steps(implementation))
    values = arrays_of(module, args)
    inputs, _ = execution.inputs_and_outputs(args)
    given = [value for value, arg in zip(values, args, strict=True) if is_in(arg, inputs)]
    try:
        function = implementation.build(schedule, args, target="llvm")
        arrays = [implementation.nd.array(value) for value in values]
        function(*arrays)
    except TeSchedError as refusal:
        return "refused", f"{type(refusal).__name__}: {refusal}"
    except Exception as error:
        return "error in te_sched", f"{type(error).__name__}: {str(error)[:300]}"
    results = [
        array.numpy() for array, arg in zip(arrays, args, strict=True) if not is_in(arg, inputs)
    ]
    precision = coarsest_float(schedule)
    with np.errstate(all="ignore"):
        expected = module.reference(np, *given)
    wrong = [
        message
        for arg, result, value in zip(
            [arg for arg in args if not is_in(arg, inputs)], results, expected, strict=True
        )
        if (message := difference(arg.op.name, result, value, precision))
    ]
    return ("differs", "; ".join(wrong)) if wrong else ("equal", "")
