"""TVM's names of measurements on other machines, which te_sched does through dask."""

from __future__ import annotations

from typing import Any, NamedTuple

from te_sched.errors import DeclarationError
from te_sched.meta_schedule.runner.base import Runner

T_ARG_INFO_JSON_OBJ_LIST = list[list[Any]]
T_ARGUMENT_LIST = list[Any]


class RPCConfig(NamedTuple):
    """The address of a tracker of TVM's RPC, as programs state it.

    >>> RPCConfig(tracker_host="machine").tracker_host
    'machine'
    """

    tracker_host: str | None = None
    tracker_port: int | str | None = None
    tracker_key: str | None = None
    session_priority: int = 1
    session_timeout_sec: int = 10


class RPCRunner(Runner):
    """TVM's runner on other machines, which te_sched does not have.

    Raises
    ------
    DeclarationError that names `DaskRunner`.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise DeclarationError(
            "te_sched does not measure through TVM's RPC",
            "it has no tracker and no servers",
            "use DaskRunner(address): a dask scheduler with workers on the other machines",
        )


def default_alloc_argument(session: Any, device: Any, args_info: Any, alloc_repeat: int) -> Any:
    """TVM's name of what allocates arguments on another machine; see `RPCRunner`."""
    del session, device, args_info, alloc_repeat
    return RPCRunner()
