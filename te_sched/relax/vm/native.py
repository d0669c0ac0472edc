"""Functions of graphs without control flow and of constant shapes, as one native function.

The function of the graph is executed with descriptions of values in place of values. What remains
are calls of kernels and registered functions on arrays of known places: parameters, constants,
results, and memory of one arena, in which tensors that live at different times share bytes. It is
the only plan of memory of these functions: `StaticPlanBlockMemory` leaves them out.

    main(x, result):
        arena = workspace(1024)
        matmul(x, linked_memory("constant 0"), arena + 0)
        relu(arena + 0, result)

A function with something else (symbolic shapes, conditions, values of Python) has no plan, and is
interpreted. Must not know how native functions are compiled.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeGuard

from te_sched.codegen.signature import calls_of
from te_sched.ir import dtypes, ops
from te_sched.ir.buffer import decl_buffer
from te_sched.ir.calls import CALL_FUNCTION, address_of, buffer_as_array
from te_sched.ir.expr import Buffer, BufferLoad, Call, Expr, IntImm, PointerType, StringImm, Var
from te_sched.ir.graph import GraphFunction, If
from te_sched.ir.stmt import Allocate, Evaluate, IRModule, LetStmt, PrimFunc, SeqStmt, Stmt
from te_sched.ir.written_parameters import written_parameters
from te_sched.relax.vm.arena import ALIGNMENT, Lifetime, offsets_in_arena
from te_sched.relax.vm.bytecode import ShapeTuple, TypeName
from te_sched.relax.vm.call_writer import CallWriter, graph_functions
from te_sched.runtime.module import MOST_ARGUMENTS
from te_sched.runtime.ndarray import NDArray

WRITTEN = "te_sched.written"
_MOST_CALLS = 64  # of functions of graphs inside of others
_CHECKS = {
    f"vm.builtin.check_{name}"
    for name in ("tensor_info", "shape_info", "prim_value_info", "tuple_info", "func_info")
}


_UNKNOWN = object()  # what a registered function returns


# Plain data: a kind, and what it needs (see `NativePlan`).
Tree = list[Any]
# Descriptions of values, of the kinds that a function takes.
_Arguments = Sequence[Any]


class _NotStatic(Exception):
    """The function needs the interpreter."""


@dataclass(slots=True)
class _Memory:
    """Memory of arrays: `kind` is "param", "constant" or "storage"; `size` is in bytes."""

    kind: str
    number: int
    size: int = 0
    first: int = -1
    last: int = -1


@dataclass(slots=True)
class _Described:
    """An array in memory; of a parameter, what is known so far."""

    memory: _Memory
    offset: int
    dtype: str
    shape: tuple[int, ...] | None
    ndim: int = -1

    @property
    def size(self) -> int:
        return math.prod(self.shape or ()) * dtypes.storage_bytes(self.dtype)


@dataclass(slots=True)
class _KernelCall:
    """A call of a kernel, or of a registered function."""

    name: str
    args: list[object]
    is_kernel: bool


@dataclass(slots=True)
class NativePlan:
    """How a native function is called, as plain data.

    `params` and `outputs` are dtypes and shapes, `result` is a tree: ["param", k],
    ["output", k], ["view", k, offset, dtype, shape] of an output, ["constant", k],
    ["value", v], ["shape", sizes] or ["tuple", fields]. `checks` are of parameters, for errors.
    """

    name: str
    params: list[tuple[str, list[int]]]
    outputs: list[tuple[str, list[int]]]
    result: Tree
    constants: list[int]
    checks: list[Tree] = field(default_factory=list)


@dataclass(slots=True)
class PlannedFunction:
    """A plan, the native function, and the special kernels that it calls."""

    plan: NativePlan
    function: PrimFunc
    kernels: dict[str, PrimFunc]


def native_functions(
    module: IRModule, kernels: Mapping[str, PrimFunc], number_of: Callable[[NDArray], int]
) -> Iterator[PlannedFunction]:
    """The native forms of the functions of graphs of a module, without those that need the
    interpreter.

    `number_of` gives the number of a constant of the executable.
    """
    graphs = graph_functions(module)
    for name in graphs:
        with suppress(_NotStatic):
            yield _Planner(name, module, graphs, kernels, number_of).planned()


class _Planner(CallWriter[object]):
    """Executes a function with descriptions of values."""

    machine = None

    def __init__(
        self,
        name: str,
        module: IRModule,
        graphs: Mapping[str, GraphFunction],
        kernels: Mapping[str, PrimFunc],
        number_of: Callable[[NDArray], int],
    ) -> None:
        super().__init__(module)
        self.name, self.graphs, self.kernels, self.number_of = name, graphs, kernels, number_of
        self.steps: list[_KernelCall] = []
        self.special: dict[str, PrimFunc] = {}
        self.storages: list[_Memory] = []
        self.constants: dict[int, _Memory] = {}
        self._checks: list[Tree] = []
        self._inlined = 0
        self._params = [
            _Described(_Memory("param", k), 0, "", None)
            for k in range(len(self.graphs[name].params))
        ]

    def planned(self) -> PlannedFunction:
        """Execute the function, then lay out memory and write the native one."""
        func = self.graphs[self.name]
        self.values.update(zip(func.params, self._params, strict=True))
        result = self.expr(func.body)
        if not self.steps:  # there is nothing to call
            raise _NotStatic
        outputs = self._outputs(result)
        if len(outputs) + len(self._params) > MOST_ARGUMENTS:
            raise _NotStatic
        params = [self._known(param) for param in self._params]
        described = [_of_output(output, result) for output in outputs]
        plan = NativePlan(
            self.name,
            [(param.dtype, list(param.shape or ())) for param in params],
            [(dtype, list(shape)) for dtype, shape in described],
            _tree(result, outputs, described),
            sorted(self.constants),
            self._checks,
        )
        writer = _PlanWriter(self, params, outputs, described)
        return PlannedFunction(plan, writer.written(), self.special)

    def _known(self, tensor: _Described) -> _Described:
        if tensor.shape is None or not tensor.dtype:
            raise _NotStatic
        return tensor

    # Values and calls

    def constant(self, value: object) -> object:
        if not isinstance(value, NDArray):
            return value.name if isinstance(value, TypeName) else value
        number = self.number_of(value)
        memory = self.constants.setdefault(number, _Memory("constant", number))
        return _Described(memory, 0, value.dtype, value.shape)

    def integer(self, value: int) -> object:
        return value

    def function(self, name: str) -> object:
        raise _NotStatic

    def choice(self, expr: If) -> object:
        raise _NotStatic

    def end_life(self, value: object) -> object:
        return None

    def call(self, name: str, args: Sequence[object], is_void: bool = False) -> object:
        if any(arg is _UNKNOWN for arg in args):
            raise _NotStatic
        if name in self.graphs:
            return self._inline(self.graphs[name], args)
        if name in self.kernels:
            return self._kernel(name, args)
        if name in _CHECKS or name == "vm.builtin.match_shape":
            return self._check(name, args)
        handler = _HANDLERS.get(name)
        if handler is not None:
            return handler(self, args)
        if name.startswith("vm.builtin."):
            raise _NotStatic
        if not all(isinstance(arg, _Described | int | float | str) for arg in args):
            raise _NotStatic
        self._step(_KernelCall(name, list(args), False))
        return () if is_void else _UNKNOWN

    def _inline(self, func: GraphFunction, args: Sequence[object]) -> object:
        self._inlined += 1
        if self._inlined > _MOST_CALLS or len(args) != len(func.params):
            raise _NotStatic
        outer, self.values = self.values, dict(zip(func.params, args, strict=True))
        result = self.expr(func.body)
        self.values = outer
        return result

    def _kernel(self, name: str, args: _Arguments) -> object:
        if not all(isinstance(arg, _Described | int | float) for arg in args):
            raise _NotStatic
        func = self.kernels[name]
        if len(func.params) != len(args) or calls_of(func, "tir.ret"):
            raise _NotStatic
        special = self._specialized(name, func, args)
        if special is not None:
            name = special
            args = [
                arg
                for arg, param in zip(args, func.params, strict=True)
                if isinstance(arg, _Described) or param.dtype == "handle"
            ]
        self._step(_KernelCall(name, list(args), True))
        return ()

    def _specialized(self, name: str, func: PrimFunc, args: _Arguments) -> str | None:
        """The name of the kernel for the shapes of the arrays; None if it has no variables."""
        values: dict[Var, Buffer | float] = {}
        key: list[object] = [name]
        for param, arg in zip(func.params, args, strict=True):
            buffer = func.buffer_map.get(param)
            if buffer is None:
                values[param] = arg
                key.append(arg)
            elif any(not isinstance(extent, IntImm) for extent in buffer.shape):
                sizes = self._known(arg).shape or ()
                if len(sizes) != len(buffer.shape):
                    raise _NotStatic
                pairs = zip(sizes, buffer.shape, strict=True)
                shape = [ops.const(size, extent.dtype) for size, extent in pairs]
                values[param] = decl_buffer(shape, buffer.dtype, buffer.name)
                key += sizes
        if not values:
            return None
        kernel_name = "_".join(map(str, key))
        if kernel_name not in self.special:
            self.special[kernel_name] = func.specialize(values).with_attr(
                "global_symbol", kernel_name
            )
        return kernel_name

    def _step(self, step: _KernelCall) -> None:
        index = len(self.steps)
        for arg in step.args:
            if isinstance(arg, _Described):
                self._known(arg)
                arg.memory.first = index if arg.memory.first < 0 else arg.memory.first
                arg.memory.last = index
        self.steps.append(step)

    def _check(self, name: str, args: _Arguments) -> object:
        """A check of a parameter says what it is; others must hold."""
        value = args[0]
        if not isinstance(value, _Described):
            raise _NotStatic
        is_param = value.memory.kind == "param" and value is self._params[value.memory.number]
        if name == "vm.builtin.check_tensor_info" and len(args) == 4:
            ndim, dtype = args[1], args[2]
            if is_param and not value.dtype:
                value.dtype, value.ndim = "" if dtype == "void" else dtype, ndim
                value.shape = () if ndim == 0 else value.shape  # which nothing else says
            elif dtype not in ("", "void", value.dtype):
                raise _NotStatic
        elif name == "vm.builtin.match_shape":
            sizes = self._sizes(args)
            if is_param and value.shape is None:
                value.shape = sizes
            elif value.shape != sizes:
                raise _NotStatic
        else:
            raise _NotStatic
        if is_param and not self._inlined:
            self._checks.append([name, value.memory.number, *args[1:]])
        return ()

    def _sizes(self, args: _Arguments) -> tuple[int, ...]:
        """The numbers that a shape is matched with."""
        pairs = args[3:-1]
        if any(code != 0 for code in pairs[::2]):
            raise _NotStatic
        return tuple(pairs[1::2])

    def _storage(self, args: _Arguments) -> _Memory:
        _machine, shape, device, dtype, *_ = args
        if device != 0:
            raise _NotStatic
        size = math.prod(shape) * dtypes.storage_bytes(dtype)
        self.storages.append(_Memory("storage", len(self.storages), size))
        return self.storages[-1]

    def _tensor(self, args: _Arguments) -> _Described:
        storage, offset, shape, dtype = args
        if not isinstance(storage, _Memory) or not isinstance(shape, ShapeTuple):
            raise _NotStatic
        tensor = _Described(storage, offset, dtype, tuple(shape))
        if offset % ALIGNMENT % dtypes.storage_bytes(dtype) or offset + tensor.size > storage.size:
            raise _NotStatic
        return tensor

    def _reshape(self, args: _Arguments) -> _Described:
        value, shape = args
        if not isinstance(value, _Described) or not isinstance(shape, ShapeTuple):
            raise _NotStatic
        value = self._known(value)
        tensor = _Described(value.memory, value.offset, value.dtype, tuple(shape))
        if tensor.size != value.size:
            raise _NotStatic
        return tensor

    def _tuple_item(self, args: _Arguments) -> object:
        value, index = args
        if not isinstance(value, tuple) or not isinstance(index, int):
            raise _NotStatic
        return value[index]

    # Memory

    def _outputs(self, result: object) -> list[_Memory]:
        """The storages that the result refers to."""
        memories: dict[int, _Memory] = {}
        for leaf in _leaves(result):
            if isinstance(leaf, _Described) and leaf.memory.kind == "storage":
                memories.setdefault(leaf.memory.number, leaf.memory)
            elif not isinstance(leaf, _Described | int | float | str | ShapeTuple | None):
                raise _NotStatic
        return list(memories.values())


def _leaves(value: object) -> list[object]:
    if isinstance(value, tuple) and not isinstance(value, ShapeTuple):
        return [leaf for element in value for leaf in _leaves(element)]
    return [value]


def _of_output(memory: _Memory, result: object) -> tuple[str, tuple[int, ...]]:
    """The dtype and shape of the array that is allocated for a storage of the result."""
    parts = [
        leaf for leaf in _leaves(result) if isinstance(leaf, _Described) and leaf.memory is memory
    ]
    kinds = {(part.offset, part.dtype, part.shape) for part in parts}
    if len(kinds) == 1 and parts[0].offset == 0 and parts[0].size == memory.size:
        return parts[0].dtype, parts[0].shape or ()
    return "uint8", (memory.size,)


def _tree(
    value: object, outputs: list[_Memory], described: Sequence[tuple[str, tuple[int, ...]]]
) -> Tree:
    if isinstance(value, ShapeTuple):
        return ["shape", list(value)]
    if isinstance(value, tuple):
        return ["tuple", [_tree(element, outputs, described) for element in value]]
    if not isinstance(value, _Described):
        return ["value", value]
    if value.memory.kind != "storage":
        if value.offset or (value.memory.kind == "param" and value.ndim == -1):
            raise _NotStatic  # a reshaped parameter or constant
        return [value.memory.kind, value.memory.number]
    number = next(k for k, output in enumerate(outputs) if output is value.memory)
    if described[number] == (value.dtype, value.shape):
        return ["output", number]
    return ["view", number, value.offset, value.dtype, list(value.shape or ())]


_HANDLERS: dict[str, Callable[[_Planner, _Arguments], object]] = {
    "vm.builtin.null_value": lambda planner, args: None,
    "vm.builtin.copy": lambda planner, args: args[0],
    "vm.builtin.make_tuple": lambda planner, args: tuple(args),
    "vm.builtin.tuple_getitem": _Planner._tuple_item,
    "vm.builtin.alloc_storage": _Planner._storage,
    "vm.builtin.alloc_tensor": _Planner._tensor,
    "vm.builtin.reshape": _Planner._reshape,
}


class _PlanWriter:
    """Writes the function: parameters, constants, the arena, and the calls."""

    def __init__(
        self,
        planner: _Planner,
        params: list[_Described],
        outputs: list[_Memory],
        described: Sequence[tuple[str, tuple[int, ...]]],
    ) -> None:
        self.planner = planner
        names = [param.name_hint for param in planner.graphs[planner.name].params]
        self.buffers = [
            decl_buffer(param.shape or (), param.dtype, name)
            for param, name in zip(params, names, strict=True)
        ]
        self.results = [
            decl_buffer(shape, dtype, f"result{number or ''}")
            for number, (dtype, shape) in enumerate(described)
        ]
        self.places: dict[int, tuple[Var, int]] = {}  # of memory, by its identity
        for param, buffer in zip(params, self.buffers, strict=True):
            self.places[id(param.memory)] = buffer.data, 0
        for memory, buffer in zip(outputs, self.results, strict=True):
            self.places[id(memory)] = buffer.data, 0
        self.constants = {
            number: Var(f"constant{number}", "handle", PointerType("uint8", "global"))
            for number in sorted(planner.constants)
        }
        for number, memory in planner.constants.items():
            self.places[id(memory)] = self.constants[number], 0
        self.arena = Var("arena", "handle", PointerType("uint8", "global"))
        self.size = self._lay_out(outputs)

    def _lay_out(self, outputs: list[_Memory]) -> int:
        """Give the other storages places in the arena; its size."""
        inner = [
            memory
            for memory in self.planner.storages
            if memory.first >= 0 and not any(memory is other for other in outputs)
        ]
        blocks = [Lifetime(memory.size, memory.first, memory.last) for memory in inner]
        offsets, size = offsets_in_arena(blocks)
        for storage, offset in zip(inner, offsets, strict=True):
            self.places[id(storage)] = self.arena, offset
        return max(size, 1) if inner else 0  # values may be empty

    def written(self) -> PrimFunc:
        """The function."""
        calls: list[Stmt] = [Evaluate(self._call(step)) for step in self.planner.steps]
        body: Stmt = calls[0] if len(calls) == 1 else SeqStmt(tuple(calls))
        if self.size:
            extent = (ops.const(self.size, "int64"),)
            body = Allocate(self.arena, "uint8", extent, ops.const(True, "bool"), body)
        for number, var in self.constants.items():
            address = Call("handle", "tir.linked_memory", (StringImm(constant_name(number)),))
            body = LetStmt(var, address, body)
        buffers = [*self.buffers, *self.results]
        params = [Var(buffer.name, "handle") for buffer in buffers]
        changed = self._written_params()
        written = [buffer.data for buffer in self.results]
        written += [buffer.data for buffer in self.buffers if buffer.data in changed]
        name = self.planner.name
        attrs = {"global_symbol": name, WRITTEN: tuple(written)}
        return PrimFunc(tuple(params), body, dict(zip(params, buffers, strict=True)), attrs)

    def _written_params(self) -> set[Var]:
        """The data of parameters that kernels write."""
        functions = {**self.planner.kernels, **self.planner.special}
        written_vars: set[Var] = set()
        for step in self.planner.steps:
            func = functions.get(step.name) if step.is_kernel else None
            if func is None or not any(_is_param(operand) for operand in step.args):
                continue
            written = written_parameters(func)
            for param, arg in zip(func.params, step.args, strict=False):
                if _is_param(arg) and param in written:
                    written_vars.add(self.places[id(arg.memory)][0])
        return written_vars

    def _call(self, step: _KernelCall) -> Call:
        name = StringImm(step.name)
        if step.is_kernel:
            args = tuple([self._pointer(arg) for arg in step.args])
            return Call("void", CALL_FUNCTION, (name, *args))
        args = tuple([self._array(arg) for arg in step.args])
        return Call("int32", "tir.tvm_call_packed", (name, *args))

    def _pointer(self, value: object) -> Expr:
        """The address of an array; a number as it is."""
        if not isinstance(value, _Described):
            return ops.const(value, "float64" if isinstance(value, float) else "int64")
        data, offset = self.places[id(value.memory)]
        offset += value.offset
        if not offset:
            return data
        flat = decl_buffer([offset + 1], "uint8", data.name, data=data)
        return address_of(BufferLoad(flat, (ops.const(offset, "int64"),)))

    def _array(self, value: object) -> Expr:
        """An array as registered functions get it; numbers and strings as they are."""
        if isinstance(value, str):
            return StringImm(value)
        if not isinstance(value, _Described):
            return ops.const(value, "float64" if isinstance(value, float) else "int64")
        data, offset = self.places[id(value.memory)]
        elements = (offset + value.offset) // dtypes.storage_bytes(value.dtype)
        view: Buffer = decl_buffer(
            value.shape or (),
            value.dtype,
            data.name,
            data=data,
            elem_offset=ops.const(elements, "int64"),
        )
        return buffer_as_array(view)


def _is_param(value: object) -> TypeGuard[_Described]:
    return isinstance(value, _Described) and value.memory.kind == "param"


def constant_name(number: int) -> str:
    """The name under which native code finds a constant."""
    return f"constant {number}"
