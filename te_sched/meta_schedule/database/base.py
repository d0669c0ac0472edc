"""The base of databases: workloads, measured schedules of them, and questions about the best."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from te_sched.ir.stmt import IRModule
from te_sched.meta_schedule.component import Component, not_written

if TYPE_CHECKING:
    from te_sched.codegen.target import Target
    from te_sched.tir.schedule import Schedule, Trace


class Workload:
    """A module that is tuned; equal modules are one workload (`module_equality` of a database)."""

    def __init__(self, mod: IRModule) -> None:
        self.mod = mod


class TuningRecord:
    """A trace of a workload, and the seconds it took: `run_secs` is None if it was not measured."""

    def __init__(
        self,
        trace: Trace,
        workload: Workload,
        run_secs: list[float] | None = None,
        target: Target | None = None,
        args_info: list[Any] | None = None,
    ) -> None:
        self.trace, self.workload = trace, workload
        self.run_secs, self.target, self.args_info = run_secs, target, args_info


class Database(Component):
    """Workloads and the records of their measurements."""

    def has_workload(self, mod: IRModule) -> bool:
        """Whether the module is a workload."""
        raise not_written(self, "PyDatabase", "has_workload")

    def commit_workload(self, mod: IRModule) -> Workload:
        """The workload of a module; it is added if it is new."""
        raise not_written(self, "PyDatabase", "commit_workload")

    def commit_tuning_record(self, record: TuningRecord) -> None:
        """Add a record."""
        raise not_written(self, "PyDatabase", "commit_tuning_record")

    def get_top_k(self, workload: Workload, top_k: int) -> list[TuningRecord]:
        """The fastest records of a workload, in order."""
        raise not_written(self, "PyDatabase", "get_top_k")

    def get_all_tuning_records(self) -> list[TuningRecord]:
        """All records."""
        raise not_written(self, "PyDatabase", "get_all_tuning_records")

    def query_tuning_record(
        self, mod: IRModule, target: Target, workload_name: str | None = None
    ) -> TuningRecord | None:
        """The fastest record of a module on a target."""
        raise not_written(self, "PyDatabase", "query_tuning_record")

    def query_schedule(
        self, mod: IRModule, target: Target, workload_name: str | None = None
    ) -> Schedule | None:
        """The schedule of the fastest record."""
        raise not_written(self, "PyDatabase", "query_schedule")

    def query_ir_module(
        self, mod: IRModule, target: Target, workload_name: str | None = None
    ) -> IRModule | None:
        """The module of the fastest record."""
        raise not_written(self, "PyDatabase", "query_ir_module")


PyDatabase = Database
