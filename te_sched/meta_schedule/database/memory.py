"""A database in memory, and what databases that keep their workloads in memory share."""

from __future__ import annotations

from copy import copy

from te_sched.errors import DeclarationError
from te_sched.ir.stmt import IRModule
from te_sched.meta_schedule.database.base import Database, TuningRecord, Workload, fastest
from te_sched.meta_schedule.database.equality import ModuleEquality
from te_sched.signatures import checked_methods


@checked_methods(DeclarationError)
class MemoryDatabase(Database):
    """A database in memory.

    Parameters
    ----------
    module_equality : what counts as the same workload: "structural", "ignore-ndarray" (constants
        may differ) or "anchor-block" (the reduction with the most operations is the same).

    >>> len(MemoryDatabase())
    0
    """

    def __init__(self, module_equality: str = "structural") -> None:
        self._equality = ModuleEquality(module_equality)
        self.workloads: list[Workload] = []
        self.records: list[TuningRecord] = []
        self._by_hash: dict[int, list[Workload]] = {}

    def has_workload(self, mod: IRModule) -> bool:
        return self._known(mod) is not None

    def commit_workload(self, mod: IRModule) -> Workload:
        workload = self._known(mod)
        if workload is None:
            workload = Workload(mod)
            self._add(workload)
        return workload

    def commit_tuning_record(self, record: TuningRecord) -> None:
        workload = self.commit_workload(record.workload.mod)
        if workload is not record.workload:  # which is of another database
            record = copy(record)
            record.workload = workload
        self.records.append(record)

    def get_top_k(self, workload: Workload, top_k: int) -> list[TuningRecord]:
        own = self._known(workload.mod)
        if own is None:
            return []
        return fastest([record for record in self.records if record.workload is own], top_k)

    def get_all_tuning_records(self) -> list[TuningRecord]:
        return list(self.records)

    def __len__(self) -> int:
        return len(self.records)

    def _known(self, mod: IRModule) -> Workload | None:
        for workload in self._by_hash.get(self._equality.hash(mod), ()):
            if workload.mod is mod or self._equality.equal(workload.mod, mod):
                return workload
        return None

    def _add(self, workload: Workload) -> None:
        self.workloads.append(workload)
        self._by_hash.setdefault(self._equality.hash(workload.mod), []).append(workload)
