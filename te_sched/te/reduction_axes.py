"""Reduction axes that a declaration uses without reducing over them.

Knows the axes of `te.reduce_axis` by their variables. Must not know operations.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from weakref import WeakValueDictionary

from te_sched.errors import DeclarationError, Subject
from te_sched.ir.expr import IterVar, Reduce, Var
from te_sched.ir.visitor import variables_of

_REDUCE = "write te.sum(..., axis={axis}), or another reduction over {axis}"
_DECLARED: WeakValueDictionary[Var, IterVar] = WeakValueDictionary()


def note_reduction_axis(axis: IterVar) -> IterVar:
    """The axis, which `check_reduced` knows as one of reductions from now on."""
    _DECLARED[axis.var] = axis
    return axis


def check_reduced(
    variables: Iterable[Var], axes: Sequence[IterVar], what: str, help: str = _REDUCE
) -> None:
    """Refuse a reduction axis that a declaration uses and that is not one of its `axes`; `help` is
    for declarations without any.

    Raises
    ------
    DeclarationError
    """
    own = {axis.var for axis in axes}
    for var in variables:
        axis = _DECLARED.get(var)
        if axis is not None and var not in own:
            raise _not_reduced(axis, axes, what, help)


def check_initial_values(reduction: Reduce, what: str) -> None:
    """Refuse initial values of a reduction that use its axes.

    Raises
    ------
    DeclarationError
    """
    used = variables_of(*reduction.init) if reduction.init else ()
    for axis in reduction.axis:
        if axis.var in used:
            raise DeclarationError(
                f"the initial value of the reduction of {what} uses its axis {axis.var.name}",
                "the initial value is computed before the loops of the reduction",
                f"use an expression without {axis.var.name}",
                Subject("axis", axis.var.name),
            )


def _not_reduced(axis: IterVar, axes: Sequence[IterVar], what: str, help: str) -> DeclarationError:
    name = axis.var.name
    names = [axis.var.name for axis in axes]
    if name in names:
        return DeclarationError(
            f"{what} uses reduction axis {name} but reduces over another axis called {name}",
            f"nothing reduces over this {name}, so it has no value",
            'pass the axis that the expression uses; give each a name: te.reduce_axis(dom, "k")',
            Subject("axis", name),
        )
    if not axes:
        return DeclarationError(
            f"{what} uses reduction axis {name} without a reduction over it",
            f"{name} has values inside of a reduction only",
            help.format(axis=name),
            Subject("axis", name),
        )
    return DeclarationError(
        f"{what} uses reduction axis {name} but reduces over {', '.join(names)}",
        f"nothing reduces over {name}, so it has no value",
        f"write axis={name}, or axis=[{', '.join([*names, name])}] to reduce over all of them",
        Subject("axis", name),
    )
