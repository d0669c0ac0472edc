"""The words of TVMScript for functions of loops and blocks: types, statements and expressions.

Expressions are the functions of `te_sched.tir`; statements and scopes act on the function that is
being written (`script.frames`). Must not know Python's syntax.
"""

from __future__ import annotations

import builtins
import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from types import GeneratorType as _GeneratorType
from types import ModuleType as _ModuleType
from typing import Any

import numpy as np

from te_sched import tir as _tir
from te_sched.arith.analyzer import Analyzer
from te_sched.errors import (
    AbsentNameError,
    DeclarationError,
    ScriptError,
    counted,
    did_you_mean,
    kind_of,
    repr_of,
)
from te_sched.ir import calls as _calls
from te_sched.ir import dtypes as _dtypes
from te_sched.ir import expr as _E
from te_sched.ir import intrinsics as _intrinsics
from te_sched.ir import ops as _ops
from te_sched.ir import stmt as _S
from te_sched.ir.blocks import (
    AllocateConst,
    DeclBuffer,
    MatchBufferRegion,
    whole_buffer,
)
from te_sched.ir.buffer import buffer_region, store_in, vstore
from te_sched.ir.buffer import decl_buffer as _decl_buffer
from te_sched.ir.device_limits import check_thread_tag
from te_sched.ir.expr import Expr, Node, PointerType
from te_sched.ir.operators import advice_on_index
from te_sched.ir.storage_scopes import STORAGE_RANKS as _RANKS
from te_sched.ir.storage_scopes import is_storage_scope as _is_storage_scope
from te_sched.ir.struct_info import StructInfo as _StructInfo
from te_sched.ir.visitor import replace
from te_sched.ir.visitor import walk as _walk
from te_sched.script import frames as _frames
from te_sched.script.annotations import PendingStructInfo as _PendingStructInfo
from te_sched.script.evaluate import OpenModule as _OpenModule
from te_sched.script.frames import (
    BlockFrame,
    CaseFrame,
    ForFrame,
    IfFrame,
    InitFrame,
    PrimFuncFrame,
    ScriptBuilder,
    Wrapper,
)
from te_sched.signatures import is_sequence
from te_sched.target import Target as _Target
from te_sched.te.tensor import Array
from te_sched.tir import intrinsics as _tir_intrinsics
from te_sched.tir.constructors import Constructor as _Constructor

_NO_WORDS = frozenset(globals()) | {"ScalarType", "HandleType", "BufferType", "Opened"}
# What a frame gives that an assignment or `with` opens: a variable, a pointer, a buffer.
Opened = Any

# Types


class ScalarType:
    """A data type: `T.float32(0)` is a constant or a conversion, `T.float32()` a new variable."""

    def __init__(self, dtype: str) -> None:
        self.dtype = dtype
        self.__name__ = dtype

    def __call__(self, expr: Any = None, is_size_var: bool = False) -> Expr:
        if expr is None:
            return _E.Var("", self.dtype, None, is_size_var)
        if isinstance(expr, str):
            if expr not in ("inf", "-inf", "nan"):
                raise DeclarationError(
                    f"T.{self.dtype} has no value {expr!r}", "", 'give a number, "inf" or "nan"'
                )
            return _ops.const(float(expr), self.dtype)
        if isinstance(expr, builtins.int | builtins.float | builtins.bool | np.number | np.bool_):
            return _ops.const(expr, self.dtype)
        return _ops.cast(self.dtype, _ops.convert(expr))

    def __repr__(self) -> str:
        return f"T.{self.dtype}"


class HandleType:
    """A pointer: `T.handle("float32", "shared")` is a variable, `T.handle` the type of one."""

    __name__ = "handle"
    __iter__ = None  # `T.handle[0]` is a type, `T.handle[1]` another one, without an end

    def __call__(self, dtype: Any = None, storage_scope: str = "global") -> _E.Var:
        if dtype is None:
            return _E.Var("", "handle")
        if isinstance(dtype, ScalarType):
            dtype = dtype.dtype
        return _E.Var("", "handle", PointerType(_dtypes.spelled(dtype), storage_scope))

    def __getitem__(self, types: Any) -> _E.Var:
        """The older spelling of annotations: `T.Ptr[T.float32]`."""
        return self(*types) if isinstance(types, tuple) else self(types)

    def __repr__(self) -> str:
        return "T.handle"


handle = HandleType()
Ptr = ptr = handle
boolean = ScalarType("bool")
void = ScalarType("void")
_SCALARS = {
    f"{code}{bits}{'' if lanes == 1 else f'x{lanes}'}"
    for code, widths in (
        ("int", (8, 16, 32, 64)),
        ("uint", (8, 16, 32, 64)),
        ("float", (16, 32, 64)),
        *((name, ("",)) for name in _dtypes.UNSUPPORTED),
    )
    for bits in widths
    for lanes in (1, 2, 4, 8, 16, 32, 64, 128)
} | {"bfloat16"}
globals().update({name: ScalarType(name) for name in sorted(_SCALARS)})
globals()["bool"] = boolean


def _type_name(dtype: Any) -> str:
    return dtype.dtype if isinstance(dtype, ScalarType) else _dtypes.spelled(dtype)


