"""Indices as iterators, where the domains of these make them so.

A reshape between transpositions divides by extents, a convolution of one element adds an iterator
that is 0: what they read is an iterator, but does not say so. Rules look for products and rows by
their indices. Must not know rules.
"""

from __future__ import annotations

from typing import Any

from te_sched.arith.forms import Form, Forms, Part, expr_of, factors
from te_sched.ir.blocks import Block
from te_sched.ir.expr import BufferRegion, Expr, IntImm, Var
from te_sched.ir.ops import is_const
from te_sched.ir.stmt import PrimFunc
from te_sched.ir.visitor import ReferenceMapper, replace, variables_of


def with_simple_accesses(func: PrimFunc) -> PrimFunc:
    """The function with the indices of its blocks simplified by the domains of their iterators."""
    sizes = variables_of(*[size for buffer in func.buffer_map.values() for size in buffer.shape])
    return replace(func, body=_Accesses(Forms(dict.fromkeys(sizes, 1), {})).visit(func.body))


class _Accesses(ReferenceMapper):
    """Simplifies what blocks read and write."""

    def __init__(self, forms: Forms) -> None:
        self.forms = forms

    def visit_Block(self, node: Block) -> Any:
        for axis in node.iter_vars:
            assert axis.dom is not None
            if is_const(axis.dom.extent, 1):
                self.forms.values[axis.var] = axis.dom.min
            else:
                self.forms.bind(axis.var, axis.dom.min, axis.dom.extent)
        return self.generic(node)

    def visit_access(self, node: Any) -> Any:
        """A load or store."""
        new = self.generic(node)
        return replace(new, indices=tuple(map(self.simple, new.indices)))

    visit_BufferLoad = visit_BufferStore = visit_access

    def visit_BufferRegion(self, node: BufferRegion) -> BufferRegion:
        new = self.generic(node)
        return replace(
            new,
            region=tuple(
                [
                    replace(index_range, min=self.simple(index_range.min))
                    for index_range in new.region
                ]
            ),
        )

    def simple(self, index: Expr) -> Expr:
        """An index as a sum of products, quotients and remainders, if it is one."""
        if isinstance(index, Var | IntImm):
            return index
        form = self.forms.of(index)
        return expr_of(form, index.dtype) if _is_known(form) else index


def _is_known(form: Form) -> bool:
    """Whether a form consists of variables, and quotients and remainders of them."""
    parts = [part for part in factors(form) if type(part) is Part]
    return all(part.kind and _is_known(part.whole) and _is_known(part.divisor) for part in parts)
