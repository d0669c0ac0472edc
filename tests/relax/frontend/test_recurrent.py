"""Recurrent layers beside loops of numpy."""

from __future__ import annotations

import numpy as np
import pytest

import te_sched
from te_sched import nd, relax, te
from te_sched.relax.frontend.recurrent import Cell, State, emit_recurrence

RNG = np.random.default_rng(0)
STEPS, BATCH, SIZE = 4, 2, 3


def results_of(cell, arrays, is_reversed=False):
    """The results of a layer; `arrays` are products and the fields of State by name."""
    params = [
        relax.Var(name, relax.TensorStructInfo(array.shape, str(array.dtype)))
        for name, array in arrays.items()
    ]
    named = dict(zip(arrays, params, strict=True))
    builder = relax.BlockBuilder()
    with builder.function("main", params), builder.dataflow():
        products = named.pop("products")
        results = emit_recurrence(builder, products, State(**named), cell, is_reversed)
        output = builder.emit_output(relax.Tuple(results))
        builder.emit_func_output(output)
    machine = relax.VirtualMachine(relax.build(builder.get(), "llvm"), te_sched.cpu())
    found = machine["main"](*[nd.array(array) for array in arrays.values()])
    return [array.numpy() for array in found]


def random(*shape, dtype="float32"):
    return RNG.uniform(-1, 1, shape).astype(dtype)


def plain_states(products, weight, hidden, lengths, order):
    states, hidden = np.zeros((STEPS, BATCH, SIZE), "float32"), hidden.copy()
    for step in order:
        for batch in range(BATCH):
            if step < lengths[batch]:
                hidden[batch] = np.tanh(products[step, batch] + hidden[batch] @ weight)
                states[step, batch] = hidden[batch]
    return states, hidden


@pytest.mark.parametrize("is_reversed", [False, True])
def test_a_plain_layer_keeps_the_state_behind_the_end_of_a_sequence(is_reversed: bool) -> None:
    arrays = {
        "products": random(STEPS, BATCH, SIZE),
        "weight": random(SIZE, SIZE),
        "hidden": random(BATCH, SIZE),
        "lengths": np.array([4, 2], "int32"),
    }
    order = reversed(range(STEPS)) if is_reversed else range(STEPS)
    wanted = plain_states(*arrays.values(), order)
    for result, expected in zip(
        results_of(Cell(1, [te.tanh]), arrays, is_reversed), wanted, strict=True
    ):
        np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)


def test_float16_is_computed_with_float32() -> None:
    arrays = {
        "products": random(STEPS, BATCH, SIZE, dtype="float16"),
        "weight": random(SIZE, SIZE, dtype="float16"),
    }
    wide = [array.astype("float32") for array in arrays.values()]
    start, lengths = np.zeros((BATCH, SIZE), "float32"), [STEPS] * BATCH
    wanted, _ = plain_states(*wide, start, lengths, range(STEPS))
    result = results_of(Cell(1, [te.tanh]), arrays)[0]
    assert result.dtype == "float16"
    np.testing.assert_allclose(result, wanted, rtol=2e-3, atol=2e-3)


def test_arguments_of_activations_are_clipped() -> None:
    arrays = {"products": random(STEPS, BATCH, SIZE), "weight": np.zeros((SIZE, SIZE), "float32")}
    result = results_of(Cell(1, [lambda x: x], clip=0.25), arrays)[0]
    np.testing.assert_allclose(result, arrays["products"].clip(-0.25, 0.25), rtol=1e-6)
