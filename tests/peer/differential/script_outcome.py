"""The results of a TensorIR module under te_sched and TVM, and their differences.

The text as read, printed text read again, JSON, the text as lowered, and results beside
`interpret`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tvm

import te_sched
from te_sched.errors import TeSchedError
from te_sched.ir.expr import Call, Cast, Expr
from te_sched.ir.serialization import load_json, save_json
from te_sched.ir.stmt import PrimFunc
from te_sched.ir.structural import structural_difference
from te_sched.ir.visitor import walk
from tests.peer.bridge import from_tvm
from tests.peer.differential import interpret
from tests.peer.differential.arrays import difference
from tests.peer.differential.faults import faults
from tests.peer.differential.outcome import FAULTY, Outcome, first_difference, normal
from tests.peer.differential.tensorir import SCALARS, SIZES

WRONG_TEXT = "differs where TVM's text computes something else"
NOT_BUILT = "differs where TVM does not build its own text"
UNDEFINED_ACCESS = f"{FAULTY}an access out of bounds or of what was not written"
# The integers in the arguments, one pair for each call with which different texts are executed: a
# difference may be lost in a maximum or in a function that is flat for large values.
_RANGES = ((-4, 9), (-30, -1), (-1, 2), (-99, 100))
_FLOAT_BYTES = {"float16": 2, "float32": 4, "float64": 8}


@dataclass(frozen=True)
class _Call:
    """The arguments of a function, those after it according to the reference, its precision, and
    what integers may differ by.
    """

    given: tuple[Any, ...]
    expected: tuple[Any, ...]
    precision: int
    step: int


_INEXACT = ("tir.exp", "tir.tanh", "tir.sigmoid")


def judge(source: str, runs_peer: bool = True) -> Outcome:
    """Read, print and lower a module with both, and run its functions, TVM's if `runs_peer`."""
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
    is_asked = numbers in ("differs", "refused") or text == "differs"
    if theirs is not None and runs_peer and is_asked:
        peer = "TVM: " + _numbers(tvm, theirs, ours)[0]
    if text == "differs" and numbers == "equal":
        text = why_they_differ(ours, lowered, theirs, peers, runs_peer)
    detail = " | ".join(part for part in (detail, reason) if part)
    return Outcome(text, numbers, detail, peer, printed)


def judge_alone(source: str) -> Iterator[Outcome]:
    """The outcomes of a module that crashes TVM: with te_sched alone, and then, if TVM crashes only
    when it builds or runs, with TVM's text.
    """
    ours, refusal = _attempt(lambda: te_sched.script.from_source(source))
    if ours is None:
        yield _refused(refusal, True, at="reading")
        return
    numbers, reason = _numbers(te_sched, ours, ours)
    yield Outcome("refused by TVM", numbers, f"TVM crashes {reason}")
    yield judge(source, runs_peer=False)


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


def why_they_differ(
    module: Any, ours: Any, source: Any, theirs: Any, runs_peer: bool = True
) -> str:
    """The verdict on different texts, `ours` and `theirs`, lowered from a module, which is `source`
    for TVM: whether a fault of TVM's is the reason.

    Both texts are executed in the same way, so that nothing but the text can be the reason for
    different results; te_sched's text must give the reference's.
    """
    calls = _defined_calls(module)
    compiled = calls if runs_peer and "thread=" not in module.script() else []
    again, _ = _attempt(lambda: tvm.script.from_source(ours.script()))
    with tvm.transform.PassContext(disabled_pass=["tir.FlattenBuffer", "tir.Simplify"]):  # done
        is_run = _by_llvm(again, compiled) == "equal"
    if is_run and (verdict := _by_llvm(source, compiled)) != "equal":
        return verdict
    converted, _ = _attempt(lambda: from_tvm(theirs))
    if not is_run and converted is not None and _by_statement(ours, calls) == "equal":
        verdict = _by_statement(converted, calls)
        if verdict not in ("equal", "not run"):
            return verdict
    for name, func in ours.functions.items() if converted is not None else ():
        other = converted.functions.get(str(name))
        if other is not None and (more := faults(other, SIZES) - faults(func, SIZES)):
            return f"{FAULTY}{min(more)}"
    return "differs"


def _defined_calls(module: Any) -> list[dict[str, _Call]]:
    """Those of some calls for which the reference has results."""
    found = []
    for draw in range(len(_RANGES)):
        with contextlib.suppress(interpret.Undefined, interpret.Unsupported):
            found.append(_calls(module, draw))
    return found


