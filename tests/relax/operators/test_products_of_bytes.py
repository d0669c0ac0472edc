"""Products of signed bytes are those of unsigned and signed ones in builds, and stay exact."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from te_sched import nd, relax
from te_sched.relax import op as R
from te_sched.relax.transform import LegalizeOps

RNG = np.random.default_rng(0)


def bytes_of(*shape: int) -> Any:
    """Signed bytes, also the least and the greatest one."""
    return RNG.choice([-128, -127, -1, 0, 1, 127], shape).astype("int8")


def module_of(a: Any, b: Any, is_constant: bool) -> Any:
    """The module of a product of two arrays with sums of 32 bits."""
    x, w = (relax.Var(n, relax.TensorStructInfo(v.shape, "int8")) for n, v in (("x", a), ("w", b)))
    builder = relax.BlockBuilder()
    with builder.function("main", [x] if is_constant else [x, w]):
        with builder.dataflow():
            weight = relax.const(b) if is_constant else w
            output = builder.emit_output(R.matmul(x, weight, out_dtype="int32"))
        builder.emit_func_output(output)
    return builder.get()


@pytest.mark.parametrize("is_constant", [False, True])
@pytest.mark.parametrize("shapes", [((33, 30), (30, 41)), ((2, 3, 8), (8, 16)), ((5,), (5, 4))])
def test_results(shapes: Any, is_constant: bool) -> None:
    a, b = bytes_of(*shapes[0]), bytes_of(*shapes[1])
    arrays = [nd.array(a)] if is_constant else [nd.array(a), nd.array(b)]
    machine = relax.VirtualMachine(relax.build(module_of(a, b, is_constant), "llvm"))
    expected = a.astype("int32") @ b.astype("int32")
    np.testing.assert_array_equal(machine["main"](*arrays).numpy(), expected)


def test_builds_make_one_operand_unsigned() -> None:
    for shape, is_unsigned in (((33, 30), True), ((3, 30), False)):
        module = module_of(bytes_of(*shape), bytes_of(30, 41), False)
        text = LegalizeOps(to_run=True)(module).script()
        assert ("uint8" in text) == is_unsigned


def test_text_of_a_legalized_product_is_that_of_tvm() -> None:
    text = LegalizeOps()(module_of(bytes_of(33, 30), bytes_of(30, 41), False)).script()
    assert "uint8" not in text
