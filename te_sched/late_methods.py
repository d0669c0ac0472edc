"""Methods of classes of the IR that modules above it implement: they load these at their first use.

Must not know what the methods do.
"""

from __future__ import annotations

from te_sched.ir.expr import Buffer
from te_sched.ir.index_map import IndexMap
from te_sched.ir.stmt import PrimFunc
from te_sched.lazy_loading import lazy_function

_OF_MAPS = (
    *("map_indices", "map_shape", "map_ndarray"),
    *("inverse", "non_surjective_inverse", "is_equivalent_to"),
)


def give_methods() -> None:
    """Give the classes their methods."""
    offset_of = lazy_function(
        "te_sched.tir.buffers:offset_of",
        "The offset of an element from the data pointer, in elements.",
    )
    setattr(Buffer, "offset_of", offset_of)  # noqa: B010
    struct_info = lazy_function(
        "te_sched.tir.struct_info:struct_info_of", "What a graph knows of the function."
    )
    setattr(PrimFunc, "struct_info", property(struct_info))  # noqa: B010
    for name in _OF_MAPS:
        setattr(IndexMap, name, lazy_function(f"te_sched.tir.index_map:{name}"))
