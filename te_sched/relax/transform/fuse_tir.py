"""The pass `FuseTIR`: each function with the attribute "Primitive" becomes one function of blocks.

Its calls of functions of blocks are written one after another: intermediate results become buffers
of the root block, and results of the function are its last parameters. Must not know what was
grouped, and why.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from te_sched.arith.regions import access_regions
from te_sched.deep_recursion import walks_deeply
from te_sched.errors import GraphError
from te_sched.ir import ops
from te_sched.ir.blocks import Block, BlockRealize
from te_sched.ir.buffer import decl_buffer
from te_sched.ir.expr import Buffer, BufferRegion, Expr, Node, Var
from te_sched.ir.graph import (
    Binding,
    GraphCall,
    GraphExpr,
    GraphFunction,
    GraphValue,
    GraphVar,
    OpAttrs,
    Tuple,
    TupleGetItem,
    VarBinding,
)
from te_sched.ir.op import Op
from te_sched.ir.printer.names import UniqueNames
from te_sched.ir.renew import Renewed
from te_sched.ir.root_block import ROOT, is_root
from te_sched.ir.stmt import BaseFunc, GlobalVar, IRModule, PrimFunc, Stmt
from te_sched.ir.struct_info import (
    PrimStructInfo,
    ShapeExpr,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from te_sched.ir.structural import structural_equal
from te_sched.ir.visitor import AccessMapper, replace
from te_sched.lowering.prim_func import create_prim_func
from te_sched.lowering.statements import sequence
from te_sched.passes import ModulePass
from te_sched.relax.analysis.variables import bindings_of
from te_sched.relax.core.sizes import sizes_of
from te_sched.relax.expr_functor import PyExprMutator
from te_sched.relax.struct_info import derive_call
from te_sched.relax.transform.dead_code_elimination import DeadCodeElimination
from te_sched.relax.transform.expand_tuple_args import ExpandTupleArguments
from te_sched.relax.transform.remove_unused_parameters import RemoveUnusedParameters
from te_sched.te.declare import placeholder
from te_sched.topi.elementwise import identity
from te_sched.transform import Sequential

_Regions = tuple[BufferRegion, ...]
CALL_TIR, CALL_INPLACE = Op.get("relax.call_tir"), Op.get("relax.call_tir_inplace")


class FuseTIR(Sequential):
    """The pass that makes one function of blocks of each function with the attribute "Primitive",
    and removes what is not used: functions, parameters and bindings.

    Parameters
    ----------
    to_run : as that of `DeadCodeElimination`.

    >>> from te_sched import relax, topi
    >>> x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    >>> builder = relax.BlockBuilder()
    >>> with builder.function("exp_tanh", [x], {"Primitive": 1}, private=True):
    ...     with builder.dataflow():
    ...         y = builder.emit_te(topi.exp, x)
    ...         y = builder.emit_output(builder.call_te(topi.tanh, y))
    ...     gv = builder.emit_func_output(y)
    >>> x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    >>> with builder.function("main", [x]):
    ...     with builder.dataflow():
    ...         y = builder.emit_output(relax.Call(gv, [x]))
    ...     gv = builder.emit_func_output(y)
    >>> module = FuseTIR()(builder.get())
    >>> [str(name) for name in module.functions]
    ['exp_tanh', 'main']
    >>> [one.name for one in module["exp_tanh"].body.block.alloc_buffers]
    ['compute_intermediate']
    """

    def __init__(self, *, to_run: bool = False) -> None:
        passes = [
            ExpandTupleArguments(to_run=to_run),
            RemoveUnusedParameters(to_run=to_run),
            _FuseTIR(),
            DeadCodeElimination(to_run=to_run),
        ]
        super().__init__(passes, name="FuseTIR")


class _FuseTIR(ModulePass, name="FuseTIRInner"):
    def transform_module(self, mod: IRModule, *_: object) -> IRModule:
        return fuse_functions(mod)


def fuse_functions(mod: IRModule) -> IRModule:
    """The module with functions of blocks for its primitive functions, and with calls of them."""
    fused: dict[str, _Fused] = {}
    for name, func in mod.functions.items():
        if isinstance(func, GraphFunction) and func.attrs.get("Primitive"):
            fused[str(name)] = _FusedWriter(mod, str(name)).write(func)
    if not fused:
        return mod
    calls = _FusedCalls(fused)
    changed: dict[str, BaseFunc] = {name: kernel.func for name, kernel in fused.items()}
    for name, func in mod.functions.items():
        if isinstance(func, GraphFunction) and str(name) not in fused:
            changed[str(name)] = calls.visit_expr(func)
    return replace(mod, functions={**mod.functions, **changed})


class _Input(NamedTuple):
    """An input of the new function: a parameter of the old one, or an element of a tuple."""

    param: int
    path: tuple[int, ...] = ()


@dataclass
class _Fused:
    """The new function, and how it is called."""

    func: PrimFunc
    info: StructInfo  # of the old function
    inputs: list[_Input]
    sizes: list[tuple[int, int]]  # the parameter and the place in it of each number
    places: list[int]  # the input into which each result is written; -1 for a new array


@dataclass(eq=False)
class _Tensor:
    """A tensor of the old function; its buffer is made when a function of blocks first uses it."""

    name: str
    info: TensorStructInfo
    source: _Input | None = None
    buffer: Buffer | None = None


# What a value stands for; nothing for shapes and numbers.
_Value: TypeAlias = "_Tensor | tuple[_Value, ...] | None"
# Elements of tuples, and the variables that they are bound to.
_Items = dict[tuple[GraphExpr, int], GraphVar]


class _FusedWriter:
    """Writes the function of blocks of a primitive function."""

    def __init__(self, mod: IRModule, name: str) -> None:
        self._mod, self._name = mod, name
        self._values: dict[GraphVar, _Value] = {}
        self._inputs: list[_Tensor] = []
        self._made: list[_Tensor] = []
        self._buffer_names, self._block_names = UniqueNames(), UniqueNames()
        self._allocated: list[
            Buffer | _Tensor
        ] = []  # buffers, and tensors of which the buffer comes later
        self._statements: list[Stmt] = []
        self._overwritten: dict[_Tensor, VarBinding] = {}  # by calls in place

    def write(self, func: GraphFunction) -> _Fused:
        """The function of blocks, and how it is called."""
        for param_index, param in enumerate(func.params):
            tensors = self._parameter(param.name_hint, param.struct_info, _Input(param_index))
            self._values[param] = tensors
        for binding in bindings_of(func.body):
            self._values[binding.var] = self._value(binding)
        results = self._results(func.body.body)
        self._copy_overwritten(results)
        inputs = [item for item in self._inputs if item.buffer is not None or not item.source.path]  # type: ignore[union-attr]
        places = [inputs.index(tensor) if tensor in inputs else -1 for tensor in results]
        new = [tensor for tensor, index in zip(results, places, strict=True) if index == -1]
        buffers = {Var(f"p_{tensor.name}", "handle"): self._buffer(tensor) for tensor in inputs}
        buffers |= {
            Var(f"p_output{index}", "handle"): self._buffer(tensor)
            for index, tensor in enumerate(new)
        }
        numbers, sizes = _numbers(func)
        params = (*buffers, *numbers)
        function = PrimFunc(params, self._root(new), buffers, {"tir.noalias": True})
        sources = [tensor.source for tensor in inputs]
        return _Fused(function, func.struct_info, sources, sizes, places)  # type: ignore[arg-type]

    def _root(self, results: list[_Tensor]) -> Stmt:
        """The root block, which allocates all buffers but those of the results."""
        allocated = [
            self._buffer(item) if isinstance(item, _Tensor) else item
            for item in self._allocated
            if item not in results
        ]
        body = sequence(self._statements)
        block = Block((), (), (), ROOT, None, body, tuple(allocated))
        return BlockRealize((), ops.TRUE, block)

    def _parameter(self, name: str, info: StructInfo, source: _Input) -> _Value:
        if isinstance(info, TupleStructInfo):
            return tuple(
                [
                    self._parameter(
                        f"{name}_{index}", field, _Input(source.param, (*source.path, index))
                    )
                    for index, field in enumerate(info.fields)
                ]
            )
        if isinstance(info, TensorStructInfo):
            tensor = _Tensor(name, info, source)
            self._inputs.append(tensor)
            return tensor
        return None  # shapes and numbers, of which the function gets the numbers

    def _value(self, binding: Binding) -> _Value:
        value = binding.value
        if isinstance(binding, VarBinding):
            if isinstance(value, GraphCall) and value.op in (CALL_TIR, CALL_INPLACE):
                return self._inlined(binding, value)
            if isinstance(value, GraphVar | Tuple | TupleGetItem):
                return self._of(value)
        raise self._error(
            f"binding {binding.var.name_hint} does not call a function of blocks",
            f"it is {value}",
            "legalize operators before they are fused: relax.transform.LegalizeOps()",
        )

    def _of(self, value: GraphValue) -> _Value:
        """What an argument or a result stands for."""
        if isinstance(value, Tuple):
            return tuple([self._of(field) for field in value.fields])
        if isinstance(value, TupleGetItem):
            fields = self._of(value.tuple_value)
            assert isinstance(fields, tuple)
            return fields[value.index]
        if isinstance(value, GraphVar) and self._values.get(value) is not None:
            return self._values[value]
        raise self._error(
            f"{value} is used, which is not a tensor of the function",
            f"it is {value.struct_info}",
            "pass it as a parameter",
        )

    def _results(self, body: GraphValue) -> list[_Tensor]:
        result = self._of(body)
        fields = result if isinstance(result, tuple) else (result,)
        results = [field for field in fields if isinstance(field, _Tensor)]
        if len(set(results)) < len(fields):
            raise self._error(
                f"its result is {body}",
                "a function of blocks returns different tensors",
                "return each tensor once, not in a tuple of a tuple",
            )
        return results

    def _inlined(self, binding: VarBinding, call: GraphCall) -> _Value:
        """Append the body of the called function; the result of the call."""
        callee = call.args[0]
        func = self._mod.functions.get(callee) if isinstance(callee, GlobalVar) else None
        if not isinstance(func, PrimFunc):
            raise self._error(
                f"binding {binding.var.name_hint} calls {callee}, "
                "which is not a function of blocks",
                "",
                "define the function in the module",
            )
        inputs = _tensors(self._of(call.args[1]))
        infos = _infos(call.sinfo_args[0])
        is_inplace = call.op == CALL_INPLACE
        places = list(call.attrs["inplace_indices"]) if is_inplace else [-1] * len(infos)
        buffers = [func.buffer_map[param] for param in func.params if param in func.buffer_map]
        new = [
            _Tensor("", info)
            for info, index in zip(infos, places, strict=True)
            if index == -1 and isinstance(info, TensorStructInfo)
        ]
        if len(buffers) != len(inputs) + len(new):
            raise self._error(
                f"binding {binding.var.name_hint} gives {callee} {len(inputs) + len(new)} tensors, "
                f"expected {len(buffers)}",
                "they are its inputs, and its results",
                "give the struct info of each result",
            )
        for tensor, buffer in zip(new, buffers[len(inputs) :], strict=True):
            tensor.name = self._buffer_names.take(f"{buffer.name}_intermediate")
        numbers = call.args[2].values if len(call.args) > 2 else ()
        self._append(binding, func, [*inputs, *new], numbers)
        self._overwritten |= {inputs[index]: binding for index in places if index >= 0}
        self._allocated += new
        new_tensors = iter(new)
        results = [next(new_tensors) if index == -1 else inputs[index] for index in places]
        is_tuple = isinstance(call.sinfo_args[0], TupleStructInfo)
        return tuple(results) if is_tuple else results[0]

    def _copy_overwritten(self, results: list[_Tensor]) -> None:
        """Let calls in place overwrite copies of inputs that are not returned: callers of the new
        function do not know that it would write them.
        """
        for tensor, binding in self._overwritten.items():
            if tensor.source is None or tensor in results:
                continue
            original = self._buffer(tensor)
            source = placeholder(original.shape, original.dtype, tensor.name)
            copying = create_prim_func([source, identity(source)])
            copied = _Tensor(self._buffer_names.take(f"{tensor.name}_copy"), tensor.info)
            statements, self._statements = self._statements, []
            self._append(binding, copying, [tensor, copied], ())
            redirected = _Redirected(original, self._buffer(copied))
            self._statements += [redirected.visit(statement) for statement in statements]
            self._allocated.append(copied)

    def _append(
        self, binding: VarBinding, func: PrimFunc, tensors: list[_Tensor], numbers: Sequence[Expr]
    ) -> None:
        """Append the body of a function that is called with these tensors and numbers."""
        values: dict[Var, Expr] = {}
        shared: dict[Node, Node] = {}
        params = [handle for handle in func.params if handle in func.buffer_map]
        scalars = [scalar for scalar in func.params if scalar not in func.buffer_map]
        for var, number in zip(scalars, numbers, strict=True):
            values[var] = ops.cast(var.dtype, number)
        for param, tensor in zip(params, tensors, strict=True):
            buffer = func.buffer_map[param]
            actual = self._buffer(tensor, buffer, binding)
            shared[buffer] = actual
            values[buffer.data] = actual.data
            pairs = [(buffer.elem_offset, actual.elem_offset)]
            pairs += zip(buffer.shape, actual.shape, strict=True)
            for size, other in pairs:
                if type(size) is Var:
                    values.setdefault(size, ops.cast(size.dtype, other))
        body = _renewed(func.body, _Inlined(values, shared, self._block_names))
        if is_root(body):
            self._allocated += body.block.alloc_buffers
            body = body.block.body
        self._statements.append(body)

    def _buffer(
        self, tensor: _Tensor, source: Buffer | None = None, binding: VarBinding | None = None
    ) -> Buffer:
        """The buffer of a tensor, like the one that a function of blocks has for it."""
        first = tensor.buffer
        if first is not None:
            if source is not None and source.axis_separators != first.axis_separators:
                assert binding is not None
                raise self._error(
                    f"Inconsistent buffers {first.name} and {source.name} mapped to the same relax "
                    f"var: {tensor.name}",
                    f"binding {binding.var.name_hint} uses it with axis separators "
                    f"{list(source.axis_separators)}, others with {list(first.axis_separators)}",
                    "give both the same axis separators",
                )
            return first
        shape = sizes_of(tensor.info)
        if shape is None or not tensor.info.dtype or (source and len(source.shape) != len(shape)):
            rank = "" if source is None else f" of {len(source.shape)} dimensions"
            raise self._error(
                f"the shape of {tensor.name} is not known",
                f"it is {tensor.info}, expected a tensor{rank}",
                "fuse functions of known or symbolic shapes",
            )
        new_buffer = decl_buffer(
            shape,
            tensor.info.dtype,
            tensor.name,
            scope="" if source is None else source.scope(),
            axis_separators=None if source is None else source.axis_separators,
        )
        tensor.buffer = new_buffer
        return new_buffer

    def _error(self, fault: str, why: str, help: str) -> GraphError:
        return GraphError(f"cannot fuse function {self._name}: {fault}", why, help)


class _Redirected(AccessMapper):
    """Accesses to one buffer as accesses to another."""

    def __init__(self, old: Buffer, new: Buffer) -> None:
        self._old, self._new = old, new

    def renewed(self, node: Node) -> Node:
        """The other buffer instead of the one."""
        return self._new if node is self._old else super().renewed(node)

    def visit_Var(self, node: Var) -> Var:
        """The memory of the other buffer instead of that of the one."""
        return self._new.data if node is self._old.data else node


class _Inlined(Renewed):
    """The body of a function with other buffers and sizes; its blocks have names of their own."""

    def __init__(
        self, values: dict[Var, Expr], shared: dict[Node, Node], names: UniqueNames
    ) -> None:
        super().__init__()
        self.values |= values
        self.shared.update(shared)
        self._names = names

    def visit_Expr(self, node: Expr) -> Expr:
        new: Any = self.generic(node)  # of a class with operands, if it has a builder
        build = ops.BUILDERS.get(type(node))
        return new if new is node or build is None else build(new.a, new.b)

    def visit_Block(self, node: Block) -> Block:
        is_inner = bool(node.iter_vars) or node.name_hint != ROOT
        name = self._names.take(node.name_hint) if is_inner else ROOT
        new = super().visit_Block(node)
        reads, writes = self._regions(node, new)
        return replace(new, reads=reads, writes=writes, name_hint=name)

    def _regions(self, node: Block, new: Block) -> tuple[_Regions, _Regions]:
        """The regions of a block: one for each buffer, where it had two for what is one now."""
        reads, writes = _distinct(new.reads), _distinct(new.writes)
        if _count(new.reads) == _count(node.reads) and _count(new.writes) == _count(node.writes):
            return reads, writes
        if len(reads) == _count(reads) and len(writes) == _count(writes):
            return reads, writes
        buffers = {
            buffer.data: buffer for buffer in self.shared.values() if isinstance(buffer, Buffer)
        }
        reads, writes, others = access_regions(new, buffers)
        return (reads, writes) if not others else (new.reads, new.writes)


def _count(regions: _Regions) -> int:
    """The number of different buffers."""
    return len({region.buffer for region in regions})


def _distinct(regions: _Regions) -> _Regions:
    """The regions without repetitions."""
    unique_regions: list[BufferRegion] = []
    for region in regions:
        if not any(
            other.buffer is region.buffer and structural_equal(other.region, region.region)
            for other in unique_regions
        ):
            unique_regions.append(region)
    return regions if len(unique_regions) == len(regions) else tuple(unique_regions)


@walks_deeply("fuse functions", GraphError)
def _renewed(body: Stmt, mapper: _Inlined) -> Stmt:
    return mapper.visit(body)


def _tensors(value: _Value) -> list[_Tensor]:
    """The tensors of nested tuples, in order."""
    if isinstance(value, tuple):
        return [tensor for field in value for tensor in _tensors(field)]
    assert value is not None  # `_of` refuses other values
    return [value]


def _infos(info: StructInfo) -> list[StructInfo]:
    """The struct infos of nested tuples, in order."""
    if isinstance(info, TupleStructInfo):
        return [part for field in info.fields for part in _infos(field)]
    return [info]


def _numbers(func: GraphFunction) -> tuple[list[Var], list[tuple[int, int]]]:
    """The variables that shapes and numbers among the parameters give, and where they stand."""
    locations: dict[Var, tuple[int, int]] = {}
    for param_index, param in enumerate(func.params):
        info = param.struct_info
        if isinstance(info, ShapeStructInfo | PrimStructInfo):
            for index, size in enumerate(sizes_of(info) or ()):
                if type(size) is Var:
                    locations.setdefault(size, (param_index, index))
    return list(locations), list(locations.values())


class _FusedCalls(PyExprMutator):
    """Calls the functions of blocks in place of the primitive functions."""

    def __init__(self, fused: Mapping[str, _Fused]) -> None:
        super().__init__()
        self._fused = fused

    def visit_call_(self, op: GraphCall) -> GraphExpr:
        """The call, by `call_tir` if its function was fused."""
        call = self.visit_expr_post_order(op)
        fused = self._fused.get(str(call.op)) if isinstance(call.op, GlobalVar) else None
        if fused is None:
            return call
        items: _Items = {}
        inputs = [
            self._input(call.args[source.param], source.path, items) for source in fused.inputs
        ]
        args: list[GraphValue] = [call.op, Tuple(tuple(inputs))]
        numbers = [_number(call, *location) for location in fused.sizes]
        if numbers:
            args.append(ShapeExpr(tuple(numbers)))
        info = derive_call(call, fused.info, self.builder_)
        if all(index == -1 for index in fused.places):
            return GraphCall(CALL_TIR, tuple(args), None, (info,))
        attrs = OpAttrs(inplace_indices=fused.places)
        return GraphCall(CALL_INPLACE, tuple(args), attrs, (info,))

    def _input(self, value: GraphExpr, path: tuple[int, ...], items: _Items) -> GraphExpr:
        """An element of an argument, which is bound to a variable."""
        for index in path:
            if isinstance(value, Tuple):
                value = value.fields[index]
                continue
            if (value, index) not in items:
                items[value, index] = self.builder_.emit(TupleGetItem(value, index))
            value = items[value, index]
        return value


def _number(call: GraphCall, param: int, index: int) -> Expr:
    """A number of an argument that is a shape or a number."""
    arg = call.args[param]
    sizes = sizes_of(arg.struct_info)
    if sizes is None:
        raise GraphError(
            f"the numbers in argument {param} of {call.op} are not known",
            f"it is {arg.struct_info}",
            "pass a shape of known or symbolic sizes",
        )
    return sizes[index]
