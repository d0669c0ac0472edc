"""Representations of objects: HTML in notebooks, and the loop tree of `print(s)` for a schedule.
One table maps classes to functions of `te_sched.views`, which are loaded when an object is first
shown, to keep the import of te_sched fast. Must not know IPython.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import wraps
from typing import Any

from te_sched.errors import TeSchedError
from te_sched.ir.graph import Binding, BindingBlock
from te_sched.ir.stmt import IRModule, PrimFunc
from te_sched.ir.struct_info import GraphExpr
from te_sched.notebook_display import HTML_OF
from te_sched.schedule.schedule import Schedule
from te_sched.schedule.stage import Stage
from te_sched.te.tensor import Tensor
from te_sched.tensorir.schedule import BlockSchedule
from te_sched.trace.entries import Entry
from te_sched.trace.trace import Trace

_CARDS = "te_sched.views.cards"


def _calling(module: str, name: str) -> Callable[..., Any]:
    """A method that loads its implementation when it is called."""

    def method(self: Any) -> Any:
        return getattr(importlib.import_module(module), name)(self)

    return method


def _comparing(documented: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(documented)
    def diff(self: Any, other: Any) -> Any:
        return importlib.import_module("te_sched.views.comparison").compare(self, other)

    return diff


def _show(self: Any, style: Any = None, black_format: Any = None, **options: Any) -> None:
    """Print the script: in colours in a terminal or notebook, without them elsewhere.

    The options are those of `script`; `style` and `black_format`, which TVM has, change nothing.
    """
    del style, black_format
    importlib.import_module("te_sched.views.highlight").show(self.script(**options))


_PROGRAM = {"_repr_html_": _calling(_CARDS, "program_html"), "show": _show}
# The methods of classes.
_METHODS: dict[type, dict[str, Callable[..., Any]]] = {
    Schedule: {
        "_repr_html_": _calling(_CARDS, "schedule_html"),
        "__str__": _calling("te_sched.views.comparison", "loops_text"),
        "diff": _comparing(Schedule.diff),
    },
    BlockSchedule: {
        "_repr_html_": _calling(_CARDS, "schedule_html"),
        "__str__": _calling("te_sched.views.comparison", "loops_text"),
        "diff": _comparing(BlockSchedule.diff),
    },
    Stage: {"_repr_html_": _calling(_CARDS, "stage_html")},
    Tensor: {"_repr_html_": _calling(_CARDS, "tensor_html")},
    PrimFunc: _PROGRAM,
    IRModule: _PROGRAM,
    **{kind: {"show": _show} for kind in (GraphExpr, Binding, BindingBlock)},
    Trace: {"_repr_html_": _calling(_CARDS, "trace_html")},
    Entry: {
        "_repr_html_": _calling(_CARDS, "entry_html"),
        "__repr__": _calling(_CARDS, "call_text"),
    },
    TeSchedError: {
        "_repr_html_": _calling(_CARDS, "error_html"),
        "_render_traceback_": _calling("te_sched.views.tracebacks", "rendered"),
    },
}
# Those whose classes are loaded late.
_LATE = {
    "Module": "module_html",
    "CudaModule": "cuda_module_html",
    "Findings": "text_html",
    "Report": "text_html",
    "ProfileResult": "text_html",
    "Tuned": "tuned_html",
}


def install() -> None:
    """Give the classes their methods."""
    for kind, methods in _METHODS.items():
        for name, method in methods.items():
            setattr(kind, name, method)
    for name, function in _LATE.items():
        HTML_OF[name] = _calling(_CARDS, function)
