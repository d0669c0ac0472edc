"""Names that generated code may call."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import te, tir
from te_sched.errors import CallError
from te_sched.runtime import registry

pytestmark = pytest.mark.usefixtures("own_registry")

A = te.placeholder((4,), name="A")


def packed(name: str) -> Any:
    c = te.extern((4,), [A], lambda i, o: tir.call_packed(name, i[0], o[0]), name="C")
    return te_sched.build(te.create_schedule(c.op), [A, c])


def test_packed_functions() -> None:
    with pytest.warns(UserWarning, match=r"packed function 'no\.such'.*register_func"):
        function = packed("no.such")
    with pytest.raises(CallError, match=r"no function is registered as 'no\.such'"):
        function(np.zeros(4, "float32"), np.zeros(4, "float32"))


def test_packed_functions_of_a_loaded_module(tmp_path: Path) -> None:
    te_sched.register_func("missing.later", lambda a, c: np.copyto(c.numpy(), a.numpy()))
    packed("missing.later").export_library(tmp_path / "m.o")
    registry.remove_global_func("missing.later")
    with pytest.warns(UserWarning, match=r"packed function 'missing\.later'"):
        te_sched.runtime.load_module(tmp_path / "m.o")


def test_registering_twice_needs_override() -> None:
    registry.register_func("test.twice", print)
    with pytest.raises(CallError, match="registered already"):
        registry.register_func("test.twice", print)
    registry.register_func("test.twice", math.exp, override=True)
    assert registry.get_global_func("test.twice") is math.exp
    assert registry.get_global_func("test.none", allow_missing=True) is None


def test_register_extern_rejects_what_cannot_be_called() -> None:
    with pytest.raises(CallError, match="neither a function pointer nor callable"):
        registry.register_extern("bad", "text")
    with pytest.raises(CallError, match="the pointer is null"):
        registry.register_extern("bad", 0)


def test_functions_are_found_until_they_are_removed() -> None:
    registry.register_func("test.soon_gone", print)
    assert "test.soon_gone" in registry.registered_names()
    registry.remove_global_func("test.soon_gone")
    assert "test.soon_gone" not in registry.registered_names()
    with pytest.raises(CallError, match=r"test\.soon_gone"):
        registry.get_global_func("test.soon_gone")
