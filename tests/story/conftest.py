"""The report of a small graph."""

from __future__ import annotations

import pytest

from te_sched.story.graph import GraphReport, graph_report
from tests.story.graph_model import model


@pytest.fixture(scope="module")
def report() -> GraphReport:
    return graph_report(model())
