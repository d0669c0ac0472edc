"""New tensors of torch, and tensors of other dtypes."""

from __future__ import annotations

from typing import Any

import pytest

from te_sched.errors import GraphError
from te_sched.relax.frontend.torch.importer import ROWS, Importer
from tests.relax.frontend.torch.torch_models import BOTH, check

torch = pytest.importorskip("torch")

X = torch.rand(3, 4) - 0.3


def made(x: Any) -> tuple[Any, ...]:
    like = (torch.zeros_like(x), torch.ones_like(x, dtype=torch.int8), torch.full_like(x, 2.5))
    new = (x.new_ones(2, 3), x.new_zeros((2,)), x.new_full((2, 2), 7), x.clone().fill_(2))
    return (
        *like,
        *new,
        torch.full_like(x, True, dtype=torch.bool),
        x.new_ones(2, dtype=torch.int8),
    )


def selected(x: Any) -> tuple[Any, ...]:
    return (
        *(torch.tril(x, 1), torch.triu(x), torch.tril(x, -1), torch.triu(x, 2)),
        *(x.masked_fill(x > 0.2, 0.0), x.masked_fill(x > 0.2, x[0, 0])),
    )


def converted(x: Any) -> tuple[Any, ...]:
    numbers = x * 10
    return (
        *(numbers.to(torch.int32) + 1, numbers.to(x.dtype), numbers.type_as(x.long())),
        *(numbers.half().float(), numbers.double(), numbers.int(), numbers.long(), numbers.bool()),
        *(numbers.abs().byte(), numbers.char(), numbers.short(), numbers.bfloat16().float()),
    )


@pytest.mark.parametrize("function", [made, selected, converted])
def test_tensors_of_a_tensor(function: Any) -> None:
    check(function, X, importers=BOTH)


def test_tensors_of_no_tensor() -> None:
    """A trace of torch.fx computes them, a program exported has calls."""
    check(
        lambda x: (
            *(torch.zeros(3, 1) + x, torch.ones(4) * x, torch.full((3, 4), 2.0) - x),
            *(torch.arange(4) * x, torch.arange(1, 3, 0.5) * x, torch.arange(6, 2, -1) + x),
            torch.tensor([1.5, 2, 3, 4]) * x,
        ),
        X,
        importers=BOTH,
    )


@pytest.mark.parametrize(
    ("args", "options", "dtype", "size"),
    [
        ((5,), {}, "int64", 5),
        ((1, 3, 0.5), {}, "float32", 4),
        ((), {"start": 1, "end": 9, "step": 3}, "int64", 3),
        ((3,), {"dtype": torch.float64}, "float64", 3),
    ],
)
def test_numbers_in_order(args: Any, options: Any, dtype: str, size: int) -> None:
    importer = Importer()
    with importer.builder.function("main", []):
        x: Any = ROWS["arange"].rule(importer, *args, **options)
        importer.builder.emit_func_output(x)
    assert importer.dtype(x) == dtype
    assert importer.shape(x) == [size]


def test_an_operator_with_effects_is_rejected() -> None:
    with pytest.raises(GraphError, match=r"the operator .* with effects is not supported"):
        ROWS["with_effects"].rule(Importer(), 0, print, 1)


def test_numbers_as_tensors_have_the_default_dtypes() -> None:
    rule: Any = ROWS["scalar_tensor"].rule
    values = [rule(Importer(), value).struct_info.dtype for value in (1.5, 2, True, [1, 2])]
    assert values == ["float32", "int64", "bool", "int64"]
