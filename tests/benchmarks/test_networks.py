"""The networks that are measured are those of their papers."""

from __future__ import annotations

import pytest

from benchmarks.networks import NETWORKS

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
