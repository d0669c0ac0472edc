"""Representations of objects: HTML in notebooks, and the loop tree of `print(s)` for a schedule.
One table maps classes to functions of `te_sched.views`. Neither these nor classes are loaded before
an object is shown, to keep the import of te_sched fast. Must not know IPython.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from te_sched.errors import TeSchedError
from te_sched.ir.graph import Binding, BindingBlock
from te_sched.ir.stmt import IRModule, PrimFunc
from te_sched.ir.struct_info import GraphExpr
from te_sched.lazy_loading import lazy_function, load
from te_sched.notebook_display import register_methods
from te_sched.te.tensor import Tensor

_CARDS = "te_sched.views.cards"
_COMPARISON = "te_sched.views.comparison"


def _show(self: Any, style: Any = None, black_format: Any = None, **options: Any) -> None:
    """Print the script: in colors in a terminal or notebook, without them elsewhere.

    The options are those of `script`; `style` and `black_format`, which TVM has, change nothing.
    """
    del style, black_format
    load("te_sched.views.highlight:show")(self.script(**options))


def _html(function: str) -> dict[str, Callable[..., Any]]:
    return {"_repr_html_": lazy_function(f"{_CARDS}:{function}")}


def _of_schedule() -> dict[str, Callable[..., Any]]:
    def diff(self: Any, other: Any) -> Any:
        return load(f"{_COMPARISON}:compare")(self, other)

    text = lazy_function(f"{_COMPARISON}:loops_text")
    return {**_html("schedule_html"), "__str__": text, "diff": diff}


# The methods of classes that are always loaded.
_METHODS: dict[type, dict[str, Callable[..., Any]]] = {
    Tensor: _html("tensor_html"),
    **{kind: {**_html("program_html"), "show": _show} for kind in (PrimFunc, IRModule)},
    **{kind: {"show": _show} for kind in (GraphExpr, Binding, BindingBlock)},
    TeSchedError: {
        **_html("error_html"),
        "_render_traceback_": lazy_function("te_sched.views.tracebacks:rendered"),
    },
}
# Those of classes that may be loaded later.
_LATE_METHODS: dict[str, dict[str, Callable[..., Any]]] = {
    "te_sched.schedule.schedule.Schedule": _of_schedule(),
    "te_sched.tensorir.schedule.BlockSchedule": _of_schedule(),
    "te_sched.schedule.stage.Stage": _html("stage_html"),
    "te_sched.trace.comparison.Comparison": {
        "_repr_html_": lazy_function(f"{_COMPARISON}:comparison_html")
    },
    "te_sched.trace.trace.Trace": _html("trace_html"),
    "te_sched.trace.entries.Entry": {
        **_html("entry_html"),
        "__repr__": lazy_function(f"{_CARDS}:call_text"),
    },
    "te_sched.runtime.module.Module": _html("module_html"),
    "te_sched.runtime.cuda_module.CudaModule": _html("cuda_module_html"),
    "te_sched.analysis.findings.Findings": _html("text_html"),
    "te_sched.codegen.checker.report.Report": _html("text_html"),
    "te_sched.runtime.timing.ProfileResult": _html("text_html"),
    "te_sched.meta_schedule.tuning.Tuned": _html("tuned_html"),
}


def install() -> None:
    """Give the classes their methods."""
    for kind, methods in _METHODS.items():
        for name, method in methods.items():
            setattr(kind, name, method)
    for class_name, methods in _LATE_METHODS.items():
        register_methods(class_name, methods)
