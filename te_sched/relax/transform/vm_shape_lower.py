"""VMShapeLower: sizes that depend on variables are computed when a function runs.

A function gets a heap of int64 with a slot for each variable of a size and each expression of them.
Parameters are checked, and their sizes stored there; `shape_func` computes the expressions of which
all variables are known; shapes in the function are then made of values of the heap.

    heap slots          n, m, n + 1
    parameters          check_tensor_info(x, ndim, dtype), match_shape(x, heap, store n, store m)
    expressions         shape_func(heap): H[2] = H[0] + 1
    R.shape([n + 1])    make_shape(heap, load 2)

    relations           check_sizes(heap, load k, ...): H[k] is the number of those that do not hold

Relations of sizes (`relax.size_relations`) are checked as soon as their variables have values.
What a size is matched with is a pair of a code (`MatchShapeCode`) and a number or slot. A size that
cannot be computed yet is skipped, and the value is matched again after the next `shape_func`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from te_sched.arith.analyzer import Analyzer
from te_sched.errors import GraphError
from te_sched.ir import ops
from te_sched.ir.buffer import decl_buffer
from te_sched.ir.expr import BufferLoad, Expr, IntImm, Var
from te_sched.ir.graph import (
    DataTypeImm,
    GraphCall,
    GraphExpr,
    GraphFunction,
    GraphString,
    GraphValue,
    GraphVar,
    If,
    MatchCast,
    PrimValue,
    SeqExpr,
    Tuple,
    TupleGetItem,
    update_struct_info,
)
from te_sched.ir.stmt import BaseFunc, BufferStore, GlobalVar, IRModule, PrimFunc, SeqStmt
from te_sched.ir.struct_info import (
    FuncStructInfo,
    ObjectStructInfo,
    PrimStructInfo,
    ShapeExpr,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
    size_text,
)
from te_sched.ir.visitor import substitute
from te_sched.passes import ModulePass
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.core.sizes import bound_sizes, own_variables, sizes_of, variables_in
from te_sched.relax.expr_functor import PyExprMutator, PyExprVisitor
from te_sched.relax.operators.calls import call_builtin_with_ctx, call_packed, null_value
from te_sched.relax.operators.inference import as_number
from te_sched.relax.size_relations import SizeRelation, relations_of
from te_sched.relax.struct_info import BaseCheckResult, struct_info_base_check
from te_sched.relax.vm.builtins import MakeShapeCode, MatchShapeCode

_NOTHING = TupleStructInfo(())


class VMShapeLower(ModulePass):
    """The pass that computes symbolic sizes, and checks values where they are not known.

    Parameters
    ----------
    emit_err_ctx : whether the checks are told what they are of, for their errors.

    >>> from te_sched import IRModule, relax, tir
    >>> n = tir.Var("n", "int64")
    >>> s = relax.Var("s", relax.ShapeStructInfo([n]))
    >>> module = IRModule({"main": relax.Function([s], relax.ShapeExpr([n + 1]))})
    >>> module = VMShapeLower()(module)
    >>> list(module.functions)
    ['shape_func', 'main']
    """

    def __init__(self, *, emit_err_ctx: bool = True) -> None:
        self.emit_err_ctx = emit_err_ctx

    def transform_module(self, mod: IRModule, *_: object) -> dict[str, BaseFunc]:
        builder = BlockBuilder(mod)
        functions: dict[str, BaseFunc] = {}
        graphs: dict[str, BaseFunc] = {}
        for name, func in mod.functions.items():
            if not isinstance(func, GraphFunction):
                functions[name] = func
        for name, func in mod.functions.items():
            if isinstance(func, GraphFunction):
                lowering = _ShapeComputations(
                    name, func, {**functions, **dict(mod.functions)}, self.emit_err_ctx
                )
                lowering.builder_ = builder  # names of values differ in all functions
                graphs[name] = lowering.lowered()
                functions.update(lowering.computed)
        return {**functions, **graphs}


@dataclass
class _Match:
    """A value whose sizes are checked or stored."""

    value: GraphValue
    sizes: Sequence[Expr]
    context: str
    is_number: bool = False


_Key = tuple[str, tuple[int, ...]]  # the text of a size, and its variables


class _Slots(PyExprVisitor):
    """The variables and expressions of sizes in a function, in the order in which they appear."""

    def __init__(self) -> None:
        self.expressions: list[Expr] = []
        self._numbers: dict[_Key, int] = {}

    def of(self, size: Expr) -> int:
        """The slot of a size."""
        return self._numbers[_key(size)]

    def add(self, size: Expr) -> None:
        """Give a size a slot, unless it is a number."""
        key = None if isinstance(size, IntImm) else _key(size)
        if key is not None and key not in self._numbers:
            self._numbers[key] = len(self.expressions)
            self.expressions.append(size)

    def add_info(self, info: StructInfo | None) -> None:
        """The sizes in a struct info."""
        if isinstance(info, TupleStructInfo):
            for field in info.fields:
                self.add_info(field)
        else:
            for size in sizes_of(info) or ():
                self.add(size)

    def visit_prim_expr(self, expr: Expr) -> None:
        """A size or number of the function."""
        if isinstance(expr, Expr) and _is_integral(expr):
            self.add(expr)

    def visit_match_cast_(self, binding: MatchCast) -> None:
        """The value, then the sizes that it is matched with."""
        self.visit_expr(binding.value)
        self.add_info(binding.struct_info)


@dataclass
class _Relations:
    """Relations that are checked together; `failures` is the number of those that do not hold."""

    relations: list[SizeRelation]
    failures: Expr


def _grouped(func: GraphFunction, slots: _Slots) -> list[_Relations]:
    """The relations of a function whose variables have slots: those of parameters, and others."""
    bound = {var for param in func.params for var in bound_sizes(param.struct_info)}
    size_vars = {expr for expr in slots.expressions if type(expr) is Var}
    entry: list[SizeRelation] = []
    groups: list[list[SizeRelation]] = [entry]
    for relation in relations_of(func):
        used = {*variables_in(relation.size), *variables_in(relation.other)}
        if not used:
            _check_constants(func, relation)
        elif used <= bound:
            entry.append(relation)
        elif used <= size_vars:
            groups.append([relation])
    relation_groups = [_Relations(group, _failures(group)) for group in groups if group]
    for group in relation_groups:
        for relation in group.relations:
            slots.add(relation.size)
            slots.add(relation.other)
        slots.add(group.failures)
    return relation_groups


def _check_constants(func: GraphFunction, relation: SizeRelation) -> None:
    """GraphError if a relation whose variables were bound to numbers does not hold."""
    if not Analyzer().can_prove(relation.condition):
        sizes = f"{size_text(relation.size)} and {size_text(relation.other)}"
        raise GraphError(
            f"{relation.subject} in {func.__name__} are {sizes}",
            "its variables of sizes were bound to numbers that do not fit",
            "bind them to other numbers",
        )


def _failures(relations: list[SizeRelation]) -> Expr:
    count: Expr = ops.const(0, "int64")
    for relation in relations:
        count = ops.add(count, ops.cast("int64", ops.logical_not(relation.condition)))
    return count


def _is_integral(expr: Expr) -> bool:
    return expr.dtype == "int64"


def _key(size: Expr) -> _Key:
    return str(size), tuple([id(var) for var in variables_in(size)])


class _ShapeComputations(PyExprMutator):
    """Lowers one function; `computed` are the functions of loops that it needs."""

    def __init__(
        self, name: str, func: GraphFunction, others: dict[str, BaseFunc], is_explained: bool
    ) -> None:
        super().__init__()
        self._name, self._func, self._is_explained = name, func, is_explained
        self._others = others
        self.computed: dict[str, PrimFunc] = {}
        self._slots = _Slots()
        self._known: set[int] = set()
        self._heap: GraphVar
        for param in func.params:
            self._slots.add_info(param.struct_info_)
        self._slots.visit_expr(func.body)
        self._slots.add_info(func.ret_struct_info)
        self._relations = _grouped(func, self._slots)

    def lowered(self) -> GraphFunction:
        """The function."""
        func, body = self._func, self._func.body
        assert isinstance(body, SeqExpr)
        self.builder_.begin_scope(func.params)
        self.builder_._begin_binding_block()
        self._heap = self.builder_.emit(self._new_heap(), "shape_heap")
        self._check_params()
        first = self.builder_._end_block()
        blocks = [first] + [self.visit_binding_block(block) for block in body.blocks]
        self.builder_._begin_binding_block()
        result = self.builder_.normalize_argument(self.visit_expr(body.body))
        self._check_result(result)
        blocks.append(self.builder_._end_block())
        kept = tuple([block for block in blocks if block.bindings])
        sequence = self.builder_.normalize(SeqExpr(kept, result))
        self.builder_.end_scope()
        return GraphFunction(
            func.params,
            sequence,
            func.ret_struct_info,
            func.is_pure,
            func.attrs,
            written_name=func.written_name,
        )

    def _new_heap(self) -> GraphCall:
        count = len(self._slots.expressions)
        if not count:
            return null_value()
        info = TensorStructInfo(None, "int64", None, 1)
        return call_builtin_with_ctx(
            "vm.builtin.alloc_shape_heap", [as_number(count)], sinfo_args=info
        )

    # Checks

    def _check_params(self) -> None:
        func = self._func
        num_inputs = func.attrs.get("num_input")
        count = len(func.params) if num_inputs is None else int(num_inputs)
        matches: list[_Match] = []
        for number, param in enumerate(func.params):
            info = param.struct_info
            if number >= count and not own_variables(info):
                continue
            context = self._context(
                f"fn={self._name}, loc=param[{number}], param={param.name_hint}, annotation={info}"
            )
            self._check(param, info, context, matches, True, number >= count)
        self._match(matches)

    def _check_result(self, body: GraphValue) -> None:
        wanted = self._func.ret_struct_info
        if wanted is None:
            return
        context = self._context(f"fn={self._name}, loc=return, annotation={wanted}")
        matches: list[_Match] = []
        self._check(body, wanted, context, matches)
        self._match(matches)

    def _context(self, text: str) -> str:
        return f"ErrorContext({text}) " if self._is_explained else ""

    def _check(
        self,
        value: GraphValue,
        info: StructInfo,
        context: str,
        matches: list[_Match],
        is_forced: bool = False,
        only_symbolic: bool = False,
    ) -> None:
        """Emit the checks of a value that do not need sizes; `matches` gets those that do."""
        value_info = value.struct_info
        if isinstance(info, TensorStructInfo):
            if is_forced or not _implies_tensor(value_info, info):
                dtype = DataTypeImm(info.dtype or "void")
                self._run("check_tensor_info", value, as_number(info.ndim), dtype, context)
            self._will_match(value, info, value_info, context, matches, is_forced)
        elif isinstance(info, ShapeStructInfo):
            is_known = isinstance(value_info, ShapeStructInfo) and info.ndim in (
                -1,
                value_info.ndim,
            )
            if is_forced or not is_known:
                self._run("check_shape_info", value, as_number(info.ndim), context)
            self._will_match(value, info, value_info, context, matches, is_forced)
        elif isinstance(info, PrimStructInfo):
            is_known = isinstance(value_info, PrimStructInfo) and value_info.dtype == info.dtype
            if is_forced or not is_known:
                self._run("check_prim_value_info", value, DataTypeImm(info.dtype), context)
            if info.value is not None:
                matches.append(_Match(value, [info.value], context, True))
        elif isinstance(info, TupleStructInfo) and isinstance(value, GraphExpr):
            self._check_tuple(value, info, context, matches, is_forced, only_symbolic)
        elif isinstance(info, FuncStructInfo) and (
            is_forced or not isinstance(value_info, FuncStructInfo)
        ):
            self._run("check_func_info", value, context)

    def _check_tuple(
        self,
        value: GraphExpr,
        info: TupleStructInfo,
        context: str,
        matches: list[_Match],
        is_forced: bool,
        only_symbolic: bool,
    ) -> None:
        value_info = value.struct_info
        elements = value_info.fields if isinstance(value_info, TupleStructInfo) else None
        if is_forced or elements is None or len(elements) != len(info.fields):
            self._run("check_tuple_info", value, as_number(len(info.fields)), context)
        for number, field in enumerate(info.fields):
            if isinstance(field, ObjectStructInfo) or (only_symbolic and not own_variables(field)):
                continue
            if not is_forced and elements and _is_equal(field, elements[number]):
                continue
            item: GraphExpr = TupleGetItem(value, number)
            if elements is None:
                item = call_packed(
                    "vm.builtin.tuple_getitem",
                    value,
                    as_number(number),
                    sinfo_args=ObjectStructInfo(),
                )
            element = value.fields[number] if isinstance(value, Tuple) else self.builder_.emit(item)
            self._check(element, field, context, matches, is_forced, only_symbolic)

    def _will_match(
        self,
        value: GraphValue,
        info: StructInfo,
        value_info: StructInfo,
        context: str,
        matches: list[_Match],
        is_forced: bool,
    ) -> None:
        sizes = sizes_of(info)
        if sizes is None:
            return
        if not is_forced:
            others = sizes_of(value_info)
            if others is not None and len(others) == len(sizes):
                pairs = list(zip(sizes, others, strict=True))
                if all(self._is_known(a) and self._proves(a, b) for a, b in pairs):
                    return
        matches.append(_Match(value, sizes, context))

    def _proves(self, a: Expr, b: Expr) -> bool:
        return self.builder_.analyzer.can_prove_equal(a, b)

    def _is_known(self, size: Expr) -> bool:
        return isinstance(size, IntImm) or self._slots.of(size) in self._known

    def _match(self, matches: list[_Match]) -> None:
        """Emit matches; those with sizes that are not known yet once more after `shape_func`."""
        rest = [match for match in matches if not self._emit_match(match)]
        self._compute()
        for leftover in rest:
            if not self._emit_match(leftover):
                raise GraphError(
                    f"the variables in {ShapeExpr(tuple(leftover.sizes))} have no value",
                    "no parameter or match_cast before has them alone as a size",
                    "declare one where a size is the variable alone",
                )
        for group in [group for group in self._relations if self._is_known(group.failures)]:
            self._relations.remove(group)
            parts = [part for relation in group.relations for part in self._described(relation)]
            failures = as_number(self._slots.of(group.failures))
            self._run("check_sizes", self._heap, failures, self._name, *parts)

    def _described(self, relation: SizeRelation) -> list[GraphExpr | str]:
        """What the error of a relation says: its kind, the values and texts of both sizes."""
        sides = relation.size, relation.other
        values = [value for side in sides for value in self._source(side)]
        return [relation.kind, *values, *map(size_text, sides), relation.subject]

    def _emit_match(self, match: _Match) -> bool:
        """Emit a match; whether all of its sizes were known or are now."""
        pairs: list[int] = []
        is_complete = True
        for size in match.sizes:
            if isinstance(size, IntImm):
                pairs += [MatchShapeCode.ASSERT_EQUAL_TO_IMM, size.value]
                continue
            slot = self._slots.of(size)
            if slot in self._known:
                pairs += [MatchShapeCode.ASSERT_EQUAL_TO_LOAD, slot]
            elif type(size) is Var:
                self._known.add(slot)
                pairs += [MatchShapeCode.STORE_TO_HEAP, slot]
            else:
                pairs += [MatchShapeCode.NO_OP, 0]
                is_complete = False
        numbers = [as_number(int(number)) for number in pairs]
        if match.is_number:
            if is_complete:
                self._run("match_prim_value", match.value, self._heap, *numbers, match.context)
        elif pairs:
            count = as_number(len(match.sizes))
            self._run("match_shape", match.value, self._heap, count, *numbers, match.context)
        return is_complete

    def _run(self, name: str, *args: GraphValue | str) -> None:
        operands = [GraphString(arg) if isinstance(arg, str) else arg for arg in args]
        call = call_packed(f"vm.builtin.{name}", *operands, sinfo_args=_NOTHING)
        self.builder_.emit(call, "_")

    def _compute(self) -> None:
        """Emit a call of a function that computes all expressions that can be computed now."""
        ready = [
            number
            for number, size in enumerate(self._slots.expressions)
            if number not in self._known
            and type(size) is not Var
            and all(map(self._has_value, variables_in(size)))
        ]
        if not ready:
            return
        self._known |= set(ready)
        name = self._new_name()
        self.computed[name] = self._function(ready)
        var = GlobalVar(name)
        info = TensorStructInfo(None, "int64", None, 1)
        var.struct_info_ = FuncStructInfo((info,), _NOTHING, False)
        call = GraphCall(var, (self._heap,))
        update_struct_info(call, _NOTHING)
        self.builder_.emit(call, "_")

    def _has_value(self, var: Var) -> bool:
        try:
            return self._slots.of(var) in self._known
        except KeyError:
            return False

    def _new_name(self) -> str:
        taken = {**self._others, **self.computed}
        number = 0
        while (name := f"shape_func{number or ''}") in taken:
            number += 1
        return name

    def _function(self, numbers: list[int]) -> PrimFunc:
        count = ops.const(len(self._slots.expressions), "int64")
        heap = decl_buffer([count], "int64", "H")
        param = Var("H", "handle")
        slots: dict[Var, Expr] = {
            expr: BufferLoad(heap, (ops.const(number, "int64"),))
            for number, expr in enumerate(self._slots.expressions)
            if type(expr) is Var
        }
        stores = [
            BufferStore(
                heap,
                substitute(self._slots.expressions[number], slots),
                (ops.const(number, "int64"),),
            )
            for number in numbers
        ]
        body = stores[0] if len(stores) == 1 else SeqStmt(tuple(stores))
        return PrimFunc((param,), body, {param: heap}, {"tir.is_host_func": 1})

    # Sizes in the function

    def visit_shape_expr_(self, op: ShapeExpr) -> GraphExpr:
        """A shape that is made of values of the heap."""
        if all(isinstance(size, IntImm) for size in op.values):
            return op
        pairs = [value for size in op.values for value in self._source(size)]
        info = ShapeStructInfo(None, len(op.values))
        count = as_number(len(op.values))
        return call_packed("vm.builtin.make_shape", self._heap, count, *pairs, sinfo_args=info)

    def visit_prim_value_(self, op: PrimValue) -> GraphExpr:
        """A number that is a value of the heap."""
        if not _is_integral(op.value) or isinstance(op.value, IntImm):
            return op
        info = PrimStructInfo(value=op.value)
        return call_packed(
            "vm.builtin.make_prim_value", self._heap, *self._source(op.value), sinfo_args=info
        )

    def _source(self, size: Expr) -> list[PrimValue]:
        if isinstance(size, IntImm):
            return [as_number(int(MakeShapeCode.USE_IMM)), as_number(size.value)]
        slot = self._slots.of(size)
        if slot not in self._known:
            raise GraphError(
                f"size {size_text(size)} is used before its variables have values",
                "",
                "match it before: R.match_cast(x, R.Tensor([n, m], dtype))",
            )
        return [as_number(int(MakeShapeCode.LOAD_SHAPE)), as_number(slot)]

    def visit_match_cast_(self, binding: MatchCast) -> None:
        """The checks, then the binding."""
        value = self.builder_.normalize_argument(self.visit_expr(binding.value))
        context = self._context(f"match_cast, struct_info={binding.struct_info}")
        matches: list[_Match] = []
        self._check(value, binding.struct_info, context, matches)
        self._match(matches)
        var = self.visit_var_def(binding.var)
        self.builder_.emit_normalized(MatchCast(var, value, binding.struct_info))

    def visit_if_(self, op: If) -> GraphExpr:
        """Both branches; what one of them matches is not known after it."""
        known_vars = set(self._known)
        new = super().visit_if_(op)
        self._known = known_vars
        return new

    def visit_with_new_scope(
        self, expr: GraphExpr, params: Sequence[GraphVar] | None = None
    ) -> SeqExpr:
        """A branch: it knows what was known before."""
        known_vars = set(self._known)
        new = super().visit_with_new_scope(expr, params)
        self._known = known_vars
        return new


def _implies_tensor(value_info: StructInfo, info: TensorStructInfo) -> bool:
    if not isinstance(value_info, TensorStructInfo):
        return False
    return info.ndim in (-1, value_info.ndim) and info.dtype in ("", value_info.dtype)


def _is_equal(info: StructInfo, value_info: StructInfo) -> bool:
    return struct_info_base_check(info, value_info) is BaseCheckResult.PASS
