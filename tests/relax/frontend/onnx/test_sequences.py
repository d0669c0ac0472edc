"""Sequences and optional values of ONNX while a model is read."""

from __future__ import annotations

import numpy as np
import pytest

from te_sched.errors import GraphError
from te_sched.relax.frontend.onnx.importer import OnnxImporter
from te_sched.relax.frontend.onnx.sequences import ABSENT, OnnxSequence, position_in

THREE = OnnxSequence([np.array(number) for number in range(3)])


@pytest.mark.parametrize(
    ("index", "expected", "inserted"), [(0, 0, 0), (2, 2, 2), (-1, 2, 2), (-3, 0, 0)]
)
def test_positions_count_from_both_ends(index: int, expected: int, inserted: int) -> None:
    assert position_in(THREE, index) == expected
    assert position_in(THREE, index, is_insertion=True) == inserted


@pytest.mark.parametrize(("index", "is_insertion"), [(3, False), (4, True), (-4, False)])
def test_positions_outside_are_refused(index: int, is_insertion: bool) -> None:
    with pytest.raises(GraphError, match="is outside of a sequence of 3 elements"):
        position_in(THREE, index, is_insertion)


def test_what_is_not_a_tensor_says_what_it_is() -> None:
    importer = OnnxImporter()
    with pytest.raises(GraphError, match="a node is given a sequence of 3 elements"):
        importer.tensor(THREE)
    with pytest.raises(GraphError, match="a node is given an optional value without an element"):
        importer.shape(ABSENT)
    assert importer.sequence(THREE) is THREE
    with pytest.raises(GraphError, match="a value that is not a sequence"):
        importer.sequence(np.array(1))
