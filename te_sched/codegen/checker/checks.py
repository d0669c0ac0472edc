"""Findings of the checks of indices that the program contains (`analysis/checks`).

They name the dimension of the tensor that is out of bounds, which flat memory does not. Must not
know which accesses are checked.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from te_sched.analysis.checks.check_builder import REPORT
from te_sched.codegen.checker.expressions import CallCompiler, Compiler, ExprClosure
from te_sched.codegen.checker.machine import Site, value_at
from te_sched.codegen.checker.report import ViolationKind
from te_sched.ir import expr as E
from te_sched.ir import stmt as S


def is_check(node: S.Stmt) -> bool:
    """Whether a statement does nothing but report."""
    return type(node) is S.Evaluate and _is_report(node.value)


def _is_report(e: E.Expr) -> bool:
    is_packed = isinstance(e, E.Call) and e.op == "tir.tvm_call_packed"
    name = e.args[0] if is_packed else None  # type: ignore[attr-defined]
    return isinstance(name, E.StringImm) and name.value == REPORT


def _report(c: Compiler, node: E.Call) -> ExprClosure:
    if not _is_report(node):
        raise c.unknown(f"a call of the packed function {node.args[0]}")
    text = node.args[1]
    assert isinstance(text, E.StringImm)
    record: dict[str, Any] = json.loads(text.value)
    c.is_counted = False
    parts = [c.expression(arg).run for arg in node.args[2:5]]  # the index, the first, the end
    c.is_counted = True
    buffer, dimension, machine = record["buffer"], record["dimension"], c.machine
    access = f"{buffer} at {record['index']} in dimension {dimension}"
    name = buffer.replace(".", "_")  # as it is printed
    site = Site(len(machine.sites), name, access, record["does"], buffer)
    machine.sites.append(site)

    def run() -> int:
        mask = np.ones((1, 1, 1, 1), np.bool_) if machine.mask is None else machine.mask
        index, low, end = (part() for part in parts)
        first, last = (value_at(bound, machine.first_active()) for bound in (low, end))
        detail = f"{buffer} has the indices {first} to {last - 1} in dimension {dimension}"
        machine.find(ViolationKind.OUT_OF_BOUNDS, site, mask, index, detail)
        machine.outside[name] = machine.outside.get(name, False) | mask
        return 0

    return ExprClosure(run, frozenset(), False)


CALLS: dict[str, CallCompiler] = {"tvm_call_packed": _report}
