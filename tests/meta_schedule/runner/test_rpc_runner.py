"""TVM's names of measurements on other machines."""

import pytest

from te_sched.errors import DeclarationError
from te_sched.meta_schedule.runner import rpc_runner


@pytest.mark.parametrize(
    "call",
    [
        lambda: rpc_runner.RPCRunner(rpc_runner.RPCConfig("host"), f_alloc_argument="f"),
        lambda: rpc_runner.default_alloc_argument(None, None, [], 1),
    ],
)
def test_programs_of_rpc_are_told_of_dask(call):
    with pytest.raises(DeclarationError, match="does not measure through TVM's RPC") as caught:
        call()
    assert "use DaskRunner(address)" in caught.value.help


def test_an_address_has_the_fields_of_tvm():
    config = rpc_runner.RPCConfig("host", 9190, "key", session_timeout_sec=60)
    assert config._asdict() == {
        "tracker_host": "host",
        "tracker_port": 9190,
        "tracker_key": "key",
        "session_priority": 1,
        "session_timeout_sec": 60,
    }
