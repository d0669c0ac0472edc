"""Comparison of all implementations of a workload: te_sched, TVM with the same schedules, peers.

Must not know the workloads or the output of figures.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import llvmlite.binding as llvm
import numpy as np

import te_sched
from benchmarks.processor.measuring import ROUNDS, Timing, timings
from benchmarks.processor.workload import Array, Call, Schedule, Workload

OURS, OURS_TUTORIAL = "te_sched", "te_sched, tutorial"
TVM, TVM_TUTORIAL = "TVM", "TVM, tutorial"
_SCHEDULED = {OURS: "best", OURS_TUTORIAL: "tutorial", TVM: "best", TVM_TUTORIAL: "tutorial"}


@dataclass
class Row:
    """The figures of a workload: milliseconds by implementation, and the reasons of failures."""

    name: str
    size: tuple[int, ...]
    flops: float
    moved: float
    narrow: int
    goals: dict[str, float]
    median_ms: dict[str, float] = field(default_factory=dict)
    shortest_ms: dict[str, float] = field(default_factory=dict)
    disturbed: dict[str, int] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    checked: list[tuple[int, ...]] = field(default_factory=list)


def compete(workload: Workload, rounds: int = ROUNDS) -> Row:
    """Check the results of all implementations, then time them in turns."""
    row = Row(
        *(workload.name, workload.size, workload.flops, workload.moved),
        *(workload.narrow, dict(workload.goals)),
        checked=[*workload.odd, workload.size],
    )
    calls: dict[str, Call] = {}
    expected = _Expected(workload)
    for name in _SCHEDULED:
        if name.startswith(OURS) or tvm_is_installed():
            _enter(row, calls, name, partial(_scheduled, workload, name, expected))
    for name, peer in workload.peers.items():
        _enter(row, calls, name, partial(_peer, workload, peer, expected))
    for name, timing in timings(calls, rounds).items():
        _note(row, name, timing)
    return row


def _enter(row: Row, calls: dict[str, Call], name: str, prepare: Callable[[], Call]) -> None:
    """Record an exception as a figure, so that the others are still measured."""
    try:
        calls[name] = prepare()
    except ImportError as error:
        row.failed[name] = f"not installed: {error}"
    except Exception as error:  # errors of the peers have no common base
        row.failed[name] = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"


def _note(row: Row, name: str, timing: Timing) -> None:
    row.median_ms[name] = timing.median * 1e3
    row.shortest_ms[name] = timing.shortest * 1e3
    row.disturbed[name] = timing.disturbed


class _Expected:
    """Inputs and numpy's result, computed once per size."""

    def __init__(self, workload: Workload) -> None:
        self.workload = workload
        self.known: dict[tuple[Any, ...], tuple[list[Array], Array]] = {}

    def __call__(self, size: tuple[int, ...]) -> tuple[list[Array], Array]:
        if size not in self.known:
            _, args = self.workload.best(te_sched.te, *size)
            values = self.workload.values(args)
            self.known[size] = values, np.asarray(self.workload.reference(*values))
        return self.known[size]


def _scheduled(workload: Workload, name: str, expected: _Expected) -> Call:
    """The call at the timed size, after the results at odd sizes were compared with numpy's."""
    who = te_sched if name.startswith(OURS) else importlib.import_module("tvm")
    schedule: Schedule = getattr(workload, _SCHEDULED[name])
    call: Call = lambda: None  # noqa: E731
    for size in (*workload.odd, workload.size):
        values, result = expected(size)
        s, args = schedule(who.te, *size)
        module = who.build(s, args, target=_target(who))
        isnt = np.nan if result.dtype.kind == "f" else np.iinfo(result.dtype).max
        unwritten = np.full_like(result, isnt)
        arrays = [who.nd.array(value) for value in (*values, unwritten)]
        call = partial(module, *arrays)
        call()
        require_equal(arrays[-1].numpy(), result, workload.tolerance)
    return call


def _target(who: Any) -> Any:
    """The target string of this processor, for both."""
    return "llvm" if who is te_sched else who.target.Target(f"llvm -mcpu={processor()}")


def _peer(workload: Workload, peer: Callable[..., Call], expected: _Expected) -> Call:
    values, result = expected(workload.size)
    call = peer(*values)
    require_equal(np.asarray(call()), result, workload.tolerance)
    return call


def require_equal(found: Array, expected: Array, tolerance: float) -> None:
    """Raise if a result differs by more than `tolerance` relative to the largest element."""
    if found.shape != expected.shape:
        raise ValueError(f"the result is wrong: its shape is {found.shape}, not {expected.shape}")
    largest = float(np.max(np.abs(expected.astype("float64")))) or 1.0
    value = float(np.max(np.abs(found.astype("float64") - expected))) / largest
    if not value <= tolerance:
        raise ValueError(f"the result is wrong: it differs from numpy's by {value:.1e}")


def processor() -> str:
    """LLVM's name of this processor."""
    return str(llvm.get_host_cpu_name())


def tvm_is_installed() -> bool:
    """Whether TVM with TE schedules is installed."""
    return importlib.util.find_spec("tvm") is not None
