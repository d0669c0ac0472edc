"""Graphs built for GPUs, on the emulated device."""

import re

import numpy as np
import pytest

import te_sched
from te_sched import relax
from te_sched.dlight import gpu
from te_sched.errors import CallError, MemoryKindError
from te_sched.relax import op
from te_sched.runtime import cuda_driver


def built(shapes, body):
    """A machine with a function of tensors of some shapes, on the emulated device."""
    builder = relax.BlockBuilder()
    variables = [
        relax.Var(f"x{place}", relax.TensorStructInfo(one, "float32"))
        for place, one in enumerate(shapes)
    ]
    with builder.function("main", variables):
        with builder.dataflow():
            result = builder.emit_output(body(*variables))
        builder.emit_func_output(result)
    return relax.VirtualMachine(relax.build(builder.get(), "cuda"), te_sched.emulated_cuda(0))


def run(shapes, body, dynamic=None):
    """The result of a function, and its arguments."""
    draws = np.random.RandomState(0)
    values = [draws.standard_normal(one).astype("float32") for one in dynamic or shapes]
    device = te_sched.emulated_cuda(0)
    result = built(shapes, body)["main"](*[te_sched.nd.array(one, device) for one in values])
    assert result.device == device
    return result.numpy(), values


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def test_perceptron():
    def body(x, w, b, v):
        return op.nn.softmax(op.matmul(op.nn.relu(op.add(op.matmul(x, w), b)), v))

    got, (x, w, b, v) = run([(3, 9), (9, 6), (6,), (6, 4)], body)
    np.testing.assert_allclose(got, softmax(np.maximum(x @ w + b, 0) @ v), rtol=1e-5, atol=1e-6)


def test_a_step_of_a_decoder(monkeypatch):
    """A block of a transformer for one token: each product with a weight is one with a vector."""
    width, heads, inner, past = 64, 2, 96, 7
    depth = width // heads
    scheduled = []
    scheduled_by = gpu.GEMV.scheduled

    def note(self, sch, target):
        if "NT_matmul" in str(sch.mod):
            scheduled.append(scheduled_by(self, sch, target))
            return scheduled[-1]
        return scheduled_by(self, sch, target)

    monkeypatch.setattr(gpu.GEMV, "scheduled", note)

    def body(x, g1, wq, wk, wv, wo, keys, values, g2, wu, wg, wd):
        def linear(a, w):
            return op.matmul(a, op.permute_dims(w))

        def of_heads(a):
            return op.permute_dims(op.reshape(a, (1, 1, heads, depth)), [0, 2, 1, 3])

        h = op.nn.rms_norm(x, g1, [-1])
        q, k, v = (of_heads(linear(h, w)) for w in (wq, wk, wv))
        k, v = op.concat([keys, k], 2), op.concat([values, v], 2)
        scores = op.matmul(q, op.permute_dims(k, [0, 1, 3, 2]))
        scores = op.nn.softmax(op.multiply(scores, relax.const(np.float32(depth**-0.5))))
        mixed = op.permute_dims(op.matmul(scores, v), [0, 2, 1, 3])
        x = op.add(x, linear(op.reshape(mixed, (1, 1, width)), wo))
        h = op.nn.rms_norm(x, g2, [-1])
        return op.add(x, linear(op.multiply(op.nn.silu(linear(h, wg)), linear(h, wu)), wd))

    square, cache, wide = (width, width), (1, heads, past, depth), (inner, width)
    shapes = [(1, 1, width), (width,), *[square] * 4, cache, cache, (width,), wide, wide]
    got, given = run([*shapes, (width, inner)], body)
    x, g1, wq, wk, wv, wo, keys, values, g2, wu, wg, wd = [one.astype("float64") for one in given]

    def norm(a, g):
        return a / np.sqrt((a * a).mean(-1, keepdims=True) + 1e-5) * g

    def of_heads(a):
        return a.reshape(1, 1, heads, depth).transpose(0, 2, 1, 3)

    h = norm(x, g1)
    q, k, v = (of_heads(h @ w.T) for w in (wq, wk, wv))
    k, v = np.concatenate([keys, k], 2), np.concatenate([values, v], 2)
    mixed = softmax(q @ k.transpose(0, 1, 3, 2) * depth**-0.5) @ v
    x = x + mixed.transpose(0, 2, 1, 3).reshape(1, 1, width) @ wo.T
    h = norm(x, g2)
    up = h @ wg.T
    want = x + (up / (1 + np.exp(-up)) * (h @ wu.T)) @ wd.T
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4 * abs(want).max())
    assert len(scheduled) == 6
    assert None not in scheduled


def test_the_pipeline_is_known_by_name():
    assert str(relax.get_pipeline("gpu")) == "Run Module pass: gpu at the optimization level 0"


