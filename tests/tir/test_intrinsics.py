"""Functions that call intrinsics of devices."""

from __future__ import annotations

import inspect

import pytest

from te_sched import tir
from te_sched.errors import DeclarationError
from te_sched.tir import intrinsics


def test_each_function_has_the_parameters_of_its_row() -> None:
    for name, row in intrinsics._TABLE.items():
        parameters = inspect.signature(getattr(tir, name)).parameters
        assert list(parameters) == [one.name for one in intrinsics._parameters(row)]


def test_arguments_become_expressions() -> None:
    call = tir.ptx_wait_group(3)
    assert isinstance(call.args[0], tir.IntImm)
    assert str(call.op) == "tir.ptx_wait_group"


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises((TypeError, DeclarationError), match="num"):
        tir.ptx_wait_group()
