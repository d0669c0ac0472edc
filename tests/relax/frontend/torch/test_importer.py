"""What the importers of torch share: values of nodes, rows, errors that list operators."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from te_sched import relax, tir
from te_sched.errors import GraphError
from te_sched.relax.frontend.torch.importer import (
    MODULES,
    ROWS,
    Importer,
    operators_and_places,
    refuse_unknown,
    row,
)

torch = pytest.importorskip("torch")

N = tir.Var("n", "int64")
X = relax.Var("x", relax.TensorStructInfo([2, N, 3], "float32"))
UNKNOWN = relax.Var("x", relax.TensorStructInfo(dtype="float32", ndim=1))
SHAPE = relax.Var("s", relax.ShapeStructInfo([2]))


def test_what_is_known_of_a_tensor() -> None:
    importer = Importer()
    assert (importer.shape(X), importer.dtype(X)) == ([2, N, 3], "float32")
    assert [importer.axis(X, dim) for dim in (0, 2, -1, -3)] == [0, 2, 2, 0]
    assert [importer.is_tensor(value) for value in (X, SHAPE, 2)] == [True, False, False]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda importer: importer.axis(X, 3), "a tensor of 3 dimensions has no dimension 3"),
        (lambda importer: importer.axis(X, -4), "has no dimension -4"),
        (lambda importer: importer.shape(UNKNOWN), "the shape of x is not known"),
        (lambda importer: importer.info(SHAPE), "an operator of the model is given s"),
    ],
)
def test_values_of_nodes_are_tensors_of_known_shape(function: Any, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        function(Importer())


def test_nothing_is_emitted_where_nothing_changes() -> None:
    importer = Importer()
    assert importer.cast(X, "float32") is X
    assert importer.broadcast(X, [2, N, 3]) is X
    with importer.builder.function("main", [X]):
        wide = importer.broadcast(importer.cast(X, "int8"), [4, 2, N, 3])
        importer.builder.emit_func_output(wide)
    assert (importer.shape(wide), importer.dtype(wide)) == ([4, 2, N, 3], "int8")


def test_values_inside_of_arguments() -> None:
    importer = Importer()
    graph = torch.fx.Graph()
    node = graph.placeholder("x")
    importer.values[node] = X
    assert importer.value([node, (node, 1)]) == [X, (X, 1)]
    assert importer.value(slice(None, node)) == slice(None, X)
    assert importer.value({"a": node}) == {"a": X}


def test_a_parameter_is_one_constant() -> None:
    importer, tensor = Importer(), torch.ones(2)
    assert importer.param(tensor) is importer.param(tensor)
    assert importer.param(torch.ones(2)) is not importer.param(tensor)
    assert importer.param(None) is None


def test_rows_of_functions_and_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    for table in (ROWS, MODULES):
        for name in ("one_name", "another_name", "Layer"):
            monkeypatch.setitem(table, name, None)

    @row("one_name", "another_name", Layer=lambda imp, layer: {"size": layer.size, "rate": 1})
    def rule(imp: Importer, x: Any, size: int = 0, rate: int = 0) -> Any:
        return x, size, rate

    assert ROWS["one_name"].rule is ROWS["another_name"].rule is rule
    layer = SimpleNamespace(size=7)
    assert MODULES["Layer"](Importer(), layer, 5) == (5, 7, 1)
    assert MODULES["Layer"](Importer(), layer, 5, rate=3) == (5, 7, 3)


def nodes_named(*names: str) -> list[Any]:
    return [(name, SimpleNamespace(name=f"{name}_{n}", meta={})) for n, name in enumerate(names)]


def test_operators_without_a_row_are_listed_with_their_first_places() -> None:
    nodes = nodes_named("det", "inv", "det", "det", "det")
    lines = operators_and_places(nodes)
    assert lines == ["det: det_0, det_2, det_3 and 1 more", "inv: inv_1"]
    with pytest.raises(GraphError, match="2 operators are not supported: det, inv"):
        refuse_unknown(nodes)
    with pytest.raises(GraphError, match="1 operator is not supported: inv"):
        refuse_unknown(nodes[1:2])
    refuse_unknown([])
