"""Operations on tensors of models, against numpy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import te_sched
from te_sched import nd, relax, te, topi
from te_sched.errors import GraphError
from te_sched.relax.frontend import nn
from te_sched.relax.frontend.nn import op, spec

X = np.random.default_rng(0).random((2, 3, 4)).astype("float32")


def evaluate(function, x=X, debug: bool = False):
    class Model(nn.Module):
        def forward(self, x: nn.Tensor):
            return function(x)

    kind = spec.Tensor(list(x.shape), str(x.dtype))
    mod, _ = Model().export_tvm({"forward": {"x": kind}}, debug=debug)
    machine = relax.VirtualMachine(relax.build(mod, "llvm"), te_sched.cpu())
    if debug:
        return machine["forward"](nd.array(x), *machine["_initialize_effect"]())[0].numpy()
    return machine["forward"](nd.array(x)).numpy()


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: 2 - x * x, lambda x: 2 - x * x),
        (lambda x: (1 / (x + 1)).maximum(0.6), lambda x: np.maximum(1 / (x + 1), 0.6)),
        (lambda x: -x.minimum(0.5), lambda x: -np.minimum(x, 0.5)),
        (lambda x: (x > 0.5).astype("int8"), lambda x: (x > 0.5).astype("int8")),
        (lambda x: (x <= 0.5).astype("int8"), lambda x: (x <= 0.5).astype("int8")),
        (lambda x: op.where(x < 0.5, x, op.exp(x)), lambda x: np.where(x < 0.5, x, np.exp(x))),
        (lambda x: op.softmax(x), softmax),
        (lambda x: x.reshape(6, -1).permute_dims(1, 0), lambda x: x.reshape(6, 4).T),
        (lambda x: op.permute(x, [2, 0, 1]), lambda x: x.transpose(2, 0, 1)),
        (lambda x: x.repeat(2, axis=1), lambda x: x.repeat(2, 1)),
        (lambda x: op.split(x, [1], axis=2)[1], lambda x: x[:, :, 1:]),
        (lambda x: op.concat(op.chunk(x, 2, 2), 0), lambda x: np.concatenate(np.split(x, 2, 2))),
        (lambda x: op.sum(op.square(x), axis=[1]), lambda x: (x * x).sum(1)),
        (lambda x: op.sort(x, descending=True), lambda x: -np.sort(-x)),
        (lambda x: op.layer_norm(x, 4), lambda x: _norm(x, (2,))),
        (lambda x: op.group_norm(x, 1, None, None), lambda x: _norm(x, (1, 2))),
        (lambda x: op.full([2], 3, "int32"), lambda x: np.full(2, 3, "int32")),
        (lambda x: op.pad(x, [0, 0, 0, 0, 1, 2]), lambda x: np.pad(x, [(0, 0), (0, 0), (1, 2)])),
    ],
)
def test_operations(function, expected) -> None:
    np.testing.assert_allclose(evaluate(function), expected(X), rtol=1e-4, atol=1e-5)


def _norm(x, axes):
    mean, var = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    return (x - mean) / np.sqrt(var + 1e-5)


def test_interpolate_by_factor() -> None:
    image = np.arange(4, dtype="float32").reshape(1, 1, 2, 2)
    found = evaluate(lambda x: op.interpolate(x, scale_factor=2), image)
    assert found[0, 0].tolist() == image[0, 0].repeat(2, 0).repeat(2, 1).tolist()


def test_timestep_embedding() -> None:
    x = np.array([0, 1, 5], "float32")
    found = evaluate(lambda x: op.get_timestep_embedding(x, 6, flip_sin_to_cos=True), x)
    rates = np.exp(-np.log(10000) * np.arange(3) / (3 - 1))
    angles = x[:, None] * rates
    expected = np.concatenate([np.cos(angles), np.sin(angles)], -1)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_print_when_the_model_runs(capsys) -> None:
    def printed(x: nn.Tensor) -> nn.Tensor:
        op.print_(x)
        return x

    evaluate(printed, np.ones(2, "float32"), debug=True)
    text = capsys.readouterr().out
    assert "shape = (2,), dtype = float32" in text
    assert f"{Path(__file__).name}:" in text


def _tensor_ir(x: nn.Tensor):
    func = te.create_prim_func([te.placeholder((4,), name="A")])
    return op.tensor_ir_op(func, "f", [x, "s"], x)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: op.add(1, 2), "neither 1 nor 2 is a Tensor"),
        (lambda x: op.print_(x), "calls vm.builtin.debug_print for debugging"),
        (lambda x: op.interpolate(x, 4, antialias=True), "interpolate does not support"),
        (_tensor_ir, "cannot pass 's' to a function of blocks"),
        (lambda x: nn.modules.TimestepEmbedding(1, 1, "sinus"), "not an activation 'sinus'"),
    ],
)
def test_op_rejects(function, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        evaluate(function)


def test_results_of_functions_have_the_names_of_values() -> None:
    class Model(nn.Module):
        def forward(self, x: nn.Tensor) -> nn.Tensor:
            y = op.tensor_expr_op(topi.exp, "my_exp", [x])
            return op.extern("f", [y], nn.Tensor.placeholder((4,), "float32"))

    mod, _ = Model().export_tvm({"forward": {"x": spec.Tensor((4,), "float32")}})
    names = [str(one.var.name_hint) for one in mod["forward"].body.blocks[0].bindings]
    assert names == ["lv", "f", "gv"]
