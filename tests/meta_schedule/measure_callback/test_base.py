"""Callbacks by name."""

import pytest

from te_sched import meta_schedule as ms
from te_sched.errors import DeclarationError


def test_classes_make_lists_of_parts_by_name():
    expected = ["RemoveBuildArtifact", "AddToDatabase", "UpdateCostModel"]
    for create in (ms.MeasureCallback.create, ms.measure_callback.create):
        assert [type(one).__name__ for one in create("default")] == expected
    with pytest.raises(DeclarationError, match="'all' is not a list of callbacks"):
        ms.MeasureCallback.create("all")
    with pytest.raises(DeclarationError, match="class MeasureCallback has no method apply"):
        ms.MeasureCallback().apply(None, 0, [], [], [])
