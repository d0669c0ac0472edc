"""Databases of other databases, and of a function of a schedule."""

import pytest

from te_sched import meta_schedule as ms
from te_sched.errors import DeclarationError
from tests.meta_schedule.database.records import LLVM, MODULE, record


def test_several_databases_answer_together():
    slow, fast = ms.database.MemoryDatabase(), ms.database.MemoryDatabase()
    record(slow, 2.0)
    record(fast, 1.0)
    both = ms.database.UnionDatabase(slow, fast)
    assert both.query_tuning_record(MODULE, LLVM).mean == 1.0
    first = ms.database.create("ordered_union", slow, fast)
    assert first.query_tuning_record(MODULE, LLVM).mean == 2.0
    with pytest.raises(DeclarationError, match=r"argument databases of .*UnionDatabase is 3"):
        ms.database.UnionDatabase(3)


def test_a_function_of_a_schedule_is_a_database():
    def split(sch):
        if sch.get_loops("c"):
            sch.split(sch.get_loops("c")[0], [2, 4])
        return True

    database = ms.database.create(split)
    assert "i_0" in database.query_ir_module(MODULE, LLVM).script()
    assert ms.database.create(lambda sch: False).query_schedule(MODULE, LLVM) is None
    with pytest.raises(DeclarationError, match=r"schedule_fn of .*ScheduleFnDatabase is 3"):
        ms.database.ScheduleFnDatabase(3)


def test_databases_without_a_record_do_not_answer():
    empty, full = ms.database.MemoryDatabase(), ms.database.MemoryDatabase()
    sch = record(full, 2.0)
    for kind in (ms.database.UnionDatabase, ms.database.OrderedUnionDatabase):
        assert kind(empty).query_tuning_record(MODULE, LLVM) is None
        assert kind(empty, full).query_ir_module(MODULE, LLVM).script() == sch.mod.script()
