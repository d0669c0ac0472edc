"""Limits of GPUs: threads of a block, extents of launches, shared memory of a block.

Targets, emulated devices, judges and launches read them. Must not know kernels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from te_sched.errors import TeSchedError, did_you_mean, kind_of, repr_of

MAX_THREADS = 1024  # of a block
SHARED_BYTES = 49152  # of a block, without dynamic shared memory
LOCAL_BYTES = 512 * 1024  # per thread, including spilled registers
WARP = 32  # lanes
SHUFFLE_WIDTHS = (1, 2, 4, 8, 16, 32)  # lanes of a group that shuffles

# The largest extents, by tag; the same on every CUDA device since compute capability 3.
LARGEST_EXTENTS = {
    "blockIdx.x": 2**31 - 1,
    "blockIdx.y": 65535,
    "blockIdx.z": 65535,
    "threadIdx.x": MAX_THREADS,
    "threadIdx.y": MAX_THREADS,
    "threadIdx.z": 64,
}
TAGS = tuple(LARGEST_EXTENTS)  # of the axes of a launch
BOUND_TAGS = (*TAGS, "vthread", "vthread.x", "vthread.y", "vthread.z")  # of loops that are bound
THREAD_TAGS = (*BOUND_TAGS, "cthread")
TAGS_TEXT = "blockIdx.x/y/z, threadIdx.x/y/z, vthread"  # in messages
# Shared memory of a block in bytes, including dynamic shared memory (scope shared.dyn).
_WITH_DYNAMIC = {
    **{"sm_70": 98304, "sm_72": 98304, "sm_75": 65536, "sm_80": 166912, "sm_86": 101376},
    **{"sm_87": 166912, "sm_89": 101376, "sm_90": 232448, "sm_100": 232448, "sm_120": 101376},
}


def check_thread_tag(
    tag: object, kind: type[TeSchedError], legal: Sequence[str] = THREAD_TAGS
) -> None:
    """Refuse anything but the tag of a thread axis.

    Raises
    ------
    The error of the class `kind`.
    """
    if isinstance(tag, str) and tag in legal:
        return
    own = getattr(tag, "thread_tag", "")
    raise kind(
        f"there is no thread axis {repr_of(tag)}",
        f"it is {kind_of(tag)}" if own else "threads and their blocks have the axes x, y and z",
        f'give its tag: "{own}"' if own else f"use one of {TAGS_TEXT}{did_you_mean(tag, legal)}",
    )


@dataclass(frozen=True, slots=True)
class DeviceLimits:
    """The limits of a target's GPU: threads and bytes of shared memory in a block."""

    arch: str = "sm_80"
    threads: int = MAX_THREADS
    shared_bytes: int = SHARED_BYTES

    @property
    def all_shared_bytes(self) -> int:
        """The bytes of shared memory in a block, including dynamic shared memory."""
        return _WITH_DYNAMIC.get(self.arch.rstrip("af"), self.shared_bytes)

    def longest(self, tag: str) -> int:
        """The largest extent of a thread axis."""
        return LARGEST_EXTENTS[tag]
