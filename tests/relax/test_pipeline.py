"""Pipelines by name."""

import pytest

from te_sched import relax
from te_sched.errors import GraphError


def test_get_pipeline_rejects_an_unknown_name():
    with pytest.raises(GraphError, match="there is no pipeline 'zerro'"):
        relax.get_pipeline("zerro")


def test_register_pipeline_rejects_a_name_twice():
    with pytest.raises(GraphError, match="the name of a pipeline is 'zero'"):
        relax.register_pipeline("zero")
