"""Judges a line: a result, a correct refusal, or a finding.

Must not know the generation of lines.
"""

from __future__ import annotations

import decimal
import fractions
import importlib
import linecache
import signal
import warnings
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

import te_sched
from te_sched import nd, te, tir, topi
from te_sched.errors import InternalError, TeSchedError
from tests.hostile import graph_words, graphs, words
from tests.hostile.surface import FACES, MODULES
from tests.tracebacks import PACKAGE, files_of, place_of
from tests.workers import Worker

FILE = "<hostile>"
SLOW = 10  # seconds after which a line is interrupted
# Functions whose purpose is to raise.
MEANT = {
    "te_sched.testing.assert_allclose": AssertionError,
    "te_sched.testing.assert_prim_expr_equal": AssertionError,
    "te_sched.tir.analysis.assert_pure_function": AssertionError,
    "te_sched.ir.assert_structural_equal": AssertionError,
    "te_sched.testing.assert_structural_equal": AssertionError,
}


# Functions that call functions of the user or constructors of nodes: a TypeError in them means that
# the arguments do not bind.
CALLERS = (
    *("tir/constructors.py:Constructor.__call__", "tir/constructors.py:_by_fields.<locals>.build"),
    *(
        "te/declare.py:compute",
        "te/extern.py:extern",
        "tir/stmt_functor.py:_OrderedRewriter.visit_Node",
    ),
    "runtime/libraries.py:write_library",
    *("relax/emit_te.py:_function_and_inputs", "relax/frontend/nn/core.py:NNModule.__call__"),
    *("relax/vm/machine.py:VirtualMachine.invoke_closure", "meta_schedule/component.py:made"),
    *("signatures.py:checked.<locals>.call", "meta_schedule/component.py:made"),
    *("tir/stmt_functor.py:post_order_visit", "tir/stmt_functor.py:pre_order_visit"),
    *("schedule/primitives/rearranging.py:RearrangingPrimitives.transform_layout",),
)


def names() -> dict[str, Any]:
    """The names for lines."""
    import sympy

    for name in (*MODULES, *graphs.MODULES):
        if name not in FACES:
            importlib.import_module(name)
    return {
        **{"te_sched": te_sched, "te": te, "tir": tir, "topi": topi, "nd": nd, "np": np},
        **{
            "words": words,
            "graph_words": graph_words,
            "sympy": sympy,
            "decimal": decimal,
            "fractions": fractions,
        },
    }


def findings(lines: Sequence[str]) -> list[tuple[str, str]]:
    """The lines with findings, and their faults, judged in processes that may crash or hang."""
    with Worker("tests.hostile.judge:answer") as worker:
        verdicts = zip(lines, worker.answers(lines), strict=True)
        found = [(line, getattr(verdict, "reason", verdict)) for line, verdict in verdicts]
    return [(line, fault) for line, fault in found if fault]


def answer(line: str) -> str:
    """The fault of the outcome of a line, which is interrupted when it is slow, or ""."""
    signal.signal(signal.SIGALRM, _interrupt)
    signal.alarm(SLOW)
    try:
        return judge(line, dict(_names()))
    except _Slow:
        return f"slow: more than {SLOW} s"
    finally:
        signal.alarm(0)


class _Slow(BaseException):
    pass


def _interrupt(*_: object) -> None:
    raise _Slow


_names = cache(lambda: names())


def judge(line: str, known: dict[str, Any]) -> str:
    """The fault of the outcome of a line, or ""."""
    linecache.cache[FILE] = (len(line), None, [line], FILE)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            exec(compile(line, FILE, "exec"), known)
    except TeSchedError as error:
        return _of_refusal(error)
    except BaseException as error:
        return "" if _is_meant(line, error) else _of_foreign(error)
    return ""


def _of_refusal(error: TeSchedError) -> str:
    if isinstance(error, InternalError):
        return f"InternalError at {place_of(error)}: {error.fault}"
    try:
        str(error)
    except Exception as failed:
        return f"an error without a text at {place_of(error)}: {type(failed).__name__}"
    if not error.help:
        return f"vague {type(error).__name__} at {place_of(error)}: {error.fault}"
    return ""


def _is_meant(line: str, error: BaseException) -> bool:
    kind = next((kind for name, kind in MEANT.items() if f"{name}(" in line), None)
    return kind is not None and isinstance(error, kind)


def _of_foreign(error: BaseException) -> str:
    """The fault of an exception of Python, unless it is of the call or of the user's functions."""
    if isinstance(error, KeyboardInterrupt):
        raise error
    files = files_of(error)
    is_deep = isinstance(error, RecursionError | MemoryError)
    inside = [file for file in files if file.startswith(PACKAGE)]
    if not inside:
        return ""
    if isinstance(error, TypeError) and place_of(error) in CALLERS:
        return ""
    if isinstance(error, AttributeError) and place_of(error).endswith(
        ("__getattr__", "refuse_attribute")
    ):
        return ""  # of a name that is not there
    is_users = files[-1] in (FILE, words.__file__, graph_words.__file__) or files[-1].startswith(
        "<"
    )
    if is_users and not is_deep:
        return ""
    return f"{type(error).__name__} at {place_of(error)}: {str(error)[:200]}"
