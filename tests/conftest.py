"""What every test shares: the program is verified after each pass of lowering."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from te_sched import config


@pytest.fixture(autouse=True)
def _verified_passes() -> Iterator[None]:
    with config.scoped(verify_passes=True):
        yield
