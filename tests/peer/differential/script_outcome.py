"""The results of a TensorIR module under te_sched and TVM, and their differences.

The text as read, printed text read again, JSON, the text as lowered, and results beside
`interpret`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tvm

import te_sched
from te_sched.errors import TeSchedError
from te_sched.ir.expr import Expr
from te_sched.ir.serialization import load_json, save_json
from te_sched.ir.stmt import PrimFunc
from te_sched.ir.structural import structural_difference
from te_sched.ir.visitor import walk
from tests.peer.bridge import from_tvm
from tests.peer.differential import interpret
from tests.peer.differential.arrays import difference
from tests.peer.differential.faults import faults
from tests.peer.differential.outcome import FAULTY, WRONG, Outcome, first_difference, normal
from tests.peer.differential.tensorir import SCALARS, SIZES

# FlattenBuffer makes j // -2 + 3 of (7 - j) // 2, and j % -4 of (3 - j) % 4: neither is the same.
_NEGATIVE = re.compile(r"(//|%) (T\.int64\()?-\d|(//|%) T\.Broadcast\(-\d")
_ROUNDED = "an index that is divided by a negative number"
_FLOAT_BYTES = {"float16": 2, "float32": 4, "float64": 8}


@dataclass(frozen=True)
class _Call:
    """The arguments of a function, those after it according to the reference, and its precision."""

    given: tuple[Any, ...]
    expected: tuple[Any, ...]
    precision: int


def judge(source: str) -> Outcome:
    """Read, print and lower a module with both, and run its functions."""
    ours, refusal = _attempt(lambda: te_sched.script.from_source(source))
    theirs, their_refusal = _attempt(lambda: tvm.script.from_source(source))
    if ours is None:
        return _refused(refusal, theirs is None, at="reading")
    printed, detail = _printed(ours, theirs, their_refusal)
    lowered, refusal = _attempt(lambda: te_sched.lower(ours))
    peers, their_refusal = _attempt(lambda: tvm.lower(theirs)) if theirs else (None, "not read")
    if lowered is None and refusal.startswith("!"):
        return Outcome("error in te_sched", "not run", refusal[1:], printed=printed)
    if lowered is None:
        who = "both" if peers is None else "te_sched"
        return Outcome(f"refused by {who}", "not run", refusal, printed=printed)
    text = "same"
    if peers is None:
        text, detail = "refused by TVM", detail or their_refusal
    elif (mine := normal(lowered.script())) != (other := normal(peers.script())):
        text, detail = "differs", detail or first_difference(mine, other)
    numbers, reason, peer = "not run", "", ""
    if printed in ("same", "refused by TVM"):
        numbers, reason = _numbers(te_sched, ours, ours)
    if theirs is not None and (numbers in ("differs", "refused") or text == "differs"):
        peer = "TVM: " + _numbers(tvm, theirs, ours)[0]
    if text == "differs" and numbers == "equal":
        text = _why_they_differ(lowered, peers, peer)
    detail = " | ".join(part for part in (detail, reason) if part)
    return Outcome(text, numbers, detail, peer, printed)


def judge_alone(source: str) -> Outcome:
    """The outcome under te_sched of a module that crashes TVM."""
    ours, refusal = _attempt(lambda: te_sched.script.from_source(source))
    if ours is None:
        return _refused(refusal, True, at="reading")
    numbers, reason = _numbers(te_sched, ours, ours)
    return Outcome("refused by TVM", numbers, f"TVM crashes {reason}")


def _attempt(action: Any) -> tuple[Any, str]:
    """A result, or the reason why there is none; "!" marks an error that is no refusal."""
    try:
        return action(), ""
    except TeSchedError as refusal:
        return None, f"{type(refusal).__name__}: {refusal}"
    except Exception as refusal:
        lines = str(refusal).strip().splitlines() or [""]
        return None, f"!{type(refusal).__name__}: {lines[-1]}"


def _refused(refusal: str, by_both: bool, at: str) -> Outcome:
    if refusal.startswith("!"):
        return Outcome("error in te_sched", "not run", f"{at}: {refusal[1:]}")
    return Outcome(f"refused by {'both' if by_both else 'te_sched'}", "not run", refusal)


def _printed(ours: Any, theirs: Any, refusal: str) -> tuple[str, str]:
    """The verdict on the text as read and printed, and on what is read from it."""
    text = ours.script()
    again, failure = _attempt(lambda: te_sched.script.from_source(text))
    if again is None:
        return "not read again", failure
    for what, copy in (("text", again), ("JSON", load_json(save_json(ours)))):
        if (found := structural_difference(ours, copy)) is not None:
            return "not read again", f"{what}: {found}"
    if theirs is None:
        return "refused by TVM", refusal
    mine, other = normal(text), normal(theirs.script())
    return ("same", "") if mine == other else ("differs", first_difference(mine, other))


def _why_they_differ(ours: Any, theirs: Any, peer: str) -> str:
    """The verdict on different texts: whether a fault of TVM's program is the reason."""
    if peer == "TVM: differs":
        return WRONG
    if _NEGATIVE.search(theirs.script()) and not _NEGATIVE.search(ours.script()):
        return f"{FAULTY}{_ROUNDED}"
    for name in ours.functions:
        other = next((f for v, f in theirs.functions.items() if v.name_hint == str(name)), None)
        if other is None:
            continue
        converted, _ = _attempt(lambda found=other: from_tvm(found))
        if converted is not None and (more := faults(converted, SIZES) - faults(ours[name], SIZES)):
            return f"{FAULTY}{min(more)}"
    return "differs"


