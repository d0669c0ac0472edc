"""Views: buffers that stand for regions of others, as extern operations and intrinsics have them.

Must not know what is done with them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from te_sched.ir import ops
from te_sched.ir.expr import Call, Expr, IntImm, Var
from te_sched.ir.stmt import AttrStmt


@dataclass(frozen=True, slots=True)
class View:
    """Where a view begins in what it is a view of; dimensions it leaves out come first."""

    data: Var
    begins: tuple[Expr, ...]
    extents: tuple[Expr, ...]

    def outside(self, indices: Iterable[Expr]) -> tuple[Expr, ...]:
        """Indices of the view as indices of what it is a view of."""
        inner = tuple(indices)
        dropped = len(self.begins) - len(inner)
        moved = [ops.add(a, b) for a, b in zip(self.begins[dropped:], inner, strict=True)]
        return (*self.begins[:dropped], *moved)


class Views(dict[Var, View]):
    """The views that have been declared, by their pointers; a view of a view is one of memory."""

    def bind(self, node: AttrStmt) -> None:
        """Note what a `buffer_bind_scope` declares."""
        view, buffer = node.node
        numbers = node.value.args if isinstance(node.value, Call) else ()
        data, begins, extents = buffer.data, tuple(numbers[::2]), tuple(numbers[1::2])
        outer = self.get(data)
        if outer is not None:
            data, begins = outer.data, outer.outside(begins)
            extents = (*[IntImm(1)] * (len(begins) - len(extents)), *extents)
        self[view.data] = View(data, begins, extents)

    def base(self, data: Var) -> Var:
        """The memory that a pointer points into."""
        view = self.get(data)
        return data if view is None else view.data
