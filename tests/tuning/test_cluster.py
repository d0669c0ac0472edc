"""Calls in the workers of a cluster, without one: addresses, and the parts of a worker."""

import sys

import pytest

from te_sched.errors import DeclarationError
from te_sched.tuning import cluster

distributed = pytest.importorskip("distributed")


def test_wrong_addresses_are_refused(monkeypatch):
    monkeypatch.setattr(cluster, "_ANSWER", 0.5)
    for address in ("tcp://127.0.0.1:9", "nowhere:x"):
        with pytest.raises(DeclarationError, match="there is no dask scheduler at"):
            cluster.client_of(address)


def test_dask_may_be_absent(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(DeclarationError, match=r"needs dask\.distributed"):
        cluster.client_of("tcp://127.0.0.1:8786")


class Part:
    """What a worker has."""

    def __init__(self, size):
        self.size, self.calls = size, 0

    def count(self, number):
        self.calls += number
        return self.calls, self.size


def test_a_worker_makes_a_part_once(monkeypatch):
    monkeypatch.setattr(cluster, "_parts", {})
    part = ("key", Part, {"size": 3})
    assert cluster._called(part, Part.count, (1,)) == (1, 3)
    assert cluster._called(part, Part.count, (2,)) == (3, 3)


def test_a_worker_keeps_a_few_parts(monkeypatch):
    monkeypatch.setattr(cluster, "_parts", {})
    for key in range(9):
        cluster._called((str(key), Part, {"size": key}), Part.count, (1,))
    assert [*cluster._parts] == ["5", "6", "7", "8"]
