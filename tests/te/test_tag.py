"""Tags of operations."""

import pytest

from te_sched import te
from te_sched.errors import DeclarationError
from te_sched.te.tag import tag_or_current


def test_tag_scope_tags(A):
    with te.tag_scope("injective"):
        assert te.compute((4,), lambda i: A[i, 0]).op.tag == "injective"
        with pytest.raises(DeclarationError, match="an operation has one tag"):
            te.compute((4,), lambda i: A[i, 0], tag="x")


def test_a_tag_decorates_functions():
    @te.tag_scope("marked")
    def declare():
        return te.compute((4,), lambda i: i, name="B")

    assert declare().op.tag == "marked"
    assert te.compute((4,), lambda i: i, name="C").op.tag == ""


def test_scopes_of_tags_are_not_nested():
    with te.tag_scope("outer"), pytest.raises(DeclarationError, match="outer"):
        te.tag_scope("inner").__enter__()
    assert tag_or_current("own") == "own"
