"""Random schedules that are legal on a processor, over more factors and stages than with TVM."""

from __future__ import annotations

from tests.peer.differential.program import Value
from tests.peer.differential.scheduling import FACTORS, Axis, Scheduler, Stage


class Careful(Scheduler):
    """Schedules a program without steps that a processor or te_sched refuses."""

    factors = (*FACTORS, 1, 6, 13, 64, 128, 1000)

    def _add(self, value: Value) -> None:
        super()._add(value)
        stage = self.stages[value.names[0]]
        if "te.extern(" in " ".join(value.lines):
            stage.leaves, stage.is_elementary = [], False
            stage.notes.add("fixed")

    def _place(self, stage: Stage) -> None:
        readers = self._readers(self._key(stage))
        if any("fixed" in reader.notes or not reader.leaves for reader in readers):
            return  # scans and externs have no expression
        super()._place(stage)

    def _thread(self, stage: Stage, axis: Axis, tag: str) -> None:
        if tag == "vthread":
            super()._thread(stage, axis, tag)
