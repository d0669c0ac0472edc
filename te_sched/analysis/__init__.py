"""Legality analysis of programs, for `build` and `check`, before code generation."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.lazy_loading import set_lazy_names

if TYPE_CHECKING:
    from te_sched.analysis.findings import Finding, Findings
    from te_sched.analysis.judge import check

__all__ = ["Finding", "Findings", "check"]
set_lazy_names(sys.modules[__name__], {name: f"te_sched.analysis.judge:{name}" for name in __all__})
_tell_of_absent_names(__name__)
