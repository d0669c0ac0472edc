"""Arguments of operators are checked where a call is made, by the annotations of its parameters."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature, unwrap
from types import FunctionType
from typing import Any

import numpy as np
import pytest

from te_sched import relax
from te_sched.errors import GraphError, GraphTypeError
from te_sched.relax import op
from te_sched.relax.operators import arguments
from te_sched.script import relax as R
from te_sched.signatures import ParameterKind, kind_of_annotation

X = relax.Var("x", relax.TensorStructInfo([16, 8], "float32"))

# Parameters of any kind, which the functions look at themselves.
FREE = {
    *("dtype", "out_dtype", "func", "out_sinfo", "sinfo_args", "tir_vars", "inplace_indices"),
    *("format", "dst_vdevice", "index_map", "axis_separators", "input_axis_separators", "attrs"),
    *("older", "roi", "storage_scope", "runtime_device_index", "virtual_device_index", "offset"),
    *("relative_byte_offset", "scale"),
}


def _functions() -> list[tuple[str, Any]]:
    found: dict[str, Any] = {}
    for part in (op, op.builtin, op.grad, op.image, op.inspect, op.memory, op.nn, op.vm):
        for name, value in vars(part).items():
            inner = unwrap(value) if isinstance(value, FunctionType) else None
            is_operator = inner is not None and inner.__module__.startswith(
                "te_sched.relax.operators."
            )
            if is_operator and inner is not value and "call" not in signature(inner).parameters:
                found[f"{part.__name__}.{name}"] = inner
    return sorted(found.items())


def _unchecked(function: Any) -> list[str]:
    names = function.__globals__
    return [
        one.name
        for one in signature(function).parameters.values()
        if one.name not in FREE and kind_of_annotation(one.annotation, names).words == "anything"
    ]


def test_each_parameter_has_a_kind() -> None:
    functions = dict(_functions())
    assert len(functions) > 150
    helpers = ("as_", "make_call", "register_operator", "number")
    found = {
        name: _unchecked(function)
        for name, function in functions.items()
        if not name.rpartition(".")[2].startswith(helpers) and _unchecked(function)
    }
    # The axis of concat is checked by itself: a second tensor is given for it.
    assert found == {"te_sched.relax.op.concat": ["axis"]}


WRONG: list[tuple[Callable[[], Any], str]] = [
    (lambda: op.exp([1, 2]), r"x of relax\.op\.exp is \[1, 2\], expected a value of a graph"),
    (lambda: op.exp("a"), "x of relax.op.exp is 'a'"),
    (lambda: op.exp(None), "x of relax.op.exp is None"),
    (lambda: op.exp(np.ones(3)), "x of relax.op.exp is array"),
    (lambda: op.add(X, np.ones((16, 8))), "x2 of relax.op.add is an ndarray"),
    (
        lambda: op.nn.conv2d(X, X, strides="a"),
        "strides of relax.op.nn.conv2d is 'a', expected",
    ),
    (lambda: op.nn.conv2d(X, X, padding=1.5), "padding of relax.op.nn.conv2d is 1.5"),
    (lambda: op.nn.max_pool2d(X, (2, "a")), "pool_size of relax.op.nn.max_pool2d is"),
    (lambda: op.sum(X, keepdims="no"), "keepdims of relax.op.sum is 'no', expected True or False"),
    (lambda: op.sum(X, keepdims=[]), r"keepdims of relax.op.sum is \[\], expected True or False"),
    (lambda: op.sum(X, axis="x"), "axis of relax.op.sum is 'x'"),
    (lambda: op.reshape(X, "ab"), "shape of relax.op.reshape is 'ab', expected a shape"),
    (
        lambda: op.concat([X, "a"]),
        "element 1 of argument tensors of relax.op.concat is 'a', expected a value of a graph",
    ),
    (lambda: op.concat(3), "tensors of relax.op.concat is 3"),
    (lambda: op.einsum([X, None], "ij,jk->ik"), "operands of relax.op.einsum"),
    (lambda: op.permute_dims(X, "10"), "axes of relax.op.permute_dims is '10'"),
    (lambda: op.call_pure_packed("f", object()), "args of relax.op.call_pure_packed is"),
    (lambda: R.exp([1, 2]), r"x of relax\.op\.exp is \[1, 2\]"),
]


@pytest.mark.parametrize(("call", "text"), WRONG, ids=[text for _, text in WRONG])
def test_wrong_arguments_are_refused_where_they_are_made(call: Any, text: str) -> None:
    with pytest.raises(GraphTypeError, match=text) as caught:
        call()
    assert caught.value.help


def test_what_is_missing_is_advised() -> None:
    with pytest.raises(GraphTypeError, match=r"or a constant: relax\.const\(value\)"):
        op.exp(np.ones(3))
    with pytest.raises(GraphTypeError, match=r"list or tuple of sizes, such as \(4, 3\)"):
        op.zeros(3, "float32")


def test_kinds_keep_their_advice_in_unions() -> None:
    kind = kind_of_annotation("Value | None", {"Value": arguments.Value})
    assert isinstance(kind, ParameterKind)
    assert kind.fits(None)
    assert kind.fits(X)
    assert not kind.fits([X])
    assert "relax.const" in kind.help


def tensor(*shape: Any) -> relax.Var:
    return relax.Var("x", relax.TensorStructInfo(shape, "float32"))


SIZES: list[Callable[[], Any]] = [
    lambda: op.reshape(X, (3, 5)),
    lambda: op.concat([X, tensor(16, 7)]),
    lambda: op.nn.group_norm(tensor(1, 3, 2), X, X, 2, 1, [2]),
    lambda: op.collapse_sum_to(X, (3,)),
    lambda: op.nn.conv2d(tensor(1, 3, 8, 8), tensor(8, 4, 3, 3)),
    lambda: op.nn.max_pool2d(tensor(1, 3, 2, 2), (5, 5)),
]


@pytest.mark.parametrize("call", SIZES)
def test_sizes_have_no_dtype_in_messages(call: Callable[[], Any]) -> None:
    with pytest.raises(GraphError) as caught:
        relax.BlockBuilder().normalize(call())
    assert "int64(" not in str(caught.value)
