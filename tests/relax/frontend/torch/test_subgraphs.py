"""Which calls of a graph of torch are built, and how the graph is split."""

from __future__ import annotations

from typing import Any

import pytest

from te_sched.errors import GraphError
from te_sched.relax.frontend.torch.importer import ROWS
from te_sched.relax.frontend.torch.subgraphs import (
    PREFIX,
    SubgraphImporter,
    decompositions,
    gives_tensors,
    is_random,
    is_size,
    reason_against,
    split,
)

torch = pytest.importorskip("torch")


@pytest.fixture(autouse=True)
def _no_bessel_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(ROWS, "i0", raising=False)


def graph_of(function: Any, *args: Any, tracing_mode: str = "fake") -> Any:
    from torch.fx.experimental.proxy_tensor import make_fx

    return make_fx(function, tracing_mode=tracing_mode)(*args)


def _calls(graph: Any) -> list[Any]:
    return [node for node in graph.graph.nodes if gives_tensors(node)]


def _reasons(function: Any, *args: Any) -> list[str | None]:
    return [reason_against(node) for node in _calls(graph_of(function, *args))]


def test_reasons_against_a_call() -> None:
    x = torch.ones(3)
    assert _reasons(lambda x: x.sin(), x) == [None]
    assert _reasons(torch.special.i0, x) == ["it has no translation"]
    assert _reasons(lambda x: x + 1, torch.ones(2, dtype=torch.complex64)) == [
        "its tensors have dtype complex64"
    ]
    assert _reasons(lambda x: x.relu_(), x) == ["it changes a tensor in place"]
    assert _reasons(lambda x: torch.native_dropout(x, 0.5, True)[0], x)[0] == (
        "it draws random numbers"
    )
    assert _reasons(lambda x: x + 1, torch.ones(2, device="meta")) == [
        "its tensors are on device meta"
    ]
    assert "layout torch.sparse_coo" in str(_reasons(lambda x: x * 2, x.to_sparse())[0])


def test_a_tensor_that_stands_for_its_negative_is_left_to_torch() -> None:
    x = torch.tensor([1 + 2j]).conj().imag
    assert x.is_neg()
    node = _calls(graph_of(lambda x: x + 1, torch.ones(1)))[0]
    node.all_input_nodes[0].meta["val"] = x
    assert "stand for the negative" in str(reason_against(node))


def test_sizes_are_no_tensors() -> None:
    graph = graph_of(lambda x: x.reshape(x.shape[0] * 2), torch.ones(4, 2), tracing_mode="symbolic")
    kinds = {node.name: (gives_tensors(node), is_size(node)) for node in graph.graph.nodes}
    assert kinds["sym_size_int"] == (False, True)
    assert next(is_pair for name, is_pair in kinds.items() if name.startswith("view")) == (
        True,
        False,
    )


def test_random_operators() -> None:
    graph = graph_of(lambda x: torch.bernoulli(x) + torch.sin(x), torch.ones(2))
    assert [is_random(node) for node in _calls(graph)] == [True, False, False]


def test_decompositions_are_of_operators_without_a_row() -> None:
    names = {str(operator) for operator in decompositions(False)}
    assert "aten.threshold_backward.default" in names
    assert "aten.relu.default" not in names
    assert "aten.native_layer_norm.default" not in names
    assert "aten.native_layer_norm.default" in {str(one) for one in decompositions(True)}


def test_a_graph_is_split_around_other_calls() -> None:
    graph = graph_of(lambda x: torch.special.i0(x.sin() + 1).cos().t(), torch.ones(2, 3))
    names = {node.name for node in _calls(graph) if reason_against(node) is None}
    parts = split(graph, names)
    targets = [str(node.target) for node in parts.graph.nodes if node.op.startswith("call")]
    assert targets == [f"{PREFIX}1", "aten.i0.default", f"{PREFIX}0"]
    x = torch.rand(2, 3)
    torch.testing.assert_close(parts(x), graph(x))


def test_views_alone_are_left_to_torch() -> None:
    graph = graph_of(lambda x: x.t().view(-1)[1:], torch.ones(2, 1))
    parts = split(graph, {node.name for node in _calls(graph)})
    assert all(node.op != "call_module" for node in parts.graph.nodes)


def test_a_subgraph_is_imported() -> None:
    graph = graph_of(lambda x: (x.sin(), x.cos() + 1), torch.ones(2))
    importer = SubgraphImporter(graph.graph.nodes, [])
    func = importer.import_nodes()["main"]
    assert [str(param.struct_info) for param in func.params] == ['R.Tensor((2,), dtype="float32")']
    assert str(func.ret_struct_info).count("R.Tensor((2,)") == 2
    assert not importer.is_single
    assert [tuple(result.shape) for result in importer.results] == [(2,), (2,)]


def test_sizes_of_the_whole_graph_that_a_subgraph_lacks() -> None:
    def double(n: int, x: Any) -> Any:
        return torch.special.i0(x.view(-1)).view(n, -1) + 1

    graph = graph_of(double, 4, torch.ones(4, 6), tracing_mode="symbolic")
    parts = split(graph, {n.name for n in _calls(graph) if reason_against(n) is None})
    sizes = [node for node in parts.graph.nodes if node.op == "placeholder" and is_size(node)]
    last = SubgraphImporter(dict(parts.named_modules())[f"{PREFIX}0"].graph.nodes, sizes)
    assert set(last.sizes_of_graph) <= set(sizes)
    assert last.inputs[: len(last.inputs) - len(last.sizes_of_graph)]


def test_the_call_at_fault() -> None:
    graph = graph_of(lambda x: torch.special.i0(x.sin()), torch.ones(2))
    importer = SubgraphImporter(graph.graph.nodes, [])
    assert importer.calls_at_fault() == importer.calls
    with pytest.raises(GraphError, match=r"cannot import aten\.i0\.default"):
        importer.import_nodes()
    assert [node.name for node in importer.calls_at_fault()] == ["i0"]
