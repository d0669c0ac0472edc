"""LiftTransformParams: what is computed of weights alone becomes a function of its own.

    main(x, w1, w2)                      main_transform_params((w1, w2)) -> (w2, transposed w1)
        w1_t = R.permute_dims(w1)   ->   main(x, w2, w1_t)
        ...                                  ...

The other function is called once, before the first call of main. Weights are the parameters after
the first `num_input`, an attribute of functions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from te_sched.errors import GraphError
from te_sched.ir import ops
from te_sched.ir.expr import Expr, Var
from te_sched.ir.graph import (
    Binding,
    DataflowBlock,
    DataflowVar,
    ExternFunc,
    GraphCall,
    GraphExpr,
    GraphFunction,
    GraphVar,
    If,
    PrimValue,
    SeqExpr,
    Tuple,
    TupleGetItem,
    VarBinding,
)
from te_sched.ir.stmt import BaseFunc, IRModule
from te_sched.ir.struct_info import ShapeExpr, ShapeStructInfo, TupleStructInfo
from te_sched.ir.structural import structural_equal
from te_sched.ir.visitor import substitute
from te_sched.pass_context import PassContext
from te_sched.passes import ModulePass
from te_sched.relax.analysis.purity import contains_impure_call
from te_sched.relax.analysis.symbolic import (
    definable_tir_vars_in_struct_info,
    free_symbolic_vars,
    used_symbolic_vars,
)
from te_sched.relax.analysis.unused import remove_all_unused
from te_sched.relax.analysis.variables import used_vars
from te_sched.relax.copying import copy_with_new_vars
from te_sched.relax.core.sizes import bind_sizes
from te_sched.relax.core.substitution import Substitution
from te_sched.relax.core.values import is_call_of
from te_sched.relax.expr_functor import PyExprMutator, map_call
from te_sched.relax.operators.calls import call_pure_packed
from te_sched.relax.struct_info import BaseCheckResult, struct_info_base_check
from te_sched.relax.transform.bundle_model_params import bundled
from te_sched.relax.transform.canonicalize_bindings import canonical_bindings

_STOP = "relax.builtin.stop_lift_params"
_CONSUME = "relax.lift_transform_params.consume_params"


class LiftTransformParams(ModulePass):
    """The pass that moves computations of weights to functions that are called once.

    Parameters
    ----------
    shared_transform : True for one function `transform_params` that serves all functions with
        weights, which must be of the same shapes; or the names of the functions that it serves. By
        default, each function gets one: `NAME_transform_params`.

    >>> from te_sched import relax
    >>> x, w = [relax.Var(name, relax.TensorStructInfo([4, 4], "float32")) for name in "xw"]
    >>> builder = relax.BlockBuilder()
    >>> with builder.function("main", [x, w], {"num_input": 1}):
    ...     twice = builder.emit(relax.op.add(w, w), "twice")
    ...     name = builder.emit_func_output(builder.emit(relax.op.add(x, twice)))
    >>> module = LiftTransformParams()(builder.get())
    >>> sorted(str(name) for name in module.functions), module["main"].params[1].name_hint
    (['main', 'main_transform_params'], 'twice')
    """

    def __init__(self, shared_transform: bool | Sequence[str] = False) -> None:
        self.shared_transform = shared_transform

    def transform_module(self, mod: IRModule, context: PassContext, /) -> IRModule:
        consumes = bool(context.config.get(_CONSUME, False))
        functions = {
            str(name): func
            for name, func in mod.functions.items()
            if isinstance(func, GraphFunction)
            and "num_input" in func.attrs
            and not str(name).endswith("transform_params")
        }
        if self.shared_transform is False:
            groups = {f"{name}_transform_params": {name: func} for name, func in functions.items()}
        else:
            chosen = functions if self.shared_transform is True else list(self.shared_transform)
            groups = {"transform_params": {name: functions[name] for name in chosen}}
        changed: dict[str, BaseFunc] = {}
        for name, group in groups.items():
            if group:
                changed |= _lifted(name, group, mod.functions.get(name), consumes)
        return mod.with_functions(changed)


@dataclass
class _Lifts:
    """What can be lifted of a function: its variables, by those of the first function."""

    func: GraphFunction
    names: dict[GraphVar, GraphVar] = field(default_factory=dict)
    bindings: list[VarBinding] = field(default_factory=list)  # with variables of the first function

    @property
    def weights(self) -> tuple[GraphVar, ...]:
        """The parameters that are weights."""
        return self.func.params[int(self.func.attrs["num_input"]) :]


def _lifted(
    name: str, group: Mapping[str, GraphFunction], existing: BaseFunc | None, consumes: bool
) -> dict[str, BaseFunc]:
    """The functions of a group without what is computed of weights, and the function for that."""
    first = next(iter(group.values()))
    lifts_of = {key: _lifts(func, first) for key, func in group.items()}
    common = [
        binding.var
        for binding in next(iter(lifts_of.values())).bindings
        if all(any(binding.var is two.var for two in other.bindings) for other in lifts_of.values())
    ]
    model = next(iter(lifts_of.values()))
    bindings = _closed(model, set(common))
    dependent = _dependent(model.weights, bindings)
    used = {
        var for lifts in lifts_of.values() for var in _runtime_uses(lifts, dependent, model.weights)
    }
    outputs = [var for var in [*model.weights, *(b.var for b in bindings)] if var in used]
    changed: dict[str, BaseFunc] = {}
    extra: list[Var] = []
    for key, lifts in lifts_of.items():
        changed[key], missing = _remaining(lifts, outputs, dependent)
        extra = extra or missing
    changed[name] = _transform(name, model, bindings, outputs, extra, existing, consumes)
    return changed


def _lifts(func: GraphFunction, first: GraphFunction) -> _Lifts:
    """What can be computed of the weights of a function, in terms of those of the first one."""
    lifts, model = _Lifts(func), _Lifts(first)
    if func is not first:
        _check_weights(lifts.weights, model.weights)
    sizes: dict[Var, Expr] = {}
    for own, other in zip(lifts.weights, model.weights, strict=True):
        bind_sizes(own.struct_info, other.struct_info, sizes)
        lifts.names[own] = other
    size_vars = {
        var
        for weight in lifts.weights
        for var in definable_tir_vars_in_struct_info(weight.struct_info)
    }
    renamer = _LiftedRenamer(lifts.names, sizes)
    others = lifts if func is first else _lifts(first, first)
    body = func.body
    for block in body.blocks:
        for binding in block.bindings:
            if not _is_liftable(binding, lifts.names, size_vars):
                continue
            value = renamer.visit_expr(binding.value)
            if func is first:
                var = binding.var
            else:
                same = [
                    candidate.var
                    for candidate in others.bindings
                    if structural_equal(candidate.value, value)
                ]
                if not same:
                    continue
                var = same[0]
            lifts.names[binding.var] = var
            lifts.bindings.append(VarBinding(var, value))
    return lifts


def _is_liftable(binding: Binding, names: Mapping[GraphVar, GraphVar], size_vars: set[Var]) -> bool:
    value = binding.value
    if not isinstance(binding, VarBinding) or isinstance(value, If | GraphFunction):
        return False
    if is_call_of(value, _STOP):
        return False
    has_values = all(var in names for var in used_vars(value))
    block = DataflowBlock((binding,))
    return (
        has_values
        and size_vars.issuperset(used_symbolic_vars(block))
        and not contains_impure_call(value)
    )


class _LiftedRenamer(Substitution):
    """Writes a value with the variables of another function."""

    def visit_prim_expr(self, expr: Expr) -> Expr:
        """The size with the variables of the other function."""
        return substitute(expr, self.sizes)


def _check_weights(weights: Sequence[GraphVar], others: Sequence[GraphVar]) -> None:
    help_text = "use LiftTransformParams(shared_transform=False), or name the functions that agree"
    if len(weights) != len(others):
        raise GraphError(
            f"two functions with shared weights have {len(others)} and {len(weights)} weights",
            "one function transforms the weights of all",
            help_text,
        )
    for weight, other in zip(weights, others, strict=True):
        check = struct_info_base_check(other.struct_info, weight.struct_info)
        if check is BaseCheckResult.FAIL_L0:
            raise GraphError(
                f"weight {weight.name_hint} is {weight.struct_info} in one function and "
                f"{other.struct_info} in another one",
                "one function transforms the weights of all",
                help_text,
            )


def _closed(model: _Lifts, common: set[GraphVar]) -> list[VarBinding]:
    """The bindings that all functions have, and of which all inputs are among them."""
    available_vars = set(model.weights)
    bindings: list[VarBinding] = []
    for binding in model.bindings:
        if binding.var in common and available_vars.issuperset(used_vars(binding.value)):
            available_vars.add(binding.var)
            bindings.append(binding)
    return bindings


def _dependent(weights: Sequence[GraphVar], bindings: Sequence[VarBinding]) -> set[GraphVar]:
    """The variables of bindings that depend on weights."""
    dependents = set(weights)
    for binding in bindings:
        if dependents.intersection(used_vars(binding.value)):
            dependents.add(binding.var)
    return dependents - set(weights)


def _runtime_uses(
    lifts: _Lifts, dependent: set[GraphVar], weights: Sequence[GraphVar]
) -> set[GraphVar]:
    """The variables, of the first function, that a function uses in what remains of it."""
    body = lifts.func.body
    used: list[GraphVar] = used_vars(body.body)
    for block in body.blocks:
        for binding in block.bindings:
            if lifts.names.get(binding.var) not in dependent:
                used += used_vars(DataflowBlock((binding,)))
    available = {*dependent, *weights}
    return {lifts.names[var] for var in used if lifts.names.get(var) in available}


def _remaining(
    lifts: _Lifts, outputs: Sequence[GraphVar], dependent: set[GraphVar]
) -> tuple[GraphFunction, list[Var]]:
    """The function with the transformed weights as parameters, and the sizes that are missing."""
    func = lifts.func
    inputs = func.params[: int(func.attrs["num_input"])]
    own = {other: own_var for own_var, other in lifts.names.items()}
    remover = _Remover({own_var for own_var, other in lifts.names.items() if other in dependent})
    params: list[GraphVar] = []
    for output in outputs:
        params.append(GraphVar(own[output].name_hint, own[output].struct_info))
        remover.set_var_remap(own[output], params[-1])
    body = remover.visit_with_new_scope(func.body, [*inputs, *params])
    alone = GraphFunction((*inputs, *params), body, func.ret_struct_info, func.is_pure, func.attrs)
    if remover.has_stopped:
        alone = canonical_bindings(alone)
        body = alone.body
    missing = free_symbolic_vars(alone)
    if not missing:
        return alone, []
    shape = GraphVar("extra_symbolic_vars", ShapeStructInfo(tuple(missing)))
    every = (*inputs, shape, *params)
    return GraphFunction(every, body, func.ret_struct_info, func.is_pure, func.attrs), missing


class _Remover(PyExprMutator):
    """Drops the bindings of some variables, and the marks that stop the pass."""

    def __init__(self, dropped: set[GraphVar]) -> None:
        super().__init__()
        self._dropped = dropped
        self.has_stopped = False

    def visit_call_(self, op: GraphCall) -> GraphExpr:
        """The call; the mark that a value is not lifted is removed."""
        if str(op.op) != _STOP:
            return map_call(self, op)
        self.has_stopped = True
        value: GraphExpr = op.args[0]
        return self.visit_expr(value)

    def visit_var_binding_(self, binding: VarBinding) -> None:
        """The binding, unless it was lifted."""
        if binding.var not in self._dropped:
            super().visit_var_binding_(binding)


def _transform(
    name: str,
    model: _Lifts,
    bindings: Sequence[VarBinding],
    outputs: Sequence[GraphVar],
    extra: Sequence[Var],
    existing: BaseFunc | None,
    consumes: bool,
) -> GraphFunction:
    """The function that computes the outputs of a tuple of weights."""
    fields: tuple[GraphExpr, ...] = (ShapeExpr(tuple(extra)), *outputs) if extra else (*outputs,)
    result: GraphExpr = Tuple(fields)
    blocks: tuple[DataflowBlock, ...] = ()
    if fields:
        gv = GraphVar("gv", result.struct_info_)
        inside = {
            binding.var: DataflowVar(binding.var.name_hint, binding.var.struct_info_)
            for binding in bindings
        }
        renamer = _LiftedRenamer(dict(inside), {})
        new = [
            VarBinding(inside[binding.var], renamer.visit_expr(binding.value))
            for binding in bindings
        ]
        blocks = (DataflowBlock((*new, VarBinding(gv, renamer.visit_expr(result)))),)
        result = gv
    attrs = {"num_input": 0, "global_symbol": name}
    seq = SeqExpr(blocks, result, result.struct_info_)
    func = GraphFunction(model.weights, seq, None, True, attrs)
    func = copy_with_new_vars(_clean(bundled(_clean(func), "params")))
    if isinstance(existing, GraphFunction):
        func = _composed(existing, func)
    return _Consumer(func.params[0]).visit_expr(func) if consumes else func


def _composed(existing: GraphFunction, func: GraphFunction) -> GraphFunction:
    """The function that applies one to the result of an existing one."""
    body = existing.body
    (params,) = func.params
    whole = body.body
    following = _LiftedRenamer({params: whole}, {}).visit_with_new_scope(func.body)
    seq = SeqExpr((*body.blocks, *following.blocks), following.body)
    composition = GraphFunction(existing.params, seq, None, True, existing.attrs)
    return copy_with_new_vars(_clean(composition))


def _clean(func: GraphFunction) -> GraphFunction:
    """The function without bindings that only name a value, or that nothing uses."""
    for _ in range(2):  # outputs of a block that named a tuple are none after that
        func = remove_all_unused(canonical_bindings(func))
    return func


class _Consumer(PyExprMutator):
    """Frees a weight after it is taken out of the tuple of weights."""

    def __init__(self, params: GraphVar) -> None:
        super().__init__()
        self._params = params

    def visit_var_binding_(self, binding: VarBinding) -> None:
        """The binding; after it, the element of the tuple is reset."""
        super().visit_var_binding_(binding)
        value = binding.value
        if isinstance(value, TupleGetItem) and value.tuple_value is self._params:
            index = PrimValue(ops.const(value.index, "int32"))
            callee = ExternFunc("vm.builtin.tuple_reset_item")
            info = TupleStructInfo(())
            self.builder_.emit(call_pure_packed(callee, self._params, index, sinfo_args=info), "_")
