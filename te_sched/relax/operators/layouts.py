"""What operators tell `ConvertLayout`: how a call is written if dimensions have another order.

An order says which dimension stands at each place (0, 2, 3, 1: NHWC of what is written NCHW); None
is the order as written, a list has those of a tuple. Must not know the pass.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from te_sched.ir.graph import GraphCall

Permutation = tuple[int, ...]
Order = Any  # a permutation, None, or a list of them


class Plan(NamedTuple):
    """How a call is written: orders of its arguments and result, other attributes and arguments.

    Arguments without an order in `inputs` are put back.
    """

    inputs: dict[int, Order]
    output: Order
    attrs: Mapping[str, Any] = {}
    args: Mapping[int, Any] = {}


LayoutRule = Callable[[GraphCall, list[Order]], "Plan | None"]


class Layout(NamedTuple):
    """What may be done with the dimensions of a call.

    Parameters
    ----------
    follow : the plan of a call of which arguments have other orders; None puts them back.
    arguments : the attributes with the layouts of arguments, for which users may ask.
    result : the attribute with that of the result.
    numbers_axes : axes are written as numbers that are not negative, in order.
    """

    follow: LayoutRule | None = None
    arguments: tuple[str, ...] = ()
    result: str = "out_layout"
    numbers_axes: bool = False


def axes_in_order(call: GraphCall, name: str, order: Permutation) -> list[int]:
    """The places of the axes of an attribute."""
    return [order.index(int(axis) % len(order)) for axis in call.attrs[name]]


def renumbered(order: Sequence[int]) -> Order:
    """The order of the dimensions that are left, counted anew."""
    axes = sorted(order)
    return order_of([axes.index(axis) for axis in order])


def order_of(axes: Sequence[int]) -> Order:
    """An order, None for that as written."""
    return None if list(axes) == list(range(len(axes))) else tuple(axes)


def layout_in_order(order: Permutation, layout: str) -> str:
    """The letters of a layout in an order."""
    return "".join([layout[axis] for axis in order])


def _of_elements(call: GraphCall, orders: list[Order]) -> Plan | None:
    return Plan({0: orders[0]}, orders[0])


def _of_broadcast(call: GraphCall, orders: list[Order]) -> Plan | None:
    ranks = [getattr(arg.struct_info, "ndim", -1) for arg in call.args]
    if ranks[0] == ranks[1] != -1:
        order = orders[0] or orders[1]
        return Plan({0: order, 1: order}, order)
    for at in (0, 1):
        if ranks[1 - at] == 0 and orders[at] is not None:
            return Plan({at: orders[at]}, orders[at])
    return None


def _along_axis(call: GraphCall, orders: list[Order]) -> Plan | None:
    order = orders[0]
    if order is None or call.attrs.axis is None:
        return None
    return Plan({0: order}, order, {"axis": order.index(call.attrs.axis % len(order))})


OF_ELEMENTS = Layout(_of_elements)
OF_BROADCAST = Layout(_of_broadcast)
ALONG_AXIS = Layout(_along_axis)
