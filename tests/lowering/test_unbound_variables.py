from __future__ import annotations

from collections.abc import Iterator

import pytest

import te_sched
from te_sched import config, te
from te_sched.errors import BuildError
from te_sched.ir.stmt import PrimFunc
from te_sched.lowering.unbound_variables import (
    arguments_of,
    free_variables,
    missing_arguments,
    unbound_error,
)


@pytest.fixture(autouse=True)
def _users_settings() -> Iterator[None]:
    """The verifier of the IR, which tests alone enable, would refuse these programs first."""
    with config.scoped(verify_passes=False):
        yield


n, m = te.var("n"), te.var("m")
A = te.placeholder((n,), name="A")
B = te.placeholder((n,), name="B")
C = te.compute((n,), lambda i: A[i] + B[i], name="C")


def lowered(args: list[te.Tensor]) -> PrimFunc:
    return te_sched.lower(te.create_schedule(C.op), args)["main"]


def test_arguments_are_parameters_then_sizes() -> None:
    names = [var.name for var in arguments_of(lowered([A, B, C]))]
    assert names[:4] == ["A", "B", "C", "n"]


def test_free_variables_are_those_of_no_loop() -> None:
    func = lowered([A, B, C])
    assert free_variables(func.body) <= arguments_of(func).keys()


def test_no_argument_is_missing() -> None:
    assert missing_arguments(lowered([A, B, C]), "main") is None


def test_missing_arguments_precede_variables() -> None:
    func = lowered([C])
    error = str(unbound_error(func, "main", [m]))
    assert error.startswith("function 'main' accesses A, B, which are not among its arguments")
    error = str(unbound_error(lowered([A, B, C]), "main", [m, te.var("k")]))
    assert error.startswith("variables k, m have no value where function 'main' uses them")


@pytest.mark.parametrize("target", ["llvm", "cuda"])
def test_missing_input_is_named(target: str) -> None:
    s = te.create_schedule(C.op)
    if target == "cuda":
        s[C].bind(C.op.axis[0], te.thread_axis("blockIdx.x"))
    with pytest.raises(BuildError, match=r"^function 'main' accesses B, which is not among its"):
        te_sched.build(s, [A, C], target)
    with pytest.raises(BuildError, match=r"^function 'main' accesses A, B, which are not among"):
        te_sched.build(te_sched.lower(s, [C]), target=target)


@pytest.mark.parametrize("target", ["llvm", "cuda"])
def test_missing_input_with_a_size_of_its_own_is_named(target: str) -> None:
    P = te.placeholder((m,), name="P")
    k = te.reduce_axis((0, m), name="k")
    F = te.compute((8,), lambda i: te.sum(P[k], axis=k), name="F")
    with pytest.raises(BuildError, match=r"^function 'main' accesses P, which is not among"):
        te_sched.build(te.create_schedule(F.op), [F], target)
    D = te.compute((2 * n,), lambda i: A[i // 2], name="D")
    with pytest.raises(BuildError, match=r"^function 'main' accesses A, which is not among"):
        te_sched.build(te.create_schedule(D.op), [D], target)


def test_input_of_the_name_of_an_argument() -> None:
    other = te.placeholder((n,), name="A")
    D = te.compute((n,), lambda i: A[i] + other[i], name="D")
    with pytest.raises(BuildError, match="argument A is another tensor of the same name"):
        te_sched.build(te.create_schedule(D.op), [A, D])


@pytest.mark.parametrize("target", ["llvm", "cuda"])
def test_variable_without_a_value(target: str) -> None:
    D = te.compute((n,), lambda i: A[i] * m, name="D")
    with pytest.raises(BuildError, match=r"^variable m has no value where function 'main' uses"):
        te_sched.build(te.create_schedule(D.op), [A, D], target)
