"""StaticPlanBlockMemory: tensors that live at different times share storages.

Within a block of bindings, a tensor of `R.builtin.alloc_tensor` that functions of loops and
registered functions use alone gets a storage; after its last use another tensor of the same dtype
may have it. Of the free storages the smallest that is large enough is taken, or the largest of the
smaller ones, which grows. Not planned are results of functions, and tensors that other blocks,
conditions and operators use.

Attributes of functions: "tir_var_upper_bound" has upper bounds of variables of sizes by name, for
which memory is planned; "tir_non_negative_var" names those that are never negative;
"relax.memory_plan_dynamic_func_output" plans results too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from te_sched.arith.analyzer import Analyzer
from te_sched.arith.int_set import IntervalSet, eval_set
from te_sched.errors import GraphError, kind_of, repr_of
from te_sched.ir import dtypes, ops
from te_sched.ir.expr import Expr, IntImm, Mul, Var
from te_sched.ir.graph import (
    Binding,
    BindingBlock,
    Constant,
    ExternFunc,
    GraphCall,
    GraphFunction,
    GraphString,
    GraphValue,
    GraphVar,
    If,
    PrimValue,
    SeqExpr,
    Tuple,
    TupleGetItem,
    VarBinding,
)
from te_sched.ir.op import Op
from te_sched.ir.stmt import GlobalVar, IRModule, PrimFunc
from te_sched.ir.struct_info import ShapeExpr, StructInfo, TensorStructInfo, TupleStructInfo
from te_sched.ir.visitor import substitute
from te_sched.passes import ModulePass
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.core.sizes import constant_sizes, own_variables, sizes_of, variables_in
from te_sched.relax.expr_functor import PyExprMutator
from te_sched.relax.op import memory
from te_sched.relax.operators.registry import find_operator

_BOUNDS = "tir_var_upper_bound"
_NOT_NEGATIVE = "tir_non_negative_var"
_PLAN_OUTPUTS = "relax.memory_plan_dynamic_func_output"
_RANGE = 16  # a free storage is taken for sizes up to this factor apart
# Registered functions whose result has the memory of an argument.
_PACKED_ALIASES = (
    *("vm.builtin.reshape", "vm.builtin.ensure_zero_offset", "vm.builtin.copy"),
    "relax.run.append",
)


class StaticPlanBlockMemory(ModulePass):
    """The pass that plans the memory of tensors.

    Parameters
    ----------
    leaves_static : leave out functions of constant shapes without control flow. For a processor
        they become native functions, with one plan of their whole memory (`relax/vm/native.py`).

    >>> from te_sched import relax, topi
    >>> x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    >>> builder = relax.BlockBuilder()
    >>> with builder.function("main", [x]):
    ...     y = builder.emit_te(topi.exp, builder.emit_te(topi.exp, x))
    ...     name = builder.emit_func_output(y)
    >>> module = StaticPlanBlockMemory()(relax.transform.CallTIRRewrite()(builder.get()))
    >>> [one.var.name_hint for one in module["main"].body.blocks[0].bindings][:2]
    ['storage', 'alloc']
    """

    def __init__(self, *, leaves_static: bool = False) -> None:
        self.leaves_static = leaves_static

    def transform_module(self, mod: IRModule, *_: object) -> IRModule:
        builder = BlockBuilder(mod)  # names of storages differ in all functions
        changed = {
            name: _planned(func, mod, builder)
            for name, func in mod.functions.items()
            if isinstance(func, GraphFunction)
            and not (self.leaves_static and _is_static(func, mod))
        }
        return mod.with_functions(changed)


def _is_static(func: GraphFunction, mod: IRModule) -> bool:
    """Whether a function only calls functions that write their results, one after the other, on
    tensors of constant shapes.
    """
    if func.body is None or not all(_is_constant(param.struct_info_) for param in func.params):
        return False
    bindings = [binding for block in func.body.blocks for binding in block.bindings]
    return all(
        isinstance(binding, VarBinding) and _is_step(binding.value, mod) for binding in bindings
    )


def _is_constant(info: StructInfo | None) -> bool:
    """Whether a value is a tensor of a known data type and constant shape."""
    if not isinstance(info, TensorStructInfo) or not info.dtype:
        return False
    return constant_sizes(sizes_of(info)) is not None


def _is_step(value: GraphValue, mod: IRModule) -> bool:
    """Whether a value is an allocation on the processor, a call of a function that writes its
    results, or part of another value.
    """
    if not isinstance(value, GraphCall):
        return isinstance(value, GraphVar | Tuple | TupleGetItem | Constant | ShapeExpr)
    if isinstance(value.op, GlobalVar):
        return isinstance(mod.functions.get(value.op), PrimFunc)
    if not isinstance(value.op, Op):  # a registered function that writes its results
        return isinstance(value.op, ExternFunc) and value.struct_info_ == TupleStructInfo(())
    if value.op == "relax.builtin.alloc_tensor":
        shape, _, device, _ = value.args
        is_constant = isinstance(shape, ShapeExpr) and constant_sizes(shape.values) is not None
        return is_constant and ops.is_const(device.value, 0)
    operator = find_operator(value.op)
    return operator is not None and operator.is_alias and _is_constant(value.struct_info_)


def _planned(func: GraphFunction, mod: IRModule, builder: BlockBuilder) -> GraphFunction:
    """A function whose tensors are in storages."""
    plan = _StoragePlan(func, mod, _bounds_of(func)).planned()
    if not plan:
        return func
    stored = _Stored(plan)
    stored.builder_ = builder
    new = stored.visit_expr(func)
    attrs = {key: value for key, value in new.attrs.items() if key != _PLAN_OUTPUTS}
    return GraphFunction(
        new.params,
        new.body,
        new.ret_struct_info,
        new.is_pure,
        attrs,
        written_name=new.written_name,
    )


@dataclass(eq=False)
class _Token:
    """A tensor that is allocated in a block, or the storage that several of them share."""

    block: int
    size: Expr
    dtype: str
    device: PrimValue
    scope: GraphString
    uses: int = 0
    storage: _Token | None = None
    is_pinned: bool = False  # it is never given to another tensor
    is_output: bool = False


# What is known of a value: its storage, those of its elements, or nothing.
_Tokens: TypeAlias = "_Token | tuple[_Tokens, ...] | None"


@dataclass
class _StoragePlan:
    """The storage of each allocation, by the call that allocates."""

    func: GraphFunction
    mod: IRModule
    bounds: Mapping[Var, int]
    analyzer: Analyzer = field(default_factory=Analyzer)

    def __post_init__(self) -> None:
        self._tokens: dict[int, _Token] = {}  # by the identity of calls
        self._of: dict[GraphVar, _Tokens] = {}
        self._discarded: set[int] = set()  # identities of tokens
        self._blocks = 0
        self._plans_outputs = bool(self.func.attrs.get(_PLAN_OUTPUTS, False))

    def planned(self) -> dict[int, _Token]:
        """The storages, by the identity of allocating calls."""
        body = self.func.body
        if body is None:
            return {}
        self._find(body, is_body=True)
        kept = {
            key: token
            for key, token in self._tokens.items()
            if id(token) not in self._discarded and (not token.is_output or self._plans_outputs)
        }
        self._assign(body, kept)
        return kept

    # Which tensors can be planned

    def _find(self, expr: SeqExpr, is_body: bool = False) -> _Tokens:
        """Describe the value of a sequence."""
        for block in expr.blocks:
            self._blocks += 1
            number = self._blocks
            for binding in block.bindings:
                value = binding.value
                if isinstance(value, If):
                    self._discard(self._tokens_of(value.cond))
                    for branch in value.branches:
                        self._discard(self._find(branch))
                    self._blocks += 1
                    number = self._blocks
                    tokens: _Tokens = None
                elif isinstance(value, SeqExpr):
                    tokens = self._find(value)
                    self._discard(tokens)
                else:
                    tokens = self._value(value, number)
                self._of[binding.var] = tokens
        result = self._tokens_of(expr.body)
        if is_body:
            for token in _flat(result):
                token.is_output = True
                if token.block != self._blocks:
                    self._discard(token)
        return result

    def _tokens_of(self, expr: GraphValue) -> _Tokens:
        if isinstance(expr, GraphVar):
            return self._of.get(expr)
        if isinstance(expr, Tuple):
            return tuple([self._tokens_of(element) for element in expr.fields])
        return None

    def _value(self, value: GraphValue, block: int) -> _Tokens:
        if isinstance(value, GraphVar | Tuple):
            return self._tokens_of(value)
        if isinstance(value, TupleGetItem):
            fields = self._tokens_of(value.tuple_value)
            return fields[value.index] if isinstance(fields, tuple) else None
        if not isinstance(value, GraphCall):
            self._discard(tuple([self._tokens_of(variable) for variable in _variables(value)]))
            return None
        if value.op == "relax.builtin.alloc_tensor":
            return self._allocation(value, block)
        arg_tokens = tuple([self._tokens_of(arg) for arg in value.args])
        operator = find_operator(value.op) if isinstance(value.op, Op) else None
        if operator is not None and operator.is_alias:
            self._use(arg_tokens, block)
            return arg_tokens[0]
        if self._is_plain(value):
            self._use(arg_tokens, block)
            if isinstance(value.op, ExternFunc) and value.op.global_symbol in _PACKED_ALIASES:
                for token in _flat(arg_tokens):
                    token.is_pinned = True
            return None
        self._discard(arg_tokens)
        return None

    def _is_plain(self, call: GraphCall) -> bool:
        """Whether a call uses its arguments while it runs, and keeps none of them."""
        if isinstance(call.op, ExternFunc):
            return True
        if isinstance(call.op, Op):
            return call.op in ("relax.vm.call_tir_dyn", "relax.memory.kill_tensor")
        return isinstance(call.op, GlobalVar) and isinstance(
            self.mod.functions.get(call.op), PrimFunc
        )

    def _allocation(self, call: GraphCall, block: int) -> _Token | None:
        shape, dtype, device, scope = call.args
        if not isinstance(shape, ShapeExpr):
            return None
        token = _Token(block, _size(self._bounded(shape), dtype.value), dtype.value, device, scope)
        self._tokens[id(call)] = token
        return token

    def _bounded(self, shape: ShapeExpr) -> list[Expr]:
        return [_upper_bound(size, self.bounds, self.analyzer) for size in shape.values]

    def _use(self, tokens: _Tokens, block: int) -> None:
        for token in _flat(tokens):
            token.uses += 1
            if token.block != block:
                self._discarded.add(id(token))

    def _discard(self, tokens: _Tokens) -> None:
        self._discarded |= {id(token) for token in _flat(tokens)}

    # Which storage each has

    def _assign(self, body: SeqExpr, kept: dict[int, _Token]) -> None:
        """Give each tensor a storage, in the order of the bindings."""
        for block in _blocks(body):
            free: list[_Token] = []
            for binding in block.bindings:
                value = binding.value
                if not isinstance(value, GraphCall):
                    continue
                token = kept.get(id(value))
                if token is not None:
                    self._request(token, free, value)
                elif value.op != "relax.builtin.alloc_tensor":
                    for used in _flat(tuple([self._tokens_of(arg) for arg in value.args])):
                        self._release(used, free)

    def _request(self, token: _Token, free: list[_Token], call: GraphCall) -> None:
        if token.is_output:
            dtype = call.args[1].value
            token.size = ops.const(1, "int64")
            for extent in self._bounded(call.args[0]):
                token.size = ops.mul(token.size, extent)
            token.size = ops.mul(token.size, ops.const(dtypes.storage_bytes(dtype), "int64"))
            token.storage = token
            return
        storage = self._free_for(token, free)
        if storage is None:
            token.storage = token
            return
        free.remove(storage)
        if isinstance(token.size, IntImm) and isinstance(storage.size, IntImm):
            storage.size = ops.const(max(token.size.value, storage.size.value), "int64")
        token.storage = storage

    def _free_for(self, token: _Token, free: list[_Token]) -> _Token | None:
        size = token.size
        same = [
            storage
            for storage in free
            if storage.dtype == token.dtype and _is_same_place(storage, token)
        ]
        if not isinstance(size, IntImm):
            equal = (
                storage for storage in same if self.analyzer.can_prove_equal(storage.size, size)
            )
            return next(equal, None)
        rows = [
            (storage.size.value, storage) for storage in same if isinstance(storage.size, IntImm)
        ]
        larger = [row for row in rows if size.value <= row[0] <= size.value * _RANGE]
        if larger:
            return min(larger, key=lambda row: row[0])[1]
        smaller = [row for row in rows if size.value // _RANGE <= row[0] < size.value]
        return max(smaller, key=lambda row: row[0])[1] if smaller else None

    def _release(self, token: _Token, free: list[_Token]) -> None:
        token.uses -= 1
        storage = token.storage
        if token.uses or storage is None or token.is_pinned or token.is_output:
            return
        free.append(storage)


def _is_same_place(token: _Token, other: _Token) -> bool:
    devices = token.device.value, other.device.value
    return token.scope.value == other.scope.value and str(devices[0]) == str(devices[1])


def _size(shape: list[Expr], dtype: str) -> Expr:
    """The bytes of a tensor: constant extents as one factor, then the others."""
    number = dtypes.storage_bytes(dtype)
    rest: Expr | None = None
    for extent in shape:
        if isinstance(extent, IntImm):
            number *= extent.value
            continue
        factor = extent
        if isinstance(extent, Mul) and isinstance(extent.a, IntImm):
            number *= extent.a.value
            factor = extent.b
        rest = factor if rest is None else ops.mul(rest, factor)
    size = ops.const(number, "int64")
    return size if rest is None else ops.mul(size, rest) if number != 1 else rest


def _upper_bound(size: Expr, bounds: Mapping[Var, int], analyzer: Analyzer) -> Expr:
    """The largest value of a size, by the bounds of its variables."""
    used = variables_in(size)
    if not any(var in bounds for var in used):
        return size
    zero = ops.const(0, "int64")
    domains = {
        var: IntervalSet(zero, ops.const(bounds[var], "int64"))
        if var in bounds
        else IntervalSet(var, var)
        for var in used
    }
    bound = eval_set(size, domains).max
    if bound is not None:
        return bound if isinstance(bound, IntImm) else analyzer.rewrite_simplify(bound)
    values = {var: ops.const(bounds[var], "int64") for var in used if var in bounds}
    largest: Expr = substitute(size, values)
    return largest


def _bounds_of(func: GraphFunction) -> dict[Var, int]:
    """The upper bounds of the variables in the sizes of a function."""
    limits = func.attrs.get(_BOUNDS) or {}
    wrong = [name for name, value in limits.items() if _as_bound(value) is None]
    if wrong:
        raise GraphError(
            f"the upper bound of variable {wrong[0]} is {repr_of(limits[wrong[0]])}",
            f"it is {kind_of(limits[wrong[0]])}",
            f'give the attribute "{_BOUNDS}" as a dict of names and ints: {{"n": 1024}}',
        )
    bounds: dict[Var, int] = {}
    for var in [size for param in func.params for size in own_variables(param.struct_info)]:
        bound = _as_bound(limits.get(var.name))
        if bound is not None:
            bounds[var] = bound
    return bounds


def _as_bound(value: object) -> int | None:
    if isinstance(value, IntImm):
        return value.value
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _flat(tokens: _Tokens) -> list[_Token]:
    if isinstance(tokens, tuple):
        return [token for part in tokens for token in _flat(part)]
    return [] if tokens is None else [tokens]


def _variables(value: GraphValue) -> list[GraphVar]:
    if isinstance(value, Constant):
        return []
    return [variable for variable in (value,) if isinstance(variable, GraphVar)]


def _blocks(expr: SeqExpr) -> Iterator[BindingBlock]:
    """All blocks of a sequence, parts of one that a condition separates as well."""
    for block in expr.blocks:
        part: list[Binding] = []
        for binding in block.bindings:
            if isinstance(binding.value, If):
                yield BindingBlock(tuple(part))
                part = []
                for branch in binding.value.branches:
                    yield from _blocks(branch)
            elif isinstance(binding.value, SeqExpr):
                yield from _blocks(binding.value)
            else:
                part.append(binding)
        yield BindingBlock(tuple(part))


class _Stored(PyExprMutator):
    """Replaces allocations by tensors in storages."""

    def __init__(self, plan: dict[int, _Token]) -> None:
        super().__init__()
        self._plan = plan
        self._storages: dict[int, GraphVar] = {}

    def visit_var_binding_(self, binding: VarBinding) -> None:
        """The binding; of an allocation, a tensor in a storage."""
        token = self._plan.get(id(binding.value))
        call = binding.value
        if token is None or token.storage is None or not isinstance(call, GraphCall):
            super().visit_var_binding_(binding)
            return
        shape, dtype, device, scope = call.args
        storage = token.storage
        var = self._storages.get(id(storage))
        if var is None:
            size = ShapeExpr((storage.size,))
            allocation = memory.alloc_storage(size, device, scope, storage.dtype)
            var = self._storages[id(storage)] = self.builder_.emit(allocation, "storage")
        tensor = memory.alloc_tensor(var, 0, shape, dtype)
        self.reemit_binding(binding, self.builder_.normalize(tensor))
