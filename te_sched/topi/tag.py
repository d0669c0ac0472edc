"""Tags by which schedules classify operations. Must not know the operators."""

from __future__ import annotations

import sys

from te_sched import public_names
from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names

ELEMWISE = "elemwise"
BROADCAST = "broadcast"
INJECTIVE = "injective"
COMM_REDUCE = "comm_reduce"
COMM_REDUCE_IDX = "comm_reduce_idx"


def is_broadcast(tag: str) -> bool:
    """Whether each element depends only on the input elements at its own (broadcast) index."""
    return tag in (ELEMWISE, BROADCAST) or tag.startswith((f"{ELEMWISE},", f"{BROADCAST},"))


def is_injective(tag: str) -> bool:
    """Whether each element depends on one element of each input, so that it can be inlined."""
    return is_broadcast(tag) or tag.startswith(INJECTIVE)


public_names.list_names(sys.modules[__name__])
_tell_of_absent_names(__name__)
