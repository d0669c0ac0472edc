"""Calls of functions of the same module: the statements of the function stand where it is called.

`build` and `check` do this before anything else, so that a program of several functions is judged
and compiled as one. Must not know targets.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from te_sched.deep_recursion import walks_deeply
from te_sched.errors import BuildError, DeclarationError, Subject
from te_sched.ir import expr as E
from te_sched.ir import ops
from te_sched.ir.blocks import DeclBuffer
from te_sched.ir.buffer import element_offset
from te_sched.ir.calls import called_functions, callee_of
from te_sched.ir.expr import Buffer, Call, Expr, Var
from te_sched.ir.renew import renew_defs
from te_sched.ir.specialize import specialize
from te_sched.ir.stmt import Evaluate, LetStmt, PrimFunc, Stmt
from te_sched.ir.structural import structural_equal
from te_sched.ir.visitor import Mapper, ReferenceMapper, replace, walk


@walks_deeply("inline the calls of functions")
def inline_calls(functions: Mapping[str, PrimFunc]) -> dict[str, PrimFunc]:
    """The functions without calls among them.

    Private functions (without "global_symbol") that others call are not in the result.

    Raises
    ------
    BuildError for calls of functions that the module does not have, for recursion, for arguments
    that do not fit, and for functions that return from within a statement.
    """
    called = {name for func in functions.values() for name in called_functions(func.body)}
    if not called:
        return dict(functions)
    inliner = _FunctionInliner(functions)
    return {
        name: inliner.whole(name, ())
        for name, func in functions.items()
        if name not in called or "global_symbol" in func.attrs
    }


class _FunctionInliner:
    """Inlines each function once; `path` is the chain of calls that is being followed."""

    def __init__(self, functions: Mapping[str, PrimFunc]) -> None:
        self.functions = functions
        self.done: dict[str, PrimFunc] = {}

    def whole(self, name: str, path: tuple[str, ...]) -> PrimFunc:
        """A function without calls."""
        if name in path:
            chain = " calls ".join((*path[path.index(name) :], name))
            raise BuildError(
                f"function {name} calls itself",
                f"{chain}: calls are replaced by the statements of the function",
                "write a loop",
                Subject("function", name),
            )
        if name not in self.done:
            func = self.functions[name]
            mapper = _CallInliner(func, lambda call: self.callee(call, (*path, name)))
            self.done[name] = func.with_body(mapper.visit(func.body))
        return self.done[name]

    def callee(self, call: Call, path: tuple[str, ...]) -> PrimFunc:
        """A new copy of the function that is called."""
        name = callee_of(call)
        assert name is not None
        if name not in self.functions:
            raise BuildError(
                f"{path[-1]} calls function {name}, which the module does not have",
                "",
                f"call one of {', '.join(self.functions)}",
                Subject("function", path[-1]),
            )
        func = self.whole(name, path)
        if len(func.params) != len(call.args) - 1:
            raise BuildError(
                f"{path[-1]} calls {name} with {len(call.args) - 1} arguments, expected "
                f"{len(func.params)}",
                "",
                f"give {', '.join(param.name for param in func.params) or 'nothing'}",
                Subject("function", path[-1]),
            )
        return renew_defs(func)


class _CallInliner(Mapper):
    """Replaces the calls in a function."""

    def __init__(self, caller: PrimFunc, function_of: Callable[[Call], PrimFunc]) -> None:
        self.name = caller.__name__
        self.function_of = function_of
        self.buffers = _buffers_by_data(caller)

    def visit_Evaluate(self, node: Evaluate) -> Stmt:
        name = callee_of(node.value)
        if name is None:
            return self.generic(node)
        call: Any = node.value
        func = self.function_of(call)
        if type(func.body) is Evaluate and _returned(func.body) is not None:
            return Evaluate(self.visit(call))
        if any(type(node) is Call and node.op == "tir.ret" for node in walk(func.body)):
            raise self._returns_early(name)
        return self._bound(func, name, call)

    def visit_Call(self, node: Call) -> Expr:
        name = callee_of(node)
        if name is None:
            return self.generic(node)
        func = self.function_of(node)
        value = _returned(func.body)
        if value is None:
            raise self._returns_early(name)
        if func.buffer_map:
            raise BuildError(
                f"{self.name} uses the value of {name}, which takes a buffer",
                "its value would be computed in an expression",
                "let it store the value into a buffer, and call it as a statement",
                Subject("function", self.name),
            )
        for param, arg in zip(func.params, node.args[1:], strict=True):
            value = E.Let(param, ops.cast(param.dtype, self.visit(arg)), value)
        return value

    def _returns_early(self, name: str) -> BuildError:
        return BuildError(
            f"{self.name} calls {name}, which does more than return a value",
            "a call is replaced by the statements of the function, or by its value",
            "let it store its result into a buffer, or return an expression alone",
            Subject("function", self.name),
        )

    def _bound(self, func: PrimFunc, name: str, call: Call) -> Stmt:
        """The body of a function with its parameters bound to the arguments of a call."""
        param_values: dict[Var, Any] = {}
        buffers: dict[Var, Buffer] = {}
        values: list[tuple[Var, Expr]] = []
        for param, arg in zip(func.params, call.args[1:], strict=True):
            value = self.visit(arg)
            if param in func.buffer_map:
                wanted = func.buffer_map[param]
                buffers[param] = self._buffer(wanted, value, name)
                param_values[param] = _in_layout_of(wanted, buffers[param])
            elif type(value) in (Var, E.IntImm, E.FloatImm):
                param_values[param] = value
            else:
                values.append((param, ops.cast(param.dtype, value)))
        try:
            special = specialize(func, param_values)
        except DeclarationError as error:
            raise BuildError(
                f"{self.name} calls {name} with arguments that do not fit: {error.fault}",
                error.why,
                error.advice,
                Subject("function", self.name),
            ) from None
        views = _Views({special.buffer_map[param]: buffer for param, buffer in buffers.items()})
        body = views.visit(special.body)
        for view in views.declared:
            body = DeclBuffer(view, body)
        for param, value in reversed(values):
            body = LetStmt(param, value, body)
        return body

    def _buffer(self, wanted: Buffer, arg: Expr, name: str) -> Buffer:
        """The buffer of the caller that an argument is, seen as the function does."""
        parts: Any = getattr(arg, "args", ())
        data = parts[0] if _is(arg, "tir.tvm_stack_make_array") else arg
        if _is(arg, "tir.address_of"):
            whole = parts[0].buffer
            offset = element_offset(whole, parts[0].indices)
            return replace(wanted, data=whole.data, elem_offset=offset)
        buffers = self.buffers.get(data, []) if type(data) is Var else []
        for buffer in buffers:
            if _is_same_array(buffer, arg) and len(buffer.shape) == len(wanted.shape):
                return buffer
        if buffers and type(arg) is Var and all(type(size) is E.IntImm for size in wanted.shape):
            return replace(wanted, data=arg)  # a pointer: the function says what is there
        raise BuildError(
            f"{self.name} gives {name} something else for buffer {wanted.name}",
            f"{arg} is not a buffer of {len(wanted.shape)} dimensions",
            "give a buffer, its data or the address of an element",
            Subject("function", self.name),
        )


class _Views(ReferenceMapper):
    """Replaces the buffers of a function by those of its caller; others are views of these."""

    def __init__(self, buffers: dict[Buffer, Buffer]) -> None:
        self.declared = [
            replace(mine, strides=theirs.strides, elem_offset=theirs.elem_offset)
            for mine, theirs in buffers.items()
            if not _are_alike(mine, theirs)
        ]
        views = iter(self.declared)
        self.shared.update(
            {
                mine: theirs if _are_alike(mine, theirs) else next(views)
                for mine, theirs in buffers.items()
            }
        )


def _in_layout_of(wanted: Buffer, buffer: Buffer) -> Buffer:
    """A buffer as far as it gives values to the symbols of a parameter."""
    return replace(
        buffer,
        strides=buffer.strides if wanted.strides else (),
        elem_offset=buffer.elem_offset if type(wanted.elem_offset) is Var else wanted.elem_offset,
    )


def _are_alike(a: Buffer, b: Buffer) -> bool:
    parts = ("shape", "strides", "elem_offset", "dtype")
    return all(structural_equal(getattr(a, part), getattr(b, part)) for part in parts)


def _is_same_array(buffer: Buffer, arg: Any) -> bool:
    """Whether an argument is the whole of a buffer."""
    if not _is(arg, "tir.tvm_stack_make_array"):
        return True
    shape, strides, offset = arg.args[1], arg.args[2], arg.args[5]
    own: Any = strides.args if _is(strides, "tir.tvm_stack_make_shape") else ()
    pairs = ((buffer.shape, shape.args), (buffer.strides, own), (buffer.elem_offset, offset))
    return all(structural_equal(a, b) for a, b in pairs)


def _is(node: Any, op: str) -> bool:
    return type(node) is Call and node.op == op


def _returned(body: Stmt) -> Expr | None:
    """The value of a function that only returns one."""
    if type(body) is Evaluate and _is(body.value, "tir.ret"):
        values: Any = body.value
        return values.args[0] if values.args else None
    return None


def _buffers_by_data(func: PrimFunc) -> dict[Var, list[Buffer]]:
    """The buffers of a function by their pointers, each once."""
    buffers: dict[Buffer, None] = dict.fromkeys(func.buffer_map.values())
    for node in walk(func.body):
        kind = type(node).__name__
        if kind in ("BufferLoad", "BufferStore", "DeclBuffer", "BufferRealize"):
            buffers[node.buffer] = None
        elif kind == "Block":
            buffers.update(dict.fromkeys(node.alloc_buffers))
            buffers.update(dict.fromkeys([match.buffer for match in node.match_buffers]))
    by_data: dict[Var, list[Buffer]] = {}
    for buffer in buffers:
        by_data.setdefault(buffer.data, []).append(buffer)
    return by_data
