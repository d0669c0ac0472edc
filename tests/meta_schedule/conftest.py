from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture
def library() -> Any:
    return pytest.importorskip("xgboost")
