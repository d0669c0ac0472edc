"""The names that examples in docstrings use without importing them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import te, tir, topi


@pytest.fixture(autouse=True)
def _names_of_examples(doctest_namespace: dict[str, Any]) -> None:
    doctest_namespace.update(np=np, te_sched=te_sched, te=te, tir=tir, topi=topi)
