"""The table of cuBLAS."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import nd, relax
from te_sched.relax.backend import get_patterns_with_prefix
from te_sched.relax.backend.contrib.cublas import partition_for_cublas
from te_sched.runtime.registry import remove_global_func
from tests.relax.backend.partitioned import composites_of, module_of, product, with_relu


@pytest.mark.parametrize(
    ("scale", "zero", "expected"),
    [(2.0, 0.0, "_dequantize"), (2.0, 1.0, ""), ([2.0] * 16, [0.0] * 16, "")],
)
def test_dequantized_products(scale: Any, zero: Any, expected: str) -> None:
    def dequantize(builder: Any, value: Any) -> Any:
        numbers = [relax.const(one, "float16") for one in (scale, zero)]
        return relax.op.dequantize(value, *numbers, axis=-1, out_dtype="float32")

    mod = product((8, 32), (16, 32), "int8", after=dequantize, axes=None)
    assert composites_of(partition_for_cublas(mod)) == [f"cublas.matmul_transposed{expected}"]


def test_scaled_products() -> None:
    def build(builder: Any, x: Any, y: Any, a: Any, b: Any) -> Any:
        y = builder.emit(relax.op.permute_dims(y))
        scaled = relax.op.multiply(relax.op.matmul(x, y), relax.op.multiply(a, b))
        return relax.op.astype(builder.emit(scaled), "float32")

    infos = {"x": ((8, 32), "float16"), "y": ((16, 32), "float16")}
    mod = module_of({**infos, "a": ((1,), "float16"), "b": ((1,), "float16")}, build)
    assert composites_of(partition_for_cublas(mod)) == ["cublas.matmul_transposed_multiply"]


def test_tables_are_there_by_name() -> None:
    names = [one.name for one in get_patterns_with_prefix("cublas")]
    assert names[0] == "cublas.matmul_transposed_multiply"
    assert names[-1] == "cublas.matmul"
    assert len(names) == 10
    assert {one.name.partition(".")[0] for one in get_patterns_with_prefix("cu")} == {
        *("cublas", "cudnn", "cutlass")
    }


def test_a_library_of_the_program_runs_a_layer() -> None:
    def compiled(functions: list[Any], options: Any, constants: Any) -> list[Any]:
        def layer(w: Any, x: Any, b: Any, out: Any) -> None:
            out.copyfrom(np.maximum(x.numpy() @ w.numpy().T + b.numpy(), 0))

        return [layer for _ in functions]

    te_sched.register_func("relax.ext.cublas", compiled, override=True)
    try:
        mod = product((2, 8), (3, 8), "float32", (3,), with_relu, axes=None)
        mod = relax.transform.RunCodegen()(partition_for_cublas(mod))
        assert "R.call_dps_packed" in mod["main"].script()
        machine = relax.VirtualMachine(relax.build(mod, "llvm"), te_sched.cpu())
        x, w, b = (np.random.rand(*one).astype("float32") for one in ((2, 8), (3, 8), (3,)))
        found = machine["main"](*map(nd.array, (x, w, b))).numpy()
        np.testing.assert_allclose(found, np.maximum(x @ w.T + b, 0), rtol=1e-5)
    finally:
        remove_global_func("relax.ext.cublas")
