"""Functions of constant shapes as one native function: what has one, its results and its memory."""

import time

import numpy as np
import pytest

import te_sched
from te_sched import relax, topi
from te_sched.errors import CallError
from te_sched.relax.vm.native import native_functions
from te_sched.script import from_source
from te_sched.script import ir as I
from te_sched.script import relax as R
from te_sched.script import tir as T
from tests.relax.vm.native_graphs import CPU, MATRIX, built, chain


def test_a_chain_is_one_function():
    executable, machine = built(chain, MATRIX)
    assert list(executable.plans) == ["main"]
    x = np.random.default_rng(0).standard_normal((4, 8)).astype("float32")
    expected = x
    for _ in range(4):
        power = np.exp(expected - expected.max(-1, keepdims=True))
        expected = np.exp(power / power.sum(-1, keepdims=True)) + np.arange(8)
    np.testing.assert_allclose(machine["main"](x).numpy(), expected, rtol=1e-5)
    interpreted = machine._interpreted["main"](te_sched.nd.array(x))
    np.testing.assert_allclose(interpreted.numpy(), expected, rtol=1e-5)


def test_registered_functions_are_called_from_native_code():
    calls = []

    @te_sched.register_func("doc.twice", override=True)
    def twice(source, target):
        calls.append(source.shape)
        target.copyfrom(source.numpy() * 2)

    def write(builder, x):
        y = builder.emit(relax.op.exp(x))
        y = builder.emit(relax.op.call_dps_packed("doc.twice", (y,), MATRIX))
        return builder.emit_output(relax.op.add(y, x))

    executable, machine = built(write, MATRIX)
    assert "main" in executable.plans
    x = np.random.default_rng(2).random((4, 8), "float32")
    np.testing.assert_allclose(machine["main"](x).numpy(), 2 * np.exp(x) + x, rtol=1e-6)
    assert calls == [(4, 8)]

    @te_sched.register_func("doc.twice", override=True)
    def failing(source, target):
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        machine["main"](x)
    te_sched.runtime.remove_global_func("doc.twice")


def test_one_kernel_serves_several_shapes():
    module = from_source(
        """
        @I.ir_module
        class Module:
            @T.prim_func
            def scale(a: T.handle, b: T.handle):
                n = T.int64()
                A = T.match_buffer(a, (n,), "float32")
                B = T.match_buffer(b, (n,), "float32")
                for i in range(n):
                    B[i] = A[i] * T.float32(3)

            @R.function
            def main(x: R.Tensor((4,), "float32"), y: R.Tensor((6,), "float32")):
                with R.dataflow():
                    a = R.call_dps_packed("scale", (x,), R.Tensor((4,), "float32"))
                    b = R.call_dps_packed("scale", (y,), R.Tensor((6,), "float32"))
                    R.output(a, b)
                return (a, b)
        """,
        {"I": I, "R": R, "T": T},
    )
    executable = relax.build(module, "llvm")
    assert "main" in executable.plans
    x, y = np.arange(4, dtype="float32"), np.arange(6, dtype="float32")
    a, b = relax.VirtualMachine(executable, CPU)["main"](x, y)
    np.testing.assert_array_equal(a.numpy(), 3 * x)
    np.testing.assert_array_equal(b.numpy(), 3 * y)


def test_failures_of_kernels_are_those_of_the_graph():
    def write(builder, x):
        indices = builder.emit(relax.op.astype(x, "int32"))
        return builder.emit_output(builder.emit_te(topi.take, x, indices))

    executable, machine = built(write, relax.TensorStructInfo([4], "float32"))
    assert "main" in executable.plans
    np.testing.assert_array_equal(
        machine["main"](np.array([3, 1, 0, 2], "float32")).numpy(), [2, 1, 3, 0]
    )


