"""Patterns of libraries by name, and those that libraries share (`backend/patterns.py`)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import te_sched
from te_sched import relax
from te_sched.errors import GraphError
from te_sched.relax.backend import (
    get_pattern,
    get_patterns_with_prefix,
    pattern_registry,
    register_patterns,
)
from te_sched.relax.backend.patterns import (
    make_conv2d_pattern,
    make_fused_bias_activation_pattern,
    make_matmul_pattern,
)
from te_sched.relax.transform import FuseOpsByPattern, RunCodegen
from te_sched.runtime.registry import registered_names, remove_global_func
from te_sched.script import ir as I
from te_sched.script import relax as R


@pytest.fixture(autouse=True)
def _nothing_stays(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(pattern_registry, "_PATTERNS", [])
    yield
    for name in registered_names():
        if "patternlib" in name:
            remove_global_func(name)


@I.ir_module
class Layer:
    @R.function
    def main(
        x: R.Tensor((2, 8), "float32"),
        w: R.Tensor((3, 8), "float32"),
        b: R.Tensor((3,), "float32"),
    ):
        with R.dataflow():
            out = R.nn.relu(R.add(R.matmul(x, R.permute_dims(w)), b))
            R.output(out)
        return out


def test_the_patterns_of_a_library_that_came_last_are_searched_first() -> None:
    plain = make_matmul_pattern(transposed_rhs=True)
    whole = make_matmul_pattern(True, "relax.nn.relu", transposed_rhs=True)
    register_patterns([("patternlib.product", *plain), ("patternlib.layer", *whole)])
    register_patterns([("otherlib.product", *make_matmul_pattern())])
    names = [one.name for one in get_patterns_with_prefix("patternlib")]
    assert names == ["patternlib.layer", "patternlib.product"]
    assert get_pattern("otherlib.product").pattern is not plain[0]
    assert get_pattern("absent") is None

    def compiled(functions: list, options: dict, constants: dict) -> list:
        assert [str(one.attrs["global_symbol"]) for one in functions] == [
            "fused_relax_permute_dims_relax_matmul_relax_add_relax_nn_relu_patternlib"
        ]
        return [
            lambda w, x, b, out: out.copyfrom(np.maximum(x.numpy() @ w.numpy().T + b.numpy(), 0))
        ]

    te_sched.register_func("relax.ext.patternlib", compiled, override=True)
    patterns = get_patterns_with_prefix("patternlib")
    module = RunCodegen()(FuseOpsByPattern(patterns, annotate_codegen=True)(Layer))
    machine = relax.VirtualMachine(relax.build(module, "llvm"), te_sched.cpu())
    x, w, b = (np.random.rand(*size).astype("float32") for size in ((2, 8), (3, 8), (3,)))
    found = machine["main"](*map(te_sched.nd.array, (x, w, b))).numpy()
    np.testing.assert_allclose(found, np.maximum(x @ w.T + b, 0), 1e-5)


def test_parts_of_patterns_have_names() -> None:
    pattern, parts = make_conv2d_pattern(True, "relax.nn.relu")
    assert str(pattern) == "Op(relax.nn.relu)(Op(relax.add)(Op(relax.nn.conv2d)(*, *), *))"
    assert sorted(parts) == ["bias", "input", "root", "weight"]
    assert pattern.args[0].args == (parts["root"], parts["bias"])
    assert parts["root"].args == (parts["input"], parts["weight"])
    assert str(make_fused_bias_activation_pattern("relax.matmul")[0]) == "Op(relax.matmul)(*, *)"


def test_other_things_are_no_patterns() -> None:
    with pytest.raises(GraphError, match="'patternlib' is not a pattern of a library"):
        register_patterns(["patternlib"])
