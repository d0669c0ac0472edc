"""Programs in the notation of TVM 0.9 (`@main = primfn(...)`).

A variable or buffer is described at its first use; a name is unique in the whole text. The notation
shows the buffers of parameters flattened, and their declarations in `preflattened_buffer_map`; both
are derived here. It omits the guard of the store of a cross-thread reduction. Must not know the
meaning of attributes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from te_sched.deep_recursion import walks_deeply
from te_sched.ir import expr as E
from te_sched.ir import ops
from te_sched.ir import stmt as S
from te_sched.ir.expr import Buffer, FloatImm, IntImm, IterVar, StringImm, Var
from te_sched.ir.printer.names import UniqueNames
from te_sched.ir.printer.script_expr import ByClass, mapping_text, quoted
from te_sched.ir.visitor import INIT_FIELDS, children

_INFIX: dict[type, str] = {
    E.Add: " + ",
    E.Sub: " - ",
    E.Mul: "*",
    E.Div: " / ",
    E.Mod: " % ",
    E.EQ: " == ",
    E.NE: " != ",
    E.LT: " < ",
    E.LE: " <= ",
    E.GT: " > ",
    E.GE: " >= ",
    E.And: " && ",
    E.Or: " || ",
}
_PREFIX: dict[type, str] = {
    E.FloorDiv: "floordiv",
    E.FloorMod: "floormod",
    E.Min: "min",
    E.Max: "max",
}
_SUFFIX = {"float": "f", "bfloat": "bf", "int": "i", "uint": "u"}
_FOR_KIND = {"vectorized": "vectorized", "unrolled": "unroll", "parallel": "parallel"}


@walks_deeply("print a program")
def primfn(node: object) -> str:
    """The text of a module, function, statement or expression."""
    if isinstance(node, S.IRModule):
        return "\n\n".join(
            Primfn().function(node.functions[name], f"@{name} = ")
            for name in sorted(node.functions)
        )
    if isinstance(node, S.PrimFunc):
        return Primfn().function(node, "")
    printer = Primfn()
    if isinstance(node, S.Stmt):
        return "\n".join(printer.lines_of(node, ""))
    return printer.text(node)


class Primfn:
    """A printer of one text."""

    def __init__(self) -> None:
        self.allocator = UniqueNames()
        self.names: dict[object, str] = {}
        self.meta: dict[str, list[object]] = {}
        self.lines: list[str] = []

    def take_name(self, symbol: object, hint: str, prefix: str = "v") -> str:
        """Assign a name to an object."""
        name = self.names[symbol] = self.allocator.take(
            hint if not hint or hint[0].isalpha() else prefix + hint
        )
        return name

    # Functions

    def function(self, func: S.PrimFunc, head: str) -> str:
        """Print a function, starting with its name."""
        mapped = [param for param in func.params if param in func.buffer_map]
        flat = flattened_parameters(func)
        for param in mapped:
            self.take_name(flat[param], flat[param].name, "buf_")
        params = ", ".join([self.text(param) for param in func.params])
        lines = [f"{head}primfn({params}) -> ()"]
        if func.attrs:
            lines.append(f"  attr = {self.text(func.attrs)}")
        if mapped:
            shown = [f"{self.names[flat[p]]}: {self.description(flat[p])}" for p in mapped]
            pairs = [f"{self.names[param]}: {self.names[flat[param]]}" for param in mapped]
            lines.append(f"  buffers = {{{(',' + chr(10) + ' ' * 13).join(shown)}}}")
            lines.append(f"  buffer_map = {{{', '.join(pairs)}}}")
        if mapped and is_flattened(func):
            declared = []
            for param in mapped:
                buffer = func.buffer_map[param]
                name = self.allocator.take(buffer.name)
                declared.append(f"{self.names[param]}: {name}: {self.description(buffer)}")
            lines.append(f"  preflattened_buffer_map = {{{', '.join(declared)}}}")
        lines[-1] += " {"
        return "\n".join([*lines, *self.lines_of(func.body, "  "), "}"])

    # Buffers and variables

    def description(self, buffer: Buffer) -> str:
        """The description of a buffer."""
        parts = [
            self.text(buffer.data),
            buffer.dtype,
            self.text(buffer.shape),
            self.text(buffer.strides),
        ]
        if not ops.is_const(buffer.elem_offset, 0):
            parts.append(f"elem_offset={self.text(buffer.elem_offset)}")
        if buffer.scope() != "global":
            parts.append(f"scope={quoted(buffer.scope())}")
        if buffer.data_alignment != E.DEFAULT_ALIGNMENT:
            parts.append(f"align={buffer.data_alignment}")
        if buffer.offset_factor > 1:
            parts.append(f"offset_factor={buffer.offset_factor}")
        if buffer.buffer_type:
            parts.append('type="auto"')
        if buffer.axis_separators:
            parts.append(f"axis_separators={list(buffer.axis_separators)}")
        return f"Buffer({', '.join(parts)})"

    def buffer(self, buffer: Buffer) -> str:
        """The name of a buffer, with its description at the first use."""
        name = self.names.get(buffer)
        if name is not None:
            return name
        name = self.take_name(buffer, buffer.name, "buf_")
        return f"{name}: {self.description(buffer)}"

    def _variable(self, node: Var) -> str:
        name = self.names.get(node)
        if name is not None:
            return name
        name = self.take_name(node, node.name)
        return f"{name}: {self._type(node)}"

    def _type(self, var: Var) -> str:
        if var.pointer is None:
            return var.dtype
        element, scope = var.pointer
        return f"Pointer({element})" if scope in ("", "global") else f"Pointer({scope} {element})"

    # Expressions

    def text(self, node: object) -> str:
        """The text of an expression, range, axis, buffer or plain value."""
        return _EXPRESSIONS[type(node)](self, node)

    def commas(self, items: Iterable[object]) -> str:
        """The texts, separated by commas."""
        return ", ".join([self.text(item) for item in items])

    def _integer(self, node: IntImm) -> str:
        if node.dtype == "int32":
            return str(node.value)
        if node.dtype == "bool":
            return "True" if node.value else "False"
        return f"{node.value}{_literal_suffix(node.dtype)}"

    def _float(self, node: FloatImm) -> str:
        value = f"{node.value:g}" if math.isfinite(node.value) else str(node.value)
        return f"{value}{_literal_suffix(node.dtype)}"

    def _infix(self, node: E.BinaryOp | E.CompareOp) -> str:
        return f"({self.text(node.a)}{_INFIX[type(node)]}{self.text(node.b)})"

    def _prefix(self, node: E.BinaryOp | E.CompareOp) -> str:
        return f"{_PREFIX[type(node)]}({self.text(node.a)}, {self.text(node.b)})"

    def _let(self, node: E.Let) -> str:
        return f"let {self.text(node.var)} = {self.text(node.value)} in {self.text(node.body)}"

    def _call(self, node: E.Call) -> str:
        return f"@{node.op}({self.commas(node.args)}, dtype={node.dtype})"

    def _load(self, node: E.BufferLoad) -> str:
        text = f"{self.buffer(node.buffer)}[{self.commas(node.indices)}]"
        return text if node.predicate is None else f"{text} if {self.text(node.predicate)}"

    def _reduce(self, node: E.Reduce) -> str:
        parts = (node.combiner, node.source, node.axis, node.value_index, node.init)
        return f"reduce({self.commas(parts)})"

    def _meta(self, node: E.CommReducer) -> str:
        reducers = self.meta.setdefault("tir.CommReducer", [])
        position = next((i for i, reducer in enumerate(reducers) if reducer is node), len(reducers))
        if position == len(reducers):
            reducers.append(node)
        return f"meta[tir.CommReducer][{position}]"

    def _range(self, node: E.Range) -> str:
        return f"[{self.text(node.min)}:{self.text(ops.add(node.min, node.extent))}]"

    def _axis(self, node: IterVar) -> str:
        var = self.text(node.var)
        dom = "(nullptr)" if node.dom is None else self.text(node.dom)
        return f"IterVar({var}, {dom}, {quoted(node.kind)}, {quoted(node.thread_tag)})"

    # Statements

    def lines_of(self, node: S.Stmt, indent: str) -> list[str]:
        """The lines of a statement."""
        kept, self.lines = self.lines, []
        self.statement(node, indent)
        lines, self.lines = self.lines, kept
        return lines

    def statement(self, node: S.Stmt, indent: str) -> None:
        """Append the lines of a statement."""
        node = _without_owner_guard(node)
        _STATEMENTS.get(type(node), Primfn._newer)(self, node, indent)

    def _newer(self, node: S.Stmt, indent: str) -> None:
        """Print a statement that TVM 0.9 did not have: its class and fields, then nested ones."""
        values = [getattr(node, name) for name in INIT_FIELDS[type(node)]]
        inside = [value for value in values if isinstance(value, S.Stmt)]
        shown = self.commas([value for value in values if not isinstance(value, S.Stmt)])
        self.lines.append(f"{indent}{type(node).__name__}({shown})")
        for statement in inside:
            self.block(statement, indent)

    def block(self, node: S.Stmt, indent: str) -> None:
        """Append a statement to the last line, in braces."""
        self.lines[-1] += " {"
        self.statement(node, indent + "  ")
        self.lines.append(indent + "}")

    def after(self, node: S.Stmt, indent: str, separator: str) -> None:
        """Append the body of a header: a sequence is in braces."""
        node = _without_owner_guard(node)
        if type(node) is S.SeqStmt:
            self.block(node, indent)
        else:
            self.lines[-1] += separator
            self.statement(node, indent)

    def _sequence(self, node: S.SeqStmt, indent: str) -> None:
        for item in node.seq:
            self.statement(item, indent)

    def _store(self, node: S.BufferStore, indent: str) -> None:
        target = f"{self.buffer(node.buffer)}[{self.commas(node.indices)}]"
        mask = "" if node.predicate is None else f" if {self.text(node.predicate)}"
        self.lines.append(f"{indent}{target} = {self.text(node.value)}{mask}")

    def _evaluate(self, node: S.Evaluate, indent: str) -> None:
        self.lines.append(indent + self.text(node.value))

    def _for(self, node: S.For, indent: str) -> None:
        header = f"for ({self.commas((node.loop_var, node.min, node.extent))})"
        if node.kind != "serial":
            header += f' "{_FOR_KIND.get(node.kind, node.kind)}"'
        if node.annotations:
            header += f" annotations = {self.text(node.annotations)}"
        self.lines.append(indent + header)
        self.block(node.body, indent)

    def _while(self, node: S.While, indent: str) -> None:
        self.lines.append(f"{indent}while ({self.text(node.condition)})")
        self.block(node.body, indent)

    def _if(self, node: S.IfThenElse, indent: str) -> None:
        self.lines.append(f"{indent}if {self.text(node.condition)}")
        self.block(node.then_case, indent)
        if node.else_case is not None:
            self.lines[-1] += " else"
            self.block(node.else_case, indent)

    def _let_statement(self, node: S.LetStmt, indent: str) -> None:
        self.lines.append(f"{indent}let {self.text(node.var)} = {self.text(node.value)}")
        if type(_without_owner_guard(node.body)) is S.SeqStmt:
            self.lines.append(indent)
        self.after(node.body, indent, "")

    def _attribute(self, node: S.AttrStmt, indent: str) -> None:
        shown = self.text(node.node)
        self.lines.append(f'{indent}attr [{shown}] "{node.key}" = {self.text(node.value)}')
        self.after(node.body, indent, ";")

    def _allocate(self, node: S.Allocate, indent: str) -> None:
        var = node.buffer_var
        scope = var.scope or "global"
        if var in self.names or var.pointer is None:
            shown = self.text(var)
        else:
            shown = f"{self.take_name(var, var.name)}: Pointer({scope} {var.pointer.element})"
        line = (
            f"allocate({shown}, {node.dtype}, {self.text(node.extents)}), storage_scope = {scope}"
        )
        if node.annotations:
            line += f", annotations = {self.text(node.annotations)}"
        if not ops.is_const(node.condition, 1):
            line += f" if {self.text(node.condition)}"
        self.lines.append(indent + line)
        self.after(node.body, indent, ";")

    def _assert(self, node: S.AssertStmt, indent: str) -> None:
        self.lines.append(f"{indent}assert({self.commas((node.condition, node.message))})")
        self.after(node.body, indent, ";")

    def _realize(self, node: S.BufferRealize, indent: str) -> None:
        self._region(node, f"buffer_realize {self.buffer(node.buffer)}", indent)

    def _region(self, node: S.BufferRealize | S.ProducerRealize, head: str, indent: str) -> None:
        line = f"{indent}{head}({self.text(node.bounds)})"
        if not ops.is_const(node.condition, 1):
            line += f" if {self.text(node.condition)}"
        self.lines.append(line)
        self.block(node.body, indent)

    def _prefetch(self, node: S.Prefetch, indent: str) -> None:
        self.lines.append(f"{indent}prefetch {self.text(node.buffer)}({self.text(node.bounds)})")


def _without_owner_guard(node: S.Stmt) -> S.Stmt:
    while isinstance(node, S.IfThenElse) and node.owner_guard:
        node = node.then_case
    return node


def _literal_suffix(dtype: str) -> str:
    code = dtype.rstrip("0123456789")
    return _SUFFIX.get(code, code) + dtype[len(code) :]


def is_flattened(func: S.PrimFunc) -> bool:
    """Whether every access of the function has one index."""
    return _accesses(func.body) is not None


def flattened_parameters(func: S.PrimFunc) -> dict[Var, Buffer]:
    """The buffer of each parameter in the body: one-dimensional after flattening."""
    accessed = _accesses(func.body)
    if accessed is None:
        return dict(func.buffer_map)
    return {param: _flat_view(buffer, accessed) for param, buffer in func.buffer_map.items()}


def _flat_view(buffer: Buffer, accessed: dict[Buffer, None]) -> Buffer:
    if buffer in accessed:
        return buffer
    for view in accessed:
        if view.data is buffer.data and view.dtype == buffer.dtype:
            return view
    if len(buffer.shape) == 1 and not buffer.strides:
        return buffer
    if buffer.strides:
        size = ops.mul(buffer.strides[0], buffer.shape[0])
    else:
        size = IntImm(1, buffer.shape[0].dtype if buffer.shape else "int32")
        for extent in buffer.shape:
            size = ops.mul(size, extent)
    return Buffer(
        buffer.data,
        buffer.dtype,
        (size,),
        (),
        buffer.elem_offset,
        buffer.name,
        buffer.data_alignment,
        buffer.offset_factor,
        buffer.buffer_type,
    )


def _accesses(body: S.Stmt) -> dict[Buffer, None] | None:
    """The buffers that are read or written, in order; None if there is an unflattened access."""
    buffers: dict[Buffer, None] = {}
    stack: list[Any] = [body]
    while stack:
        node = stack.pop()
        kind = type(node)
        if kind is E.BufferLoad or kind is S.BufferStore:
            buffers[node.buffer] = None
            if len(node.indices) != 1:
                return None
        elif kind in _LEAVES:
            continue
        elif kind is S.BufferRealize or kind is S.Prefetch:
            return None
        below = list(children(node))
        below.reverse()
        stack.extend(below)
    return buffers


_LEAVES = frozenset([Var, IntImm, FloatImm, StringImm])
_EXPRESSIONS = ByClass()
_EXPRESSIONS |= {
    Var: Primfn._variable,
    IntImm: Primfn._integer,
    FloatImm: Primfn._float,
    StringImm: lambda printer, node: quoted(node.value),
    **{kind: Primfn._infix for kind in _INFIX},
    **{kind: Primfn._prefix for kind in _PREFIX},
    E.Not: lambda printer, node: f"!{printer.text(node.a)}",
    E.Cast: lambda printer, node: f"cast({node.dtype}, {printer.text(node.value)})",
    E.Select: lambda printer, node: (
        f"select({printer.commas((node.condition, node.true_value, node.false_value))})"
    ),
    E.Ramp: lambda printer, node: (
        f"ramp({printer.text(node.base)}, {printer.text(node.stride)}, {node.lanes})"
    ),
    E.Broadcast: lambda printer, node: f"broadcast({printer.text(node.value)}, {node.lanes})",
    E.Shuffle: lambda printer, node: f"shuffle({printer.commas((node.vectors, node.indices))})",
    E.Let: Primfn._let,
    E.Call: Primfn._call,
    E.BufferLoad: Primfn._load,
    E.ProducerLoad: lambda printer, node: f"{node.producer.name}[{printer.commas(node.indices)}]",
    E.Reduce: Primfn._reduce,
    E.CommReducer: Primfn._meta,
    E.Range: Primfn._range,
    IterVar: Primfn._axis,
    Buffer: Primfn.buffer,
    tuple: lambda printer, node: f"[{printer.commas(node)}]",
    list: lambda printer, node: f"[{printer.commas(node)}]",
    dict: mapping_text,
    str: lambda printer, node: quoted(node),
    bool: lambda printer, node: str(node),
    int: lambda printer, node: str(node),
    float: lambda printer, node: f"{node:g}",
    type(None): lambda printer, node: "(nullptr)",
}
_STATEMENTS: dict[type, Callable[[Primfn, Any, str], None]] = {
    S.SeqStmt: Primfn._sequence,
    S.BufferStore: Primfn._store,
    S.Evaluate: Primfn._evaluate,
    S.For: Primfn._for,
    S.While: Primfn._while,
    S.IfThenElse: Primfn._if,
    S.LetStmt: Primfn._let_statement,
    S.AttrStmt: Primfn._attribute,
    S.Allocate: Primfn._allocate,
    S.AssertStmt: Primfn._assert,
    S.BufferRealize: Primfn._realize,
    S.Prefetch: Primfn._prefetch,
}