def test_sizes_are_computed_on_the_host():
    n = te_sched.tir.Var("n", "int64")
    got, (x,) = run(
        [(n, 4)], lambda x: op.strided_slice(x, [0], [1], [n - 1], [2]), dynamic=[(7, 4)]
    )
    np.testing.assert_array_equal(got, x[1:-1:2])


# Executables on other devices, and arrays of other devices


def exported(tmp_path, executable):
    """What is loaded of the file that an executable is saved in."""
    executable.export_library(tmp_path / "graph.so")
    return te_sched.runtime.load_module(tmp_path / "graph.so")


def graph():
    """A module with a function of two matrices of (3, 3)."""
    builder = relax.BlockBuilder()
    x, y = [relax.Var(name, relax.TensorStructInfo((3, 3), "float32")) for name in "xy"]
    with builder.function("main", [x, y]):
        with builder.dataflow():
            result = builder.emit_output(op.nn.relu(op.matmul(x, y)))
        builder.emit_func_output(result)
    return builder.get()


EMULATED, CPU = te_sched.emulated_cuda(0), te_sched.cpu(0)
ONES = np.ones((3, 3), "float32")


@pytest.mark.parametrize(
    ("target", "devices", "fault", "help"),
    [
        ("cuda", CPU, "built for cuda, the machine is on cpu(0)", ("emulated_cuda(0)", "llvm")),
        ("cuda", None, "built for cuda, the machine is on cpu(0)", ("emulated_cuda(0)", "llvm")),
        ("llvm", EMULATED, "built for llvm, the machine is on cuda(0, ", ("cpu(0)", "cuda")),
        ("llvm", [EMULATED, CPU], "built for llvm, the machine is on cuda(0, ", ("cpu(0)", "cuda")),
    ],
)
def test_machines_on_other_devices_are_refused(target, devices, fault, help, tmp_path, monkeypatch):
    monkeypatch.setattr(cuda_driver, "device_count", lambda: 0)
    executable = relax.build(graph(), target)
    for built in (executable, exported(tmp_path, executable)):
        with pytest.raises(CallError, match=re.escape(fault)) as caught:
            relax.VirtualMachine(built, devices)
        assert f"relax.VirtualMachine(executable, te_sched.{help[0]})" in caught.value.help
        assert f'relax.build(module, "{help[1]}")' in caught.value.help


def test_executables_for_a_gpu_are_saved(tmp_path):
    loaded = exported(tmp_path, relax.build(graph(), "cuda"))
    ones = te_sched.nd.array(ONES, EMULATED)
    found = relax.VirtualMachine(loaded, [EMULATED, CPU])["main"](ones, ones)
    np.testing.assert_array_equal(found.numpy(), 3 * ONES)


def test_functions_that_allocate_on_the_second_device_run_there():
    builder = relax.ExecBuilder()
    with builder.function("main", 0):
        size, dtype = builder.convert_constant((4,)), builder.convert_constant("uint8")
        given = [builder.vm_state(), size, builder.imm(1), dtype]
        builder.emit_call("vm.builtin.alloc_storage", given, builder.r(0))
        builder.emit_ret(builder.r(0))
    assert builder.bytecode().device_numbers() == {1}


@pytest.mark.parametrize(("target", "there"), [("cuda", EMULATED), ("llvm", CPU)])
def test_arrays_of_other_devices_are_refused_as_arguments_of_the_function(target, there):
    machine = relax.VirtualMachine(relax.build(graph(), target), there)
    machine.set_instrument(lambda *args: None)  # each function is interpreted
    elsewhere = CPU if target == "cuda" else EMULATED
    x, y = te_sched.nd.array(ONES, there), te_sched.nd.array(ONES, elsewhere)
    fault = re.escape(f"argument y of main is on {elsewhere}, the machine is on {there}")
    with pytest.raises(MemoryKindError, match=fault) as caught:
        machine["main"](x, y)
    copy = "y, te_sched.emulated_cuda(0)" if target == "cuda" else "y.numpy()"
    assert caught.value.help == f"copy the array there: te_sched.nd.array({copy})"
    assert caught.value.names("function") == ["main"]
    assert caught.value.__suppress_context__


def test_arrays_of_other_devices_in_tuples_are_refused():
    builder = relax.BlockBuilder()
    info = relax.TensorStructInfo((3, 3), "float32")
    pair = relax.Var("pair", relax.TupleStructInfo([info, info]))
    with builder.function("main", [pair]):
        builder.emit_func_output(builder.emit(op.add(pair[0], pair[1])))
    machine = relax.VirtualMachine(relax.build(builder.get(), "cuda"), EMULATED)
    there = te_sched.nd.array(ONES, EMULATED)
    with pytest.raises(MemoryKindError, match="an array of argument pair of main is on cpu"):
        machine["main"]((there, te_sched.nd.array(ONES)))
    np.testing.assert_array_equal(machine["main"]((there, there)).numpy(), 2 * ONES)
