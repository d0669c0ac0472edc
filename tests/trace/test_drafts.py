"""New states of objects, while a primitive computes them."""

from __future__ import annotations

import pytest

from te_sched.errors import SourceLocation
from te_sched.trace.drafts import Changes
from tests.trace.loop_schedules import Loop, LoopSchedule, LoopScheduleDraft, scheduled


def test_a_refused_call_changes_nothing() -> None:
    s = scheduled()
    loops = dict(s.loops)
    with pytest.raises(ValueError, match="too many"):
        s.split(s.loops["i"], factors=[1, 2, 3])
    assert s.loops == loops
    assert len(s.trace) == 3


def test_a_draft_has_only_the_fields_that_may_change() -> None:
    s = LoopSchedule()
    with Changes(s, SourceLocation()) as changes:
        draft = changes.draft(s, LoopScheduleDraft)
        draft.loops["j"] = Loop()
        assert "j" not in s.loops
        with pytest.raises(AttributeError):
            _ = draft.lengths
    assert "j" in s.loops


def test_an_object_has_one_draft_in_a_call() -> None:
    s, other = LoopSchedule(), LoopSchedule()
    with Changes(s, SourceLocation()) as changes:
        draft = changes.draft(s, LoopScheduleDraft)
        assert changes.draft(s, LoopScheduleDraft) is draft
        assert changes.draft(other, LoopScheduleDraft) is not draft
        assert s.changes is changes
    assert s.changes is None


def test_changes_drop_their_drafts_at_the_end() -> None:
    s = LoopSchedule()
    with Changes(s, SourceLocation()) as changes:
        changes.draft(s, LoopScheduleDraft)
        assert changes._drafts
    assert not changes._drafts  # a draft refers to its changes
