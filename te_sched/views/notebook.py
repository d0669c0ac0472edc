"""What objects show of themselves: in notebooks as HTML, `print(s)` of a schedule as a loop tree.

One table says which function of `te_sched.views` does it for which class. They are loaded when
something is first shown, so that importing te_sched costs nothing more. Must not know IPython.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from te_sched.errors import TeSchedError
from te_sched.ir.stmt import IRModule, PrimFunc
from te_sched.runtime.shown import HTML_OF
from te_sched.schedule.entries import Entry
from te_sched.schedule.schedule import Schedule
from te_sched.schedule.stage import Stage
from te_sched.schedule.trace import Trace
from te_sched.te.tensor import Tensor

_CARDS = "te_sched.views.cards"
# Methods by class: the module and the function that is called with the object.
_METHODS: dict[type, dict[str, tuple[str, str]]] = {
    Schedule: {
        "_repr_html_": (_CARDS, "schedule_html"),
        "__str__": ("te_sched.views.comparison", "loops_text"),
        "diff": ("te_sched.views.comparison", "compare"),
    },
    Stage: {"_repr_html_": (_CARDS, "stage_html")},
    Tensor: {"_repr_html_": (_CARDS, "tensor_html")},
    PrimFunc: {
        "_repr_html_": (_CARDS, "program_html"),
        "show": ("te_sched.views.highlight", "show_script"),
    },
    IRModule: {
        "_repr_html_": (_CARDS, "program_html"),
        "show": ("te_sched.views.highlight", "show_script"),
    },
    Trace: {"_repr_html_": (_CARDS, "trace_html")},
    Entry: {"_repr_html_": (_CARDS, "entry_html")},
    TeSchedError: {
        "_repr_html_": (_CARDS, "error_html"),
        "_render_traceback_": ("te_sched.views.tracebacks", "rendered"),
    },
}
# Those whose classes are loaded late.
_LATE = {"Module": "module_html", "CudaModule": "cuda_module_html"}


def _calling(module: str, name: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **options: Any) -> Any:
        return getattr(importlib.import_module(module), name)(self, *args, **options)

    return method


def install() -> None:
    """Give the classes their methods."""
    for kind, methods in _METHODS.items():
        for name, (module, function) in methods.items():
            setattr(kind, name, _calling(module, function))
    for name, function in _LATE.items():
        HTML_OF[name] = _calling(_CARDS, function)
