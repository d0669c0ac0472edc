"""What the tests of tuners share."""

from typing import Any

import pytest


@pytest.fixture
def xgboost() -> Any:
    """The library, where it is installed."""
    return pytest.importorskip("xgboost")
