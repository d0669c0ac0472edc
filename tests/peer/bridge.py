"""Converts programs and expressions of live TVM 0.19, and each pass of its lowering, to te_sched.

`from_tvm` keeps identity: in one conversion, a Var, Buffer or IterVar of TVM is always one object.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import tvm

from te_sched.ir import expr as E
from te_sched.ir import stmt as S
from te_sched.ir.structural import structural_equal
from te_sched.ir.visitor import walk
from tests.golden.corpus import Program

Recording = list[tuple[str, Any, Any]]  # names of passes, with the modules before and after


def from_tvm(obj: Any) -> Any:
    """The te_sched node of a TVM module, function, statement, expression, buffer, axis, ..."""
    return Bridge().convert(obj)


class Bridge:
    """One conversion: variables, buffers, axes, reducers and producers keep their identity."""

    def __init__(self, mark_owner_guards: bool = True) -> None:
        # TVM's object is kept with its node, since its address could be reused.
        self.known: dict[int, tuple[Any, Any]] = {}
        self.mark_owner_guards = mark_owner_guards
        self.parameter_data: set[int] = set()
        self.alignments: dict[int, int] = {}

    def convert(self, obj: Any) -> Any:
        """The node of any TVM object."""
        if obj is None or isinstance(obj, (bool, int, float, str)):
            return str(obj) if isinstance(obj, str) else obj
        if isinstance(obj, (list, tuple, tvm.ir.Array)):
            return tuple([self.convert(item) for item in obj])
        name = type(obj).__name__
        if name in _SHARED:
            address = obj.handle.value
            found = self.known.get(address)
            if found is None:
                found = self.known[address] = (obj, _CONVERTERS[name](self, obj))
            return found[1]
        return _CONVERTERS[name](self, obj)

    def many(self, items: Any) -> tuple[Any, ...]:
        """The nodes of an array."""
        return tuple([self.convert(item) for item in items])

    def values(self, mapping: Any) -> dict[str, Any]:
        """Attributes or annotations as Python values."""
        if mapping is None:
            return {}
        return {str(key): self.value(value) for key, value in mapping.items()}

    def value(self, value: Any) -> Any:
        """An attribute as a Python value, if possible."""
        if isinstance(value, tvm.tir.IntImm):
            return bool(value.value) if value.dtype == "bool" else int(value.value)
        if isinstance(value, (tvm.tir.FloatImm, tvm.tir.StringImm)):
            return value.value
        return self.convert(value)


def _var(bridge: Bridge, obj: Any) -> E.Var:
    pointer = None
    annotation = obj.type_annotation
    if isinstance(annotation, tvm.ir.PointerType):
        element = annotation.element_type
        dtype = str(element.dtype) if isinstance(element, tvm.ir.PrimType) else "handle"
        pointer = E.PointerType(dtype or "void", str(annotation.storage_scope))
    return E.Var(str(obj.name), str(obj.dtype), pointer, isinstance(obj, tvm.tir.SizeVar))


def _buffer(bridge: Bridge, obj: Any) -> E.Buffer:
    return E.Buffer(
        bridge.convert(obj.data),
        str(obj.dtype),
        bridge.many(obj.shape),
        bridge.many(obj.strides),
        bridge.convert(obj.elem_offset),
        str(obj.name),
        _alignment(bridge, obj),
        int(obj.offset_factor),
        "auto_broadcast" if obj.buffer_type == 2 else "",
        tuple([int(axis) for axis in obj.axis_separators]),
    )


def _alignment(bridge: Bridge, obj: Any) -> int:
    """The alignment of a buffer: te_sched's default is 128, as in TVM 0.9; that of later TVM is 64.

    Only temporaries of less than 128 bytes are aligned to 64, according to their first size, before
    virtual threads.
    """
    alignment, data = int(obj.data_alignment), obj.data.handle.value
    if alignment != 64 or data in bridge.parameter_data or len(obj.shape) != 1:
        return 128 if alignment == 64 else alignment
    size, dtype = obj.shape[0], tvm.DataType(obj.dtype)
    room = int(size.value) * dtype.bits // 8 if isinstance(size, tvm.tir.IntImm) else 128
    own = 64 if 64 <= room * dtype.lanes < 128 else 128
    return min(own, bridge.alignments.setdefault(data, own))


def _producer(bridge: Bridge, obj: Any) -> PeerProducer:
    return PeerProducer(str(obj.op.name), str(obj.dtype), bridge.many(obj.shape), obj.value_index)


@E.node
class PeerProducer(E.DataProducer):
    """A TVM tensor."""

    name: str
    dtype: str
    shape: tuple[E.Expr, ...]
    value_index: int


def _iter_var(bridge: Bridge, obj: Any) -> E.IterVar:
    return E.IterVar(
        bridge.convert(obj.dom),
        bridge.convert(obj.var),
        E.ITER_KINDS[obj.iter_type],
        str(obj.thread_tag),
    )


def _call(bridge: Bridge, obj: Any) -> E.Call:
    name = obj.op.name if isinstance(obj.op, tvm.ir.Op) else obj.op.name_hint
    return E.Call(str(obj.dtype), str(name), bridge.many(obj.args))


def _range(bridge: Bridge, obj: Any) -> E.Range:
    return E.Range(bridge.convert(obj.min), bridge.convert(obj.extent))


def _for(bridge: Bridge, obj: Any) -> S.For:
    return S.For(
        bridge.convert(obj.loop_var),
        bridge.convert(obj.min),
        bridge.convert(obj.extent),
        S.FOR_KINDS[obj.kind],
        bridge.convert(obj.body),
        bridge.convert(obj.thread_binding),
        bridge.values(obj.annotations),
    )


def _seq(bridge: Bridge, obj: Any) -> S.SeqStmt:
    """A sequence; a guard after a cross-thread reduction is the guard of its store."""
    statements: list[Any] = []
    threads: tuple[Any, ...] = ()
    for item in obj.seq:
        statement = bridge.convert(item)
        if bridge.mark_owner_guards:
            statement = _mark_owner_guard(statement, threads)
        statements.append(statement)
        threads = _reduced_threads(statement) or threads
    return S.SeqStmt(tuple(statements))


def _reduced_threads(statement: Any) -> tuple[Any, ...]:
    """The threads across which a `reduce_scope` statement reduces."""
    if not isinstance(statement, S.AttrStmt) or statement.key != "reduce_scope":
        return ()
    call = getattr(statement.body, "value", None)
    if not isinstance(call, E.Call) or call.op != "tir.tvm_thread_allreduce":
        return ()
    return call.args[2 + 2 * call.args[0].value :]  # type: ignore[attr-defined]


def _mark_owner_guard(statement: Any, threads: tuple[Any, ...]) -> Any:
    if not isinstance(statement, S.IfThenElse) or not isinstance(statement.condition, E.EQ):
        return statement
    condition = statement.condition
    if not any(condition.a is thread for thread in threads):
        return statement
    inner = _mark_owner_guard(statement.then_case, threads)
    return S.IfThenElse(condition, inner, statement.else_case, True)


def _function(bridge: Bridge, obj: Any) -> S.PrimFunc:
    bridge.parameter_data.update(buffer.data.handle.value for buffer in obj.buffer_map.values())
    params = bridge.many(obj.params)
    buffers = {
        param: bridge.convert(obj.buffer_map[var])
        for var, param in zip(obj.params, params, strict=True)
        if var in obj.buffer_map
    }
    ret_type = obj.ret_type.dtype if isinstance(obj.ret_type, tvm.ir.PrimType) else "void"
    body, attrs = bridge.convert(obj.body), bridge.values(obj.attrs)
    return S.PrimFunc(params, body, buffers, attrs, str(ret_type) or "void")


def _module(bridge: Bridge, obj: Any) -> S.IRModule:
    return S.IRModule({str(var.name_hint): bridge.convert(f) for var, f in obj.functions.items()})


def _fields(kind: type, *names: str) -> Callable[[Bridge, Any], Any]:
    return lambda bridge, obj: kind(*[bridge.convert(getattr(obj, name)) for name in names])


def _allocate(bridge: Bridge, obj: Any) -> S.Allocate:
    return S.Allocate(
        bridge.convert(obj.buffer_var),
        str(obj.dtype),
        bridge.many(obj.extents),
        bridge.convert(obj.condition),
        bridge.convert(obj.body),
        bridge.values(obj.annotations),
    )


_SHARED = {"Var", "SizeVar", "Buffer", "IterVar", "CommReducer", "Tensor", "TensorSlice"}
_CONVERTERS: dict[str, Callable[[Bridge, Any], Any]] = {
    "Var": _var,
    "SizeVar": _var,
    "Buffer": _buffer,
    "IterVar": _iter_var,
    "Range": _range,
    "Tensor": _producer,
    "Op": lambda bridge, obj: str(obj.name),
    "String": lambda bridge, obj: str(obj),
    "IntImm": lambda bridge, obj: E.IntImm(int(obj.value), str(obj.dtype)),
    "FloatImm": lambda bridge, obj: E.FloatImm(float(obj.value), str(obj.dtype)),
    "StringImm": lambda bridge, obj: E.StringImm(str(obj.value)),
    "Cast": lambda bridge, obj: E.Cast(str(obj.dtype), bridge.convert(obj.value)),
    **{
        name: _fields(getattr(E, name), "a", "b")
        for name in (
            *("Add", "Sub", "Mul", "Div", "Mod", "FloorDiv", "FloorMod", "Min", "Max"),
            *("EQ", "NE", "LT", "LE", "GT", "GE", "And", "Or"),
        )
    },
    "Not": _fields(E.Not, "a"),
    "Select": _fields(E.Select, "condition", "true_value", "false_value"),
    "Ramp": lambda bridge, obj: E.Ramp(
        bridge.convert(obj.base), bridge.convert(obj.stride), int(obj.lanes)
    ),
    "Broadcast": lambda bridge, obj: E.Broadcast(bridge.convert(obj.value), int(obj.lanes)),
    "Shuffle": _fields(E.Shuffle, "vectors", "indices"),
    "Call": _call,
    "Let": _fields(E.Let, "var", "value", "body"),
    "ProducerLoad": _fields(E.ProducerLoad, "producer", "indices"),
    "BufferLoad": _fields(E.BufferLoad, "buffer", "indices"),
    "CommReducer": _fields(E.CommReducer, "lhs", "rhs", "result", "identity_element"),
    "Reduce": lambda bridge, obj: E.Reduce(
        bridge.convert(obj.combiner),
        bridge.many(obj.source),
        bridge.many(obj.init),
        bridge.many(obj.axis),
        bridge.convert(obj.condition),
        int(obj.value_index),
    ),
    "For": _for,
    "While": _fields(S.While, "condition", "body"),
    "LetStmt": _fields(S.LetStmt, "var", "value", "body"),
    "AttrStmt": _fields(S.AttrStmt, "node", "attr_key", "value", "body"),
    "AssertStmt": _fields(S.AssertStmt, "condition", "message", "body"),
    "BufferStore": _fields(S.BufferStore, "buffer", "value", "indices"),
    "BufferRealize": _fields(S.BufferRealize, "buffer", "bounds", "condition", "body"),
    "Allocate": _allocate,
    "Prefetch": _fields(S.Prefetch, "buffer", "bounds"),
    "SeqStmt": _seq,
    "IfThenElse": _fields(S.IfThenElse, "condition", "then_case", "else_case"),
    "Evaluate": _fields(S.Evaluate, "value"),
    "PrimFunc": _function,
    "IRModule": _module,
}


def lowered(recorded: Recording) -> S.PrimFunc:
    """The result of TVM's `lower(schedule, args, simple_mode=True)`."""
    bridge = Bridge(mark_owner_guards=not _has_store_predicate(from_tvm(recorded[0][1]["main"])))
    for name, _, after in recorded:
        if name == "tir.StorageFlatten":  # temporaries in their first sizes
            bridge.convert(after["main"])
    return bridge.convert(recorded[-1][2]["main"])  # type: ignore[no-any-return]


