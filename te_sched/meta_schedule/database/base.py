"""Workloads, records of their measurements, and the base of databases of them."""

from __future__ import annotations

import base64
import math
import struct
import threading
from collections.abc import Callable, Sequence
from typing import Any, Self

from te_sched.codegen.target import Target
from te_sched.errors import DeclarationError, repr_of
from te_sched.ir.peer_json import save_tvm_json
from te_sched.ir.serialization import load_json, save_json
from te_sched.ir.stmt import IRModule, PrimFunc
from te_sched.ir.structural_hash import structural_hash
from te_sched.meta_schedule.arg_info import ArgInfo
from te_sched.meta_schedule.component import Component, named, not_written
from te_sched.meta_schedule.search_strategy import MeasureCandidate
from te_sched.signatures import is_sequence
from te_sched.tir.schedule import Schedule, Trace

FAILED = 1e10  # the seconds of a candidate that could not be measured, in TVM's records
_LENGTH = struct.Struct("<Q")  # before the JSON of a module in TVM's files


class Seconds(float):
    """A measured time; `value` is the float, as of TVM's FloatImm."""

    @property
    def value(self) -> float:
        """The seconds as a plain float."""
        return float(self)


class Workload:
    """A module that is tuned; equal modules are one workload of a database.

    >>> A = te.placeholder((8,), name="A")
    >>> B = te.compute((8,), lambda i: A[i] + 1.0, name="B")
    >>> workload = Workload(te_sched.IRModule({"main": te.create_prim_func([A, B])}))
    >>> ir = te_sched.ir
    >>> ir.structural_equal(Workload.from_json(workload.as_json()).mod, workload.mod)
    True
    """

    def __init__(self, mod: IRModule | PrimFunc) -> None:
        if isinstance(mod, PrimFunc):
            mod = IRModule({"main": mod})
        self.mod = mod
        self.shash = structural_hash(mod)

    def as_json(self) -> list[str]:
        """The hash and the module, as lines of TVM's `database_workload.json` have them.

        TVM reads the line and computes its own hash of the module. A module that TVM's format
        cannot hold, such as one with infinite constants, is in te_sched's.
        """
        try:
            text = save_tvm_json(self.mod).encode()
        except DeclarationError:
            text = save_json(self.mod).encode()
        return [str(self.shash), base64.b64encode(_LENGTH.pack(len(text)) + text).decode()]

    @staticmethod
    def from_json(json_obj: Any) -> Workload:
        """The workload that `as_json` describes, also of TVM.

        Raises
        ------
        DeclarationError for anything else.
        """
        if not (is_sequence(json_obj) and len(json_obj) == 2 and isinstance(json_obj[1], str)):
            raise _damaged("a workload", json_obj)
        try:
            data = base64.b64decode(json_obj[1], validate=True)
            text = data[_LENGTH.size :].decode()
        except ValueError:
            raise _damaged("a workload", json_obj) from None
        return Workload(load_json(text))


class TuningRecord:
    """A schedule of a workload, and the seconds that it took.

    Parameters
    ----------
    trace : the trace, or its JSON, which is replayed when the trace is asked for.
    workload : what it schedules.
    run_secs : measured seconds; None if it was not measured.
    target, args_info : of the measurement.
    error_msg : why it could not be measured, or computed something else.
    machine : the name of the machine that measured.
    """

    def __init__(
        self,
        trace: Trace | list[Any],
        workload: Workload,
        run_secs: Sequence[float] | None = None,
        target: Target | None = None,
        args_info: Sequence[ArgInfo] | None = None,
        *,
        error_msg: str | None = None,
        machine: str | None = None,
    ) -> None:
        self._trace = trace
        self.workload, self.target = workload, target
        self.run_secs = None if run_secs is None else [Seconds(duration) for duration in run_secs]
        self.args_info = None if args_info is None else list(args_info)
        self.error_msg, self.machine = error_msg, machine

    @property
    def trace(self) -> Trace:
        """The trace of the schedule."""
        trace = self._trace
        if not isinstance(trace, Trace):
            schedule = Schedule(self.workload.mod)
            Trace.apply_json_to_schedule(trace, schedule)
            trace = self._trace = schedule.trace
        return trace

    @property
    def mean(self) -> float:
        """The mean of the measured seconds; infinite if there are none."""
        if not self.run_secs:
            return math.inf
        return sum(self.run_secs) / len(self.run_secs)

    @property
    def is_valid(self) -> bool:
        """Whether the schedule was measured without a failure."""
        return self.error_msg is None and self.mean < FAILED

    def is_of(self, target: Target) -> bool:
        """Whether the schedule was measured for a target, or for one that is not known."""
        return self.target is None or self.target == target

    def schedule(self) -> Schedule:
        """The workload with the trace applied."""
        sch = Schedule(self.workload.mod)
        self.trace.apply_to_schedule(sch, remove_postproc=False)
        return sch

    def as_measure_candidate(self) -> MeasureCandidate:
        """The schedule and its arguments, to measure it again."""
        return MeasureCandidate(self.schedule(), self.args_info or [])

    def trace_json(self) -> list[Any]:
        """The JSON of the trace."""
        return self._trace.as_json() if isinstance(self._trace, Trace) else self._trace

    def as_json(self) -> list[Any]:
        """The record as TVM's `database_tuning_record.json` has it: trace, seconds, target and
        arguments."""
        seconds = None if self.run_secs is None else [duration.value for duration in self.run_secs]
        target = None if self.target is None else self.target.export()
        arguments = None if self.args_info is None else [info.as_json() for info in self.args_info]
        return [self.trace_json(), seconds, target, arguments]

    @staticmethod
    def from_json(json_obj: Any, workload: Workload) -> TuningRecord:
        """The record that `as_json` describes, also of TVM.

        Raises
        ------
        DeclarationError for anything else.
        """
        if not (is_sequence(json_obj) and len(json_obj) == 4):
            raise _damaged("a record", json_obj)
        trace, seconds, target, arguments = json_obj
        if not _is_trace(trace):
            raise _damaged("a trace", trace)
        if seconds is not None and not (
            is_sequence(seconds) and all(isinstance(duration, int | float) for duration in seconds)
        ):
            raise _damaged("a list of seconds", seconds)
        return TuningRecord(
            list(trace),
            workload,
            seconds,
            None if target is None else Target(target),
            None if arguments is None else [ArgInfo.from_json(info) for info in arguments],
        )


