"""Storage scopes: which threads have memory in common, and of which kind it is.

Owns the one table of storage scopes (`_TABLE`, by rank) and the scope of memory that declares none.
A tag may follow a rank, as in "shared.dyn", "global:tag" or "local.L0A". Must not know statements.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, replace

from te_sched.errors import did_you_mean

_BLOCK_LEVEL, _THREAD_LEVEL = 0, 1  # of axes of threads
_WARP_LEVEL = 2
_OWN_MEMORY_ALIGNMENT = 4  # bytes; of parts of memory that a device has for a tag
# Tags of memory that is allocated as other memory of its rank is.
_PLAIN_TAGS = (".dyn", ".workspace", ".vtcm")


@dataclass(frozen=True, slots=True)
class StorageScope:
    """The properties of memory in a storage scope.

    rank : "shared" of "shared.dyn"; text that has no rank is a rank of its own
    level : the distance from global memory; axes of threads have levels, too
    owner : what each allocation belongs to: "device", "block", "warp", "thread" or "" (unknown)
    kernel_tags : the tags with which kernels have such memory, with the alignment of its
        allocations in bytes (0 for that of the elements)
    is_register : whether it is in registers, so that allocations need not share it
    is_fragment : whether it has matrices of tensor cores, and tags name their operands
    barrier : the threads that wait for its accesses at a barrier: "block", "warp" or "" (none do)
    tag : the tag, with its separator
    """

    rank: str
    level: int = 3
    owner: str = ""
    kernel_tags: tuple[tuple[str, int], ...] = ()
    is_register: bool = False
    is_fragment: bool = False
    barrier: str = ""
    tag: str = ""

    @property
    def is_of_team(self) -> bool:
        """Whether threads of a block own it together, all of them or those of a warp."""
        return self.owner in ("block", "warp")

    @property
    def has_own_memory(self) -> bool:
        """Whether the tag names memory of its own, of which a device has one."""
        return bool(self.tag) and not self.is_fragment and self.tag not in _PLAIN_TAGS

    @property
    def alignment(self) -> int:
        """The alignment of allocations in bytes; 0 for that of their elements."""
        own = _OWN_MEMORY_ALIGNMENT if self.has_own_memory else 0
        return dict(self.kernel_tags).get(self.tag, own)

    def is_common(self, thread: str) -> bool:
        """Whether the threads of an axis have memory in common that is allocated outside of it.

        >>> [storage_scope(text).is_common("threadIdx.x") for text in ("shared", "warp", "local")]
        [True, True, False]
        """
        if self.level == _WARP_LEVEL and thread == "threadIdx.x":
            return True  # the lanes of a warp
        return self.level <= thread_level(thread)


_SHARED = (("", 16), (".dyn", 128))
_FRAGMENTS = ((".matrix_a", 0), (".matrix_b", 0), (".accumulator", 0))
_TABLE = {
    scope.rank: scope
    for scope in (
        StorageScope("global", 0, "device"),
        StorageScope("shared", 1, "block", _SHARED, barrier="block"),
        StorageScope("warp", _WARP_LEVEL, "warp", (("", 0),), is_register=True, barrier="warp"),
        StorageScope("local", 3, "thread", (("", 0),), is_register=True),
        StorageScope("wmma", 3, "warp", _FRAGMENTS, is_register=True, is_fragment=True),
        StorageScope("m16n8k8", is_register=True, is_fragment=True),
        StorageScope("texture", is_register=True),
    )
}
STORAGE_RANKS = tuple(_TABLE)
_WITH_TAG = re.compile(rf"({'|'.join(STORAGE_RANKS)})(|[.:_-].*)", re.DOTALL)

# The scopes of memory in kernels: the private ones first, fragments last.
KERNEL_SCOPES = tuple(
    scope.rank + tag
    for scope in sorted(_TABLE.values(), key=lambda scope: (scope.is_fragment, -scope.level))
    for tag, _ in scope.kernel_tags
)


def is_storage_scope(text: str) -> bool:
    """Whether a text is a rank of the table, perhaps with a tag.

    >>> is_storage_scope("shared.dyn"), is_storage_scope("sharde")
    (True, False)
    """
    return _WITH_TAG.fullmatch(text) is not None


def advice_on_scope(text: object) -> str:
    """What to write in place of text that is not a storage scope."""
    nearest = did_you_mean(text, (*STORAGE_RANKS, *KERNEL_SCOPES))
    return f"use one of {', '.join(STORAGE_RANKS)}, or one with a tag: shared.dyn{nearest}"


@functools.cache
def storage_scope(text: str) -> StorageScope:
    """The properties of a storage scope, global if it is empty; text without a rank is as far from
    global memory as registers.
    """
    match = _WITH_TAG.fullmatch(text or "global")
    return StorageScope(text) if match is None else replace(_TABLE[match[1]], tag=match[2])


def barrier_of(text: str) -> str:
    """The threads that wait at a kernel's barrier of a storage scope: "block", "warp" or ""."""
    return storage_scope(text).barrier if text in KERNEL_SCOPES else ""


BLOCK_SCOPES = tuple(text for text in KERNEL_SCOPES if barrier_of(text) == "block")


def thread_level(tag: str) -> int:
    """0 for an axis of blocks, 1 for one of threads of a block or virtual threads."""
    return _BLOCK_LEVEL if tag.startswith("blockIdx") else _THREAD_LEVEL


def default_scope(thread: str) -> str:
    """The storage scope of a stage without a declared one, from the innermost enclosing thread
    axis: memory outside of threads is shared by them.
    """
    if not thread:
        return "global"
    return "shared" if thread_level(thread) == _BLOCK_LEVEL else "local"
