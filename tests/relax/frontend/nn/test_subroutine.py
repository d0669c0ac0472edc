"""Modules that become functions of their own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from te_sched import nd, relax, tir
from te_sched.relax.frontend import nn


class Block(nn.Module):
    """A layer, as a function."""

    define_subroutine = True

    def __init__(self) -> None:
        self.layer = nn.Linear(4, 4, bias=False)

    def forward(self, x: nn.Tensor) -> Any:
        return self.layer(x), x


class Model(nn.Module):
    def __init__(self, count: int = 2) -> None:
        self.blocks = nn.ModuleList([Block() for _ in range(count)])

    def forward(self, x: nn.Tensor) -> nn.Tensor:
        for block in self.blocks:
            y, x = block(x)
            x = x + y
        return x


def exported(model: nn.Module, *sizes: Any) -> Any:
    return model.export_tvm({"forward": {"x": nn.spec.Tensor([*sizes, 4], "float32")}})


def names_of(module: Any) -> list[str]:
    return sorted(str(name) for name, _ in module.functions_items())


def test_calls_of_equal_types_are_of_one_function() -> None:
    model = Model()
    module, params = exported(model, 2)
    assert names_of(module) == ["block", "forward"]
    assert len(module["block"].params) == 2
    weights = [np.random.default_rng(n).random((4, 4)).astype("float32") for n in range(2)]
    x = np.random.default_rng(2).random((2, 4)).astype("float32")
    machine = relax.VirtualMachine(relax.build(module, "llvm"))
    result = machine["forward"](nd.array(x), *map(nd.array, weights)).numpy()
    for weight in weights:
        x = x + x @ weight.T
    np.testing.assert_allclose(result, x, 1e-5)
    assert len(params) == 2
    assert [block.layer.weight for block in model.blocks] == [p for _, p in params]  # as before


def test_a_module_is_called_twice_with_its_parameters() -> None:
    class Twice(nn.Module):
        def __init__(self) -> None:
            self.block = Block()

        def forward(self, x: nn.Tensor) -> nn.Tensor:
            return self.block(self.block(x)[0])[0]

    module, _ = exported(Twice(), 2)
    weight = np.arange(16, dtype="float32").reshape(4, 4)
    x = np.ones((2, 4), "float32")
    machine = relax.VirtualMachine(relax.build(module, "llvm"))
    result = machine["forward"](nd.array(x), nd.array(weight)).numpy()
    np.testing.assert_array_equal(result, x @ weight.T @ weight.T)


def test_sizes_are_variables_of_the_function() -> None:
    n = tir.Var("n", "int64")
    module, _ = exported(Model(1), n)
    (own, *_) = module["block"].params[0].struct_info.shape.values
    assert own.name == "n"
    assert own is not n
    assert module["forward"].params[0].struct_info.shape.values[0] is n


def test_calls_of_other_types_are_of_other_functions() -> None:
    class Rows(nn.Module):
        def __init__(self) -> None:
            self.block = Block()

        def forward(self, x: nn.Tensor) -> nn.Tensor:
            return self.block(x)[0] + self.block(x.reshape(1, 8, 4))[0].reshape(8, 4)

    module, _ = exported(Rows(), 8)
    assert len(names_of(module)) == 3
    assert {name.rstrip("1_") for name in names_of(module)} == {"block", "forward"}


@pytest.mark.parametrize("define_subroutine", [False, True])
def test_classes_say_whether_they_are_functions(define_subroutine: bool) -> None:
    class Chosen(nn.Module):
        def forward(self, x: nn.Tensor) -> nn.Tensor:
            return x + x

    class TwoWords(Chosen):
        pass

    TwoWords.define_subroutine = define_subroutine

    class Derived(TwoWords):
        def forward(self, x: nn.Tensor) -> nn.Tensor:
            return x * x

    class Around(nn.Module):
        def __init__(self) -> None:
            self.derived = Derived()

        def forward(self, x: nn.Tensor) -> nn.Tensor:
            return self.derived(x)

    module, _ = exported(Around(), 2)
    assert names_of(module) == ["derived", "forward"][not define_subroutine :]


class Scale(nn.Module):
    define_subroutine = True

    def forward(self, x: nn.Tensor, factor: float, power: int = 1, bias: Any = None) -> nn.Tensor:
        for _ in range(power):
            x = x * factor
        return x if bias is None else x + bias


class Scales(nn.Module):
    def __init__(self) -> None:
        self.scale = Scale()

    def forward(self, x: nn.Tensor) -> nn.Tensor:
        return self.scale(x, 0.5, power=2) + self.scale(x, 3.0, bias=x)


def test_numbers_are_constants_of_the_function() -> None:
    module, _ = exported(Scales(), 2)
    assert names_of(module) == ["forward", "scale", "scale1"]
    assert [len(module[name].params) for name in ("scale", "scale1")] == [1, 2]
    machine = relax.VirtualMachine(relax.build(module, "llvm"))
    x = np.arange(8, dtype="float32").reshape(2, 4)
    np.testing.assert_array_equal(machine["forward"](nd.array(x)).numpy(), x * 4.25)
