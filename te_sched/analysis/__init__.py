"""Legality analysis of programs, for `build` and `check`, before code generation."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from te_sched.analysis.findings import Finding, Findings
    from te_sched.analysis.judge import check

__all__ = ["Finding", "Findings", "check"]


def __getattr__(name: str) -> Any:
    """Load the names in `__all__` on first use."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("te_sched.analysis.judge"), name)
