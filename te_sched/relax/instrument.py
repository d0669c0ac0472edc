"""The instrument that checks graphs before and after each pass."""

from __future__ import annotations

from te_sched.instrument import PassInstrument
from te_sched.ir.stmt import IRModule
from te_sched.passes import PassInfo
from te_sched.relax.analysis import check_well_formed


class WellFormedInstrument(PassInstrument):
    """Raises a GraphError if a pass gets or returns functions that are not well formed.

    Parameters
    ----------
    validate_before_transform : whether to check the modules that passes get, too.
    """

    def __init__(self, validate_before_transform: bool = True) -> None:
        self.validate_before_transform = validate_before_transform

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        """Check the module that a pass gets."""
        if self.validate_before_transform:
            check_well_formed(mod)

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        """Check the module that a pass returned."""
        check_well_formed(mod)
