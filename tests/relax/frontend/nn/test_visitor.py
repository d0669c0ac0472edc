"""Parts of a model that are exchanged before it is exported."""

from __future__ import annotations

from typing import Any

from te_sched.relax.frontend import nn


class Model(nn.Module):
    def __init__(self) -> None:
        self.first = nn.Linear(4, 8)
        self.rest = nn.ModuleList([nn.ReLU(), nn.ModuleList([nn.Linear(8, 8, bias=False)])])
        self.cache = nn.KVCache(1, [8])
        self.number = 3


class Recorder(nn.Mutator):
    """Notes what is visited."""

    def __init__(self) -> None:
        self.paths: list[tuple[str, str]] = []

    def note(self, kind: str, name: str) -> None:
        self.paths.append((kind, name))

    def visit_module(self, name: str, node: nn.Module) -> Any:
        self.note("module", name)
        return super().visit_module(name, node)

    def visit_modulelist(self, name: str, node: nn.ModuleList) -> Any:
        self.note("list", name)
        return super().visit_modulelist(name, node)

    def visit_param(self, name: str, node: nn.Parameter) -> Any:
        self.note("param", name)
        return super().visit_param(name, node)

    def visit_effect(self, name: str, node: Any) -> Any:
        self.note("effect", name)
        return super().visit_effect(name, node)


def test_all_parts_are_visited_with_their_paths() -> None:
    recorder, model = Recorder(), Model()
    assert recorder.visit("", model) is model
    assert recorder.paths == [
        *(("module", "first"), ("param", "first.weight"), ("param", "first.bias")),
        *(("list", "rest"), ("module", "rest.0"), ("list", "rest.1"), ("module", "rest.1.0")),
        *(("param", "rest.1.0.weight"), ("effect", "cache")),
    ]
    assert recorder.visit("model", nn.Linear(1, 1, bias=False))
    assert recorder.paths[-1] == ("param", "model.weight")


def test_parts_are_exchanged() -> None:
    class Quantized(nn.Mutator):
        def visit_module(self, name: str, node: nn.Module) -> Any:
            return nn.SiLU() if isinstance(node, nn.ReLU) else self.visit(name, node)

        def visit_param(self, name: str, node: nn.Parameter) -> Any:
            return nn.Parameter(node.shape, "int8") if name.endswith("weight") else node

        def visit_effect(self, name: str, node: Any) -> Any:
            return nn.IOEffect()

    model = Model()
    Quantized().visit("", model)
    assert isinstance(model.rest[0], nn.SiLU)
    assert isinstance(model.cache, nn.IOEffect)
    dtypes = {name: param.dtype for name, param in model.named_parameters()}
    assert dtypes == {"first.weight": "int8", "first.bias": "float32", "rest.1.0.weight": "int8"}
    assert model.number == 3
