"""The angles of rotary positions."""

from __future__ import annotations

import numpy as np
import pytest

from te_sched.errors import GraphError
from te_sched.relax.frontend.nn.llm.position_embedding import rotary_frequencies

_LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}


def test_frequencies_are_powers_of_the_base() -> None:
    expected = 0.5 * 500.0 ** (-np.arange(0, 8, 2) / 8)
    np.testing.assert_allclose(rotary_frequencies(8, 500.0, 0.5), expected, 1e-6)
    linear = rotary_frequencies(8, 500.0, 0.5, {"type": "linear", "factor": 4})
    np.testing.assert_allclose(linear, expected / 4, 1e-6)


def test_llama3_divides_slow_frequencies_alone() -> None:
    plain, scaled = (rotary_frequencies(64, 5e5, 1.0, one) for one in ({}, _LLAMA3))
    ratio = plain / scaled
    lengths = 2 * np.pi / plain
    np.testing.assert_allclose(ratio[lengths < 8192 / 4], 1, 1e-6)
    np.testing.assert_allclose(ratio[lengths > 8192], 8, 1e-6)
    between = ratio[(lengths > 8192 / 4) & (lengths < 8192)]
    assert len(between)
    assert ((between > 1) & (between < 8)).all()


def test_llama3_equals_transformers() -> None:
    pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    scaling = {**_LLAMA3, "rope_theta": 5e5}
    config = transformers.LlamaConfig(
        hidden_size=256, num_attention_heads=4, rope_theta=5e5, rope_scaling=scaling
    )
    expected, _ = ROPE_INIT_FUNCTIONS["llama3"](config, "cpu")
    np.testing.assert_allclose(rotary_frequencies(64, 5e5, 1.0, _LLAMA3), expected.numpy(), 1e-5)


@pytest.mark.parametrize(
    ("size", "scaling", "message"),
    [
        (7, {}, "7 elements of a head are rotated"),
        (0, {}, "0 elements of a head are rotated"),
        (8, {"rope_type": "yarn"}, r"(?s)has the type 'yarn'.*default, linear, llama3"),
        (8, {"rope_type": "llama3", "factor": 2}, "of type llama3 has no low_freq_factor, high"),
    ],
)
def test_other_scalings_are_refused(size: int, scaling: dict[str, object], message: str) -> None:
    with pytest.raises(GraphError, match=message):
        rotary_frequencies(size, 1e4, 1.0, scaling)


@pytest.mark.parametrize(("theta", "scale"), [(0, 1), (-1, 1), (np.nan, 1), (2, np.inf)])
def test_other_bases_are_refused(theta: float, scale: float) -> None:
    with pytest.raises(GraphError, match=f"rotated with theta {theta} and scale {scale}"):
        rotary_frequencies(8, theta, scale)
