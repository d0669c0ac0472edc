"""Structural hash: equal for programs that are structurally equal, in every process.

It digests the tokens that structural equality compares (`ir.structural`). Must not know nodes.
"""

from __future__ import annotations

from te_sched.ir.struct_info import StructInfo
from te_sched.ir.structural import digest_of, structural_equal, tokens_of
from te_sched.signatures import checked


@checked
def structural_hash(node: object, map_free_vars: bool = False) -> int:
    """A number of 64 bits that is the same for programs that are structurally equal.

    Free variables count as themselves, so that their programs have equal hashes in one process
    only; with `map_free_vars` they count by the order of their uses.

    >>> from te_sched import tir
    >>> a, b = (tir.PrimFunc([i], tir.Evaluate(i + 1), {}) for i in (te.var("i"), te.var("j")))
    >>> structural_hash(a) == structural_hash(b)
    True
    """
    return int.from_bytes(digest_of(tokens_of(node, map_free_vars)), "little")


def _equals(self: StructInfo, other: object) -> bool:
    if self is other or not isinstance(other, StructInfo):
        return self is other
    return self.part_count == other.part_count and structural_equal(self, other)


setattr(StructInfo, "__eq__", _equals)  # noqa: B010  ir.struct_info is below
setattr(StructInfo, "__hash__", structural_hash)  # noqa: B010