def _by_llvm(module: Any, calls: Sequence[dict[str, _Call]]) -> str:
    """The results of a module of TVM, compiled by TVM."""
    if module is None or not calls:
        return "not run"
    built, _ = _attempt(lambda: tvm.build(module, target="llvm"))
    if built is None:
        return NOT_BUILT
    reasons = [
        _run(tvm, built, tvm.cpu(0), name, call) for one in calls for name, call in one.items()
    ]
    return WRONG_TEXT if any(reasons) else "equal"


def _by_statement(module: Any, calls: Sequence[dict[str, _Call]]) -> str:
    """The results of a lowered module of te_sched, executed statement by statement."""
    try:
        reasons = [_interpret(module.functions, one) for one in calls]
    except interpret.Undefined:
        return UNDEFINED_ACCESS
    except Exception:  # not interpreted
        return "not run"
    if not calls:
        return "not run"
    return WRONG_TEXT if any(reasons) else "equal"


def _numbers(implementation: Any, module: Any, ours: Any) -> tuple[str, str]:
    """Whether the results of all functions equal the reference's, and details if not."""
    try:
        calls = _calls(ours)
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
        return f"error in {implementation.__name__}", f"{type(error).__name__}: {str(error)[:300]}"
    wrong = [reason for reason in reasons if reason]
    return ("differs", "; ".join(wrong)) if wrong else ("equal", "")


def _interpreted(module: Any, calls: dict[str, _Call]) -> tuple[str, str]:
    """The results of what TVM lowers for threads, one thread after the other."""
    try:
        why_not = _interpret(from_tvm(tvm.lower(module)).functions, calls)
    except interpret.Undefined as why:
        return "differs", str(why)
    except Exception as why:  # not converted, or not interpreted
        return "not run", str(why)
    return ("differs", why_not) if why_not else ("equal", "")


def _interpret(functions: Mapping[Any, PrimFunc], calls: dict[str, _Call]) -> str:
    """What functions compute beside the reference; "" if the same."""
    for name, func in functions.items():
        call = calls[str(name)]
        found = [one.copy() if isinstance(one, np.ndarray) else one for one in call.given]
        interpret.run(func, found, SIZES)
        for one, expected in zip(found, call.expected, strict=True):
            if isinstance(one, np.ndarray) and (
                why_not := difference("it", one, expected, call.precision, step=call.step)
            ):
                return why_not
    return ""


def _without_reference(implementation: Any, module: Any, why: str) -> tuple[str, str]:
    """The outcome of a program whose result is not defined: whether it is built."""
    if implementation is tvm:
        return "not run", why
    _, refusal = _attempt(lambda: te_sched.build(module))
    return ("undefined but built" if not refusal else "refused"), why


def _calls(module: Any, draw: int = 0) -> dict[str, _Call]:
    """Random arguments of the functions, and what the reference makes of them."""
    return {str(name): _call(func, draw) for name, func in module.functions.items()}


def _call(func: PrimFunc, draw: int) -> _Call:
    rng, given = np.random.default_rng(draw), []
    for param in func.params:
        buffer = func.buffer_map.get(param)
        if buffer is None:
            given.append(SCALARS[param.dtype])
            continue
        shape = [getattr(dim, "value", None) or SIZES[dim.name] for dim in buffer.shape]
        given.append(_array(rng, shape, buffer.dtype, draw))
    expected = [one.copy() if isinstance(one, np.ndarray) else one for one in given]
    interpret.run(func, expected, SIZES)
    return _Call(tuple(given), tuple(expected), _coarsest(func), int(_cuts_off(func)))


def _cuts_off(func: PrimFunc) -> bool:
    """Whether a function converts to integers what functions without exact results computed: 0.9999
    is 0, and 1.0 is 1.
    """
    nodes = [node for node in walk(func.body) if isinstance(node, Expr)]
    return any(type(node) is Call and node.op in _INEXACT for node in nodes) and any(
        type(node) is Cast and "int" in node.dtype and "float" in node.value.dtype for node in nodes
    )


def _array(rng: np.random.Generator, shape: Sequence[int], dtype: str, draw: int) -> np.ndarray:
    """Random elements: floats are multiples of 1/4, of half the magnitude of integers."""
    low, high = _RANGES[draw]
    if dtype.startswith("float"):
        return (rng.integers(2 * low, high, shape) / 4).astype(dtype)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.startswith("u"):
        return rng.integers(0, max(abs(low), abs(high)), shape).astype(dtype)
    return rng.integers(low, high, shape).astype(dtype)


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
            what = f"argument {place}"
            reasons.append(difference(what, found, expected, call.precision, step=call.step))
    return "; ".join(reason for reason in reasons if reason)
