"""Attaches relations of sizes that only a call can check to functions (`relax.size_relations`).

It runs where operators are lowered, since calls of kernels do not have the relations any more: at
the begin of a build, and in LegalizeOps. A relation of a branch holds only where it is taken, and
becomes a match_cast in it.

    if c:                                if c:
        z = reshape(x, (4,))      ->         sizes = match_cast(R.shape([n]), R.Shape([4]))
                                             z = reshape(x, (4,))
"""

from __future__ import annotations

from collections.abc import Iterable

from te_sched.ir import ops
from te_sched.ir.expr import Expr, Var
from te_sched.ir.graph import (
    SIZE_RELATIONS,
    Binding,
    BindingBlock,
    DataflowBlock,
    DataflowVar,
    GraphCall,
    GraphFunction,
    GraphVar,
    If,
    MatchCast,
    SeqExpr,
    VarBinding,
)
from te_sched.ir.op import Op
from te_sched.ir.stmt import GlobalVar, IRModule
from te_sched.ir.struct_info import ShapeExpr, ShapeStructInfo
from te_sched.ir.visitor import replace, substitute
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.core.sizes import bind_sizes, tensor_sizes, variables_in
from te_sched.relax.operators.registry import OPERATORS
from te_sched.relax.size_relations import (
    SizeRelation,
    SizeRelations,
    relations_of,
    without_repeated,
)

_ZERO = ops.const(0, "int64")


def collect_size_relations(mod: IRModule) -> IRModule:
    """The module whose functions have the relations that inference needs and cannot prove.

    >>> from te_sched import relax, tir
    >>> x = relax.Var("x", relax.TensorStructInfo([tir.Var("n", "int64")], "float32"))
    >>> builder = relax.BlockBuilder()
    >>> with builder.function("main", [x]):
    ...     gv = builder.emit_func_output(builder.emit(relax.op.reshape(x, (4, 5))))
    >>> relations_of(collect_size_relations(builder.get())["main"])[0].condition
    n == T.int64(20)
    """
    changed = {}
    for name, func in mod.functions.items():
        if isinstance(func, GraphFunction) and _has_variables(func):
            new = _RelationCollector(mod).function(func)
            if new is not func:
                changed[name] = new
    return mod.with_functions(changed)


def _has_variables(func: GraphFunction) -> bool:
    """Whether sizes of the function may be variables, or it has branches or functions."""
    if not isinstance(func.body, SeqExpr):
        return False
    return any(variables_in(param.struct_info) for param in func.params) or any(
        isinstance(binding, MatchCast) or isinstance(binding.value, If | GraphFunction)
        for block in func.body.blocks
        for binding in block.bindings
    )