class BufferType:
    """`T.Buffer(shape, dtype)`: a buffer, or the type of a parameter that is one."""

    __name__ = "Buffer"
    __iter__ = None  # as of T.handle

    def __call__(
        self,
        shape: Any,
        dtype: Any = "float32",
        data: Any = None,
        strides: Any = None,
        elem_offset: Any = None,
        scope: str = "global",
        align: int = 0,
        offset_factor: int = 0,
        buffer_type: str = "",
        axis_separators: Any = None,
    ) -> _E.Buffer:
        if isinstance(dtype, int):
            raise DeclarationError(
                f"the dtype of a buffer is {dtype}, expected a text",
                "the sizes of a buffer are one argument",
                f'write them in brackets: T.Buffer(({shape}, {dtype}), "float32")',
            )
        sizes = shape if isinstance(shape, list | tuple) else [shape]
        is_broadcast = buffer_type in ("auto", "auto_broadcast")
        is_view = data is not None and not strides  # it has the strides of its text alone
        index_type = _ops.convert(sizes[0]).dtype if sizes else "int32"
        if strides is not None:
            strides = [
                _E.Var(stride, index_type) if isinstance(stride, str) else stride
                for stride in strides
            ]
        if isinstance(elem_offset, str):
            elem_offset = _E.Var(f"?{elem_offset}", index_type)
        buffer = _decl_buffer(
            list(sizes),
            _type_name(dtype),
            "",
            data,
            strides,
            elem_offset,
            "" if scope == "global" else scope,
            align or -1,
            offset_factor,
            "auto_broadcast" if is_broadcast and not is_view else "",
            axis_separators,
        )
        return replace(buffer, buffer_type="auto_broadcast") if is_broadcast else buffer

    def __getitem__(self, key: Any) -> _E.Buffer:
        """The older spelling: `T.Buffer[(n, n), "float32"]`, `T.Buffer[128]`."""
        if isinstance(key, tuple) and len(key) == 2 and isinstance(key[1], str | ScalarType):
            return self(key[0], key[1])
        return self(key)

    def __repr__(self) -> str:
        return "T.Buffer"


Buffer = buffer = BufferType()


def buffer_decl(shape: Any, dtype: Any = "float32", **others: Any) -> _E.Buffer:
    """The older name of T.Buffer."""
    return Buffer(shape, dtype, **others)


def var(dtype: Any = "int32", name: str = "") -> _E.Var:
    """A new variable (the older spelling of `T.int32()`)."""
    return _E.Var(name, _type_name(dtype))


