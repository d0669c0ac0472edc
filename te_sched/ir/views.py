"""Views: buffers that are regions of others, as in extern operations and intrinsics.

Must not know their uses.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from te_sched.ir import ops
from te_sched.ir.expr import Call, Expr, IntImm, Var
from te_sched.ir.stmt import AttrStmt


@dataclass(frozen=True, slots=True)
class View:
    """The beginning of a view in its source; dimensions that the view omits come first."""

    data: Var
    begins: tuple[Expr, ...]
    extents: tuple[Expr, ...]

    def outside(self, indices: Iterable[Expr]) -> tuple[Expr, ...]:
        """Indices of the view as indices of its source."""
        inner = tuple(indices)
        dropped = len(self.begins) - len(inner)
        moved = [ops.add(a, b) for a, b in zip(self.begins[dropped:], inner, strict=True)]
        return (*self.begins[:dropped], *moved)


class Views(dict[Var, View]):
    """Declared views by their pointers; a view of a view is a view of memory."""

    def bind(self, node: AttrStmt) -> None:
        """Record the view that a `buffer_bind_scope` declares."""
        view, buffer = node.node
        numbers = node.value.args if isinstance(node.value, Call) else ()
        data, begins, extents = buffer.data, tuple(numbers[::2]), tuple(numbers[1::2])
        outer = self.get(data)
        if outer is not None:
            data, begins = outer.data, outer.outside(begins)
            extents = (*[IntImm(1)] * (len(begins) - len(extents)), *extents)
        self[view.data] = View(data, begins, extents)

    def base(self, data: Var) -> Var:
        """The memory to which a pointer refers."""
        view = self.get(data)
        return data if view is None else view.data
