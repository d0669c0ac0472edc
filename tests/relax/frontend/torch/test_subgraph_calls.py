"""Calls of built subgraphs: the memory and strides of results, and tensors of other layouts."""

from __future__ import annotations

from typing import Any

import pytest

from te_sched import relax
from te_sched.errors import CallError
from te_sched.relax.frontend.torch.subgraph_calls import subgraph_call
from te_sched.relax.frontend.torch.subgraphs import SubgraphImporter

torch = pytest.importorskip("torch")


def built(function: Any, *args: Any, mode: str = "fake") -> Any:
    """The call of a function that is built as a whole."""
    from torch.fx.experimental.proxy_tensor import make_fx

    importer = SubgraphImporter(make_fx(function, tracing_mode=mode)(*args).graph.nodes, [])
    executable = relax.build(importer.import_nodes(), "llvm")
    return subgraph_call(executable, importer.inputs, importer.results)


def check(function: Any, *args: Any, mode: str = "fake") -> Any:
    call = built(function, *args, mode=mode)
    expected = function(*args)
    results = call(*args)
    torch.testing.assert_close(tuple(results), tuple(expected), equal_nan=True)
    return call


@pytest.mark.parametrize("mode", ["fake", "symbolic"])
def test_views_are_copied_where_memory_is_not_compact_or_not_aligned(mode: str) -> None:
    def double(x: Any) -> Any:
        return (x * 2,)

    for x in (torch.rand(4, 3).t(), torch.rand(8, 4)[::2, 1:], torch.rand(1, 3).expand(4, 3)):
        check(double, x, mode=mode)
    call = check(double, torch.rand(5), mode=mode)
    x = torch.rand(6)[1:]
    torch.testing.assert_close(call(x)[0], x * 2)


@pytest.mark.parametrize("mode", ["fake", "symbolic"])
@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "float16", "bfloat16", "int8", "int64", "uint8", "bool"]
)
def test_dtypes_and_special_values(dtype: str, mode: str) -> None:
    kind = getattr(torch, dtype)
    values = torch.tensor([0.0, -0.0, 1.0, 2.0, 5.0])
    if kind.is_floating_point:
        values = torch.cat([values, torch.tensor([float("nan"), float("inf"), -float("inf")])])
    check(lambda x: (torch.cat([x, x]), x == x, torch.flip(x, [0])), values.to(kind), mode=mode)


@pytest.mark.parametrize("mode", ["fake", "symbolic"])
def test_tensors_without_elements_or_dimensions(mode: str) -> None:
    check(lambda x: (x * 2, x.sum()), torch.ones(0, 3), mode=mode)
    check(lambda x: (x * 2, x.reshape(1) + 1), torch.tensor(3.0), mode=mode)


@pytest.mark.parametrize("mode", ["fake", "symbolic"])
def test_results_own_their_memory(mode: str) -> None:
    def several(x: Any) -> Any:
        y = x * 2
        return y, y.clone(), x.clone(), y.reshape(-1), torch.ones(3), x + 0

    x = torch.rand(3, 4)
    call = check(several, x, mode=mode)
    first = call(x)
    copies = [tensor.clone() for tensor in first]
    memories = [tensor.untyped_storage().data_ptr() for tensor in first]
    assert len({*memories, x.untyped_storage().data_ptr()}) == len(memories) + 1
    for tensor in first:
        tensor.add_(1)
    second = call(x)
    torch.testing.assert_close(second, copies)
    for tensor, copy in zip(first, copies, strict=True):
        torch.testing.assert_close(tensor, copy + 1)


def test_results_have_the_strides_that_torch_expects() -> None:
    x = torch.rand(2, 3, 4).permute(2, 0, 1)
    call = check(lambda x: (x + 1, x.sum(0)), x)
    assert call(x)[0].stride() == (x + 1).stride()
    call = check(lambda x: (x * 2,), torch.rand(1, 3, 2, 2).to(memory_format=torch.channels_last))
    image = torch.rand(1, 3, 2, 2).to(memory_format=torch.channels_last)
    assert call(image)[0].is_contiguous(memory_format=torch.channels_last)


def test_numbers_are_arguments_of_graphs_with_dynamic_shapes() -> None:
    call = built(lambda x, n: (x * n,), torch.ones(3), 2, mode="symbolic")
    assert call(torch.ones(3), 5)[0].tolist() == [5.0, 5.0, 5.0]
    assert call(torch.ones(4), -1)[0].tolist() == [-1.0] * 4


def test_a_call_rejects_tensors_of_other_shapes_and_dtypes() -> None:
    call = built(lambda x: (x.sin(),), torch.ones(3))
    with pytest.raises(CallError, match=r"has shape \(4,\) and dtype torch.float32, expected \(3"):
        call(torch.ones(4))
    with pytest.raises(CallError, match=r"dtype torch\.float64"):
        call(torch.ones(3).double())


def test_calls_with_dynamic_shapes_are_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    from te_sched.relax.frontend.torch import subgraph_calls

    def model(x: Any, y: Any) -> Any:
        return torch.softmax(x @ y, -1), (x.exp() + y).sum(0)

    call = built(model, torch.rand(3, 3), torch.rand(3, 3), mode="symbolic")
    monkeypatch.setattr(subgraph_calls, "_MOST_RECORDS", 2)
    for size in (3, 4, 5, 3, 4, 5):
        same, other = torch.rand(size, size), torch.rand(size, size)
        for args in ((same, same), (same, other), (other.t(), same)):
            torch.testing.assert_close(tuple(call(*args)), model(*args))
    assert [key[0][0] for key in call.repeated] == [3, 4]
    assert None not in call.repeated.values()
    first = call(same, other)
    copies = [tensor.clone() for tensor in first]
    call(other, same)
    torch.testing.assert_close(first, copies)
