"""te.create_prim_func gives the text of TVM 0.19, and computes what a schedule computes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import errors, te
from te_sched.errors import DeclarationError
from te_sched.ir.structural import structural_difference
from te_sched.script import from_source
from tests.lowering.prim_func_programs import OVERRIDES, PROGRAMS

GOLDEN = Path(__file__).parents[1] / "golden" / "tensorir" / "prim_func"


SIZE = 5  # of variables


def func_of(name: str) -> Any:
    return te.create_prim_func(PROGRAMS[name](te_sched), index_dtype_override=OVERRIDES.get(name))


@pytest.mark.parametrize("name", PROGRAMS)
def test_text_is_that_of_tvm(name: str) -> None:
    assert func_of(name).script() == (GOLDEN / f"{name}.txt").read_text().rstrip("\n")


@pytest.mark.parametrize("name", PROGRAMS)
def test_text_is_read_again(name: str) -> None:
    func = func_of(name)
    assert structural_difference(from_source(func.script()), func, True) is None


@pytest.mark.parametrize("name", [name for name in PROGRAMS if "extern" not in name])
def test_results_are_those_of_a_schedule(name: str) -> None:
    params = PROGRAMS[name](te_sched)
    tensors = [one for one in params if isinstance(one, te.Tensor)]
    schedule = te.create_schedule([one.op for one in tensors])
    rng = np.random.default_rng(0)

    def argument(one: Any) -> Any:
        if not isinstance(one, te.Tensor):
            return SIZE
        shape = [int(x) if hasattr(x, "value") else SIZE + ("+" in str(x)) for x in one.shape]
        return te_sched.nd.array(rng.integers(0, 4, shape).astype(one.dtype))

    results = []
    for inputs, args in ((func_of(name), None), (schedule, params)):
        rng = np.random.default_rng(0)
        values = [argument(one) for one in params]
        te_sched.build(inputs, args)(*values)
        results.append([value.numpy() for value in values if not isinstance(value, int)])
    for ours, scheduled in zip(*results, strict=True):
        np.testing.assert_allclose(ours, scheduled, rtol=1e-5)


def test_a_condition_of_a_reduction_holds() -> None:
    A = te.placeholder((8, 16), name="A")
    k = te.reduce_axis((0, 16), "k")
    B = te.compute((8,), lambda i: te.sum(A[i, k], axis=k, where=k > 2), name="B")
    module = te_sched.build(te.create_prim_func([A, B]))
    a = np.random.default_rng(0).random((8, 16), "float32")
    b = te_sched.nd.array(np.zeros(8, "float32"))
    module(te_sched.nd.array(a), b)
    np.testing.assert_allclose(b.numpy(), a[:, 3:].sum(1), rtol=1e-5)


def test_errors_of_create_prim_func() -> None:
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i] + 1, name="B")
    with pytest.raises(DeclarationError, match="placeholder A is not a parameter"):
        te.create_prim_func([B])
    with pytest.raises(DeclarationError, match=r"a parameter of create_prim_func is an? int"):
        te.create_prim_func([A, 3])
    S = te.placeholder((8, 4), name="S")
    init = te.compute((1, 4), lambda _, i: 0.0, name="init")
    update = te.compute((8, 4), lambda t, i: S[t - 1, i] + 1, name="update")
    with pytest.raises(errors.OperandError, match="operation scan has no form in blocks") as caught:
        te.create_prim_func([te.scan(init, update, S, name="scan")])
    assert caught.value.in_tvm == "Unsupported Operation: ScanOp."