def test_arguments_that_kernels_write_are_writable():
    module = from_source(
        """
        @I.ir_module
        class Module:
            @T.prim_func
            def double(A: T.Buffer((4,), "float32")):
                for i in range(4):
                    with T.block("A"):
                        v = T.axis.spatial(4, i)
                        A[v] = A[v] * T.float32(2)

            @R.function
            def main(x: R.Tensor((4,), "float32")):
                y = R.call_tir_inplace(Module.double, (x,), 0, R.Tensor((4,), "float32"))
                return y
        """,
        {"I": I, "R": R, "T": T},
    )
    executable = relax.build(module, "llvm")
    assert "main" in executable.plans
    x = te_sched.nd.array([1.0, 2.0, 3.0, 4.0])
    main = relax.VirtualMachine(executable, CPU)["main"]
    assert main(x) is x
    assert x.numpy().tolist() == [2, 4, 6, 8]
    fixed = np.ones(4, "float32")
    fixed.flags.writeable = False
    with pytest.raises(CallError, match="argument x is an output, but its memory is read-only"):
        main(fixed)


def test_functions_call_others():
    module = from_source(
        """
        @I.ir_module
        class Module:
            @R.function
            def half(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
                y = R.multiply(x, R.const(0.5))
                return y

            @R.function
            def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
                y = Module.half(x)
                z = Module.half(y)
                return z
        """,
        {"I": I, "R": R, "T": T},
    )
    executable = relax.build(module, "llvm")
    assert sorted(executable.plans) == ["half", "main"]
    x = np.arange(4, dtype="float32")
    result = relax.VirtualMachine(executable, CPU)["main"](x)
    np.testing.assert_array_equal(result.numpy(), x / 4)


def test_values_of_python_are_interpreted():
    module = from_source(
        """
        @I.ir_module
        class Module:
            @R.function(pure=False)
            def main(x: R.Tensor((4,), "float32"), y: R.Object):
                a = R.call_packed("testing.echo", x, sinfo_args=(R.Tensor((4,), "float32"),))
                return (a, y)
        """,
        {"I": I, "R": R, "T": T},
    )
    executable = relax.build(module, "llvm")
    assert not executable.plans
    x, thing = te_sched.nd.zeros((4,)), object()
    assert relax.VirtualMachine(executable, CPU)["main"](x, thing) == (x, thing)


def test_executables_are_saved(tmp_path):
    executable, machine = built(chain, MATRIX)
    path = tmp_path / "chain.so"
    executable.export_library(path)
    loaded = te_sched.runtime.load_module(path)
    assert loaded["as_text"]() == executable.as_text()
    assert list(loaded.plans) == ["main"]
    x = np.ones((4, 8), "float32")
    again = relax.VirtualMachine(loaded, CPU)["main"](x)
    np.testing.assert_array_equal(again.numpy(), machine["main"](x).numpy())


def test_calls_are_fast():
    """A call costs at most 10 us above its kernels; the least of many, on a busy machine."""
    _, machine = built(chain, MATRIX)
    x = te_sched.nd.zeros((4, 8))
    function, spent = machine["main"], []
    for _ in range(200):
        start = time.thread_time_ns()
        for _ in range(20):
            function(x)
        spent.append((time.thread_time_ns() - start) / 20e3)
    assert min(spent) < 20


def test_tensors_share_bytes_of_the_arena():
    """Storages that are shared as a whole would need 512 bytes."""
    x = relax.Var("x", relax.TensorStructInfo([8], "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        a = builder.emit_te(topi.tile, x, [8])
        b = builder.emit_te(topi.strided_slice, a, [0], [32])
        c = builder.emit_te(topi.negative, b)
        d = builder.emit_te(topi.add, b, c)
        builder.emit_func_output(builder.emit_te(topi.multiply, c, d))
    lowered = relax.get_pipeline("default_build", has_arena=True)(builder.get())
    kernels = {str(name): func for name, func in lowered.functions_of_loops.items()}
    (planned,) = native_functions(lowered, kernels, lambda array: 0)
    assert planned.function.body.extents[0].value == 4 * (32 + 32 + 32)
