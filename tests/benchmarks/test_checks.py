"""benchmarks.checks: its programs have checks, and do what they say."""

from __future__ import annotations

import numpy as np
import pytest

import te_sched
from benchmarks import checks
from te_sched import config
from te_sched.errors import AccessError

IN_CACHE = [name for name in checks.PROGRAMS if "in memory" not in name]


@pytest.mark.parametrize("name", IN_CACHE)
def test_indices_outside_are_seen_with_the_checks(name: str) -> None:
    schedule, arguments = checks.PROGRAMS[name]()
    values = [checks._value(argument) for argument in arguments]
    places = values[0].numpy()
    places[-1] = checks.SMALL
    with config.scoped(check_accesses=True):
        module = te_sched.build(schedule, arguments)
    module(*values)
    with pytest.raises(AccessError, match=str(checks.SMALL)):
        module(places, *values[1:])


def test_both_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "COUNT", 1 << 10)
    assert min(checks.measure(lambda: checks.scatter("small"), 1)) > 0


def test_a_scatter_scatters() -> None:
    schedule, (places, source, result) = checks.scatter_rows()
    values = [checks._value(one) for one in (places, source, result)]
    values[1].copyfrom(np.arange(source.shape[0].value * checks.WIDTH).reshape(-1, checks.WIDTH))
    order = np.random.default_rng(1).permutation(checks.SMALL).astype("int32")
    te_sched.build(schedule, [places, source, result])(order, *values[1:])
    np.testing.assert_array_equal(values[2].numpy()[order], values[1].numpy())
