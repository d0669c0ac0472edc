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


class Client:
    """A client of a cluster with or without workers, whose calls have no result for a while."""

    def __init__(self, workers, looks=2):
        self.workers, self.looks, self.cancelled, self.is_closed = workers, looks, [], False

    def submit(self, function, *arguments, **options):
        self.looks_left = self.looks
        return self

    def result(self, timeout):
        self.looks_left -= 1
        if self.looks_left >= 0:
            raise TimeoutError
        return "the result"

    def done(self):
        return False

    def nthreads(self):
        return {str(number): 1 for number in range(self.workers)}

    def cancel(self, futures, force):
        self.cancelled += futures

    def close(self):
        self.is_closed = True


class Settings(Part):
    """A part that can be closed."""

    def close(self):
        """Nothing to close."""


def calls_of(monkeypatch, *clients):
    """Calls of clients, the next one after each end."""
    remaining = iter(clients)
    monkeypatch.setattr(cluster, "client_of", lambda address: next(remaining))
    return cluster.Calls("address", Settings, {"size": 1})


def test_calls_without_workers_are_lost_after_a_while(monkeypatch):
    monkeypatch.setattr(cluster, "_NO_WORKERS", 0.0)
    calls = calls_of(monkeypatch, Client(workers=1))
    assert calls.result(calls.submit(print)) == "the result"
    calls = calls_of(monkeypatch, Client(workers=0))
    with pytest.raises(TimeoutError, match="the cluster has no workers"):
        calls.result(calls.submit(print))


def test_closed_calls_are_cancelled_and_connect_again(monkeypatch):
    first, second = Client(1), Client(1)
    calls = calls_of(monkeypatch, first, second)
    calls.submit(print)
    calls.close()
    assert (first.cancelled, first.is_closed) == ([first], True)
    calls.submit(print)
    calls.close()
    assert (second.cancelled, second.is_closed) == ([second], True)
    calls.close()


def test_a_client_of_the_user_stays_open(monkeypatch):
    client = Client(1)
    monkeypatch.setattr(cluster, "client_of", lambda given: given)
    cluster.Calls(client, Settings, {"size": 1}).close()
    assert not client.is_closed
    with pytest.raises(TypeError, match="unexpected keyword argument 'speed'"):
        cluster.Calls(client, Settings, {"speed": 1})
