"""The tags by which schedules recognise the operators of topi. Must not know the operators."""

from __future__ import annotations

ELEMWISE = "elemwise"
BROADCAST = "broadcast"
INJECTIVE = "injective"
COMM_REDUCE = "comm_reduce"
COMM_REDUCE_IDX = "comm_reduce_idx"


def is_broadcast(tag: str) -> bool:
    """Whether an operation reads the element of its own index only, or one that is broadcast."""
    return tag in (ELEMWISE, BROADCAST) or tag.startswith((f"{ELEMWISE},", f"{BROADCAST},"))


def is_injective(tag: str) -> bool:
    """Whether each element comes from single elements of the inputs, so that it can be inlined."""
    return is_broadcast(tag) or tag.startswith(INJECTIVE)
