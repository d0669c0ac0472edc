"""Maps of indices: new indices as expressions of the old ones, for layouts and block attributes.

`arith.index_map` applies and inverts them. Must not know schedules.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from te_sched.ir.expr import Expr, ExprLike, Node, Var, node
from te_sched.ir.roles import Role, role
from te_sched.public_members import PublicObject


class _AxisSeparator:
    """Class of AXIS_SEPARATOR, which separates groups of dimensions of a layout."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "te.AXIS_SEPARATOR"


# In the list that a function of indices returns: the dimensions before it have one index into
# memory, and those after it another.
AXIS_SEPARATOR = _AxisSeparator()


@node
class IndexMap(Node, PublicObject):
    """A map of the indices `initial_indices` to the indices `final_indices`.

    `inverse_index_map` is the inverse that the user states, or None.
    """

    initial_indices: tuple[Var, ...] = role(Role.DEFINITION)
    final_indices: tuple[Expr, ...] = role(Role.BODY)
    inverse_index_map: IndexMap | None = role(Role.ANNOTATION, default=None)

    if TYPE_CHECKING:  # given by late_methods

        def map_indices(self, indices: Sequence[ExprLike]) -> list[Expr]: ...
        def map_shape(self, shape: Sequence[ExprLike]) -> list[Expr]: ...
        def map_ndarray(self, arr_src: Any) -> Any: ...
        def inverse(self, shape: Sequence[ExprLike]) -> IndexMap: ...
        def non_surjective_inverse(self, shape: Sequence[ExprLike]) -> tuple[IndexMap, Expr]: ...
        def is_equivalent_to(self, other_map: IndexMap) -> bool: ...
