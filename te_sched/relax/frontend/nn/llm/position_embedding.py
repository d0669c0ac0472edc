"""The angles of rotary positions (RoFormer, Su et al. 2021). Must not know caches."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.errors import GraphError, did_you_mean, repr_of


def rotary_frequencies(
    rotary_dim: int,
    theta: float,
    scale: float = 1.0,
    rope_scaling: Mapping[str, object] | None = None,
) -> npt.NDArray[np.float32]:
    """The angle by which a token is rotated more than the one before it, for each pair of elements.

    Parameters
    ----------
    rotary_dim : how many elements of a head are rotated.
    theta : the base: pair i has scale / theta ** (2 * i / rotary_dim).
    rope_scaling : the configuration of a model for longer contexts: of "rope_type" "default",
        "linear" or "llama3".

    >>> rotary_frequencies(4, 10000.0).tolist()
    [1.0, 0.009999999776482582]
    """
    if rotary_dim < 2 or rotary_dim % 2:
        raise GraphError(
            f"{rotary_dim} elements of a head are rotated",
            "each element of the first half is rotated with one of the second",
            "give an even rotary_dim of 2 or more",
        )
    if not (0 < theta < math.inf and abs(scale) < math.inf):
        raise GraphError(
            f"positions are rotated with theta {theta} and scale {scale}",
            "angles are scale / theta ** (2 * i / rotary_dim)",
            "give a positive theta, and a scale that is finite",
        )
    frequencies = scale / theta ** (np.arange(0, rotary_dim, 2) / rotary_dim)
    scaling = dict(rope_scaling or {})
    kind = str(scaling.get("rope_type", scaling.get("type", "default")))
    if kind not in _KINDS:
        raise GraphError(
            f"rope_scaling has the type {repr_of(kind)}",
            f"te_sched has {', '.join(_KINDS)}",
            f"use one of these{did_you_mean(kind, _KINDS)}",
        )
    missing = [name for name in _KINDS[kind] if name not in scaling]
    if missing:
        raise GraphError(
            f"rope_scaling of type {kind} has no {', '.join(missing)}",
            f"it has {', '.join(map(str, scaling))}",
            "give the dictionary of the model's configuration",
        )
    factor, *rest = [float(str(scaling[name])) for name in _KINDS[kind]] or [1.0]
    if kind == "llama3":
        return _of_llama3(frequencies, factor, *rest).astype(np.float32)
    return (frequencies / factor).astype(np.float32)


_KINDS = {
    "default": (),
    "linear": ("factor",),
    "llama3": ("factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"),
}


def _of_llama3(
    frequencies: npt.NDArray[np.float64], factor: float, low: float, high: float, length: float
) -> npt.NDArray[np.float64]:
    """Slow frequencies divided by the factor, fast ones as they are, and a mixture between them."""
    turns = length * frequencies / (2 * math.pi)  # in the original context
    share = np.clip((turns - low) / (high - low), 0, 1)
    return share * frequencies + (1 - share) * frequencies / factor


_tell_of_absent_names(__name__)
