"""Structural hash: equal for programs that are structurally equal, in every process.

Bound variables and buffers count by the order of their definitions, not by their names. Must agree
with `ir.structural`; must not know nodes beyond the roles of their fields.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from te_sched.deep_recursion import walks_deeply
from te_sched.errors import DeclarationError
from te_sched.ir import stmt as S
from te_sched.ir.expr import Buffer, FloatImm, IterVar, Node, Var
from te_sched.ir.graph import DataflowVar, GraphVar
from te_sched.ir.struct_info import StructInfo
from te_sched.ir.structural import (
    COMPARED,
    DEFINITIONS,
    compared_items,
    float_key,
    is_plain,
    plain_of,
    structural_equal,
    symbols,
    variables_in,
)
from te_sched.ir.visitor import INIT_FIELDS
from te_sched.signatures import checked


@checked
@walks_deeply("hash a program", DeclarationError)
def structural_hash(node: Any, map_free_vars: bool = False) -> int:
    """A number of 64 bits that is the same for programs that are structurally equal.

    Free variables count as themselves, so that their programs have equal hashes in one process
    only; with `map_free_vars` they count by the order of their uses.

    >>> from te_sched import tir
    >>> a, b = (tir.PrimFunc([i], tir.Evaluate(i + 1), {}) for i in (te.var("i"), te.var("j")))
    >>> structural_hash(a) == structural_hash(b)
    True
    """
    hasher = _Hasher(map_free_vars)
    hasher.add(node)
    return int.from_bytes(hasher.digest.digest(), "little")


class _Hasher:
    """Feeds a tree to a digest; definitions get numbers."""

    def __init__(self, map_free_vars: bool) -> None:
        self.digest = _new_digest()
        self.map_free_vars = map_free_vars
        self.numbers: dict[Any, int] = {}
        self.contents: dict[Buffer, str] = {}  # the digests of buffers

    def feed(self, *parts: Any) -> None:
        """Feed plain values."""
        self.digest.update(repr(parts).encode())

    def add(self, value: Any) -> None:
        """Feed a node, a sequence, a mapping, an array or a plain value."""
        kind = type(value)
        method = _METHODS.get(kind)
        if method is not None:
            method(self, value)
        elif kind in INIT_FIELDS:
            self.fields(value)
        elif is_plain(value):  # asking whether they are mappings takes long if torch is imported
            self.plain(value)
        elif isinstance(value, tuple | list) and not hasattr(value, "_fields"):
            self.feed("items", len(value))
            for item in value:
                self.add(item)
        elif isinstance(value, Mapping):
            value = compared_items(value)
            self.feed("mapping", len(value))
            for key in sorted(value, key=str):
                self.feed(str(key))
                self.add(plain_of(value[key]))
        elif isinstance(value, Node):  # a producer
            self.feed(value.name, value.dtype)  # type: ignore[attr-defined]
        elif isinstance(value, np.ndarray):
            self.feed(value.dtype.str, value.shape)
            self.digest.update(np.ascontiguousarray(value).reshape(-1).view("uint8").data)
        elif hasattr(value, "numpy"):
            self.add(value.numpy())
        else:
            self.plain(value)

    def plain(self, value: Any) -> None:
        """Feed a text, a number or another plain value."""
        if isinstance(value, str):
            self.feed(str(value))
        else:
            self.feed(hex(value) if isinstance(value, int) else value)

    def fields(self, node: Any) -> None:
        """Feed a node by fields, definitions first."""
        kind = type(node)
        self.feed(kind.__name__)
        for name in DEFINITIONS[kind]:
            self.define(getattr(node, name))
        for name in COMPARED[kind]:
            if name not in DEFINITIONS[kind]:
                self.add(getattr(node, name))

    def define(self, value: Any) -> None:
        """Number what a node defines."""
        if type(value) is tuple:
            self.feed(len(value))
            for one in value:
                self.define(one)
        elif isinstance(value, Var):
            self.number(value)
        elif isinstance(value, GraphVar):
            self.graph_definition(value)
        elif isinstance(value, Buffer):
            if value.data not in self.numbers:
                self.number(value.data)
            for one in symbols(value):
                self.declare(one)
            self.add(value)
        elif isinstance(value, IterVar):
            self.number(value.var)
            self.add(value.dom)
            self.add(value)
        else:
            for one in variables_in(value) if isinstance(value, Node) else ():
                self.declare(one)
            self.add(value)

    def number(self, var: Var) -> None:
        """Number a variable, and feed its type."""
        self.numbers[var] = len(self.numbers)
        self.feed("definition", var.dtype)

    def graph_definition(self, var: GraphVar) -> None:
        """Number a variable of a graph, and feed its struct info."""
        self.define(var.struct_info_)
        self.numbers[var] = len(self.numbers)
        self.feed("definition", type(var).__name__)

    def graph_variable(self, var: GraphVar) -> None:
        """Feed a use of a variable of a graph."""
        if var not in self.numbers and self.map_free_vars:
            self.graph_definition(var)
        self.feed("variable", self.numbers.get(var, -1), 0 if var in self.numbers else id(var))

    def declare(self, var: Var) -> None:
        """Number a variable that an enclosing node may have defined."""
        if var not in self.numbers:
            self.number(var)

    def variable(self, var: Var) -> None:
        """Feed a use of a variable."""
        if var not in self.numbers and self.map_free_vars:
            self.number(var)
        self.feed("variable", self.numbers.get(var, -1), 0 if var in self.numbers else id(var))

    def buffer(self, buffer: Buffer) -> None:
        """Feed a use of a buffer by content, so that equal views of memory are alike."""
        found = self.contents.get(buffer)
        if found is None:
            if self.map_free_vars:
                for one in (buffer.data, *symbols(buffer)):
                    self.declare(one)
            outside, self.digest = self.digest, _new_digest()
            for name in INIT_FIELDS[Buffer]:
                if name not in ("name", "data_alignment"):
                    self.add(getattr(buffer, name))
            self.feed(min(buffer.data_alignment, 64), buffer.scope())
            found = self.contents[buffer] = self.digest.hexdigest()
            self.digest = outside
        self.feed("buffer", found)

    def axis(self, axis: IterVar) -> None:
        """Feed an axis outside of its definition."""
        self.feed(axis.kind, axis.thread_tag)
        self.declare(axis.var)
        self.variable(axis.var)

    def attribute(self, node: S.AttrStmt) -> None:
        """Feed an attribute, which may define the variable of a thread or the data of a buffer."""
        if isinstance(node.node, IterVar) and node.key in S.THREAD_KEYS:
            self.declare(node.node.var)
        if isinstance(node.node, Buffer):
            self.declare(node.node.data)
        self.fields(node)

    def function(self, func: S.PrimFunc) -> None:
        """Feed a function."""
        self.feed("PrimFunc")
        self.define(func.params)
        places = [one for one, param in enumerate(func.params) if param in func.buffer_map]
        buffers = [func.buffer_map[func.params[place]] for place in places]
        for buffer in buffers:
            for one in (buffer.data, *symbols(buffer)):
                self.declare(one)
        for place, buffer in zip(places, buffers, strict=True):
            self.feed(place)
            self.buffer(buffer)
        self.add(func.attrs)
        self.feed(func.ret_type)
        self.add(func.body)

    def constant(self, node: FloatImm) -> None:
        """Feed a floating-point constant by its bits."""
        self.feed(float_key(node.value), node.dtype)


def _new_digest() -> Any:
    import hashlib  # it loads OpenSSL

    return hashlib.blake2b(digest_size=8)


_METHODS: dict[type, Callable[[_Hasher, Any], None]] = {
    Var: _Hasher.variable,
    GraphVar: _Hasher.graph_variable,
    DataflowVar: _Hasher.graph_variable,
    Buffer: _Hasher.buffer,
    IterVar: _Hasher.axis,
    FloatImm: _Hasher.constant,
    S.AttrStmt: _Hasher.attribute,
    S.PrimFunc: _Hasher.function,
}


def _equals(self: StructInfo, other: object) -> bool:
    if self is other or not isinstance(other, StructInfo):
        return self is other
    return self.part_count == other.part_count and structural_equal(self, other)


setattr(StructInfo, "__eq__", _equals)  # noqa: B010  ir.struct_info is below
setattr(StructInfo, "__hash__", structural_hash)  # noqa: B010
