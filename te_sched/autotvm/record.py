"""Logs of measurements, in the lines of JSON that TVM reads and writes, and what is found in them.

Must not know tuners.
"""

from __future__ import annotations

import base64
import io
import json
import logging
import os
import pickle
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from te_sched import files
from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.autotvm.env import GLOBAL_SCOPE
from te_sched.autotvm.measure.measure import MeasureInput, MeasureResult
from te_sched.autotvm.task.dispatcher import DispatchContext
from te_sched.autotvm.task.space import ConfigEntity
from te_sched.autotvm.task.task import Task
from te_sched.codegen.target import Target
from te_sched.errors import DeclarationError, TeSchedError, repr_of, warn
from te_sched.errors import RecordError as RecordError
from te_sched.signatures import checked
from te_sched.tuning.record_lines import is_torn

__all__ = [
    "AUTOTVM_LOG_VERSION",
    "ApplyHistoryBest",
    "MeasureInput",
    "MeasureResult",
    "RecordError",
    "apply_history_best",
    "decode",
    "encode",
    "load_from_buffer",
    "load_from_file",
    "measure_str_key",
    "pick_best",
    "split_workload",
]

logger = logging.getLogger("autotvm")

AUTOTVM_LOG_VERSION = 0.2
_TVM_VERSION = "0.19.0"  # of the TVM whose logs these are
_DEPTH = 8  # of iterables of iterables of records
_BEGIN = re.compile(r'\{("(i?n?p?u?t?$|input")|$)')  # of a line, also of one that ends there
_NO_TIME = 1e9  # the cost of a failed measurement
Record = tuple[MeasureInput, MeasureResult]


class _UnreadableError(Exception):
    """Why a line cannot be read."""


@checked
def encode(inp: MeasureInput, result: MeasureResult, protocol: str = "json") -> str:
    """A measurement as a line of a log.

    Parameters
    ----------
    protocol : "json", which TVM reads, or "pickle".
    """
    costs = tuple(_NO_TIME if isinstance(cost, BaseException) else cost for cost in result.costs)
    kept = [list(costs), int(result.error_no), result.all_cost, result.timestamp]
    target, task, config = str(inp.target), inp.task, inp.config
    if protocol == "json":
        row = {
            "input": [target, task.name, task.args, task.kwargs],
            "config": config.to_json_dict(),
            "result": kept,
            "version": AUTOTVM_LOG_VERSION,
            "tvm_version": _TVM_VERSION,
        }
        return json.dumps(row, default=_plain)
    if protocol == "pickle":
        parts = ((task.name, task.args), config, (costs, *kept[1:]))
        written = [base64.b64encode(pickle.dumps(part)).decode() for part in parts]
        return "\t".join([target, *written, str(AUTOTVM_LOG_VERSION), _TVM_VERSION])
    raise _unknown_protocol(protocol)


def _plain(value: Any) -> Any:
    """Numbers of numpy as JSON can write them."""
    if isinstance(value, np.generic):
        return value.item()
    raise DeclarationError(
        f"cannot write {repr_of(value)} into a log",
        "logs have numbers, strings, and lists of them",
        "let arguments and knobs of the template have such values",
    )


def _unknown_protocol(protocol: object) -> DeclarationError:
    return DeclarationError(
        f"invalid log protocol {repr_of(protocol)}", "", "use protocol='json' or protocol='pickle'"
    )


@checked
def decode(row: str, protocol: str = "json") -> Record | None:
    """The measurement of a line of a log; None for a line of a version that is too old.

    With protocol "pickle" the line may execute any code: only read such logs of your own.

    Raises
    ------
    RecordError for a line that is not one of a log.
    """
    if protocol not in ("json", "pickle"):
        raise _unknown_protocol(protocol)
    try:
        return _of_json(row) if protocol == "json" else _of_pickle(row)
    except TeSchedError as error:
        raise _unreadable(row, error.summary) from error
    except _UnreadableError as error:
        raise _unreadable(row, str(error)) from error
    except Exception as error:
        raise _unreadable(row, f"{type(error).__name__}: {error}") from error