class _RelationCollector:
    """Infers what is known of the values of a function again, and collects relations."""

    def __init__(self, mod: IRModule, callers: frozenset[str] = frozenset()) -> None:
        self._module, self._callers = mod, callers
        self._builder = BlockBuilder(mod)
        self._relations = self._builder.relations = SizeRelations()

    def function(self, func: GraphFunction) -> GraphFunction:
        """The function with its relations, and casts in its branches."""
        self._builder.begin_scope(func.params)
        for param in func.params:
            self._relations.add_sizes(param.struct_info)
        body, relations = self._sequence(func.body)
        self._builder.end_scope()
        old_relations = relations_of(func)
        new = without_repeated([*old_relations, *relations])
        if body is func.body and len(new) == len(old_relations):
            return func
        attrs = {**func.attrs, SIZE_RELATIONS: tuple(new)} if new else func.attrs
        return replace(func, body=body, attrs=attrs)

    def _sequence(self, seq: SeqExpr) -> tuple[SeqExpr, list[SizeRelation]]:
        """The sequence with casts in its branches, and its own relations."""
        outside, self._relations.items = self._relations.items, []
        blocks = tuple([self._block(block) for block in seq.blocks])
        relations, self._relations.items = self._relations.items, outside
        is_same = all(new is old for new, old in zip(blocks, seq.blocks, strict=True))
        return seq if is_same else replace(seq, blocks=blocks), relations

    def _block(self, block: BindingBlock) -> BindingBlock:
        bindings = tuple([self._binding(binding) for binding in block.bindings])
        is_same = all(new is old for new, old in zip(bindings, block.bindings, strict=True))
        return block if is_same else replace(block, bindings=bindings)

    def _binding(self, binding: Binding) -> Binding:
        if isinstance(binding, MatchCast):
            self._relations.add_sizes(binding.struct_info)
            return binding
        value = binding.value
        if isinstance(value, GraphCall):
            self._call(value, binding.var)
        elif isinstance(value, If):
            branches = {
                name: self._branch(getattr(value, name)) for name in ("true_branch", "false_branch")
            }
            if any(new is not getattr(value, name) for name, new in branches.items()):
                value = replace(value, **branches)
        elif isinstance(value, GraphFunction) and value.body is not None:
            value = self.function(value)
        return VarBinding(binding.var, value) if value is not binding.value else binding

    def _branch(self, seq: SeqExpr) -> SeqExpr:
        """A branch with casts that check its relations, unless it has them."""
        new, relations = self._sequence(seq)
        casts = {str(cast.struct_info) for block in new.blocks for cast in _casts(block)}
        added = [
            cast for cast in map(_cast, without_repeated(relations)) if str(cast[1]) not in casts
        ]
        return replace(new, blocks=_with_casts(new.blocks, added)) if added else new

    def _call(self, call: GraphCall, var: GraphVar) -> None:
        """Collect the relations of a call."""
        if isinstance(call.op, GlobalVar):
            self._fused(call)
        operator = OPERATORS.get(str(call.op)) if isinstance(call.op, Op) else None
        if operator is None:
            return
        info = operator.infer(call, self._builder)
        name = call.args[0] if str(call.op).startswith("relax.call_") else call.op
        sizes, annotated = tensor_sizes(info), tensor_sizes(var.struct_info_)
        for size in sizes:
            self._builder.require("at least", size, _ZERO, f"a size of the result of {name}")
        if len(sizes) == len(annotated):
            what = f"the sizes of the result of {name} and of its variable {var.name_hint}"
            for size, other in zip(sizes, annotated, strict=True):
                self._builder.require("equal", size, other, what)

    def _fused(self, call: GraphCall) -> None:
        """Collect those of a function that becomes a kernel: it does not check them itself."""
        name = str(call.op)
        func = self._module.functions.get(name)
        is_fused = isinstance(func, GraphFunction) and {"Primitive", "Composite"} & {*func.attrs}
        if not is_fused or func.body is None or name in self._callers:  # type: ignore[union-attr]
            return
        inner = _RelationCollector(self._module, self._callers | {name}).function(func)  # type: ignore[arg-type]
        values: dict[Var, Expr] = {}
        for param, arg in zip(inner.params, call.args, strict=True):
            bind_sizes(param.struct_info, arg.struct_info, values)
        for relation in relations_of(inner):
            size, other = substitute(relation.size, values), substitute(relation.other, values)
            self._builder.require(relation.kind, size, other, relation.subject)


_Cast = tuple[ShapeExpr, ShapeStructInfo]


def _cast(relation: SizeRelation) -> _Cast:
    """The shape that is matched, and what it must be."""
    if relation.kind == "equal":
        return ShapeExpr((relation.size,)), ShapeStructInfo((relation.other,))
    missing = ops.maximum(ops.subtract(relation.other, relation.size), _ZERO)
    return ShapeExpr((missing,)), ShapeStructInfo((_ZERO,))


def _casts(block: BindingBlock) -> list[MatchCast]:
    return [binding for binding in block.bindings if isinstance(binding, MatchCast)]


def _with_casts(blocks: Iterable[BindingBlock], casts: list[_Cast]) -> tuple[BindingBlock, ...]:
    """The blocks of a branch with casts, each as soon as its sizes are defined in it."""
    missing = {var for block in blocks for cast in _casts(block) for var in _defined(cast)}
    left = [(cast, missing & {*variables_in(cast[0]), *variables_in(cast[1])}) for cast in casts]

    def ready(kind: type[GraphVar]) -> list[Binding]:
        casts = [cast for cast, needs in left if not needs & missing]
        left[:] = [entry for entry in left if entry[1] & missing]
        return [MatchCast(kind("sizes", info), shape, info) for shape, info in casts]

    new = [BindingBlock(tuple(ready(GraphVar)))]
    for block in blocks:
        bindings: list[Binding] = []
        for binding in block.bindings:
            bindings.append(binding)
            if isinstance(binding, MatchCast):
                missing -= set(_defined(binding))
                bindings += ready(DataflowVar if isinstance(block, DataflowBlock) else GraphVar)
        new.append(type(block)(tuple(bindings)))
    return tuple([block for block in new if block.bindings])


def _defined(cast: MatchCast) -> list[Var]:
    return variables_in(cast.struct_info)
