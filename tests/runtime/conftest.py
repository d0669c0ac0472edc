"""What the tests of the runtime share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from te_sched.runtime import registry


@pytest.fixture
def own_registry() -> Iterator[None]:
    """Names that a test registers are removed after it."""
    before = dict(registry._externs), dict(registry._functions)
    yield
    for table, kept in zip((registry._externs, registry._functions), before, strict=True):
        table.clear()
        table.update(kept)