def _unreadable(row: str, why: str) -> RecordError:
    return RecordError(
        f"cannot read {repr_of(row)} as a line of an AutoTVM log",
        why,
        "remove the line; logs have a JSON object per line",
    )


def _of_json(text: str) -> Record | None:
    row = json.loads(text)
    if not isinstance(row, dict):
        raise _UnreadableError("it is not a JSON object")
    if "v" in row or row.get("version", AUTOTVM_LOG_VERSION) < AUTOTVM_LOG_VERSION:
        version = row.get("v", row.get("version"))
        warn(f"AutoTVM log version {version} is no longer supported.")
        return None
    target, name, args, kwargs = row["input"]
    task = Task(name, _tuples(args))
    task.kwargs = {key: _tuples(value) for key, value in kwargs.items()}
    task.target = Target(target)
    config = ConfigEntity.from_json_dict(row["config"])
    costs, error_no, all_cost, timestamp = row["result"]
    if not all(
        isinstance(number, int | float) for number in (*costs, error_no, all_cost, timestamp)
    ):
        raise _UnreadableError("its result has other values than numbers")
    result = MeasureResult(tuple(costs), error_no, all_cost, timestamp)
    return MeasureInput(task.target, task, config), result


def _tuples(value: Any) -> Any:
    """Lists of JSON as the tuples that arguments of tasks are."""
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _of_pickle(text: str) -> Record | None:
    items = text.rstrip("\n").split("\t")
    if len(items) != 6:
        raise _UnreadableError(f"it has {len(items)} columns, expected 6")
    (name, args), config, result = (pickle.loads(base64.b64decode(item)) for item in items[1:4])
    task = Task(name, args)
    task.target = Target(items[0])
    return MeasureInput(task.target, task, config), MeasureResult(*result)


@checked
def load_from_buffer(file: Iterable[str]) -> Iterator[Record]:
    """The measurements of an open log; lines that begin with # and empty ones are comments.

    The beginning of a line, which a program left that was killed, is left out with a warning.
    """
    for row in file:
        text = row.strip()
        if not text or text.startswith("#"):
            continue
        try:
            record = decode(text)
        except RecordError:
            if not is_torn(text, _BEGIN):
                raise
            logger.warning("A line of a log is incomplete and left out: %s", repr_of(text))
            continue
        if record is not None:
            yield record


@checked
def load_from_file(filepath: str | bytes | os.PathLike[Any]) -> Iterator[Record]:
    """The measurements of the file of a log."""
    path = os.fsdecode(filepath)
    yield from load_from_buffer(
        io.StringIO(files.read_text(path, "read", "check the path of the log"))
    )


@checked
def measure_str_key(inp: MeasureInput, include_config: bool = True) -> str:
    """The text that names a measurement: target, task, arguments and configuration."""
    task = inp.task
    config = str(inp.config) if include_config else ""
    return f"{inp.target}{task.name}{task.args}{task.kwargs}{config}"


def _mean(result: MeasureResult) -> float:
    return float(np.mean(result.costs))


