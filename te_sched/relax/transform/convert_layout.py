"""ConvertLayout: convolutions and their like compute in another layout, and what follows them too.

The tensors of a dataflow block get a permutation of their dimensions, in the order of bindings:
where an operator is asked for another layout, its arguments are permuted; operators that do not
care for the order of dimensions keep it; before all others the dimensions are put back. The
operators say what may be done (`operators.layouts`). Must not know any operator.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from te_sched.errors import GraphError
from te_sched.ir.graph import (
    Constant,
    DataflowVar,
    GraphCall,
    GraphExpr,
    GraphFunction,
    GraphValue,
    GraphVar,
    MatchCast,
    OpAttrs,
    Tuple,
    TupleGetItem,
    VarBinding,
)
from te_sched.ir.op import Op
from te_sched.ir.struct_info import ShapeExpr, TensorStructInfo
from te_sched.relax.expr_functor import PyExprMutator
from te_sched.relax.operators.layouts import Layout, LayoutRule, Order, Plan, order_of
from te_sched.relax.operators.registry import find_operator
from te_sched.relax.operators.reshaping import permute_dims
from te_sched.relax.transform.base import FunctionPass


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
            str(name): [str(layout) for layout in layouts]
            for name, layouts in desired_layouts.items()
        }

    def transform_function(self, func: GraphFunction, *_: object) -> GraphFunction:
        return _Converter(self.desired_layouts).visit_expr(func)


class _Converter(PyExprMutator):
    def __init__(self, wanted: Mapping[str, list[str]]) -> None:
        super().__init__()
        self._wanted = wanted
        self._moved: dict[GraphVar, tuple[GraphVar, Order]] = {}

    # Values

    def visit_var_(self, op: GraphVar) -> GraphExpr:
        """A use of a variable, with its dimensions as they are written."""
        if op in self._moved:
            return self._in_order(op, None)
        return super().visit_var_(op)

    visit_dataflow_var_ = visit_var_

    def _order(self, value: GraphValue) -> Order:
        if isinstance(value, Tuple):
            return [self._order(field) for field in value.fields]
        return self._moved[value][1] if value in self._moved else None

    def _in_order(self, value: GraphExpr, order: Order) -> GraphExpr:
        """A value with its dimensions in an order."""
        if isinstance(value, Tuple):
            orders = order or [None] * len(value.fields)
            pairs = zip(value.fields, orders, strict=True)
            return Tuple(tuple([self._in_order(field, each) for field, each in pairs]))
        if value not in self._moved:
            return self._permuted(self.visit_expr(value), None, order)
        new, old_order = self._moved[value]
        return self._reordered(new, old_order, order)

    def _reordered(self, new: GraphVar, old_order: Order, order: Order) -> GraphExpr:
        if not isinstance(old_order, list):
            return self._permuted(new, old_order, order)
        fields = []
        for at, item_order in enumerate(old_order):
            item = self.builder_.emit(TupleGetItem(new, at))
            fields.append(self._permuted(item, item_order, order[at] if order else None))
        return Tuple(tuple(fields))

    def _permuted(self, new: GraphExpr, old_order: Order, order: Order) -> GraphExpr:
        if old_order == order:
            return new
        places = range(len(order or old_order))
        current, target = old_order or tuple(places), order or tuple(places)
        return self.builder_.emit(permute_dims(new, [current.index(axis) for axis in target]))

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
        operator = find_operator(call.op)
        if operator is None or operator.layout is None:
            return None
        layout, layouts = operator.layout, self._wanted.get(operator.name)
        if layouts is not None and layout.arguments:
            return _asked(call, layout, layouts)
        orders = [self._order(arg) for arg in call.args]
        is_moved = any(order is not None and order != [None] * _count(order) for order in orders)
        if layout.follow is None:
            return None
        if is_moved:
            return layout.follow(call, orders)
        return self._numbered(call, layout.follow) if layout.numbers_axes else None

    def _numbered(self, call: GraphCall, follow: LayoutRule) -> Plan | None:
        """A call that stays as it is, but for its axes: they are written as numbers, in order."""
        ndim = getattr(call.args[0].struct_info, "ndim", -1)
        plan = follow(call, [tuple(range(ndim))]) if ndim > 0 else None
        return plan and Plan({}, None, plan.attrs)

    def _call(self, call: GraphCall, plan: Plan) -> GraphCall:
        args = [
            plan.args.get(at) or self._in_order(arg, plan.inputs.get(at))
            if isinstance(arg, Constant | GraphVar | Tuple)
            else self.visit_expr(arg)
            for at, arg in enumerate(call.args)
        ]
        attrs = OpAttrs({**call.attrs, **plan.attrs}) if call.attrs is not None else None
        return GraphCall(call.op, tuple(args), attrs, call.sinfo_args)

    def _bind(self, binding: VarBinding, value: GraphValue, order: Order) -> None:
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
                new_value = self.builder_.normalize(self._reordered(inner, order, None))
            else:
                places = range(len(order))
                back = permute_dims(inner, [order.index(axis) for axis in places])
                new_value = self.builder_.normalize(back)
            self.reemit_binding(binding, new_value)

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
            sizes = [info.shape.values[axis] for axis in order]
            info = TensorStructInfo(ShapeExpr(tuple(sizes)), info.dtype, info.vdevice)
        var = DataflowVar(binding.var.name_hint, info)
        self.builder_.emit_normalized(MatchCast(var, new, info))
        self._moved[binding.var] = (var, order)


def _count(order: Order) -> int:
    return len(order) if isinstance(order, list) else 0


def _asked(call: GraphCall, layout: Layout, layouts: list[str]) -> Plan:
    """The plan of a call that is asked for layouts."""
    names, of_result = layout.arguments, layout.result
    wanted = [*layouts, layouts[0]] if len(layouts) == len(names) else layouts
    if len(wanted) != len(names) + 1:
        raise GraphError(
            f"{call.op} has {len(layouts)} desired layouts",
            f"it takes those of {', '.join(names)}, and perhaps that of the result",
            "give one layout for each",
        )
    inputs: dict[int, Order] = {
        at: _between(call, call.attrs[name], target)
        for at, (name, target) in enumerate(zip(names, wanted, strict=False))
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
    return order_of([source.index(axis) for axis in target])