def _has_store_predicate(assembled: S.PrimFunc) -> bool:
    """Whether the user guards the store of a cross-thread reduction in the same way as TVM.

    Before simplification there are two guards.
    """
    guards = [n for n in walk(assembled.body) if isinstance(n, S.IfThenElse) and n.owner_guard]
    return any(
        isinstance(outer.then_case, S.IfThenElse)
        and structural_equal(outer.condition, outer.then_case.condition)
        for outer in guards
    )


def assembled(schedule: Any, args: Any) -> S.PrimFunc:
    """TVM's program before the first pass."""
    return from_tvm(tvm.driver.build_module.schedule_to_module(schedule, args, "main")["main"])  # type: ignore[no-any-return]


def passes_of(recorded: Recording) -> list[tuple[str, S.PrimFunc, S.PrimFunc]]:
    """Each pass of TVM's lowering: its name and the function before and after it.

    A variable that a pass does not change is the same object before and after.
    """
    bridge = Bridge()
    functions: dict[int, tuple[Any, S.PrimFunc]] = {}

    def function_of(module: Any) -> S.PrimFunc:
        """Its function, converted once: most passes take the output of the previous one."""
        peer = module["main"]
        address = peer.handle.value
        if address not in functions:
            functions[address] = (peer, bridge.convert(peer))
        return functions[address][1]

    return [(name, function_of(before), function_of(after)) for name, before, after in recorded]


@cache
def corpus_passes(program: Program) -> list[Recording]:
    """The passes of each step of a program, lowered once for all tests."""
    return [tvm_passes_of(schedule, args) for schedule, args in program.steps(tvm)]


def tvm_passes_of(schedule: Any, args: Any) -> Recording:
    """Each pass of TVM's lowering as TVM's own modules."""
    seen: list[tuple[str, Any, Any]] = []
    before: list[Any] = []

    @tvm.instrument.pass_instrument
    class Recorder:
        def run_before_pass(self, module: Any, info: Any) -> None:
            before.append(module)

        def run_after_pass(self, module: Any, info: Any) -> None:
            earlier = before.pop()
            if any(var.name_hint == "main" for var in earlier.get_global_vars()):
                seen.append((str(info.name), earlier, module))

    with tvm.transform.PassContext(instruments=[Recorder()]):
        tvm.lower(schedule, args, simple_mode=True)
    return [entry for entry in seen if entry[0].startswith("tir.")]
