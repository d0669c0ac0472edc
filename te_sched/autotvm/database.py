"""Databases of measurements by their inputs. Must not know tuners.

A database of a server (TVM has one of Redis) is a class with `get` and `set` of a key.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.autotvm.measure.measure import MeasureInput, MeasureResult
from te_sched.autotvm.record import Record, decode, encode, measure_str_key
from te_sched.public_members import missing_method
from te_sched.signatures import checked

_SEPARATOR = "$"


class RecordDatabase:
    """The base of databases: measurements as lines of logs, by a key.

    A subclass has `get`, `set` and `keys`.
    """

    def get(self, key: str) -> str | None:
        """The value of a key; None if there is none."""
        raise missing_method(self, "get")

    def set(self, key: str, value: str) -> None:
        """Set the value of a key."""
        raise missing_method(self, "set")

    def keys(self) -> Sequence[str]:
        """All keys."""
        raise missing_method(self, "keys")

    def load(self, inp: MeasureInput, get_all: bool = False) -> Any:
        """The latest result of an input, None if there is none; all results, if `get_all`."""
        results = [result for _, result in self._records(_key(inp))]
        if not results:
            return None
        return results if get_all else max(results, key=lambda result: result.timestamp)

    def save(self, inp: MeasureInput, res: MeasureResult, extend: bool = False) -> None:
        """Keep a result, in place of those of the same input or, if `extend`, with them."""
        kept = self.get(_key(inp)) if extend else None
        lines = [*(kept.split(_SEPARATOR) if kept else ()), encode(inp, res)]
        self.set(_key(inp), _SEPARATOR.join(lines))

    def filter(self, func: Callable[[MeasureInput, list[MeasureResult]], Any]) -> list[Any]:
        """The pairs of an input and its results for which a function is true."""
        groups = []
        for key in self.keys():
            records = self._records(key)
            results = [result for _, result in records]
            if records and func(records[0][0], results):
                groups.append((records[0][0], results))
        return groups

    def _records(self, key: str) -> list[Record]:
        value = self.get(key)
        decoded = [decode(line) for line in value.split(_SEPARATOR)] if value else []
        return [record for record in decoded if record is not None]


Database = RecordDatabase


def _key(inp: MeasureInput) -> str:
    return measure_str_key(inp)


class DummyDatabase(RecordDatabase):
    """A database in memory."""

    def __init__(self) -> None:
        self.db: dict[str, str] = {}

    def get(self, key: str) -> str | None:
        """The value of a key; None if there is none."""
        return self.db.get(key)

    def set(self, key: str, value: str) -> None:
        """Set the value of a key."""
        self.db[key] = value

    def keys(self) -> list[str]:
        """All keys."""
        return list(self.db)

    def flush(self) -> None:
        """Delete all."""
        self.db.clear()


@checked
def filter_inputs(
    db: RecordDatabase, measure_inputs: Sequence[MeasureInput], retry: bool = False
) -> tuple[list[MeasureResult | None], list[MeasureInput]]:
    """The kept result of each input, None without one, and the inputs without a result.

    Parameters
    ----------
    retry : measure failed ones again.
    """
    results: list[MeasureResult | None] = []
    missing: list[MeasureInput] = []
    for inp in measure_inputs:
        result: MeasureResult | None = db.load(inp)
        if result is not None and retry and result.error_no:
            result = None
        results.append(result)
        if result is None:
            missing.append(inp)
    return results, missing


_tell_of_absent_names(__name__)
