"""Give functions pointers and numbers as parameters, as functions of C have them.

    def main(A: T.Buffer((16,)), n: T.int32)    ->    def main(A: T.handle, n: T.int32) -> T.int32

The caller is trusted: neither shapes nor types are checked. (TVM's name: MakeUnpackedAPI.) Must not
know targets.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

from te_sched.errors import LoweringError, Subject
from te_sched.ir.calls import callee_of
from te_sched.ir.expr import Call, Expr, IntImm, StringImm
from te_sched.ir.stmt import AttrStmt, Evaluate, PrimFunc
from te_sched.ir.structural import symbols
from te_sched.ir.visitor import Mapper, replace
from te_sched.lowering.statements import sequence
from te_sched.tir.passes.make_packed_api import HostOf


def make_unpacked_api(functions: Mapping[str, PrimFunc], host_of: HostOf) -> dict[str, PrimFunc]:
    """The functions, of which those that callers see take pointers; `host_of` as for
    `make_packed_api`.
    """
    hosts = {
        name: host
        for name, func in functions.items()
        if "global_symbol" in func.attrs and (host := host_of(func)) is not None
    }
    calls = _PointerCalls(hosts.keys())
    new_functions = {
        name: func.with_body(calls.visit(func.body)) for name, func in functions.items()
    }
    return new_functions | {
        name: _unpacked(new_functions[name], *host) for name, host in hosts.items()
    }


def _unpacked(func: PrimFunc, host: Any, device: int) -> PrimFunc:
    buffers = [func.buffer_map.get(param) for param in func.params]
    params = [
        param if buffer is None else buffer.data
        for param, buffer in zip(func.params, buffers, strict=True)
    ]
    body = sequence([func.body, Evaluate(Call("int32", "tir.ret", (IntImm(0),)))])
    for buffer in buffers:
        unknown = set(symbols(buffer)).difference(params) if buffer is not None else ()
        if buffer is not None and unknown:
            names = ", ".join(sorted(var.name for var in unknown))
            raise LoweringError(
                f"cannot pass buffer {buffer.name} of {func.__name__} as a pointer: the caller "
                f"does not pass {names}",
                "a pointer has no shape",
                f"make {names} a parameter, or use MakePackedAPI",
                Subject("buffer", buffer.name),
            )
    if func.buffer_map:
        for key, value in (("device_type", device), ("device_id", 0)):
            body = AttrStmt(StringImm("default"), key, IntImm(value), body)
    func = func.with_attr("target", host)
    return replace(func, params=tuple(params), body=body, buffer_map={}, ret_type="int32")


class _PointerCalls(Mapper):
    """Passes the pointers of arrays to functions that take pointers, and return 0."""

    def __init__(self, names: Set[str]) -> None:
        self.names = names

    def visit_Call(self, node: Call) -> Expr:
        call: Call = self.generic(node)
        if callee_of(call) not in self.names:
            return call
        args = tuple([_pointer(arg) for arg in call.args])
        return replace(call, dtype="int32", args=args)


def _pointer(value: Expr) -> Expr:
    is_array = isinstance(value, Call) and value.op == "tir.tvm_stack_make_array"
    return value.args[0] if is_array else value  # type: ignore[attr-defined]
