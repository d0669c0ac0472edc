"""All tests of nodes that the package onnx has pass, or are refused as the list says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.relax.frontend.onnx import node_tests
from tests.sampling import sampled

pytest.importorskip("onnx")
REFUSALS = node_tests.read_refusals(Path(__file__).with_name("refused_node_tests.txt"))
_FEW = 3  # tests of each operator


@pytest.mark.parametrize("module", node_tests.module_names())
def test_nodes_of_an_operator(module: str) -> None:
    cases = node_tests.tests_of(module)
    faults = [node_tests.fault_of(case, cases, REFUSALS) for case in sampled(cases, _FEW)]
    assert not [fault for fault in faults if fault]
