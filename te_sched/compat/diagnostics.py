"""tvm.ir.diagnostics: errors of scripts, given to a renderer of the user before they are raised."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum

from te_sched.errors import ScriptError
from te_sched.script import parser

__all__ = ["Diagnostic", "DiagnosticContext", "DiagnosticLevel", "Span", "override_renderer"]


class DiagnosticLevel(IntEnum):
    """How serious a diagnostic is."""

    BUG = 10
    ERROR = 20
    WARNING = 30
    NOTE = 40
    HELP = 50


@dataclass(frozen=True)
class Span:
    """A place in the text of a script, from 1."""

    line: int
    column: int


@dataclass(frozen=True)
class Diagnostic:
    """One error of a script."""

    level: DiagnosticLevel
    span: Span
    message: str


@dataclass(frozen=True)
class DiagnosticContext:
    """The errors of a script."""

    diagnostics: list[Diagnostic] = field(default_factory=list)


_renderers: list[Callable[[DiagnosticContext], None]] = []


def override_renderer(render_func: Callable[[DiagnosticContext], None] | None) -> None:
    """Call a function with each error of a script before it is raised; None ends this."""
    _renderers[:] = [] if render_func is None else [render_func]
    if _render not in parser.observers:
        parser.observers.append(_render)


def _render(error: ScriptError) -> None:
    span = Span(error.line, error.column)
    for render in _renderers:
        render(DiagnosticContext([Diagnostic(DiagnosticLevel.ERROR, span, error.fault)]))
