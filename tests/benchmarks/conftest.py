"""Benchmarks set variables for themselves and the processes that they start: not for other tests."""

from __future__ import annotations

import os
from collections.abc import Iterator
from unittest import mock

import pytest


@pytest.fixture(autouse=True)
def environment_as_before() -> Iterator[None]:
    """Restore the variables of this process after a test."""
    with mock.patch.dict(os.environ):
        yield
