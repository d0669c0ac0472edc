"""The GPU matrix products compute the product, also where sizes do not divide."""

from __future__ import annotations

import numpy as np
import pytest

import te_sched
from benchmarks.gemm_gpu import LADDER, main

DEVICE = te_sched.emulated_cuda(0)


@pytest.mark.parametrize("size", [(64, 64, 32), (70, 66, 40)])
@pytest.mark.parametrize("name", LADDER)
def test_version_computes_the_product(name: str, size: tuple[int, int, int]) -> None:
    m, n, k = size
    s, args = LADDER[name](*size)
    module = te_sched.build(s, args, target="cuda")
    generator = np.random.default_rng(0)
    a, b = generator.random((m, k), "float32"), generator.random((k, n), "float32")
    arrays = [te_sched.nd.array(x, DEVICE) for x in (a, b, np.full((m, n), np.nan, "float32"))]
    module(*arrays)
    np.testing.assert_allclose(arrays[2].numpy(), a @ b, rtol=1e-5)
    report = module.check(*arrays)
    assert report.ok, report


def test_command_says_that_there_is_no_gpu(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--size", "64", "--version", "v3"]) == 0
    printed = capsys.readouterr().out
    assert "4 x 4 blocks of 16 x 16" in printed
    assert te_sched.cuda(0).exist or "There is no GPU here" in printed
