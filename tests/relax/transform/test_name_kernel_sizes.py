"""NameKernelSizes: sizes of kernels that are computed by divisions are variables."""

from __future__ import annotations

import numpy as np
import pytest

from te_sched import nd, relax, te, tir, topi
from te_sched.arith.analyzer import Analyzer
from te_sched.ir.expr import Var
from te_sched.ir.visitor import substitute
from te_sched.relax.transform.name_kernel_sizes import NameKernelSizes


def halved(more: int = 0, is_called: bool = False) -> relax.BlockBuilder:
    """A function whose kernel reads a tensor of (n - 1) // 2 + more elements, n a parameter."""
    n = Var("n", "int64")
    x = relax.Var("x", relax.TensorStructInfo([(n - 1) // 2 + more], "float32"))
    given = relax.Var("s", relax.ShapeStructInfo([n]))
    builder = relax.BlockBuilder()
    with builder.function("main", [x, given]):
        with builder.dataflow():
            value = builder.emit(builder.call_te(topi.exp, x))
            if is_called:
                exp = builder.get().get_global_var("exp")
                builder.emit(relax.op.call_tir_inplace(exp, [x, value], [1], x.struct_info, [n]))
            result = builder.emit_output(value)
        builder.emit_func_output(result)
    return builder


@pytest.mark.parametrize("more", [0, 3])
def test_a_size_is_a_variable_and_is_no_longer_passed(more: int) -> None:
    module = NameKernelSizes()(halved(more).get())
    kernel = module["exp"]
    shapes = [kernel.buffer_map[param].shape for param in kernel.params]
    assert [str(shape) for shape in shapes] == ["(size,)", "(size,)"]
    call = module["main"].body.blocks[0].bindings[0].value
    assert len(call.args) == 2
    assert "// 2" not in kernel.script()


def test_functions_that_are_called_in_other_ways_or_have_a_schedule_stay() -> None:
    module = halved(is_called=True).get()
    assert NameKernelSizes()(module) is module
    module = halved().get()
    scheduled = module.with_functions({"exp": module["exp"].with_attr("tir.is_scheduled", 1)})
    assert NameKernelSizes()(scheduled) is scheduled


@pytest.mark.parametrize("make", [lambda n: n % 2, lambda n: n, lambda n: n // 3], ids=range(3))
def test_kernels_that_compute_with_the_variables_stay(make) -> None:
    n = Var("n", "int64")
    x = relax.Var("x", relax.TensorStructInfo([n // 2], "float32"))
    given = relax.Var("s", relax.ShapeStructInfo([n]))
    builder = relax.BlockBuilder()
    with builder.function("main", [x, given]):
        added = builder.emit_te(lambda a: topi.add(a, make(n).astype("float32")), x)
        builder.emit_func_output(added)
    module = builder.get()
    assert NameKernelSizes()(module) is module
    machine = relax.VirtualMachine(relax.build(module, "llvm"), nd.cpu())
    result = machine["main"](nd.array(np.ones(3, "float32")), relax.vm.ShapeTuple((7,)))
    np.testing.assert_array_equal(result.numpy(), np.full(3, 1 + make(7), "float32"))


def test_a_quotient_of_a_named_size_keeps_its_relation() -> None:
    n = Var("n", "int64")
    x = relax.Var("x", relax.TensorStructInfo([1, 1, (n - 1) // 2 + 1], "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x, relax.Var("s", relax.ShapeStructInfo([n]))]):
        builder.emit_func_output(builder.emit(relax.op.nn.max_pool1d(x, 1, 2)))
    module = NameKernelSizes()(relax.transform.LegalizeOps()(builder.get()))
    (kernel,) = module.functions_of_loops.values()
    sizes = [str(kernel.buffer_map[param].shape[2]) for param in kernel.params]
    assert sizes == ["size", "(size - T.int64(1)) // T.int64(2) + T.int64(1)"]


def test_products_of_sizes_that_parameters_give_stay() -> None:
    """Their relation to the other sizes would be lost."""
    n = Var("n", "int64")
    x = relax.Var("x", relax.TensorStructInfo([n], "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit_te(lambda a: topi.concatenate([a, a]), x))
    module = builder.get()
    assert NameKernelSizes()(module) is module


@pytest.mark.parametrize("size", [1, 2, 9, 64])
def test_strided_windows_of_open_sizes_give_the_results_of_numpy(size: int) -> None:
    n = tir.Var("n", "int64")
    x = relax.Var("x", relax.TensorStructInfo([1, 2, n], "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        first = builder.emit(relax.op.nn.max_pool1d(x, 3, 2, 1))
        builder.emit_func_output(builder.emit(relax.op.nn.max_pool1d(first, 2, 2, 1)))
    machine = relax.VirtualMachine(relax.build(builder.get(), "llvm"), nd.cpu())
    data = np.random.default_rng(size).normal(size=(1, 2, size)).astype("float32")
    result = machine["main"](nd.array(data)).numpy()
    np.testing.assert_array_equal(result, pooled(pooled(data, 3), 2))


def test_sizes_that_are_written_in_two_ways_have_values() -> None:
    n = Var("n", "int64")
    x = relax.Var("x", relax.TensorStructInfo([(n + 3 - 1) // 3, 2], "float32"))
    y = relax.Var("y", relax.TensorStructInfo([(n + 2) // 3, 2], "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x, y, relax.Var("s", relax.ShapeStructInfo([n]))]):
        builder.emit_func_output(builder.emit_te(topi.add, x, y))
    machine = relax.VirtualMachine(relax.build(builder.get(), "llvm"), nd.cpu())
    data = np.ones((2, 2), "float32")
    result = machine["main"](nd.array(data), nd.array(data), relax.vm.ShapeTuple([5]))
    np.testing.assert_array_equal(result.numpy(), data + data)


def pooled(data: np.ndarray, window: int) -> np.ndarray:
    """The largest elements of windows of stride 2 and padding 1."""
    padded = np.pad(data, ((0, 0), (0, 0), (1, 1)), constant_values=-np.inf)
    count = (padded.shape[2] - window) // 2 + 1
    parts = [padded[:, :, 2 * k : 2 * k + window].max(2) for k in range(count)]
    return np.stack(parts, 2)


@pytest.mark.parametrize(
    ("outer", "inner", "name"),
    [
        (lambda n: (n + 1) // 2, lambda n: (n + 3) // 4, "(size + T.int64(1)) // T.int64(2)"),
        (
            lambda n: n // 5 - 1,
            lambda n: n // 10 - 1,
            "(size + T.int64(1)) // T.int64(2) - T.int64(1)",
        ),
        (
            lambda n: n // 40 - 1,
            lambda n: (n - 120) // 80 + 1,
            "size // T.int64(2)",
        ),
    ],
)
def test_quotients_of_shifted_sizes_keep_their_relation(outer, inner, name) -> None:
    """The sizes of two layers, of which each divides those of the model's input."""
    n = Var("n", "int64")
    x = relax.Var("x", relax.TensorStructInfo([outer(n)], "float32"))
    y = relax.Var("y", relax.TensorStructInfo([inner(n)], "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x, y, relax.Var("s", relax.ShapeStructInfo([n]))]):
        whole = builder.emit_te(
            lambda a, b: te.compute(b.shape, lambda i: a[i * 2] + b[i]),
            x,
            y,
            primfunc_name_hint="k",
        )
        builder.emit_func_output(whole)
    kernel = NameKernelSizes()(builder.get())["k"]
    sizes = [str(kernel.buffer_map[param].shape[0]) for param in kernel.params]
    assert sizes[0] == "size"
    analyzer = Analyzer()
    size = kernel.buffer_map[kernel.params[0]].shape[0]
    assert sizes[1] == sizes[2] == name
    for count in range(120, 400):
        own = kernel.buffer_map[kernel.params[1]].shape[0]
        values = {size: tir.IntImm("int64", outer(count))}
        assert analyzer.simplify(substitute(own, values)).value == inner(count)
