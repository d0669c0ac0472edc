"""Workloads are registered by name, and declared by keys."""

from __future__ import annotations

import pytest

from te_sched import te
from te_sched.compat import auto_scheduler
from te_sched.errors import DeclarationError


def copied(n: int, shape: tuple[int, ...]) -> list[te.Tensor]:
    """A workload of two arguments."""
    A = te.placeholder((n, *shape), name="A")
    return [A, te.compute(A.shape, lambda *i: A(*i), name="B")]


def test_key_declares_the_tensors() -> None:
    assert auto_scheduler.register_workload(copied, override=True) is copied
    key = auto_scheduler.make_workload_key(copied, (2, (3, 4)))
    assert key == '["copied", 2, [3, 4]]'
    tensors = auto_scheduler.workload_key_to_tensors(key)
    assert [tensor.ndim for tensor in tensors] == [3, 3]


def test_function_with_another_name_has_its_key() -> None:
    auto_scheduler.register_workload("test.copied", override=True)(lambda n: [n])
    assert auto_scheduler.make_workload_key("test.copied", (2,)) == '["test.copied", 2]'


def test_names_are_registered_once() -> None:
    auto_scheduler.register_workload("test.once", copied, override=True)
    with pytest.raises(DeclarationError, match=r"workload 'test.once' is registered already"):
        auto_scheduler.register_workload("test.once", copied)


def test_unknown_workload_is_rejected() -> None:
    with pytest.raises(DeclarationError, match=r"workload 'test.none' is not registered"):
        auto_scheduler.make_workload_key("test.none", ())


@pytest.mark.parametrize("key", ["", "{", "[" * 100_000, 3])
def test_workload_key_to_tensors_rejects_other_texts(key: object) -> None:
    with pytest.raises(DeclarationError, match="is not a workload key"):
        auto_scheduler.workload_key_to_tensors(key)
