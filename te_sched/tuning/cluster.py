"""Calls in the workers of a cluster of dask: its scheduler deals them to workers, and deals those
of a worker that dies again.

Each worker has builders and runners of its own, in processes below it, so that a candidate that
crashes or hangs does not end the worker. Built candidates travel as bytes (`artifacts.Artifact`).
dask is imported when a cluster is used. Must not know what is called.
"""

from __future__ import annotations

import importlib
import time
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from te_sched.errors import DeclarationError, repr_of
from te_sched.locks import new_lock

_ANSWER = 20.0  # seconds within which a scheduler must answer
_LOOK = 5.0  # seconds between the looks for workers while a call has no result
_NO_WORKERS = 120.0  # seconds without any worker, after which a call is lost
_RETRIES = 3  # of a call that raises, as after the loss of a worker
_MOST_PARTS = 4  # builders and runners that a worker keeps


def client_of(cluster: Any) -> Any:
    """A client of a cluster: of its address, of a cluster object, or the client itself.

    Raises
    ------
    DeclarationError without dask.distributed, and for a cluster that does not answer.
    """
    try:
        distributed = importlib.import_module("distributed")
    except ImportError as error:
        raise DeclarationError(
            "tuning on a cluster needs dask.distributed",
            str(error),
            "pip install 'dask[distributed]'",
        ) from error
    if isinstance(cluster, distributed.Client):
        return cluster
    try:
        return distributed.Client(cluster, timeout=_ANSWER, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise DeclarationError(
            f"there is no dask scheduler at {repr_of(cluster)}",
            str(error),
            'start one with "dask scheduler", its workers with "dask worker ADDRESS --nthreads 1", '
            'and give its address: "tcp://machine:8786"',
        ) from error


class Calls:
    """Calls of functions with a part of the worker, made with some settings, and arguments."""

    def __init__(self, cluster: Any, kind: type[Any], settings: Mapping[str, Any]) -> None:
        kind(**settings).close()  # which checks the settings
        self._cluster = cluster
        self._client: Any = client_of(cluster)
        self._part = (uuid.uuid4().hex, kind, dict(settings))
        self._futures: list[Any] = []

    def submit(self, function: Callable[..., Any], *args: Any) -> Any:
        """Begin a call; dask's future."""
        if self._client is None:
            self._client = client_of(self._cluster)
        future = self._client.submit(
            _called, self._part, function, args, pure=False, retries=_RETRIES
        )
        self._futures = [future for future in self._futures if not future.done()] + [future]
        return future

    def result(self, future: Any) -> Any:
        """The result of a call; what it raises is raised.

        Raises
        ------
        TimeoutError if the cluster has no workers for a while.
        """
        seen = time.monotonic()
        while True:
            try:
                return future.result(timeout=_LOOK)
            except TimeoutError:
                if future.done():
                    raise
            if self._client.nthreads():
                seen = time.monotonic()
            elif time.monotonic() - seen > _NO_WORKERS:
                raise TimeoutError("the cluster has no workers")

    def close(self) -> None:
        """Cancel the calls that are going on, and leave the cluster until the next call."""
        futures = [future for future in self._futures if not future.done()]
        self._futures = []
        if futures:
            self._client.cancel(futures, force=True)
        if self._client is not None and self._client is not self._cluster:
            self._client.close()
            self._client = None


# What follows runs in workers of a cluster.

_parts: dict[str, Any] = {}
_lock = new_lock()


def _called(
    part: tuple[str, type[Any], Mapping[str, Any]],
    function: Callable[..., Any],
    args: tuple[Any, ...],
) -> Any:
    key, kind, settings = part
    with _lock:
        if key not in _parts:
            _parts[key] = kind(**settings)
        while len(_parts) > _MOST_PARTS:
            _parts.pop(next(iter(_parts)))
        own = _parts[key]
    return function(own, *args)