def _is_trace(value: Any) -> bool:
    """Whether a value has the form of a trace's JSON: instructions and decisions."""
    if not (is_sequence(value) and len(value) == 2 and all(map(is_sequence, value))):
        return False
    instructions, decisions = value
    return all(
        is_sequence(instruction) and len(instruction) == 4 and isinstance(instruction[0], str)
        for instruction in instructions
    ) and all(is_sequence(decision) and len(decision) == 2 for decision in decisions)


def _damaged(what: str, value: object) -> DeclarationError:
    return DeclarationError(
        f"{repr_of(value)} does not describe {what}", "", "give what as_json() returned"
    )


_entered = threading.local()


class Database(Component):
    """Workloads and the records of their measurements.

    A class of the user has `has_workload`, `commit_workload`, `commit_tuning_record`, `get_top_k`,
    `get_all_tuning_records` and `__len__`; the queries are answered by these. `with database:`
    makes a database the current one.
    """

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
        """The fastest records of a workload, in order, without failures."""
        raise not_written(self, "PyDatabase", "get_top_k")

    def get_all_tuning_records(self) -> list[TuningRecord]:
        """All records, also those of failures."""
        raise not_written(self, "PyDatabase", "get_all_tuning_records")

    def __len__(self) -> int:
        raise not_written(self, "PyDatabase", "__len__")

    def query_tuning_record(
        self, mod: IRModule, target: Target, workload_name: str | None = None
    ) -> TuningRecord | None:
        """The fastest record of a module: one of the same target if there is one, else one of the
        same kind of target; None if there is none."""
        if not self.has_workload(mod):
            return None
        records = self.get_top_k(self.commit_workload(mod), len(self))
        target = Target(target)
        same = [record for record in records if record.is_of(target)]
        alike = [
            record
            for record in records
            if record.target is None or record.target.kind == target.kind
        ]
        return next(iter([*same, *alike]), None)

    def query_schedule(
        self, mod: IRModule, target: Target, workload_name: str | None = None
    ) -> Schedule | None:
        """The schedule of the fastest record; None if there is none."""
        record = self.query_tuning_record(mod, target, workload_name)
        return None if record is None else record.schedule()

    def query_ir_module(
        self, mod: IRModule, target: Target, workload_name: str | None = None
    ) -> IRModule | None:
        """The module of the fastest record; None if there is none."""
        schedule = self.query_schedule(mod, target, workload_name)
        return None if schedule is None else schedule.mod

    def query(
        self,
        mod: IRModule,
        target: Target,
        *,
        workload_name: str = "main",
        kind: str = "schedule",
    ) -> Schedule | IRModule | TuningRecord | None:
        """The fastest "record", or its "schedule" or "ir_module"; None if there is none."""
        kinds = {
            "schedule": self.query_schedule,
            "record": self.query_tuning_record,
            "ir_module": self.query_ir_module,
        }
        ask: Callable[..., Schedule | IRModule | TuningRecord | None]
        ask = named("kind of answer", kinds, kind)
        return ask(mod, target, workload_name)

    def dump_pruned(self, destination: Database) -> None:
        """Copy the fastest record of each workload and target to another database."""
        best: dict[tuple[int, str], TuningRecord] = {}
        for record in self.get_all_tuning_records():
            purpose = (record.workload.shash, str(record.target))
            incumbent = best.get(purpose)
            if record.is_valid and (incumbent is None or record.mean < incumbent.mean):
                best[purpose] = record
        for record in best.values():
            workload = destination.commit_workload(record.workload.mod)
            destination.commit_tuning_record(
                TuningRecord(
                    record.trace_json(),
                    workload,
                    record.run_secs,
                    record.target,
                    record.args_info,
                    machine=record.machine,
                )
            )

    def __enter__(self) -> Self:
        _stack().append(self)
        return self

    def __exit__(self, *exception: object) -> None:
        _stack().pop()

    @staticmethod
    def current() -> Database | None:
        """The database of the innermost `with database:`; None outside."""
        return _stack()[-1] if _stack() else None


def _stack() -> list[Database]:
    if not hasattr(_entered, "stack"):
        _entered.stack = []
    stack: list[Database] = _entered.stack
    return stack


def fastest(records: Sequence[TuningRecord], count: int) -> list[TuningRecord]:
    """The fastest of some records, in order, without failures."""
    if count < 0:
        raise DeclarationError(f"cannot give {count} records", "", "ask for 0 or more")
    return sorted(
        (record for record in records if record.is_valid), key=lambda record: record.mean
    )[:count]


PyDatabase = Database
