"""Devices by their names, and those that are not there."""

from __future__ import annotations

import pytest

import te_sched
from te_sched import nd
from te_sched.errors import CallError
from te_sched.runtime.device import available_device, check_usable, source_of
from te_sched.target import Target


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("cpu", "cpu(0)"),
        ("cpu:1", "cpu(1)"),
        ("llvm -mcpu=haswell", "cpu(0)"),
        (Target("llvm"), "cpu(0)"),
        ("opencl:3", "opencl(3)"),
        ("mtl", "metal(0)"),
        (1, "cpu(0)"),
    ],
)
def test_a_device_by_its_name(name: object, expected: str) -> None:
    assert str(te_sched.device(name)) == expected


@pytest.mark.parametrize(
    ("name", "help"), [("gpuu", "did you mean"), ("cpu:x", "use one of"), ("", "use one of")]
)
def test_device_rejects_other_names(name: str, help: str) -> None:
    with pytest.raises(CallError, match=rf"(?s)unknown device .*{help}"):
        te_sched.device(name)


@pytest.mark.parametrize(
    ("value", "help"),
    [
        ("cuda:0", r"te_sched\.device\('cuda:0'\)"),
        ("float32", "dtype='float32'"),
        (3, r"te_sched\.cpu\(0\)"),
        ("no", r"te_sched\.cpu\(0\)"),
    ],
)
def test_what_is_not_a_device_has_a_remedy(value: object, help: str) -> None:
    with pytest.raises(CallError, match=rf"(?s)is not a device.*{help}"):
        check_usable(value)


def test_devices_of_other_kinds_are_not_there() -> None:
    assert not nd.device("rocm").exist
    with pytest.raises(CallError, match=r"device metal\(0\) is not supported"):
        check_usable(te_sched.metal(0))


def test_source_gives_the_device() -> None:
    for one in (te_sched.cpu(0), te_sched.emulated_cuda(1), available_device("cuda")):
        assert eval(source_of(one), {"te_sched": te_sched}) == one
