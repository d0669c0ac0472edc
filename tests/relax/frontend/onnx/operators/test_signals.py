"""Transforms of signals beside numpy."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

from te_sched import nd, relax
from te_sched.relax.frontend.onnx import from_onnx
from tests.relax.frontend.onnx.models import model_of, run

RNG = np.random.default_rng(0)
X = RNG.random((2, 10, 1), dtype=np.float32)


def result_of(kind, inputs, attrs, constants):
    model = model_of([(kind, inputs, ["y"], attrs)], {"x": X}, constants, opset=20)
    return run(from_onnx(model), nd.array(X))


def parts(values):
    return np.stack([values.real, values.imag], -1)


@pytest.mark.parametrize("length", [7, 10, 16])
@pytest.mark.parametrize("onesided", [0, 1])
def test_transforms_of_a_length(length: int, onesided: int) -> None:
    constants = {"n": np.array(length), "a": np.array(1)}
    result = result_of("DFT", ["x", "n", "a"], {"onesided": onesided}, constants)
    transform = np.fft.rfft if onesided else np.fft.fft
    np.testing.assert_allclose(result, parts(transform(X[..., 0], length)), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("ends", [[1], []])  # without the last one as onnxruntime allows
@pytest.mark.parametrize("is_open", [False, True])
def test_transforms_of_windows(ends: list[int], is_open: bool) -> None:
    window = np.hanning(4).astype("float32")
    sizes = ["n", "length", *ends] if is_open else [2, 10, *ends]
    node = ("STFT", ["x", "s", "w"], ["y"], {"onesided": 1})
    constants = {"s": np.array(3), "w": window}
    model = model_of([node], {"x": X}, constants, opset=20, shapes={"x": sizes})
    machine = relax.VirtualMachine(relax.build(from_onnx(model), "llvm"))
    for signal in [X[..., 0], RNG.random((3, 13), dtype=np.float32)][: 1 + is_open]:
        result = machine["main"](nd.array(signal.reshape(*signal.shape, *ends))).numpy()
        frames = sliding_window_view(signal, 4, 1)[:, ::3] * window
        np.testing.assert_allclose(result, parts(np.fft.rfft(frames)), rtol=1e-4, atol=1e-5)


def test_windows_of_one_element() -> None:
    nodes = [("HannWindow", ["n"], ["w"], {"periodic": 0}), ("Mul", ["x", "w"], ["y"], {})]
    model = model_of(nodes, {"x": X}, {"n": np.array(1)}, opset=17)
    assert not run(from_onnx(model), nd.array(X)).any()