class meta_var:
    """A value of Python, which an assignment in a script names without binding it."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __iter__(self) -> Any:
        return iter([meta_var(element) for element in self.value])


# Functions


def func_name(name: str) -> None:
    """Name the function."""
    _frames.around(PrimFuncFrame, "T.func_name").name = name


def arg(name: str, obj: Any) -> Any:
    """Add a parameter: a variable, or a buffer."""
    function = _frames.around(PrimFuncFrame, "T.arg")
    _frames.rename(obj, name)
    if isinstance(obj, _E.Buffer):
        param = _E.Var(f"{name}_handle", "handle")
        function.buffer_map[param] = obj
        function.params.append(param)
    elif isinstance(obj, _E.Var):
        function.params.append(obj)
    else:
        raise ScriptError(
            f"parameter {name} is {repr_of(obj)}, expected a type",
            "",
            "decorate the function with @R.function, or annotate it as T.Buffer((n,), dtype)"
            if isinstance(obj, _StructInfo | _PendingStructInfo)
            else "annotate it: T.handle, T.int32, T.Buffer((n,), dtype), ...",
        )
    return obj


def func_attr(attrs: Mapping[str, Any]) -> None:
    """Give the function attributes."""
    function = _frames.around(PrimFuncFrame, "T.func_attr")
    attributes = _attributes(attrs)
    if function.is_private and "global_symbol" in attributes:
        raise ScriptError(
            "a private function has no global_symbol",
            "",
            "leave out private=True, or the attribute",
        )
    if function.attrs is not None:
        raise ScriptError("T.func_attr is used twice", "", "give one dictionary")
    function.attrs = attributes


def _attributes(attrs: Any) -> dict[str, Any]:
    """Attributes or annotations: a dictionary with names as keys."""
    if not isinstance(attrs, Mapping) or not builtins.all(isinstance(key, str) for key in attrs):
        raise ScriptError(
            f"attributes are {repr_of(attrs)}, expected a dictionary of names and values",
            "",
            'write {"name": value}',
        )
    return {key: _attribute_value(value) for key, value in attrs.items()}


def _attribute_value(value: Any) -> Any:
    """What an attribute or annotation holds: plain values, lists of them, expressions."""
    if isinstance(value, meta_var):
        return _attribute_value(value.value)
    if isinstance(value, list | tuple):
        return [_attribute_value(element) for element in value]
    if isinstance(value, Mapping):
        return {str(key): _attribute_value(element) for key, element in value.items()}
    if isinstance(value, _E.StringImm):
        return value.value
    if isinstance(value, _E.IntImm):
        if value.dtype == "bool":
            return builtins.bool(value.value)
        return value.value if value.dtype == "int32" else value
    if inspect.isroutine(value) or isinstance(value, _ModuleType | _GeneratorType | _OpenModule):
        raise ScriptError(
            f"the value of an attribute is {repr_of(value)}",
            "attributes are data of the program",
            "give numbers, strings, expressions, or lists and dictionaries of them",
        )
    return value


def func_ret(ret_type: Any) -> None:
    """Give the function a type of result."""
    function = _frames.around(PrimFuncFrame, "T.func_ret")
    function.ret_type = getattr(ret_type, "dtype", str(ret_type))


def match_buffer(
    param: Any,
    shape: Any = None,
    dtype: Any = "float32",
    data: Any = None,
    strides: Any = None,
    elem_offset: Any = None,
    scope: str = "global",
    align: int = -1,
    offset_factor: int = 0,
    buffer_type: str = "default",
    axis_separators: Any = None,
) -> _E.Buffer:
    """The buffer of a parameter, or a view of a region of a buffer in a block."""
    is_region = isinstance(param, _E.BufferRegion | _E.BufferLoad)
    if shape is None:
        if not is_region:
            raise ScriptError(
                "T.match_buffer of a parameter has no shape", "", "give the shape of the buffer"
            )
        source = buffer_region(param)
        shape, dtype = [dim.extent for dim in source.region], source.buffer.dtype
    numbers = strides
    if is_region and isinstance(strides, list | tuple):  # LowerMatchBuffer refuses handles
        numbers = [1 if getattr(stride, "dtype", "") == "handle" else stride for stride in strides]
    new_buffer = Buffer(
        shape, dtype, data, numbers, elem_offset, scope, builtins.max(align, 0), offset_factor,
        "" if buffer_type == "default" else buffer_type, axis_separators,
    )  # fmt: skip
    if is_region:
        if builtins.any(
            type(stride) is _E.Var and stride.dtype == "handle" for stride in strides or ()
        ):
            new_buffer = replace(
                new_buffer, strides=tuple([_ops.convert(stride) for stride in strides])
            )
        block = _frames.around(BlockFrame, "T.match_buffer of a region")
        block.match_buffers.append(_view(new_buffer, buffer_region(param)))
        return new_buffer
    function = _frames.around(PrimFuncFrame, "T.match_buffer")
    if not isinstance(param, _E.Var) or not builtins.any(
        param is parameter for parameter in function.params
    ):
        raise ScriptError(
            f"T.match_buffer of {repr_of(param)}, expected a parameter",
            "",
            "give a parameter with type T.handle, or a region of a buffer",
        )
    if param in function.buffer_map:
        raise ScriptError(f"parameter {param.name} has two buffers", "", "match it once")
    function.buffer_map[param] = new_buffer
    return new_buffer


def _view(view: _E.Buffer, source: _E.BufferRegion) -> MatchBufferRegion:
    """A view of a region of the same shape, which may have leading dimensions of one element."""
    extents = [dim.extent for dim in source.region]
    skipped = len(extents) - len(view.shape)
    shape = (_E.IntImm(1),) * skipped + tuple(view.shape)
    for extent, size in builtins.zip(extents, shape, strict=False):
        if skipped < 0 or Analyzer().can_prove(_ops.not_equal(extent, size)):
            raise ScriptError(
                f"T.match_buffer of a region of shape {Array(extents)} has shape "
                f"{Array(view.shape)}",
                "a view has the shape of its region, without leading dimensions of one element",
                f"give shape {Array(extents)}",
            )
    return MatchBufferRegion(view, source)


# Blocks


def block(name: Any = "", no_realize: Any = False) -> BlockFrame:
    """A block. The older spelling gives its axes: `with T.block([8, 8], "C") as [vi, vj]:`."""
    if isinstance(name, list | tuple):
        return _block_of_axes(name, no_realize if isinstance(no_realize, str) else "")
    if not isinstance(name, str):
        raise ScriptError(f"the name of a block is {repr_of(name)}", "", "give a str")
    return BlockFrame(name, builtins.bool(no_realize))


def _block_of_axes(axes: Sequence[Any], name: str) -> BlockFrame:
    """A block whose iterators are bound by T.bind, or to the loops around it, in order."""
    frame = BlockFrame(name)
    for axis_or_domain in axes:
        iterator = (
            axis_or_domain
            if isinstance(axis_or_domain, _E.IterVar)
            else _axis_of("DataPar", axis_or_domain)
        )
        frame.iter_vars.append(iterator)
        frame.iter_values.append(None)
    frame.value = [iterator.var for iterator in frame.iter_vars]
    return frame


def _axis_of(kind: str, domain: Any) -> _E.IterVar:
    dom = _frames.whole_range(domain)
    return _E.IterVar(dom, _E.Var("", dom.extent.dtype), kind)


def reduce_axis(begin: Any, end: Any) -> _E.IterVar:
    """The axis of a reduction, in the older spelling of blocks."""
    return _axis_of("CommReduce", (begin, end))


def scan_axis(begin: Any, end: Any) -> _E.IterVar:
    """An axis whose values come in their order, in the older spelling of blocks."""
    return _axis_of("Ordered", (begin, end))


def opaque_axis(begin: Any, end: Any) -> _E.IterVar:
    """An axis of which nothing is known, in the older spelling of blocks."""
    return _axis_of("Opaque", (begin, end))


def bind(iter_var: Any, value: Any) -> None:
    """Give an iterator its value, in the older spelling of blocks."""
    current = _frames.innermost(BlockFrame, "T.bind")
    for index, candidate in enumerate(current.iter_vars):
        if candidate.var is iter_var:
            current.iter_values[index] = _ops.cast(candidate.var.dtype, _ops.convert(value))
            return
    raise ScriptError(
        f"T.bind of {repr_of(iter_var)}, which is not an iterator of block {current.name}",
        "",
        "give a variable of `with T.block([...], name) as [...]`",
    )


def init() -> InitFrame:
    """What the block does before its body in the first iteration of a reduction."""
    return InitFrame()


def where(predicate: Any) -> None:
    """The condition under which the block is executed."""
    current = _frames.innermost(BlockFrame, "T.where")
    if current.predicate is not None:
        raise ScriptError("T.where is used twice in a block", "", "join the conditions")
    condition = _ops.convert(predicate)
    current.predicate = condition if condition.dtype == "bool" else _ops.cast("bool", condition)


def reads(*regions: Any) -> None:
    """The regions that the block reads."""
    current = _frames.innermost(BlockFrame, "T.reads")
    if current.reads is not None:
        raise ScriptError("T.reads is used twice in a block", "", "give all regions at once")
    current.reads = _regions(regions)


def writes(*regions: Any) -> None:
    """The regions that the block writes."""
    current = _frames.innermost(BlockFrame, "T.writes")
    if current.writes is not None:
        raise ScriptError("T.writes is used twice in a block", "", "give all regions at once")
    current.writes = _regions(regions)


def _regions(regions: tuple[Any, ...]) -> list[_E.BufferRegion]:
    if len(regions) == 1 and isinstance(regions[0], list | tuple):
        regions = tuple(regions[0])
    for operand in regions:
        if not isinstance(operand, _E.BufferRegion | _E.BufferLoad | _E.Buffer):
            raise ScriptError(
                f"{repr_of(operand)} is not a region of a buffer",
                "",
                "write A[0:4, i], or a buffer",
            )
    return [
        whole_buffer(region) if isinstance(region, _E.Buffer) else buffer_region(region)
        for region in regions
    ]


def block_attr(attrs: Mapping[str, Any]) -> None:
    """Give the block annotations."""
    current = _frames.innermost(BlockFrame, "T.block_attr")
    if current.annotations is not None:
        raise ScriptError("T.block_attr is used twice in a block", "", "give one dictionary")
    current.annotations = _attributes(attrs)


def alloc_buffer(
    shape: Any,
    dtype: Any = "float32",
    data: Any = None,
    strides: Any = None,
    elem_offset: Any = None,
    scope: str = "global",
    align: int = -1,
    offset_factor: int = 0,
    buffer_type: str = "default",
    axis_separators: Any = None,
) -> _E.Buffer:
    """A buffer that exists in the block, or in all of the function."""
    if not (isinstance(scope, str) and _is_storage_scope(scope)):
        raise ScriptError(
            f"there is no storage scope {repr_of(scope)}",
            "",
            f"use {', '.join(_RANKS)}{did_you_mean(scope, _RANKS)}",
        )
    new_buffer = Buffer(
        shape, dtype, data, strides, elem_offset, scope, builtins.max(align, 0), offset_factor,
        "" if buffer_type == "default" else buffer_type, axis_separators,
    )  # fmt: skip
    builder = ScriptBuilder.current()
    owner = builder.find(BlockFrame) or _frames.around(PrimFuncFrame, "T.alloc_buffer")
    owner.alloc_buffers.append(new_buffer)
    return new_buffer


class _Axis:
    """`T.axis`: the iterators of a block."""

    def __getattr__(self, name: str) -> Any:
        legal = ("spatial", "reduce", "scan", "opaque", "remap")
        help = f"use {', '.join(legal)}{did_you_mean(name, legal)}"
        raise AbsentNameError(f"T.axis has no {name}", "", help)

    @staticmethod
    def spatial(dom: Any, binding: Any, dtype: str = "int32") -> _E.Var:
        """An iterator whose values are computed in any order."""
        return _axis("DataPar", dom, binding, dtype)

    @staticmethod
    def reduce(dom: Any, binding: Any, dtype: str = "int32") -> _E.Var:
        """An iterator of a reduction."""
        return _axis("CommReduce", dom, binding, dtype)

    @staticmethod
    def scan(dom: Any, binding: Any, dtype: str = "int32") -> _E.Var:
        """An iterator whose values come in their order."""
        return _axis("Ordered", dom, binding, dtype)

    @staticmethod
    def opaque(dom: Any, binding: Any, dtype: str = "int32") -> _E.Var:
        """An iterator of which nothing is known."""
        return _axis("Opaque", dom, binding, dtype)

    S, R = spatial, reduce

    @staticmethod
    def remap(kinds: str, bindings: Sequence[Any], dtype: str = "int32") -> Any:
        """Iterators over the domains of loops: "S" for spatial and "R" for reduction.

        `vi, vk = T.axis.remap("SR", [i, k])`
        """
        if not is_sequence(bindings):
            raise ScriptError(
                f"the loop variables of T.axis.remap are {repr_of(bindings)}",
                f"they are {kind_of(bindings)}",
                f"give a list: T.axis.remap({kinds!r}, [{getattr(bindings, 'name', 'i')}])",
            )
        bindings = list(bindings)
        if not isinstance(kinds, str) or set(kinds) - set("SR"):
            raise ScriptError(
                f"unknown kinds of iterators: {repr_of(kinds)}", "", 'use "S" and "R" alone'
            )
        if len(kinds) != len(bindings):
            raise ScriptError(
                f"T.axis.remap has {counted(len(kinds), 'letter')} and "
                f"{counted(len(bindings), 'loop variable')}",
                "",
                "give a letter for each variable",
            )
        variables = []
        for kind, value in zip(kinds, bindings, strict=True):
            variables.append(
                _axis({"S": "DataPar", "R": "CommReduce"}[kind], _loop_domain(value), value)
            )
        return variables[0] if len(variables) == 1 else variables


axis = _Axis()


def _axis(kind: str, dom: Any, binding: Any, wanted: str = "int32") -> _E.Var:
    """An iterator of the data type of its domain and value, or of a wider one that is `wanted`."""
    current = _frames.innermost(BlockFrame, "T.axis")
    value = _ops.convert(binding)
    domain = _frames.whole_range(dom)
    if not _dtypes.is_name(wanted) or not _dtypes.is_integral(wanted):
        raise ScriptError(
            f"the dtype of an iterator of block {current.name} is {repr_of(wanted)}",
            "iterators are integers",
            'use dtype="int64", or leave it out',
        )
    if not _dtypes.is_integral(value.dtype):
        raise ScriptError(
            f"an iterator of block {current.name} is bound to {repr_of(value)}, not to an integer",
            "",
            "bind it to a loop variable or an index expression",
        )
    low, extent = domain.min, domain.extent
    dtype = (
        value.dtype
        if isinstance(value, _E.Var) or not isinstance(value, _E.IntImm)
        else extent.dtype
    )
    if _dtypes.bits(extent.dtype) > _dtypes.bits(dtype):
        dtype = extent.dtype
    if _dtypes.bits(wanted) > max(_dtypes.bits(dtype), _dtypes.bits("int32")):
        dtype = wanted
    if dtype != extent.dtype or dtype != low.dtype:
        domain = _E.Range(_ops.cast(dtype, low), _ops.cast(dtype, extent))
    if isinstance(binding, int) and value.dtype != dtype:
        value = _ops.cast(dtype, value)
    iterator = _E.IterVar(domain, _E.Var("", dtype), kind)
    current.iter_vars.append(iterator)
    current.iter_values.append(value)
    return iterator.var


def _loop_domain(value: Any) -> _E.Range:
    """The domain of the loop that a variable belongs to."""
    for frame in reversed(ScriptBuilder.current().frames):
        if isinstance(frame, ForFrame):
            for var, (low, extent) in zip(frame.vars, frame.ranges, strict=True):
                if var is value:
                    return _E.Range(low, extent)
    raise ScriptError(
        f"T.axis.remap of {repr_of(value)}, expected a variable of a loop around the block",
        "",
        "use T.axis.spatial(extent, value) for other values",
    )


# Loops


def _loop(
    kind: str, start: Any, stop: Any, annotations: Any, thread: str = "", step: Any = None
) -> ForFrame:
    if step is not None and not _ops.is_const(_ops.convert(step), 1):
        raise ScriptError("a loop has a step", "", "loop over the number of steps and multiply")
    low, high = (0, start) if stop is None else (start, stop)
    low, high = _ops.operands(low, high)
    for bound in (low, high):
        if not _dtypes.is_integral(bound.dtype):
            raise ScriptError(
                f"a bound of a loop is {repr_of(bound)}, expected an integer", "", "give an integer"
            )
    annotations = _attributes(annotations or {})
    extent = _frames.difference(high, low)
    return ForFrame([(low, extent)], kind, thread, annotations)


def serial(start: Any, stop: Any = None, *, annotations: Any = None, step: Any = None) -> ForFrame:
    """A loop."""
    return _loop("serial", start, stop, annotations, step=step)


def parallel(start: Any, stop: Any = None, *, annotations: Any = None) -> ForFrame:
    """A loop whose iterations run in parallel."""
    return _loop("parallel", start, stop, annotations)


def vectorized(start: Any, stop: Any = None, *, annotations: Any = None) -> ForFrame:
    """A loop that becomes vector instructions."""
    return _loop("vectorized", start, stop, annotations)


def unroll(start: Any, stop: Any = None, *, annotations: Any = None) -> ForFrame:
    """A loop whose body is repeated."""
    return _loop("unrolled", start, stop, annotations)


def thread_binding(
    start: Any, stop: Any = None, thread: str | None = None, *, annotations: Any = None
) -> ForFrame:
    """A loop that is an axis of threads, such as "threadIdx.x"."""
    if thread is None:
        if not isinstance(stop, str):
            raise ScriptError("T.thread_binding has no thread", "", 'give thread="threadIdx.x"')
        stop, thread = None, stop
    check_thread_tag(thread, ScriptError)
    return _loop("thread_binding", start, stop, annotations, thread)


def grid(*extents: Any) -> ForFrame:
    """A nest of loops."""
    sizes = [_frames.whole_range(extent) for extent in extents]
    if not sizes:
        raise ScriptError("T.grid has no extents", "", "give an extent for each loop")
    return ForFrame([(size.min, size.extent) for size in sizes], is_grid=True)


# Statements


def evaluate(value: Any) -> None:
    """Evaluate an expression for its effect."""
    ScriptBuilder.current().add(_S.Evaluate(_ops.convert(value)))


def buffer_store(buffer: Any, value: Any, indices: Any, predicate: Any = None) -> None:
    """Store a value in an element, or in several."""
    if not isinstance(buffer, _E.Buffer):
        raise ScriptError(
            f"cannot store in {repr_of(buffer)}",
            "only elements of buffers are stored",
            advice_on_index(buffer) if isinstance(buffer, _E.Var) else "use a buffer",
        )
    store = store_in(buffer, indices, value)
    if predicate is not None:
        store = vstore(buffer, store.indices, store.value, predicate)
    ScriptBuilder.current().add(store)


def Assert(condition: Any, message: Any = "") -> Wrapper:
    """Stop the program with a message unless a condition holds."""
    held, text = _condition(condition), _ops.convert(message)
    return Wrapper(None, lambda body: _S.AssertStmt(held, text, body))


def _condition(value: Any) -> Expr:
    held = _ops.convert(value)
    return held if held.dtype == "bool" else _ops.cast("bool", held)


def While(condition: Any) -> Wrapper:
    """A loop that runs as long as a condition holds."""
    held = _condition(condition)
    return Wrapper(None, lambda body: _S.While(held, body))


def If(condition: Any) -> IfFrame:
    """A condition, with `T.Then()` and `T.Else()` inside."""
    return IfFrame(_condition(condition))


def Then() -> CaseFrame:
    """What is done where the condition holds."""
    return CaseFrame("then")


def Else() -> CaseFrame:
    """What is done where the condition does not hold."""
    return CaseFrame("else")


def LetStmt(value: Any, type_annotation: Any = None, *, var: Any = None) -> Opened:
    """A variable with a value."""
    bound = _ops.convert(value)
    if var is None:
        pointer = bound.pointer if isinstance(bound, _E.Var) else None
        var = _E.Var("v", bound.dtype, pointer)
        if isinstance(type_annotation, _E.Var):
            var = type_annotation
    if _dtypes.is_float(bound.dtype) and not _dtypes.is_float(var.dtype):
        raise ScriptError(
            f"a variable of {var.dtype} has the value {repr_of(bound)}",
            "it would be rounded",
            f"convert it: T.Cast({var.dtype!r}, value)",
        )
    if bound.dtype != var.dtype:
        bound = _ops.cast(var.dtype, bound)
    return Wrapper(var, lambda body: _S.LetStmt(var, bound, body))


def let(var: Any, value: Any, body: Any = None) -> Any:
    """The older spelling: a statement without body, an expression with one."""
    if body is not None:
        return Let(body, {var: value})
    return LetStmt(value, var=var)


def Let(expr: Any, where: Mapping[Any, Any]) -> Expr:
    """An expression in which variables stand for values."""
    result = _ops.convert(expr)
    for var, value in reversed(list(where.items())):
        result = _tir.Let(var, value, result)
    return result


def realize(region: Any, storage_scope: str | None = None, condition: Any = True) -> Wrapper:
    """A region of a buffer that exists in the body, in memory of this scope if one is given."""
    source, held = buffer_region(region), _condition(condition)

    def wrap(body: _S.Stmt) -> _S.Stmt:
        inner = _S.BufferRealize(source.buffer, source.region, held, body)
        if storage_scope is None:
            return inner
        scope = _E.StringImm(storage_scope)
        return _S.AttrStmt(source.buffer, "realize_scope", scope, inner)

    return Wrapper(None, wrap)


def allocate(
    extents: Any, dtype: Any, scope: str = "global", condition: Any = None, annotations: Any = None
) -> Opened:
    """Memory; the value is the pointer to it."""
    sizes = tuple([_ops.convert(extent) for extent in extents])
    held = _ops.TRUE if condition is None else _condition(condition)
    name = _type_name(dtype)
    data = _E.Var("v", "handle", PointerType(_pointed(name), scope))
    notes = _attributes(annotations or {})
    return Wrapper(data, lambda body: _S.Allocate(data, name, sizes, held, body, notes))


def _pointed(dtype: str) -> str:
    kind = _dtypes.parse(dtype)
    return _dtypes.with_lanes("int8", kind.lanes) if kind.code == "bool" else dtype


def allocate_const(data: Any, dtype: Any, extents: Any, annotations: Any = None) -> Opened:
    """Constant memory with these elements."""
    sizes = tuple([_ops.convert(extent) for extent in extents])
    name = _type_name(dtype)
    shape = [builtins.int(size) for size in sizes]  # type: ignore[call-overload]
    array = np.asarray(data, name).reshape(shape)
    pointer = _E.Var("v", "handle", PointerType(_pointed(name), "global"))
    notes = _attributes(annotations or {})
    return Wrapper(pointer, lambda body: AllocateConst(pointer, name, sizes, array, body, notes))


def decl_buffer(
    shape: Any,
    dtype: Any = "float32",
    data: Any = None,
    strides: Any = None,
    elem_offset: Any = None,
    scope: str = "global",
    align: int = 0,
    offset_factor: int = 0,
    buffer_type: str = "",
    axis_separators: Any = None,
) -> Opened:
    """A buffer: a view of the memory of `data`, or of memory that it allocates."""
    new_buffer = Buffer(
        shape, dtype, data, strides, elem_offset, scope, align, offset_factor, buffer_type,
        axis_separators,
    )  # fmt: skip

    def wrap(body: _S.Stmt) -> _S.Stmt:
        declared = DeclBuffer(new_buffer, body)
        if data is not None:
            return declared
        return _S.Allocate(new_buffer.data, new_buffer.dtype, new_buffer.shape, _ops.TRUE, declared)

    return Wrapper(new_buffer, wrap)


def attr(node: Any, attr_key: str, value: Any) -> Wrapper:
    """A fact about a node."""
    if isinstance(node, str):
        node = _E.StringImm(node)
    elif isinstance(node, list | tuple):
        node = tuple(node)
    elif not isinstance(node, Node | _Target):
        node = _ops.convert(node)
    if not isinstance(attr_key, str):
        raise ScriptError(f"the name of an attribute is {repr_of(attr_key)}", "", "give a str")
    _S.check_attribute(node, attr_key)
    return _frames.attribute(node, attr_key, _ops.convert(value))


def env_thread(thread_tag: str, dtype: str = "int32") -> _E.Var:
    """The variable of a thread axis that is launched later, perhaps several times."""
    var = _E.Var("", dtype)
    _frames.around(PrimFuncFrame, "T.env_thread").threads[var] = _thread_axis(var, thread_tag)
    return var


def _thread_axis(var: _E.Var, tag: str, domain: _E.Range | None = None) -> _E.IterVar:
    check_thread_tag(tag, ScriptError)
    return _E.IterVar(domain, var, "ThreadIndex", tag)


def launch_thread(thread: Any, extent: Any) -> Opened:
    """An axis of threads of this extent."""
    size = _ops.convert(extent)
    if isinstance(thread, str):
        var = _E.Var("v", size.dtype)
        domain = _E.Range(_ops.const(0, size.dtype), size)
        axis_of = _thread_axis(var, thread, domain)
    else:
        var = thread
        env_axis = _frames.around(PrimFuncFrame, "T.launch_thread").threads.get(thread)
        if env_axis is None:
            raise ScriptError(
                f"T.launch_thread of {repr_of(thread)}, expected a thread",
                "",
                'give a tag such as "threadIdx.x", or a variable of T.env_thread',
            )
        axis_of = env_axis
    is_virtual = axis_of.thread_tag.startswith("vthread") or axis_of.thread_tag == "cthread"
    key = "virtual_thread" if is_virtual else "thread_extent"
    return Wrapper(var, lambda body: _S.AttrStmt(axis_of, key, size, body))


def prefetch(buffer: Any, bounds: Any, *kinds: Any) -> Expr | None:
    """Prefetch a region of a buffer, as a statement; with an address, whether it is written, its
    locality and its kind of cache, the call into which lowering turns it.
    """
    if kinds:
        loads = [node for node in _walk(buffer) if type(node) is _E.BufferLoad]
        dtype = loads[0].dtype if loads else "int32"
        return _E.Call(dtype, "tir.prefetch", _arguments([buffer, bounds, *kinds]))
    ScriptBuilder.current().add(_S.Prefetch(buffer, tuple(map(_frames.whole_range, bounds))))
    return None


def llvm_lookup_intrinsic_id(name: str) -> str:
    """The intrinsic of LLVM of this name, as an argument of T.call_llvm_intrin."""
    return name


def target(config: Any, host: Any = None) -> _Target:
    """A target, in attributes."""
    return _Target(config, host)


# Expressions


def Range(begin: Any, end: Any = None) -> _E.Range:
    """The integers from begin to end - 1."""
    interval: _E.Range = _tir.Range(begin, end)
    return interval


def iter_var(var: Any, dom: Any, iter_type: str, thread_tag: str = "") -> _E.IterVar:
    """An axis."""
    domain = dom if dom is None or isinstance(dom, _E.Range) else _frames.whole_range(dom)
    return _E.IterVar(domain, var, iter_type, thread_tag)


def comm_reducer(combiner: Callable[..., Any], identity: Sequence[Any]) -> Any:
    """A commutative reduction."""
    names = list(inspect.signature(combiner).parameters)
    values = tuple([_ops.convert(value) for value in identity])
    count = len(values)
    variables = tuple(
        [_E.Var(name, values[index % count].dtype) for index, name in enumerate(names)]
    )
    result = combiner(*variables)
    results = tuple(result) if isinstance(result, list | tuple) else (result,)
    return _E.CommReducer(
        variables[:count],
        variables[count:],
        tuple([_ops.convert(result) for result in results]),
        values,
    )


def max(a: Any, b: Any) -> Expr:
    """The larger of two values."""
    return _ops.maximum(a, b)


def min(a: Any, b: Any) -> Expr:
    """The smaller of two values."""
    return _ops.minimum(a, b)


def cast(value: Any, dtype: Any) -> Expr:
    """A value converted to a dtype."""
    return _ops.cast(_type_name(dtype), _ops.convert(value))


def Cast(dtype: Any, value: Any) -> Expr:
    """A conversion, even where none is needed."""
    return _E.Cast(_type_name(dtype), _ops.convert(value))


def ramp(base: Any, stride: Any, lanes: Any) -> Expr:
    """The vector base, base + stride, ..."""
    vector: Expr = _tir.Ramp(base, stride, lanes)
    return vector


def broadcast(value: Any, lanes: Any) -> Expr:
    """The vector of several copies of a value."""
    vector: Expr = _tir.Broadcast(value, lanes)
    return vector


Ramp, Broadcast = ramp, broadcast


def infinity(dtype: Any) -> Expr:
    """The largest number of a floating-point type, which is infinite."""
    return _intrinsics.infinity(_type_name(dtype))


def min_value(dtype: Any) -> Expr:
    """The smallest value of a dtype."""
    return _intrinsics.min_value(_type_name(dtype))


def max_value(dtype: Any) -> Expr:
    """The largest value of a dtype."""
    return _intrinsics.max_value(_type_name(dtype))


def truncdiv(a: Any, b: Any) -> Expr:
    """a / b rounded to zero."""
    return _ops.truncdiv(a, b)


def Not(a: Any) -> Expr:
    """not a"""
    return _ops.logical_not(a)


def assume(condition: Any) -> Expr:
    """What the program may rely on."""
    return _E.Call("bool", "tir.assume", (_condition(condition),))


def index_map(mapping: Callable[..., Any], *, inverse_index_map: Any = None) -> Any:
    """A map of indices."""
    return _tir.IndexMap.from_func(mapping, None, inverse_index_map)


def _arguments(values: Sequence[Any]) -> tuple[Expr, ...]:
    return tuple([_argument(value) for value in values])


def _argument(value: Any) -> Any:
    if isinstance(value, ScalarType):
        return _calls.type_annotation(value.dtype)
    return (
        value
        if isinstance(value, Node) and not isinstance(value, _E.BufferRegion | _E.IterVar)
        else _ops.convert(value)
    )


def _typed(op: str) -> Callable[..., Expr]:
    """An intrinsic whose text has the type of the result; it may stand last, by its name."""

    def call(*args: Any, dtype: Any = None, **named: Any) -> Expr:
        if dtype is None:
            dtype, *rest = args
        else:
            rest = list(args)
        return _E.Call(
            _type_name(dtype) if dtype else "void",
            f"tir.{op}",
            _arguments([*rest, *named.values()]),
        )

    call.__name__, call.__doc__ = op, getattr(_tir, op).__doc__
    return call


def _intrinsic(function: Callable[..., _E.Call]) -> Callable[..., Expr]:
    """A function of `tir`; older scripts give the type of any result, by its name."""
    names = [*inspect.signature(function).parameters]
    dtype_index = names.index("dtype") if "dtype" in names else None

    @functools.wraps(function)
    def call(*args: Any, dtype: Any = None, **named: Any) -> Expr:
        values = [_argument(operand) for operand in args]
        rest = {name: _argument(value) for name, value in named.items()}
        if dtype_index is None:
            return function(*values, **rest)
        if dtype is None and dtype_index < len(args):
            dtype = args[dtype_index]
            del values[dtype_index]
        values[dtype_index:dtype_index] = [_type_name(dtype) if dtype else "void"]
        return function(*values, **rest)

    return call


def _packed(op: str) -> Callable[..., Expr]:
    """A call of a packed function; buffers become arrays."""

    def call(*args: Any, dtype: Any = None) -> Expr:
        values = [
            _calls.buffer_as_array(operand)
            if isinstance(operand, _E.Buffer)
            else _argument(operand)
            for operand in args
        ]
        return _E.Call("int32", f"tir.{op}", tuple(values))

    call.__name__, call.__doc__ = op, f"A call of a registered function ({op}), by its name."
    return call


_TYPED = (
    *("call_extern", "call_pure_extern", "call_llvm_intrin", "call_llvm_pure_intrin"),
    *("type_annotation", "dp4a"),
)
_PACKED = {
    "call_packed": "tvm_call_packed",
    "call_cpacked": "tvm_call_cpacked",
    "call_packed_lowered": "tvm_call_packed_lowered",
    "call_cpacked_lowered": "tvm_call_cpacked_lowered",
    "launch_kernel": "launch_kernel",
}
_MORE = {name: getattr(_tir, name) for name in _tir_intrinsics.NAMES}
globals().update({name: _intrinsic(function) for name, function in _MORE.items()})
globals().update({name: _typed(name) for name in _TYPED})
call_tir = _calls.call_tir


def tvm_throw_last_error(dtype: Any = "int32") -> Expr:
    """Raise the last error, as lowered calls do."""
    return _E.Call(_type_name(dtype), "tir.tvm_throw_last_error", ())


globals().update({name: _packed(op) for name, op in _PACKED.items()})
globals().update({op: _packed(op) for op in _PACKED.values()})


def reinterpret(*args: Any, dtype: Any = None) -> Expr:
    """The same bits as a value of another dtype."""
    dtype, value = (dtype, args[0]) if dtype is not None else args
    return _intrinsics.reinterpret(_type_name(dtype), value)


def large_uint_imm(low: Any, high: Any) -> Expr:
    """A number of uint64 that int64 does not hold, as its halves of 32 bits."""
    return _E.Call("uint64", "tir.large_uint_imm", _arguments((low, high)))


def call_intrin(dtype: Any, op: str, *args: Any) -> Expr:
    """The call of an intrinsic by its name."""
    return _E.Call(_type_name(dtype), op, _arguments(args))


def tvm_access_ptr(
    ptype: Any, data: Any, offset: Any, extent: Any, rw_mask: Any, *, dtype: Any = None
) -> Expr:
    """A pointer to elements of memory that are read (1) or written (2)."""
    return _calls.tvm_access_ptr(ptype, data, offset, extent, rw_mask)


_OF_TIR = (
    *("abs", "acos", "acosh", "address_of", "asin", "asinh", "atan", "atan2", "atanh"),
    *("bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "ceil", "ceildiv", "clz"),
    *("copysign", "cos", "cosh", "erf", "exp", "exp10", "exp2", "fabs", "floor", "floordiv"),
    *("floormod", "fmod", "hypot", "if_then_else", "isfinite", "isinf", "isnan", "isnullptr"),
    *("ldexp", "likely", "log", "log10", "log1p", "log2", "nearbyint", "nextafter", "popcount"),
    *("pow", "q_multiply_shift", "ret", "round", "rsqrt", "shift_left", "shift_right", "sigmoid"),
    *("sin", "sinh", "sqrt", "tan", "tanh", "trunc", "truncmod", "vscale"),
    *("EQ", "GE", "GT", "LE", "LT", "NE", "Add", "And", "Div", "FloorDiv", "FloorMod", "Max"),
    *("Min", "Mod", "Mul", "Or", "Sub", "Select", "Shuffle", "Call", "BufferLoad", "IntImm"),
    *("FloatImm", "StringImm", "Var", "SizeVar", "IterVar", "ProducerLoad", "Reduce"),
    *("CommReducer", "CallEffectKind"),
)


def _with_dtype(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function to which older scripts give the type of its result, which is known."""

    @functools.wraps(function)
    def call(*args: Any, dtype: Any = None, **named: Any) -> Any:
        return function(*args, **named)

    return call


globals().update(
    {
        name: function if isinstance(function, type | _Constructor) else _with_dtype(function)
        for name, function in [(name, getattr(_tir, name)) for name in _OF_TIR]
    }
)


def reduce(
    combiner: Any, source: Any, init: Any, axis: Any, condition: Any, value_index: Any
) -> Expr:
    """A reduction of tensor expressions."""
    reduction: Expr = _tir.Reduce(combiner, source, axis, condition, value_index, init)
    return reduction


bfloat16 = ScalarType("bfloat16")

__all__ = sorted([name for name in globals() if name[0] != "_" and name not in _NO_WORDS])
