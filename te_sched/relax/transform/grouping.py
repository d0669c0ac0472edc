"""Groups of bindings become functions: each group is replaced by one call.

What a group uses from outside becomes parameters: variables, elements of tuples, constants (if the
group does not keep them), and the sizes that no shape of a parameter gives. What is used outside of
the group is its result; a group without a result is dropped. Must not know why bindings are
grouped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from te_sched.errors import GraphError
from te_sched.ir.expr import Expr, Var
from te_sched.ir.graph import (
    Binding,
    BindingBlock,
    Constant,
    DataflowBlock,
    DataflowVar,
    GraphCall,
    GraphExpr,
    GraphFunction,
    GraphValue,
    GraphVar,
    SeqExpr,
    Tuple,
    TupleGetItem,
    VarBinding,
)
from te_sched.ir.op import Op
from te_sched.ir.stmt import Attributes, BaseFunc, GlobalVar, IRModule
from te_sched.ir.struct_info import ShapeExpr, StructInfo
from te_sched.ir.visitor import replace, substitute, variables_of, walk
from te_sched.relax.analysis.variables import sources_of, uses_of
from te_sched.relax.core.sizes import bound_sizes
from te_sched.relax.expr_functor import PyExprMutator


@dataclass(eq=False)
class Group:
    """Bindings of one dataflow block that become a function.

    Parameters
    ----------
    attrs : the attributes of the function.
    name : its name; by default "fused_" and the names of what it calls.
    keeps_constants : whether constants stay inside of the function.
    """

    attrs: Attributes
    name: str = ""
    keeps_constants: bool = False


Grouping = Mapping[GraphVar, Group]  # the group of the binding of a variable


def fuse_groups(
    module: IRModule,
    find: Callable[[GraphFunction], Grouping],
    entries: Collection[str] | None = None,
) -> IRModule:
    """The module with a function for each group that `find` returns for the functions of graphs,
    or for some of them.
    """
    fuser = _Fuser(module)
    changed: dict[str, BaseFunc] = {}
    for name, func in module.functions.items():
        if isinstance(func, GraphFunction) and (entries is None or name in entries):
            groups = find(func)
            if groups:
                changed[name] = fuser.fuse(func, groups)
    if not changed:
        return module
    new_module = fuser.builder_.get()
    return replace(new_module, functions={**new_module.functions, **changed})


def dataflow_blocks(func: GraphFunction) -> list[DataflowBlock]:
    """The dataflow blocks of a function, also those in branches."""
    return [node for node in walk(func) if isinstance(node, DataflowBlock)]


def outputs_of(func: GraphFunction, block: BindingBlock) -> set[GraphVar]:
    """The variables of a block that are visible or used outside of it."""
    inside = Counter(uses_of(block))
    outside = {var for var, count in Counter(uses_of(func)).items() if count > inside[var]}
    return {
        binding.var
        for binding in block.bindings
        if not isinstance(binding.var, DataflowVar) or binding.var in outside
    }


class _Fuser(PyExprMutator):
    """Replaces the groups of functions by calls of new functions of the module."""

    def fuse(self, func: GraphFunction, groups: Grouping) -> GraphFunction:
        """The function with a call for each group."""
        self._func, self._groups = func, groups
        return self.visit_expr(func)

    def visit_dataflow_block_(self, block: DataflowBlock) -> BindingBlock:
        """The block with a binding for each group."""
        outputs = outputs_of(self._func, block)
        if not any(binding.var in self._groups for binding in block.bindings):
            return super().visit_dataflow_block_(block)
        self.builder_._begin_dataflow_block()
        for unit in _in_order(block, self._groups):
            if isinstance(unit, Binding):
                self.visit_binding(unit)
            else:
                self._emit_group(unit, outputs)
        return self.builder_._end_block()

    def _emit_group(self, group: _Members, outputs: set[GraphVar]) -> None:
        results = [*group.used_outside]
        results += [
            variable
            for variable in group.variables
            if variable in outputs and variable not in results
        ]
        if not results:
            return
        writer = _GroupWriter(self, group)
        func = writer.function(results)
        name = group.group.name or "fused_" + "_".join(writer.names)
        gvar = self.builder_.add_func(func, name)
        call = GraphCall(gvar, tuple(writer.args))
        is_output = len(results) == 1 and not isinstance(results[0], DataflowVar)
        new_var = self._emitted(call, is_output)
        if len(results) == 1:
            self.set_var_remap(results[0], new_var)
            return
        for var in group.variables:
            if var in results:
                item = TupleGetItem(new_var, results.index(var))
                self.set_var_remap(var, self._emitted(item, not isinstance(var, DataflowVar)))

    def _emitted(self, value: GraphValue, is_output: bool) -> GraphVar:
        return self.builder_.emit_output(value) if is_output else self.builder_.emit(value)


@dataclass(eq=False)
class _Members:
    """The bindings of a group in a block, and those of its variables that others use."""

    group: Group
    bindings: list[Binding] = field(default_factory=list)  # of variables
    used_outside: dict[GraphVar, None] = field(default_factory=dict)  # in the order of the uses

    @property
    def variables(self) -> list[GraphVar]:
        return [binding.var for binding in self.bindings]


def _in_order(block: DataflowBlock, groups: Grouping) -> list[Binding | _Members]:
    """The bindings and groups of a block in an order in which definitions precede uses.

    A group stands where its first binding does, after what its other bindings use.
    """
    members: dict[Group, _Members] = {}
    unit_of: dict[GraphVar, Binding | _Members] = {}
    for binding in block.bindings:
        group = groups.get(binding.var)
        if group is None:
            unit_of[binding.var] = binding
            continue
        unit = members.setdefault(group, _Members(group))
        unit_of[binding.var] = unit
        unit.bindings.append(binding)
    for binding in block.bindings:
        for var in uses_of(binding):
            source = unit_of.get(var)
            if isinstance(source, _Members) and source is not unit_of[binding.var]:
                source.used_outside[var] = None
    return _sorted([unit_of[item.var] for item in block.bindings], unit_of, sources_of(block))


def _sorted(
    units: list[Binding | _Members],
    unit_of: Mapping[GraphVar, Binding | _Members],
    sources: Mapping[GraphVar, Sequence[GraphVar]],
) -> list[Binding | _Members]:
    """Units in their order, each after those that it uses."""
    order: dict[int, Binding | _Members] = {}
    open_units: set[int] = set()
    stack = list(reversed(units))
    while stack:
        unit = stack[-1]
        if id(unit) in order:
            stack.pop()
            continue
        bindings: Sequence[Binding] = unit.bindings if isinstance(unit, _Members) else [unit]
        missing = [
            source
            for binding in bindings
            for var in sources[binding.var]
            if (source := unit_of.get(var)) is not None
            and source is not unit
            and id(source) not in order
        ]
        if not missing:
            order[id(unit)] = stack.pop()
            open_units.discard(id(unit))
        elif id(unit) in open_units:
            raise _cycle(bindings)
        else:
            open_units.add(id(unit))
            stack += reversed(missing)
    return list(order.values())


def _cycle(bindings: Sequence[Binding]) -> GraphError:
    return GraphError(
        f"the group of {', '.join(member.var.name_hint for member in bindings)} depends on itself",
        "a value between its bindings is computed outside of the group",
        "add that binding to the group, or split the group",
        in_tvm="A cyclic dependency detected",
    )


class _GroupWriter(PyExprMutator):
    """Writes the function of a group; `args` are the arguments of its call."""

    def __init__(self, outer: _Fuser, members: _Members) -> None:
        super().__init__()
        self._outer, self._members = outer, members
        self._inner = {binding.var for binding in members.bindings}
        self._sizes: dict[Var, Var] = {}
        self._items: dict[tuple[GraphVar, int], GraphVar] = {}
        self.params: list[GraphVar] = []
        self.args: list[GraphExpr] = []
        self.names: list[str] = []  # of the functions that are called

    def function(self, results: list[GraphVar]) -> GraphFunction:
        """The function, with these variables as its results."""
        self.builder_._begin_dataflow_block()
        for binding in self._members.bindings:
            self._write(binding, binding.var in results)
        block = self.builder_._end_block()
        outputs = [self._renamed[var] for var in results]
        body = outputs[0] if len(outputs) == 1 else Tuple(tuple(outputs))
        self._add_sizes()
        func = GraphFunction(
            tuple(self.params),
            self.builder_.normalize(SeqExpr((block,), body)),
            None,
            True,
            dict(self._members.group.attrs),
        )
        return func

    def _write(self, binding: Binding, is_result: bool) -> None:
        value = binding.value
        if isinstance(value, TupleGetItem) and not is_result:
            source = value.tuple_value
            if isinstance(source, GraphVar) and source not in self._inner:
                self._renamed[binding.var] = self._item(source, value.index)
                return
        if isinstance(value, GraphCall):
            self.names.append(_name_of(value))
        new = self.visit_expr(value)
        info = new.struct_info_
        hint = "gv" if is_result else binding.var.name_hint
        kind = GraphVar if is_result else DataflowVar
        if is_result:
            hint = self.builder_.get_unique_name(hint)
        new_var = self._renamed[binding.var] = kind(hint, info)
        self.builder_.emit_normalized(VarBinding(new_var, new))

    def _item(self, source: GraphVar, index: int) -> GraphVar:
        """The parameter of an element of a tuple."""
        key = (source, index)
        if key not in self._items:
            outer = self._outer
            arg = outer.builder_.emit(TupleGetItem(outer.visit_expr(source), index))
            name = f"{source.name_hint}_{index}"
            self._items[key] = self._param(name, arg.struct_info, arg)
        return self._items[key]

    def _param(self, name: str, info: StructInfo, arg: GraphExpr) -> GraphVar:
        param = GraphVar(name, self.visit_struct_info(info))
        self.params.append(param)
        self.args.append(arg)
        return param

    def visit_var_(self, op: GraphVar) -> GraphExpr:
        """A variable of the group, or the parameter of one from outside."""
        param = self._renamed.get(op)
        if param is None:
            arg = self._outer.visit_expr(op)
            param = self._renamed[op] = self._param(op.name_hint, op.struct_info, arg)
        return param

    visit_dataflow_var_ = visit_var_

    def visit_constant_(self, op: Constant) -> GraphExpr:
        """A constant: a parameter, unless the group keeps it."""
        if self._members.group.keeps_constants:
            return op
        count = sum(isinstance(arg, Constant) for arg in self.args)
        return self._param(f"param_{count}", op.struct_info, op)

    def visit_prim_expr(self, expr: Expr) -> Expr:
        """A size, with the variables of the function in place of those around."""
        own: dict[Var, Expr] = {}
        for var in variables_of(expr):
            own[var] = self._sizes.setdefault(var, Var(var.name, var.dtype))
        return substitute(expr, own)

    def _add_sizes(self) -> None:
        """A parameter for the sizes that the shapes of the others do not give."""
        bound_vars: set[Var] = set()
        for param in self.params:
            bound_vars |= set(bound_sizes(param.struct_info))
        missing = [old for old, new in self._sizes.items() if new not in bound_vars]
        if missing:
            shape = ShapeExpr(tuple(missing))
            self._param("tir_vars", shape.struct_info, shape)


def _name_of(call: GraphCall) -> str:
    """What a call contributes to the name of a function."""
    op = call.op
    if isinstance(op, GlobalVar):
        return str(op).removeprefix("fused_")
    if isinstance(op, Op) and isinstance(call.args[0] if call.args else None, GlobalVar):
        return str(call.args[0])
    return str(getattr(op, "name_hint", op)).replace(".", "_")
