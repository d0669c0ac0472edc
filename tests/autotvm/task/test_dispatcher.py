"""Which configuration a context gives."""

from __future__ import annotations

from typing import Any

import pytest

from te_sched import autotvm
from te_sched.autotvm.task.dispatcher import ApplyConfig, DispatchContext, FallbackContext
from te_sched.errors import DeclarationError
from tests.autotvm.templates import task_of


def test_the_innermost_context_decides() -> None:
    task = task_of(8)
    one, other = task.config_space.get(3), task.config_space.get(5)
    with ApplyConfig(one) as outer:
        with ApplyConfig(other) as inner:
            assert autotvm.get_config() is other
            inner.update(None, (), one)
            assert autotvm.get_config() is one
        assert DispatchContext.current is outer
    assert isinstance(DispatchContext.current, FallbackContext)


def test_a_context_without_an_answer_asks_those_around_it() -> None:
    class Empty(DispatchContext):
        def _query_inside(self, target: Any, workload: Any) -> None:
            return None

    config = task_of(8).config_space.get(3)
    with ApplyConfig(config), Empty():
        assert autotvm.get_config() is config
    with Empty():
        assert autotvm.get_config().is_fallback


def test_a_fallback_is_updated() -> None:
    config, context = task_of(8).config_space.get(3), FallbackContext()
    context.update(None, ("a",), config)
    assert context.query(None, ("a",)) is config


def test_a_context_must_answer() -> None:
    with pytest.raises(DeclarationError, match="DispatchContext has no method _query_inside"):
        DispatchContext().query(None, ())
    with pytest.raises(DeclarationError, match="DispatchContext has no method update"):
        DispatchContext().update(None, (), autotvm.ConfigSpace())
