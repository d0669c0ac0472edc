"""Walking and rewriting graphs: `PyExprVisitor` and `PyExprMutator`, by methods of each class.

    @relax.expr_functor.mutator
    class Rewriter(relax.PyExprMutator):
        def visit_call_(self, call):
            call = self.visit_expr_post_order(call)
            ...

A method `visit_call_` handles expressions of a class; without one, the children are visited. A
mutator emits what it rewrites into `self.builder_`, a BlockBuilder, so that every new expression is
normalized; an expression of which nothing changed stays the same object. Must not know operators.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from operator import is_
from types import FunctionType
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, overload

from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.deep_recursion import walks_deeply
from te_sched.errors import GraphError, kind_of, repr_of
from te_sched.ir.expr import Expr
from te_sched.ir.graph import (
    Binding,
    BindingBlock,
    Constant,
    DataflowBlock,
    DataflowVar,
    DataTypeImm,
    ExternFunc,
    GraphCall,
    GraphExpr,
    GraphFunction,
    GraphString,
    GraphTerm,
    GraphValue,
    GraphVar,
    If,
    MatchCast,
    PrimValue,
    SeqExpr,
    Tuple,
    TupleGetItem,
    VarBinding,
)
from te_sched.ir.op import Op
from te_sched.ir.stmt import GlobalVar, IRModule
from te_sched.ir.struct_info import ShapeExpr, StructInfo
from te_sched.ir.structural import structural_equal
from te_sched.public_members import PublicObject, refuse_attribute
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.core.sizes import map_sizes
from te_sched.relax.size_relations import map_relations
from te_sched.relax.struct_info import BaseCheckResult, struct_info_base_check
from te_sched.signatures import check_function

_Class = TypeVar("_Class", bound=type[Any])
_deeply = walks_deeply("visit an expression of a graph", GraphError, again=False)
_METHODS: dict[type, str] = {
    Constant: "visit_constant_",
    GraphVar: "visit_var_",
    DataflowVar: "visit_dataflow_var_",
    GlobalVar: "visit_global_var_",
    ShapeExpr: "visit_shape_expr_",
    ExternFunc: "visit_extern_func_",
    Tuple: "visit_tuple_",
    GraphFunction: "visit_function_",
    GraphCall: "visit_call_",
    SeqExpr: "visit_seq_expr_",
    If: "visit_if_",
    Op: "visit_op_",
    TupleGetItem: "visit_tuple_getitem_",
    PrimValue: "visit_prim_value_",
    GraphString: "visit_string_imm_",
    DataTypeImm: "visit_data_type_imm_",
}


def visitor(cls: _Class) -> _Class:
    """The decorator of visitors, as TVM demands it; the class itself, which is `_cls` too."""
    cls._cls = cls
    return cls


def mutator(cls: _Class) -> _Class:
    """The decorator of mutators, as TVM demands it; the class itself, which is `_cls` too."""
    cls._cls = cls
    return cls


class ExprFunctor(PublicObject):
    """Dispatches on the class of an expression: `visit_call_`, `visit_var_`, ..."""

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        for name, method in vars(cls).items():
            if name.startswith("visit_") and name[-1] == "_" and isinstance(method, FunctionType):
                own = partial(method, None)
                check_function(own, 1, f"{cls.__name__}.{name}", f"def {name}(self, op): ...")

    @_deeply
    def visit_expr(self, expr: GraphTerm) -> object:
        """Visit an expression by the method of its class."""
        return self._method(expr)(expr)

    def _method(self, expr: GraphTerm) -> Callable[[GraphTerm], object]:
        name = _METHODS.get(type(expr))
        if name is None:
            raise GraphError(
                f"{repr_of(expr)} is not an expression of a graph",
                f"it is {kind_of(expr)}",
                "give functions, calls, variables, ...",
            )
        method: Callable[[GraphTerm], object] = getattr(self, name)
        return method

    def visit_binding(self, binding: Binding) -> object:
        """Visit a binding."""
        if isinstance(binding, MatchCast):
            return self.visit_match_cast_(binding)  # type: ignore[attr-defined]
        return self.visit_var_binding_(binding)  # type: ignore[attr-defined]

    def visit_binding_block(self, block: BindingBlock) -> object:
        """Visit a block."""
        if isinstance(block, DataflowBlock):
            return self.visit_dataflow_block_(block)  # type: ignore[attr-defined]
        return self.visit_binding_block_(block)  # type: ignore[attr-defined]

    def visit_var_def(self, var: GraphVar) -> object:
        """Visit a variable where it is defined."""
        if isinstance(var, DataflowVar):
            return self.visit_dataflow_var_def_(var)  # type: ignore[attr-defined]
        return self.visit_var_def_(var)  # type: ignore[attr-defined]


class PyExprVisitor(ExprFunctor):
    """Visits every expression once for each place in which it stands.

    >>> from te_sched import relax
    >>> class Operators(relax.PyExprVisitor):
    ...     def visit_op_(self, op):
    ...         print(op.name)
    >>> x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    >>> Operators().visit_expr(relax.op.exp(relax.op.add(x, x)))
    relax.exp
    relax.add
    """

    def visit_constant_(self, op: Constant, /) -> None:
        """A constant."""

    def visit_global_var_(self, op: GlobalVar, /) -> None:
        """The name of a function."""

    def visit_extern_func_(self, op: ExternFunc, /) -> None:
        """A function of a library."""

    def visit_op_(self, op: Op, /) -> None:
        """An operator that is called."""

    def visit_string_imm_(self, op: GraphString, /) -> None:
        """A string."""

    def visit_data_type_imm_(self, op: DataTypeImm, /) -> None:
        """A dtype."""

    def visit_var_(self, op: GraphVar, /) -> None:
        """A use of a variable."""

    visit_dataflow_var_ = visit_var_

    def visit_shape_expr_(self, op: ShapeExpr, /) -> None:
        """A shape: its sizes."""
        for size in op.values:
            self.visit_prim_expr(size)

    def visit_prim_value_(self, op: PrimValue, /) -> None:
        """A number."""
        self.visit_prim_expr(op.value)

    def visit_prim_expr(self, expr: Expr) -> None:
        """A size or number."""

    def visit_tuple_(self, op: Tuple, /) -> None:
        """Several values."""
        for field in op.fields:
            self.visit_expr(field)

    def visit_tuple_getitem_(self, op: TupleGetItem, /) -> None:
        """A value of several."""
        self.visit_expr(op.tuple_value)

    def visit_call_(self, op: GraphCall, /) -> None:
        """A call: the function, then its arguments."""
        self.visit_expr(op.op)
        for arg in op.args:
            self.visit_expr(arg)

    def visit_if_(self, op: If, /) -> None:
        """A condition and both branches."""
        for part in (op.cond, op.true_branch, op.false_branch):
            self.visit_expr(part)

    def visit_function_(self, op: GraphFunction, /) -> None:
        """Parameters and the body."""
        for param in op.params:
            self.visit_var_def(param)
        self.visit_expr(op.body)

    def visit_seq_expr_(self, op: SeqExpr, /) -> None:
        """Blocks and the result."""
        for block in op.blocks:
            self.visit_binding_block(block)
        self.visit_expr(op.body)

    def visit_binding_block_(self, block: BindingBlock, /) -> None:
        """The bindings of a block."""
        for binding in block.bindings:
            self.visit_binding(binding)

    visit_dataflow_block_ = visit_binding_block_

    def visit_var_binding_(self, binding: VarBinding, /) -> None:
        """The value, then the variable."""
        self.visit_expr(binding.value)
        self.visit_var_def(binding.var)

    def visit_match_cast_(self, binding: MatchCast, /) -> None:
        """The value, then the variable."""
        self.visit_expr(binding.value)
        self.visit_var_def(binding.var)

    def visit_var_def_(self, var: GraphVar, /) -> None:
        """A variable where it is defined."""

    visit_dataflow_var_def_ = visit_var_def_


class PyExprMutator(ExprFunctor):
    """Rewrites a graph; `builder_` holds the block that is being written.

    `set_var_remap(var, new)` renames a variable, `lookup_binding(var)` gives the value of one that
    was emitted. A method may return another expression than it got.

    >>> from te_sched import relax
    >>> class Doubled(relax.PyExprMutator):
    ...     def visit_constant_(self, op):
    ...         return relax.const(op.data.numpy() * 2)
    >>> Doubled().visit_expr(relax.const(1.5)).data.numpy().item()
    3.0
    """

    def __init__(self, mod: IRModule | None = None) -> None:
        self.builder_ = BlockBuilder(mod)
        self._renamed: dict[GraphVar, GraphVar] = {}

    def __getattr__(self, name: str) -> NoReturn:
        if name in ("builder_", "_renamed"):
            raise GraphError(
                f"mutator {type(self).__name__} has no builder",
                "its __init__ does not call that of PyExprMutator",
                "call super().__init__(module) in it first",
            )
        refuse_attribute(self, name)

    # Expressions

    @overload
    def visit_expr(self, expr: GraphFunction) -> GraphFunction: ...
    @overload
    def visit_expr(self, expr: SeqExpr) -> SeqExpr: ...
    @overload
    def visit_expr(self, expr: GraphExpr) -> GraphExpr: ...
    @overload
    def visit_expr(self, expr: GraphValue) -> GraphValue: ...
    @overload
    def visit_expr(self, expr: GraphTerm) -> GraphTerm: ...
    @_deeply
    def visit_expr(self, expr: GraphTerm) -> object:
        """The rewritten expression, normalized."""
        return self.builder_._normal_form(self._method(expr)(expr))

    @overload
    def visit_expr_post_order(self, expr: GraphCall) -> GraphCall: ...
    @overload
    def visit_expr_post_order(self, expr: GraphFunction) -> GraphFunction: ...
    @overload
    def visit_expr_post_order(self, expr: GraphExpr) -> GraphExpr: ...
    @overload
    def visit_expr_post_order(self, expr: GraphValue) -> GraphValue: ...
    def visit_expr_post_order(self, expr: GraphTerm) -> object:
        """The expression with rewritten children, normalized."""
        name = _METHODS[type(expr)]
        return self.builder_._normal_form(getattr(PyExprMutator, name)(self, expr))

    def visit_constant_(self, op: Constant, /) -> GraphExpr:
        """A constant."""
        return op

    def visit_global_var_(self, op: GlobalVar, /) -> GraphValue:
        """The name of a function."""
        return op

    def visit_extern_func_(self, op: ExternFunc, /) -> GraphExpr:
        """A function of a library."""
        return op

    def visit_op_(self, op: Op, /) -> GraphTerm:
        """An operator that is called."""
        return op

    def visit_string_imm_(self, op: GraphString, /) -> GraphExpr:
        """A string."""
        return op

    def visit_data_type_imm_(self, op: DataTypeImm, /) -> GraphExpr:
        """A dtype."""
        return op

    def visit_var_(self, op: GraphVar, /) -> GraphExpr:
        """A use of a variable: its replacement, if it was renamed."""
        return self._renamed.get(op, op)

    visit_dataflow_var_ = visit_var_

    def visit_prim_expr(self, expr: Expr) -> Expr:
        """A size or number."""
        return expr

    def visit_shape_expr_(self, op: ShapeExpr, /) -> GraphExpr:
        """A shape."""
        values = [self.visit_prim_expr(size) for size in op.values]
        return op if _same(values, op.values) else ShapeExpr(tuple(values))

    def visit_prim_value_(self, op: PrimValue, /) -> GraphExpr:
        """A number."""
        value = self.visit_prim_expr(op.value)
        return op if value is op.value else PrimValue(value)

    def visit_tuple_(self, op: Tuple, /) -> GraphExpr:
        """Several values."""
        fields = [self.visit_expr(field) for field in op.fields]
        return op if _same(fields, op.fields) else Tuple(tuple(fields))

    def visit_tuple_getitem_(self, op: TupleGetItem, /) -> GraphExpr:
        """A value of several."""
        value = self.visit_expr(op.tuple_value)
        return op if value is op.tuple_value else TupleGetItem(value, op.index)

    def visit_call_(self, op: GraphCall, /) -> GraphExpr:
        """A call: the function, then its arguments."""
        return map_call(self, op)

    def visit_if_(self, op: If, /) -> GraphExpr:
        """A condition and both branches."""
        cond = self.visit_expr(op.cond)
        branches = [
            self.visit_with_new_scope(branch) for branch in (op.true_branch, op.false_branch)
        ]
        if cond is op.cond and _same(branches, (op.true_branch, op.false_branch)):
            return op
        return If(cond, branches[0], branches[1])

    def visit_function_(self, op: GraphFunction, /) -> GraphExpr:
        """Parameters and the body."""
        return map_function(self, op)

    def visit_with_new_scope(
        self, expr: GraphExpr, params: Sequence[GraphVar] | None = None
    ) -> SeqExpr:
        """Rewrite a body in a scope of its own; a sequence."""
        self.builder_.begin_scope(params)
        try:
            result = self.visit_expr(expr)
            if not isinstance(result, SeqExpr):
                self.builder_._begin_binding_block()
                result = self.builder_.normalize(result)
                block = self.builder_._end_block()
                blocks = (block,) if block.bindings else ()
                result = self.builder_.normalize(SeqExpr(blocks, result))
        finally:
            self.builder_.end_scope()
        return result

    def visit_seq_expr_(self, op: SeqExpr, /) -> GraphExpr:
        """Blocks and the result; what the result emits is a block at the end."""
        return map_sequence(self, op)

    # Blocks and bindings

    if TYPE_CHECKING:

        def visit_binding_block(self, block: BindingBlock) -> BindingBlock: ...

    def visit_binding_block_(self, block: BindingBlock, /) -> BindingBlock:
        """The block with rewritten bindings."""
        self.builder_._begin_binding_block()
        return self._block(block)

    def visit_dataflow_block_(self, block: DataflowBlock, /) -> BindingBlock:
        """The block with rewritten bindings."""
        self.builder_._begin_dataflow_block()
        return self._block(block)

    def _block(self, block: BindingBlock) -> BindingBlock:
        try:
            for binding in block.bindings:
                self.visit_binding(binding)
        except BaseException:
            self.builder_._end_block()
            raise
        return self.builder_._end_block(block)

    def visit_var_binding_(self, binding: VarBinding, /) -> None:
        """Rewrite the value, then emit the binding."""
        self.reemit_binding(binding, self.visit_expr(binding.value))

    def reemit_binding(self, binding: VarBinding, value: GraphValue) -> None:
        """Emit a binding with another value."""
        var = self.visit_var_def(binding.var)
        if value is binding.value and var is binding.var:
            self.builder_._append(binding)
            return
        info = value.struct_info_
        if info is not None and not structural_equal(info, var.struct_info_):
            var = self._retyped(binding.var, var, info)
        self.builder_._append(VarBinding(var, value))

    def visit_match_cast_(self, binding: MatchCast, /) -> None:
        """Rewrite the value, then emit the binding."""
        value, var = self.visit_expr(binding.value), self.visit_var_def(binding.var)
        info = self.visit_struct_info(binding.struct_info)
        if value is binding.value and var is binding.var and info is binding.struct_info:
            self.builder_._append(binding)
        else:
            self.builder_._append(MatchCast(var, value, info))

    def visit_var_def(self, var: GraphVar) -> GraphVar:
        """The variable that is defined instead of this one, in the uses too."""
        is_inside = isinstance(var, DataflowVar)
        new_var = self.visit_dataflow_var_def_(var) if is_inside else self.visit_var_def_(var)
        if new_var is not var:
            self._renamed[var] = new_var
        return new_var

    def visit_var_def_(self, var: GraphVar, /) -> GraphVar:
        """The variable that is defined instead of this one."""
        new_var = self._renamed.get(var)
        if new_var is not None:
            return new_var
        info = var.struct_info_
        new = None if info is None else self.visit_struct_info(info)
        if new is info:
            return var
        return self._retyped(var, var, new)

    visit_dataflow_var_def_ = visit_var_def_

    def _retyped(self, old: GraphVar, var: GraphVar, info: StructInfo | None) -> GraphVar:
        new_var = type(var)(var.name_hint, info)
        self._renamed[old] = new_var
        return new_var

    def visit_struct_info(self, info: StructInfo) -> StructInfo:
        """The struct info of a variable or a call, with the sizes rewritten."""
        return map_sizes(info, self.visit_prim_expr, self.visit_expr)

    # The builder

    def set_var_remap(self, vid: GraphVar, var: GraphVar) -> None:
        """Use another variable instead of one, from here on."""
        self._renamed[vid] = var

    def get_var_remap(self, vid: GraphVar) -> GraphVar:
        """The variable that stands for one."""
        return self._renamed[vid]

    def lookup_binding(self, var: GraphVar) -> GraphValue | None:
        """The value of a variable that was emitted; None for parameters."""
        return self.builder_.lookup_binding(var)

    def with_struct_info(self, var: GraphVar, struct_info: StructInfo) -> GraphVar:
        """The variable with another struct info: itself if it is equal."""
        if structural_equal(var.struct_info_, struct_info):
            return var
        return type(var)(var.name_hint, struct_info)


def map_call(mutator: PyExprMutator, op: GraphCall) -> GraphCall:
    """The call with rewritten function, arguments and struct infos."""
    function = mutator.visit_expr(op.op)
    args = [mutator.visit_expr(arg) for arg in op.args]
    infos = [mutator.visit_struct_info(info) for info in op.sinfo_args]
    if function is op.op and _same(args, op.args) and _same(infos, op.sinfo_args):
        return op
    return GraphCall(function, tuple(args), op.attrs, tuple(infos))


def map_function(mutator: PyExprMutator, op: GraphFunction) -> GraphFunction:
    """The function with rewritten parameters and body."""
    params = [mutator.visit_var_def(param) for param in op.params]
    if op.body is None:
        return op
    body = mutator.visit_with_new_scope(op.body, params)
    if body is op.body and _same(params, op.params):
        return op
    ret_info = op.ret_struct_info
    ret = None if ret_info is None else mutator.visit_struct_info(ret_info)
    if ret is not None and body.struct_info_ is not None:
        check_result = struct_info_base_check(ret, body.struct_info_)
        is_open = check_result in (BaseCheckResult.FAIL_L1, BaseCheckResult.FAIL_L2)
        ret = ret if is_open else None  # what is known of the body is more, or contradicts
    attrs = map_relations(op.attrs, mutator.visit_prim_expr)
    return GraphFunction(tuple(params), body, ret, op.is_pure, attrs, written_name=op.written_name)


def map_sequence(mutator: PyExprMutator, op: SeqExpr) -> SeqExpr:
    """The sequence with rewritten blocks and result, which may emit a block at the end."""
    blocks = [mutator.visit_binding_block(block) for block in op.blocks]
    mutator.builder_._begin_binding_block()
    body = mutator.visit_expr(op.body)
    last = mutator.builder_._end_block()
    if last.bindings:
        blocks.append(last)
    kept = [block for block in blocks if block.bindings]
    if body is op.body and _same(kept, op.blocks):
        return op
    return SeqExpr(tuple(kept), body)


def _same(new: Sequence[object], old: Sequence[object]) -> bool:
    return len(new) == len(old) and all(map(is_, new, old))


_tell_of_absent_names(__name__)
