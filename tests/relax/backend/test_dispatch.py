"""The passes of relax.backend: they replace their operators, and no others."""

from __future__ import annotations

from typing import Any

import pytest

from te_sched import relax
from te_sched.relax.backend import DispatchSampling, DispatchSortScan


def module(build: Any) -> Any:
    x = relax.Var("x", relax.TensorStructInfo([4, 2], "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(build(relax.op.exp(x))))
    return builder.get()


@pytest.mark.parametrize("name", DispatchSortScan.OPERATORS)
def test_sort_scan_replaces_its_operators(name: str) -> None:
    found = DispatchSortScan()(module(lambda x: getattr(relax.op, name)(x, axis=1)))
    assert [str(one) for one in found.functions] == ["main", name]


def test_sampling_replaces_its_operator() -> None:
    before = module(
        lambda x: relax.op.multinomial_from_uniform(
            x, relax.const([[0.5]]), relax.const([[1]], "int64")
        )
    )
    assert len(DispatchSampling()(before).functions) == 2
    assert DispatchSortScan()(before)["main"] is before["main"]
