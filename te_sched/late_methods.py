"""Methods of classes of the IR that modules above their classes implement: each is loaded at its
first use.

Must not know what the methods do.
"""

from __future__ import annotations

from te_sched.ir.expr import Buffer
from te_sched.ir.index_map import IndexMap
from te_sched.ir.stmt import GlobalVar, IRModule, PrimFunc
from te_sched.ir.struct_info import GraphExpr
from te_sched.lazy_loading import lazy_function

_TYPES = "te_sched.ir.graph_types"
_MAPS = "te_sched.tir.index_map"
_NAMES = "te_sched.relax.transform.replace_global_vars"

# Class, name, place of the function, documentation.
_METHODS: tuple[tuple[type, str, str, str], ...] = (
    (
        *(Buffer, "offset_of", "te_sched.tir.buffers:offset_of"),
        "The offset of an element from the data pointer, in elements.",
    ),
    (
        *(
            IRModule,
            "replace_global_vars",
            "te_sched.relax.transform.replace_global_vars:replace_global_vars",
        ),
        "The module with other names of functions, also where they are called.",
    ),
    (IndexMap, "map_indices", f"{_MAPS}:map_indices", ""),
    (IndexMap, "map_shape", f"{_MAPS}:map_shape", ""),
    (IndexMap, "map_ndarray", f"{_MAPS}:map_ndarray", ""),
    (IndexMap, "inverse", f"{_MAPS}:inverse", ""),
    (IndexMap, "non_surjective_inverse", f"{_MAPS}:non_surjective_inverse", ""),
    (IndexMap, "is_equivalent_to", f"{_MAPS}:is_equivalent_to", ""),
)
_PROPERTIES: tuple[tuple[type, str, str, str], ...] = (
    (
        *(PrimFunc, "struct_info", "te_sched.tir.struct_info:struct_info_of"),
        "What a graph knows of the function.",
    ),
    (GraphExpr, "checked_type", f"{_TYPES}:checked_type_of", "The type of the expression."),
    (
        *(GraphExpr, "_checked_type_", f"{_TYPES}:noted_type_of"),
        "The type of the expression, None before normalization.",
    ),
    (GlobalVar, "checked_type", f"{_TYPES}:checked_type_of", "The type of the function."),
)


def give_methods() -> None:
    """Give the classes their methods and properties."""
    for kind, name, path, summary in _METHODS:
        setattr(kind, name, lazy_function(path, summary))
    for kind, name, path, summary in _PROPERTIES:
        setattr(kind, name, property(lazy_function(path, summary), doc=summary))
