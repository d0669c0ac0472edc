"""The networks that are measured are those of their papers."""

from __future__ import annotations

import pytest

from benchmarks.graphs import onnx_model
from benchmarks.networks import NETWORKS, is_quantized

torch = pytest.importorskip("torch", reason="networks are made by torch")

# The published numbers of parameters.
PUBLISHED = {
    "mobilenet-v3": 2_542_856,
    "efficientnet-b0": 5_288_548,
    "regnet-x-400": 5_495_976,
    "shufflenet-v2": 1_366_792,
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_networks_have_the_parameters_of_their_papers(name: str) -> None:
    network, shapes = NETWORKS[name](torch.nn)
    assert sum(one.numel() for one in network.parameters()) == PUBLISHED[name]
    with torch.no_grad():
        assert network.eval()(*map(torch.rand, shapes)).shape == (1, 1000)


def test_frames_of_speech_and_of_spectrograms() -> None:
    """A second of sound: 49 frames of wav2vec2, 101 of a spectrogram."""
    for name, shape in (("wav2vec2", (1, 49, 256)), ("spectrogram", (1, 101, 80))):
        network, shapes = NETWORKS[name](torch.nn)
        with torch.no_grad():
            assert network.eval()(*map(torch.rand, shapes)).shape == shape


def test_each_network_can_be_traced() -> None:
    for make in NETWORKS.values():
        network, _ = make(torch.nn)
        assert torch.fx.symbolic_trace(network).code


def test_quantized_networks_compute_with_bytes() -> None:
    """The file has integer weights, and gives about what the network computes."""
    onnx = pytest.importorskip("onnx", reason="quantized networks are ONNX files")
    runtime = pytest.importorskip("onnxruntime", reason="its quantizer writes them")
    network, _ = NETWORKS["quantized-112"](torch.nn)
    assert is_quantized(network)
    small = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.ReLU()).eval()
    small.is_quantized = True
    inputs = [torch.rand(1, 3, 12, 12)]
    text = onnx_model(torch, small, inputs)
    names = {node.op_type for node in onnx.load_from_string(text).graph.node}
    assert {"QuantizeLinear", "DequantizeLinear"} <= names
    session = runtime.InferenceSession(text, providers=["CPUExecutionProvider"])
    (found,) = session.run(None, {"input0": inputs[0].numpy()})
    with torch.no_grad():
        assert abs(found - small(*inputs).numpy()).max() < 0.05
