"""Calls of tensor expressions: what a function is given, and the function of blocks it makes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from te_sched import nd, relax, te, tir, topi
from te_sched.arith.analyzer import Analyzer
from te_sched.config import AS_TVM
from te_sched.errors import GraphError, ParameterError
from te_sched.ir import structural
from te_sched.ir.stmt import GlobalVar, PrimFunc
from te_sched.ir.struct_info import VDevice
from te_sched.relax.emit_te import EqualCalls, call_te, gen_call_tir_inputs

N, M = tir.Var("n", "int64"), tir.Var("m", "int64")


def tensor(name: str, *shape: Any, device: VDevice | None = None) -> relax.Var:
    return relax.Var(name, relax.TensorStructInfo(shape, "float32", device))


def parameters_of(func: PrimFunc) -> list[str]:
    """The names of the arrays and numbers of a function."""
    arrays = [func.buffer_map.get(param) for param in func.params]
    pairs = zip(arrays, func.params, strict=True)
    return [param.name if array is None else array.name for array, param in pairs]


def given(value: object) -> object:
    """What a function of tensor expressions gets for a value of the graph."""
    values: list[object] = []

    def function(argument: object) -> te.Tensor:
        values.append(argument)
        return te.compute((2,), lambda i: i, name="out")

    gen_call_tir_inputs(function, value)
    return values[0]


VALUES: list[tuple[object, object]] = [
    (relax.ShapeExpr([N, M]), [N, M]),
    (relax.Var("s", relax.ShapeStructInfo([N, M])), [N, M]),
    (relax.PrimValue(N), N),
    (relax.Var("p", relax.PrimStructInfo(value=N)), N),
    (relax.StringImm("a"), "a"),
    (relax.DataTypeImm("int8"), "int8"),
    ([1, (relax.StringImm("a"), None)], [1, ("a", None)]),
    ({"sizes": relax.ShapeExpr([N])}, {"sizes": [N]}),
    (np.float32(2), np.float32(2)),
]


@pytest.mark.parametrize(("value", "expected"), VALUES)
def test_values_of_the_graph_are_those_of_tensor_expressions(value: Any, expected: Any) -> None:
    assert str(given(value)) == str(expected)


def test_tensors_are_named_by_variables_or_letters() -> None:
    x, letter = tensor("x", 4, N), relax.const([1.0])

    def function(tensors: list[te.Tensor]) -> list[te.Tensor]:
        first, second = tensors
        assert first.dtype == "float32"
        return [topi.exp(first), topi.negative(second)]

    func, inputs, infos, sizes = gen_call_tir_inputs(function, relax.Tuple([x, letter]))
    assert parameters_of(func)[:2] == ["x", "B"]
    assert inputs == [x, letter]
    assert [str(info) for info in infos] == [
        'R.Tensor((4, n), dtype="float32")',
        'R.Tensor((1,), dtype="float32")',
    ]
    assert sizes == []


def test_sizes_that_no_shape_gives_are_parameters() -> None:
    def padded(x: te.Tensor, size: Any) -> te.Tensor:
        return te.compute((size + 1,), lambda i: x[0, 0], name="out")

    func, _, _, sizes = gen_call_tir_inputs(padded, tensor("x", M, 4), relax.PrimValue(N))
    assert sizes == [N]
    assert parameters_of(func) == ["x", "out", "n"]
    assert func.params[-1] is not N  # the sizes of a function are its own
    func, _, _, sizes = gen_call_tir_inputs(padded, tensor("x", N, 4), relax.PrimValue(N))
    assert sizes == []


def test_a_number_that_is_not_known_is_a_parameter() -> None:
    number = relax.Var("k", relax.PrimStructInfo("int64"))
    x = tensor("x", 4)

    def added(x: te.Tensor, k: Any) -> te.Tensor:
        return topi.add(x, k.astype("float32"))

    func, inputs, _, _ = gen_call_tir_inputs(added, x, number)
    assert inputs == [x, number]
    assert parameters_of(func)[:2] == ["x", "k"]


def test_a_result_is_on_the_device_of_the_first_tensor_that_has_one() -> None:
    device = VDevice("cuda", 1)
    operands = (tensor("x", 4), tensor("y", 4, device=device))
    _, _, (info,), _ = gen_call_tir_inputs(topi.add, *operands)
    assert isinstance(info, relax.TensorStructInfo)
    assert info.vdevice is device


def test_a_call_has_the_function_its_arguments_and_sizes() -> None:
    names: list[str] = []

    def add_function(func: PrimFunc, name: str) -> GlobalVar:
        names.append(name)
        assert "mark" in func.attrs
        return GlobalVar(name)

    def shifted(x: te.Tensor, size: Any) -> te.Tensor:
        return te.compute((2,), lambda i: x[size + i], name="out")

    x, options = tensor("x", 8), {"primfunc_attrs": {"mark": 1}}
    call = call_te(add_function, AS_TVM, Analyzer(), shifted, x, relax.PrimValue(N), **options)
    text = 'R.call_tir({}, (x,), out_sinfo=R.Tensor((2,), dtype="float32"), tir_vars=R.shape([n]))'
    assert str(call) == text.format("shifted")
    call_te(add_function, AS_TVM, Analyzer(), topi.exp, x, primfunc_name_hint="named", **options)
    assert names == ["shifted", "named"]


def test_sizes_that_are_equal_in_the_graph_are_one() -> None:
    """The builder knows that sizes are not negative, which topi does not know."""
    builder = relax.BlockBuilder()
    x, y = tensor("x", 4, N), tensor("y", 4, te.max(N, 0))
    with builder.function("main", [x, y]):
        builder.emit_func_output(builder.emit(builder.call_te(topi.add, y, x)))
    machine = relax.VirtualMachine(relax.build(builder.get(), "llvm"))
    arrays = [np.arange(12, dtype="float32").reshape(4, 3) * factor for factor in (1, 10)]
    result = machine["main"](*[nd.array(array) for array in arrays]).numpy()
    np.testing.assert_array_equal(result, arrays[0] + arrays[1])


def scaled(t: te.Tensor, factor: float) -> te.Tensor:
    return te.compute(t.shape, lambda i: t[i] * factor)


REFUSED: list[tuple[Callable[[], object], type[Exception], str]] = [
    (
        lambda: gen_call_tir_inputs(lambda x: 3, tensor("x", 4)),
        GraphError,
        "<lambda> returns 3, expected tensors",
    ),
    (
        lambda: given(relax.Var("o", relax.ObjectStructInfo())),
        GraphError,
        "o is passed to a function of tensor expressions",
    ),
    (
        lambda: given(relax.Var("t", relax.TensorStructInfo())),
        GraphError,
        "the shape of t is not known",
    ),
    (
        lambda: given(relax.Var("t", relax.TensorStructInfo((4,), ""))),
        GraphError,
        "the dtype of t is not known",
    ),
    (lambda: given(np.ones(2)), GraphError, r"an array of shape \(2,\) is passed"),
    (
        lambda: gen_call_tir_inputs(scaled, tensor("x", 4)),
        ParameterError,
        "scaled is called without factor",
    ),
]


@pytest.mark.parametrize(("call", "kind", "text"), REFUSED)
def test_calls_are_refused(call: Callable[[], object], kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        call()


X, Y = tensor("x", 4, 3), tensor("y", 4, 3)
WEIGHT = relax.const(np.ones((4, 3), "float32"))


@pytest.mark.parametrize(
    ("first", "second", "count"),
    [
        ([X, Y], [Y, WEIGHT], 1),  # values of tensors do not matter
        ([X, tir.const(0.0, "float32")], [X, tir.const(-0.0, "float32")], 2),
        ([X, tir.const(1, "int32")], [X, tir.const(1, "int64")], 2),
        ([X, 1], [X, True], 2),
        ([X, 1.0], [X, 1.0], 1),
        ([X, Y], [X, tensor("z", 4, 1)], 2),
        ([X, Y], [X, relax.Var("z", relax.TensorStructInfo((4, 3), "int32"))], 2),
        ([tensor("s", N), tensor("t", N)], [tensor("s", N), tensor("t", N)], 2),  # symbolic sizes
    ],
)
def test_equal_calls_of_a_pass_make_one_function(
    first: list[Any], second: list[Any], count: int
) -> None:
    functions: list[PrimFunc] = []

    def add(func: PrimFunc, name: str) -> GlobalVar:
        functions.append(func)
        return GlobalVar(f"{name}{len(functions)}")

    calls, make = EqualCalls(), partial(call_te, add, AS_TVM, Analyzer())
    made = [calls.call(make, topi.add, *args) for args in (first, second)]
    assert len(functions) == count
    alone = [make(topi.add, *args) for args in (first, second)]
    for call, expected, args in zip(made, alone, (first, second), strict=True):
        assert list(call.args[1].fields) == [one for one in args if isinstance(one, relax.Expr)]
        structural.assert_structural_equal(call.sinfo_args[0], expected.sinfo_args[0])


def test_functions_of_programs_are_called_each_time() -> None:
    counted: list[te.Tensor] = []

    def counting(a: te.Tensor) -> te.Tensor:
        counted.append(a)
        return topi.multiply(a, len(counted))

    def rule(builder: relax.BlockBuilder, call: relax.Call) -> relax.Expr:
        return builder.call_te(counting, call.args[0])

    builder = relax.BlockBuilder()
    with builder.function("main", [X]):
        builder.emit_func_output(builder.emit(relax.op.exp(relax.op.exp(X))))
    module = relax.transform.LegalizeOps({"relax.exp": rule})(builder.get())
    assert len(counted) == 2
    assert list(module.functions) == ["main", "counting", "counting1"]
