"""ConvertLayout: convolutions and their like compute in another layout, and what follows them too.

The tensors of a dataflow block get a permutation of their dimensions, in the order of bindings:
where an operator is asked for another layout, its arguments are permuted; operators that do not
care for the order of dimensions keep it; before all others the dimensions are put back. A
permutation says which dimension stands at each place (0, 2, 3, 1: NHWC of what is written NCHW);
None is the order as written. A value that is a tuple has a list of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from te_sched.errors import GraphError
from te_sched.ir import ops
from te_sched.ir.graph import (
    Constant,
    DataflowVar,
    GraphCall,
    GraphFunction,
    GraphVar,
    MatchCast,
    OpAttrs,
    PrimValue,
    Tuple,
    TupleGetItem,
    VarBinding,
)
from te_sched.ir.op import Op
from te_sched.ir.struct_info import ShapeExpr, TensorStructInfo
from te_sched.relax.expr_functor import PyExprMutator
from te_sched.relax.op.manipulate import permute_dims
from te_sched.relax.transform.base import FunctionPass

Permutation = tuple[int, ...]
Order = Any  # a permutation, None, or a list of them


@dataclass
class Plan:
    """How a call is written: orders of its arguments and result, other attributes and arguments.

    Arguments without an order in `inputs` are put back.
    """

    inputs: dict[int, Order]
    output: Order
    attrs: dict[str, Any] = field(default_factory=dict)
    args: dict[int, Any] = field(default_factory=dict)


Rule = Callable[[GraphCall, list[Order]], "Plan | None"]


class ConvertLayout(FunctionPass):
    """The pass that asks operators for other layouts.

    Parameters
    ----------
    desired_layouts : by the name of an operator: the layouts of the data, the kernel, and the
        result, which is by default that of the data.

    >>> from te_sched import relax
    >>> x = relax.Var("x", relax.TensorStructInfo([1, 3, 8, 8], "float32"))
    >>> w = relax.Var("w", relax.TensorStructInfo([4, 3, 3, 3], "float32"))
    >>> builder = relax.BlockBuilder()
    >>> with builder.function("main", [x, w]):
    ...     with builder.dataflow():
    ...         y = builder.emit_output(relax.op.nn.conv2d(x, w))
    ...     name = builder.emit_func_output(y)
    >>> module = ConvertLayout({"relax.nn.conv2d": ["NHWC", "OHWI"]})(builder.get())
    >>> [str(one.value.op) for one in module["main"].body.blocks[0].bindings][-2:]
    ['relax.nn.conv2d', 'relax.permute_dims']
    """

    def __init__(self, desired_layouts: Mapping[str, Sequence[str]]) -> None:
        self.desired_layouts = {
            str(name): [str(one) for one in layouts] for name, layouts in desired_layouts.items()
        }

    def transform_function(self, func: GraphFunction, *_: object) -> GraphFunction:
        new: GraphFunction = _Converter(self.desired_layouts).visit_expr(func)
        return new


class _Converter(PyExprMutator):
    def __init__(self, wanted: Mapping[str, list[str]]) -> None:
        super().__init__()
        self._wanted = wanted
        self._moved: dict[GraphVar, tuple[GraphVar, Order]] = {}

    # Values

    def visit_var_(self, op: GraphVar) -> Any:
        """A use of a variable, with its dimensions as they are written."""
        if op in self._moved:
            return self._in_order(op, None)
        return super().visit_var_(op)

    visit_dataflow_var_ = visit_var_

    def _order(self, value: Any) -> Order:
        if isinstance(value, Tuple):
            return [self._order(one) for one in value.fields]
        return self._moved[value][1] if value in self._moved else None

    def _in_order(self, value: Any, order: Order) -> Any:
        """A value with its dimensions in an order."""
        if isinstance(value, Tuple):
            orders = order or [None] * len(value.fields)
            pairs = zip(value.fields, orders, strict=True)
            return Tuple(tuple([self._in_order(one, each) for one, each in pairs]))
        if value not in self._moved:
            return self._permuted(self.visit_expr(value), None, order)
        new, known = self._moved[value]
        return self._reordered(new, known, order)

    def _reordered(self, new: Any, known: Order, order: Order) -> Any:
        if not isinstance(known, list):
            return self._permuted(new, known, order)
        found = []
        for at, one in enumerate(known):
            item = self.builder_.emit(TupleGetItem(new, at))
            found.append(self._permuted(item, one, order[at] if order else None))
        return Tuple(tuple(found))

    def _permuted(self, new: Any, known: Order, order: Order) -> Any:
        if known == order:
            return new
        places = range(len(order or known))
        current, target = known or tuple(places), order or tuple(places)
        return self.builder_.emit(permute_dims(new, [current.index(one) for one in target]))

    # Bindings

    def visit_var_binding_(self, binding: VarBinding) -> None:
        """Rewrite the binding; in a dataflow block its value may get another order."""
        if not self.builder_.current_block_is_dataflow():
            super().visit_var_binding_(binding)
            return
        value = binding.value
        if isinstance(value, GraphCall) and isinstance(value.op, Op):
            plan = self._plan(value)
            if plan is not None:
                self._bind(binding, self._call(value, plan), plan.output)
                return
        if isinstance(value, TupleGetItem) and value.tuple_value in self._moved:
            new, orders = self._moved[value.tuple_value]
            self._bind(binding, TupleGetItem(new, value.index), orders[value.index])
            return
        if isinstance(value, GraphVar) and value in self._moved:
            new, order = self._moved[value]
            self._bind(binding, new, order)
            return
        super().visit_var_binding_(binding)

    def _plan(self, call: GraphCall) -> Plan | None:
        name = str(call.op)
        orders = [self._order(one) for one in call.args]
        if name in self._wanted and name in _LAYOUT_ATTRIBUTES:
            return _asked(call, self._wanted[name])
        rule = _RULES.get(name)
        is_moved = any(one is not None and one != [None] * _count(one) for one in orders)
        if rule is None or is_moved:
            return rule(call, orders) if rule is not None else None
        return self._numbered(call, rule) if rule in (_reduction, _permute, _layer_norm) else None

    def _numbered(self, call: GraphCall, rule: Any) -> Plan | None:
        """A call that stays as it is, but for its axes: they are written as numbers, in order."""
        ndim = getattr(call.args[0].struct_info, "ndim", -1)
        made = rule(call, [tuple(range(ndim))]) if ndim > 0 else None
        return made and Plan({}, None, made.attrs)

    def _call(self, call: GraphCall, plan: Plan) -> GraphCall:
        args = [
            plan.args.get(at) or self._in_order(one, plan.inputs.get(at))
            if isinstance(one, Constant | GraphVar | Tuple)
            else self.visit_expr(one)
            for at, one in enumerate(call.args)
        ]
        attrs = OpAttrs({**call.attrs, **plan.attrs}) if call.attrs is not None else None
        return GraphCall(call.op, tuple(args), attrs, call.sinfo_args)

    def _bind(self, binding: VarBinding, value: Any, order: Order) -> None:
        value = self.builder_.normalize(value)
        is_moved = any(order) if isinstance(order, list) else order is not None
        if not is_moved:
            self.reemit_binding(binding, value)
        elif isinstance(binding.var, DataflowVar):
            new = DataflowVar(binding.var.name_hint, value.struct_info)
            self.builder_.emit_normalized(VarBinding(new, value))
            self._moved[binding.var] = (new, order)
        else:  # it is used outside of the block
            inner = self.builder_.emit(value)
            if isinstance(order, list):
                found = self.builder_.normalize(self._reordered(inner, order, None))
            else:
                places = range(len(order))
                back = permute_dims(inner, [order.index(one) for one in places])
                found = self.builder_.normalize(back)
            self.reemit_binding(binding, found)

    def visit_match_cast_(self, binding: MatchCast) -> None:
        """A tensor in another order is matched with its sizes in this order."""
        info = binding.struct_info
        is_moved = binding.value in self._moved and isinstance(info, TensorStructInfo)
        if not is_moved or not isinstance(binding.var, DataflowVar):
            super().visit_match_cast_(binding)
            return
        new, order = self._moved[binding.value]  # type: ignore[index]
        assert isinstance(info, TensorStructInfo)
        if isinstance(info.shape, ShapeExpr):
            sizes = [info.shape.values[one] for one in order]
            info = TensorStructInfo(ShapeExpr(tuple(sizes)), info.dtype, info.vdevice)
        var = DataflowVar(binding.var.name_hint, info)
        self.builder_.emit_normalized(MatchCast(var, new, info))
        self._moved[binding.var] = (var, order)


def _count(order: Order) -> int:
    return len(order) if isinstance(order, list) else 0


# Operators that are asked for a layout: the attributes of the layouts of arguments, and of the
# result.
_LAYOUT_ATTRIBUTES: dict[str, tuple[tuple[str, ...], str]] = {
    "relax.nn.conv1d": (("data_layout", "kernel_layout"), "out_layout"),
    "relax.nn.conv2d": (("data_layout", "kernel_layout"), "out_layout"),
    "relax.nn.conv3d": (("data_layout", "kernel_layout"), "out_layout"),
    "relax.nn.conv2d_transpose": (("data_layout", "kernel_layout"), "out_layout"),
    "relax.nn.max_pool2d": (("layout",), "out_layout"),
    "relax.nn.avg_pool2d": (("layout",), "out_layout"),
    "relax.nn.adaptive_avg_pool2d": (("layout",), "out_layout"),
    "relax.image.resize2d": (("layout",), "layout"),
}


def _asked(call: GraphCall, layouts: list[str]) -> Plan:
    """The plan of a call that is asked for layouts."""
    names, of_result = _LAYOUT_ATTRIBUTES[str(call.op)]
    wanted = [*layouts, layouts[0]] if len(layouts) == len(names) else layouts
    if len(wanted) != len(names) + 1:
        raise GraphError(
            f"{call.op} has {len(layouts)} desired layouts",
            f"it takes those of {', '.join(names)}, and perhaps that of the result",
            "give one layout for each",
        )
    inputs: dict[int, Order] = {
        at: _between(call, call.attrs[name], layout)
        for at, (name, layout) in enumerate(zip(names, wanted, strict=False))
    }
    attrs = dict(zip(names, wanted, strict=False))
    output = _between(call, call.attrs[of_result], wanted[-1])
    return Plan(inputs, output, {**attrs, of_result: wanted[-1]})


def _between(call: GraphCall, source: str, target: str) -> Order:
    """The order that makes one layout of another."""
    if sorted(source) != sorted(target):
        raise GraphError(
            f"{call.op} of layout {source} is asked for {target}",
            "a layout is changed by a permutation of its dimensions",
            f"give a layout of the letters of {source}",
        )
    found = tuple([source.index(one) for one in target])
    return None if found == tuple(range(len(found))) else found


def _follow(order: Permutation, layout: str) -> str:
    return "".join(layout[one] for one in order)


# Operators that follow the order of their arguments


def _unary(call: GraphCall, orders: list[Order]) -> Plan | None:
    return Plan({0: orders[0]}, orders[0])


def _binary(call: GraphCall, orders: list[Order]) -> Plan | None:
    ranks = [getattr(one.struct_info, "ndim", -1) for one in call.args]
    if ranks[0] == ranks[1] != -1:
        order = orders[0] or orders[1]
        return Plan({0: order, 1: order}, order)
    for at in (0, 1):
        if ranks[1 - at] == 0 and orders[at] is not None:
            return Plan({at: orders[at]}, orders[at])
    return None


def _axes_of(call: GraphCall, name: str, order: Permutation) -> list[int]:
    return [order.index(int(one) % len(order)) for one in call.attrs[name]]


def _renumbered(order: Sequence[int]) -> Order:
    """The order of the dimensions that are left, counted anew."""
    places = sorted(order)
    found = tuple([places.index(one) for one in order])
    return None if found == tuple(range(len(found))) else found


def _reduction(call: GraphCall, orders: list[Order]) -> Plan | None:
    order = orders[0]
    if call.attrs.axis is None:
        return Plan({0: order}, order if call.attrs.keepdims else None)
    axes = sorted(_axes_of(call, "axis", order))
    if call.attrs.keepdims:
        return Plan({0: order}, order, {"axis": tuple(axes)})
    left = [one for at, one in enumerate(order) if at not in axes]
    return Plan({0: order}, _renumbered(left), {"axis": tuple(axes)})


def _permute(call: GraphCall, orders: list[Order]) -> Plan | None:
    order = orders[0]
    axes = call.attrs.axes or tuple(range(len(order)))[::-1]
    places = [order.index(int(one) % len(order)) for one in axes]
    return Plan({0: order}, None, {"axes": tuple(places)})


def _expand(call: GraphCall, orders: list[Order]) -> Plan | None:
    order = orders[0]
    ndim = len(order) + len(call.attrs.axis)
    new = {int(one) % ndim for one in call.attrs.axis}
    old = [at for at in range(ndim) if at not in new]
    left = iter(order)
    found = tuple([at if at in new else old[next(left)] for at in range(ndim)])
    return Plan({0: order}, found)


def _squeeze(call: GraphCall, orders: list[Order]) -> Plan | None:
    order, info = orders[0], call.args[0].struct_info
    if call.attrs.axis is None:
        if not isinstance(info.shape, ShapeExpr):
            return None
        sizes = info.shape.values
        axes = [at for at, one in enumerate(order) if ops.is_const(sizes[one], 1)]
    else:
        axes = _axes_of(call, "axis", order)
    left = [one for at, one in enumerate(order) if at not in axes]
    return Plan({0: order}, _renumbered(left), {"axis": tuple(axes)})


def _slice(call: GraphCall, orders: list[Order]) -> Plan | None:
    order, axes = orders[0], call.args[1]
    if not isinstance(axes, Tuple) or not all(isinstance(one, PrimValue) for one in axes.fields):
        return None
    places = [order.index(int(one.value.value) % len(order)) for one in axes.fields]  # type: ignore[union-attr]
    moved = Tuple(tuple([PrimValue(ops.const(one, "int64")) for one in places]))
    return Plan({0: order}, order, args={1: moved})


def _concat(call: GraphCall, orders: list[Order]) -> Plan | None:
    fields = orders[0]
    if not isinstance(fields, list) or call.attrs.axis is None:
        return None
    order = next(one for one in fields if one is not None)
    axis = order.index(call.attrs.axis % len(order))
    return Plan({0: [order] * len(fields)}, order, {"axis": axis})


def _split(call: GraphCall, orders: list[Order]) -> Plan | None:
    order = orders[0]
    count = len(call.struct_info.fields)  # type: ignore[attr-defined]
    axis = order.index(call.attrs.axis % len(order))
    return Plan({0: order}, [order] * count, {"axis": axis})


def _along_axis(call: GraphCall, orders: list[Order]) -> Plan | None:
    order = orders[0]
    if order is None or call.attrs.axis is None:
        return None
    return Plan({0: order}, order, {"axis": order.index(call.attrs.axis % len(order))})


def _pool(call: GraphCall, orders: list[Order]) -> Plan | None:
    order, attrs = orders[0], call.attrs
    if attrs.layout != attrs.out_layout or len(attrs.layout) != len(order):
        return None
    layout = _follow(order, attrs.layout)
    return Plan({0: order}, order, {"layout": layout, "out_layout": layout})


def _resize(call: GraphCall, orders: list[Order]) -> Plan | None:
    order = orders[0]
    return Plan({0: order}, order, {"layout": _follow(order, call.attrs.layout)})


def _batch_norm(call: GraphCall, orders: list[Order]) -> Plan | None:
    order = orders[0]
    if order is None:
        return None
    axis = order.index(call.attrs.axis % len(order))
    return Plan({0: order}, [order, None, None], {"axis": axis})


def _layer_norm(call: GraphCall, orders: list[Order]) -> Plan | None:
    order = orders[0]
    if order is None:
        return None
    return Plan({0: order}, order, {"axes": tuple(_axes_of(call, "axes", order))})


def _dropout(call: GraphCall, orders: list[Order]) -> Plan | None:
    return Plan({0: orders[0]}, [orders[0], orders[0]])


_UNARY = (
    "abs acos acosh asin asinh atan atanh bitwise_not ceil cos cosh erf exp floor isfinite isinf "
    "isnan log logical_not negative round rsqrt sigmoid sign sin sinh sqrt square tan tanh astype "
    "clip nn.relu nn.leakyrelu nn.gelu nn.gelu_tanh nn.silu"
)
_BINARY = (
    "add subtract multiply divide floor_divide mod floor_mod power maximum minimum equal not_equal "
    "greater greater_equal less less_equal logical_and logical_or logical_xor bitwise_and "
    "bitwise_or bitwise_xor left_shift right_shift"
)
_REDUCTIONS = "sum mean max min prod std variance"
_RULES: dict[str, Rule] = {
    **{f"relax.{name}": _unary for name in _UNARY.split()},
    **{f"relax.{name}": _binary for name in _BINARY.split()},
    **{f"relax.{name}": _reduction for name in _REDUCTIONS.split()},
    "relax.permute_dims": _permute,
    "relax.expand_dims": _expand,
    "relax.squeeze": _squeeze,
    "relax.strided_slice": _slice,
    "relax.concat": _concat,
    "relax.split": _split,
    "relax.flip": _along_axis,
    "relax.nn.softmax": _along_axis,
    "relax.nn.log_softmax": _along_axis,
    "relax.nn.max_pool2d": _pool,
    "relax.nn.avg_pool2d": _pool,
    "relax.nn.adaptive_avg_pool2d": _pool,
    "relax.image.resize2d": _resize,
    "relax.nn.batch_norm": _batch_norm,
    "relax.nn.layer_norm": _layer_norm,
    "relax.nn.dropout": _dropout,
}