def _numbers(implementation: Any, module: Any, ours: Any) -> tuple[str, str]:
    """Whether the results of all functions equal the reference's, and details if not."""
    try:
        calls = {str(name): _call(func) for name, func in ours.functions.items()}
    except (interpret.Undefined, interpret.Unsupported) as why:
        return _without_reference(implementation, module, str(why))
    gpu = "thread=" in ours.script()
    if gpu and implementation is tvm:
        return _interpreted(module, calls)
    try:
        built = implementation.build(module, target="cuda" if gpu else "llvm")
        device = te_sched.emulated_cuda(0) if gpu else implementation.cpu(0)
        reasons = [_run(implementation, built, device, *one) for one in calls.items()]
    except TeSchedError as refusal:
        return "refused", f"{type(refusal).__name__}: {refusal}"
    except Exception as error:
        return "error in te_sched", f"{type(error).__name__}: {str(error)[:300]}"
    wrong = [reason for reason in reasons if reason]
    return ("differs", "; ".join(wrong)) if wrong else ("equal", "")


def _interpreted(module: Any, calls: dict[str, _Call]) -> tuple[str, str]:
    """The results of what TVM lowers for threads, one thread after the other."""
    for var, func in tvm.lower(module).functions.items():
        call = calls[str(var.name_hint)]
        found = [one.copy() if isinstance(one, np.ndarray) else one for one in call.given]
        try:
            interpret.run(from_tvm(func), found, SIZES)
        except interpret.Undefined as why:
            return "differs", str(why)
        except Exception as why:  # not converted, or not interpreted
            return "not run", str(why)
        for one, expected in zip(found, call.expected, strict=True):
            if isinstance(one, np.ndarray) and (
                why_not := difference("it", one, expected, call.precision)
            ):
                return "differs", why_not
    return "equal", ""


def _without_reference(implementation: Any, module: Any, why: str) -> tuple[str, str]:
    """The outcome of a program whose result is not defined: whether it is built."""
    if implementation is tvm:
        return "not run", why
    _, refusal = _attempt(lambda: te_sched.build(module))
    return ("undefined but built" if not refusal else "refused"), why


def _call(func: PrimFunc) -> _Call:
    """Random arguments of a function, and what the reference makes of them."""
    rng, given = np.random.default_rng(0), []
    for param in func.params:
        buffer = func.buffer_map.get(param)
        if buffer is None:
            given.append(SCALARS[param.dtype])
            continue
        shape = [getattr(dim, "value", None) or SIZES[dim.name] for dim in buffer.shape]
        given.append(_array(rng, shape, buffer.dtype))
    expected = [one.copy() if isinstance(one, np.ndarray) else one for one in given]
    interpret.run(func, expected, SIZES)
    return _Call(tuple(given), tuple(expected), _coarsest(func))


def _array(rng: np.random.Generator, shape: Sequence[int], dtype: str) -> np.ndarray:
    """Random elements: floats are multiples of 1/4."""
    if dtype.startswith("float"):
        return (rng.integers(-8, 9, shape) / 4).astype(dtype)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    return rng.integers(0 if dtype.startswith("u") else -4, 9, shape).astype(dtype)


def _coarsest(func: PrimFunc) -> int:
    """The size in bytes of the least precise floats of a function."""
    found = {node.dtype for node in walk(func.body) if isinstance(node, Expr)}
    return min([_FLOAT_BYTES[one] for one in found & set(_FLOAT_BYTES)], default=8)


def _run(implementation: Any, built: Any, device: Any, name: str, call: _Call) -> str:
    """What a function computes beside the reference; "" if the same."""
    arrays = [
        implementation.nd.array(one, device) if isinstance(one, np.ndarray) else one
        for one in call.given
    ]
    built[name](*arrays)
    reasons = []
    for place, (array, expected) in enumerate(zip(arrays, call.expected, strict=True)):
        if isinstance(expected, np.ndarray):
            found = array.numpy()
            reasons.append(difference(f"argument {place}", found, expected, call.precision))
    return "; ".join(reason for reason in reasons if reason)
