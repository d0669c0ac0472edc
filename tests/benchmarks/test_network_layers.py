"""Layers of networks: what is drawn of them, and the modules that they are."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from benchmarks.network_layers import NAMES, applied, drawn, module


def test_a_seed_draws_the_same_kernels() -> None:
    kernels = drawn(1, 40)
    assert kernels == drawn(1, 40) != drawn(2, 40)
    assert kernels[:10] == drawn(1, 10)
    assert len({kernel.name + kernel.dtype for kernel in kernels}) == 40


def test_all_families_and_dtypes_are_drawn() -> None:
    kernels = drawn(0, 90)
    families = Counter(kernel.family for kernel in kernels)
    assert families["convolution"] == 36
    assert families["reduction"] == families["attention"] == 9
    assert {kernel.dtype for kernel in kernels} == set(NAMES)
    of_bytes = {kernel.family for kernel in kernels if kernel.dtype == "int8"}
    assert of_bytes == {"convolution", "product"}


@pytest.mark.parametrize("seed", range(3))
def test_modules_take_the_shapes_of_their_kernels(seed: int) -> None:
    torch = pytest.importorskip("torch")
    for kernel in drawn(seed, 10):
        work = sum(torch.Size(shape).numel() for shape in kernel.shapes)
        if work < 2**18:
            with torch.no_grad():
                assert module(kernel).eval()(*map(torch.rand, kernel.shapes)).numel() > 0


def test_functions_of_two_tensors_are_traced() -> None:
    torch = pytest.importorskip("torch")

    def graph_of(model: Any) -> list[str]:
        return [node.op for node in torch.fx.symbolic_trace(model).graph.nodes]

    assert graph_of(applied(torch.bmm, 2)).count("placeholder") == 2
    assert graph_of(applied(torch.exp)).count("placeholder") == 1
