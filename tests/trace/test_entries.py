"""Entries of traces."""

from __future__ import annotations

from tests.schedule.programs import chain


def test_an_entry_names_its_primitive_and_its_stage() -> None:
    p = chain()
    p.s[p.C].split(p.C.op.axis[0], 4)
    entry = p.s.trace.entries[-1]
    assert (entry.method, entry.target_name) == ("split", "C")
    assert entry.place.file == __file__


def test_a_primitive_of_a_schedule_has_no_target() -> None:
    p = chain()
    p.s.cache_read(p.A, "local", [p.B])
    entry = p.s.trace.entries[-1]
    assert (entry.target, entry.target_name) == (None, "")