class ApplyHistoryBest(DispatchContext):
    """A dispatch context with the fastest configurations of logs.

    Parameters
    ----------
    records : None, a path, an open log, an iterable of pairs of MeasureInput and MeasureResult, or
        an iterable of these.
    """

    def __init__(self, records: Any) -> None:
        super().__init__()
        self.best_by_targetkey: dict[tuple[str, Any], Record] = {}
        self.best_by_model: dict[tuple[str, Any], Record] = {}
        self._chosen: dict[tuple[str, Any], ConfigEntity] = {}
        if records is not None:
            self.load(records)

    def load(self, records: Any) -> None:
        """Add the records of logs, as at creation."""
        for inp, result in _all_records(records):
            if result.error_no:
                continue
            workload = inp.task.workload
            for key in inp.target.keys:
                self._improve(self.best_by_targetkey, (key, workload), inp, result)
            if inp.target.model != "unknown":
                self._improve(self.best_by_model, (inp.target.model, workload), inp, result)

    @staticmethod
    def _improve(
        best: dict[tuple[str, Any], Record], key: Any, inp: MeasureInput, result: MeasureResult
    ) -> None:
        if key not in best or _mean(result) < _mean(best[key][1]):
            best[key] = inp, result

    def _query_inside(self, target: Target | None, workload: Any) -> Any:
        if target is None:
            raise DeclarationError(
                "no target is in scope, for which the best configuration would be looked up",
                "a log has configurations for several targets",
                "call the template inside of \"with te_sched.target.Target('llvm'):\"",
                in_tvm="Need a target context to find the history best",
            )
        named = [(target.model, self.best_by_model)]
        named += [(key, self.best_by_targetkey) for key in target.keys]
        for name, best in named:
            if (name, workload) in best:
                return best[name, workload][0].config
        for name in (target.model, *target.keys):
            if (name, workload) in self._chosen:
                return self._chosen[name, workload]
        return None

    def update(self, target: Target | None, workload: Any, cfg: Any) -> None:
        """Use a configuration for a workload from now on, also for targets of the same model and
        keys.
        """
        if target is None:
            return
        for name in (target.model, *target.keys):
            if name != "unknown":
                self._chosen[name, workload] = cfg
                self.best_by_targetkey.pop((name, workload), None)
                self.best_by_model.pop((name, workload), None)


apply_history_best = ApplyHistoryBest


def _all_records(records: Any, depth: int = _DEPTH) -> Iterator[Record]:
    """The records of everything that ApplyHistoryBest takes."""
    if isinstance(records, str | bytes | os.PathLike):
        path = Path(os.fsdecode(records))
        file_records = list(load_from_file(path))
        if not file_records and not GLOBAL_SCOPE.silent:
            logger.warning("There are no records in %s", path)
        yield from file_records
    elif isinstance(records, io.TextIOBase):
        yield from load_from_buffer(records)
    elif isinstance(records, tuple) and len(records) == 2 and isinstance(records[0], MeasureInput):
        yield records
    elif isinstance(records, Iterable) and depth:
        for source in records:
            yield from _all_records(source, depth - 1)
    else:
        raise DeclarationError(
            f"cannot read the history from {repr_of(records)}",
            "records are a path, an open log, or pairs of MeasureInput and MeasureResult",
            'pass the path of a log: apply_history_best("matmul.log")',
        )


@checked
def pick_best(in_file: Any, out_file: Any) -> None:
    """Write the fastest record of each task and target of a log into another, with those of that
    file, if it exists.

    Parameters
    ----------
    out_file : a path, or an open file.
    """
    sources = [in_file]
    is_path = isinstance(out_file, str | os.PathLike)
    if is_path and os.path.isfile(out_file):
        sources.append(out_file)
    context = ApplyHistoryBest(sources)
    best: dict[str, Record] = {}
    for record in (*context.best_by_model.values(), *context.best_by_targetkey.values()):
        best.setdefault(measure_str_key(record[0]), record)
    text = "".join(f"{encode(*entry)}\n" for entry in best.values())
    if is_path:
        files.write(out_file, text, "write")
    else:
        out_file.write(text)
    logger.info("%d records of the best configurations are written", len(best))


@checked
def split_workload(in_file: Any, clean: bool = True) -> None:
    """Write the records of each task and target of a log into a file of its own, NAME.0001.wkl.log.

    Parameters
    ----------
    clean : leave out what was measured again.
    """
    groups: dict[str, dict[str, Record]] = {}
    for number, record in enumerate(load_from_file(in_file)):
        group = groups.setdefault(measure_str_key(record[0], include_config=False), {})
        group[measure_str_key(record[0]) if clean else str(number)] = record
    for number, group in enumerate(groups.values()):
        text = "".join(f"{encode(*entry)}\n" for entry in group.values())
        files.write(f"{os.fsdecode(in_file)}.{number:04d}.wkl.log", text, "write")


_tell_of_absent_names(__name__)
