"""Benchmarks set variables for themselves and for the processes that they start."""

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
