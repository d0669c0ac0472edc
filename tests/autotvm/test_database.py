"""Databases of measurements."""

from __future__ import annotations

import pytest

from te_sched.autotvm.database import Database, DummyDatabase, filter_inputs
from te_sched.autotvm.tuner.callback import log_to_database
from te_sched.errors import DeclarationError
from tests.autotvm.templates import records_of, task_of


def test_results_are_saved_and_loaded() -> None:
    db = DummyDatabase()
    (first, one), (second, other), (third, _) = records_of(task_of(8), [1.0, 2.0, 3.0])
    db.save(first, one)
    db.save(second, other)
    assert (db.load(first), db.load(second), db.load(third)) == (one, other, None)
    db.flush()
    assert db.load(first) is None


def test_the_latest_of_several_results_is_loaded() -> None:
    db = DummyDatabase()
    inp, result = records_of(task_of(8), [1.0])[0]
    later = result._replace(timestamp=99.0)
    db.save(inp, later, extend=True)
    db.save(inp, result, extend=True)
    assert db.load(inp) == later
    assert db.load(inp, get_all=True) == [later, result]
    db.save(inp, result)
    assert db.load(inp, get_all=True) == [result]


def test_records_are_filtered() -> None:
    db = DummyDatabase()
    inputs, results = zip(*records_of(task_of(8), [1.0, 2.0, 3.0]), strict=True)
    log_to_database(db)(None, inputs, results)
    found = db.filter(lambda inp, kept: any(one.costs[0] <= 2 for one in kept))
    assert [inp.config.index for inp, _ in found] == [0, 1]


def test_inputs_without_a_result_are_found() -> None:
    db = DummyDatabase()
    (first, one), (second, other), (third, _) = records_of(task_of(8), [1.0, 2.0, 3.0])
    db.save(first, one)
    db.save(second, other._replace(error_no=4))
    inputs = [first, second, third]
    assert filter_inputs(db, inputs) == ([one, other._replace(error_no=4), None], [third])
    assert filter_inputs(db, inputs, retry=True) == ([one, None, None], [second, third])


def test_a_database_needs_its_methods() -> None:
    inp, result = records_of(task_of(8), [1.0])[0]
    db = Database()
    with pytest.raises(DeclarationError, match="RecordDatabase has no method get"):
        db.load(inp)
    with pytest.raises(DeclarationError, match="has no method set"):
        db.save(inp, result)
    with pytest.raises(DeclarationError, match="has no method keys"):
        db.filter(lambda *_: True)
