"""Programs as JSON in the form of TVM 0.19's `save_json`, which TVM loads, and back.

    {"root": 1, "nodes": [{"type_key": ""}, {"type_key": "tir.IndexMap", "attrs": {...}}, ...]}

A node refers to others by their numbers; number 0 is None. Owns the names and fields of TVM's nodes
of loops and blocks; must not know schedules.
"""

from __future__ import annotations

import base64
import json
import math
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, NamedTuple

import numpy as np

from te_sched.deep_recursion import walks_deeply
from te_sched.errors import DeclarationError, TeSchedError, kind_of, repr_of
from te_sched.ir import blocks as B
from te_sched.ir import dtypes, ops
from te_sched.ir import expr as E
from te_sched.ir import stmt as S
from te_sched.ir.expr import Call, Expr, FloatImm, IntImm, PointerType, StringImm, Var
from te_sched.ir.index_map import IndexMap
from te_sched.ir.stmt import GlobalVar, IRModule, PrimFunc, SeqStmt
from te_sched.ir.struct_info import DummyGlobalInfo, VDevice
from te_sched.ir.visitor import walk
from te_sched.signatures import check_fields

_VERSION = "0.19.0"
_ALIGNMENT = 64  # TVM's default alignment of buffers
_NONE = {"type_key": ""}
# What makes a target of the mapping that describes it; `codegen.target` adds it.
TARGETS: list[Callable[[Mapping[str, Any]], Any]] = []


class _As(Enum):
    """How a field of a node is written."""

    NODE = "the number of a node, or of an Array of nodes"
    TEXT = "the number of a String"
    PLAIN = "the number of a value of Python: an int is an IntImm"
    HERE = "the value itself"
    ALIGNMENT = "the value itself, but for the default, which is 64 in TVM"
    LANES = "the number of a number of lanes"
    ARRAY = "the number of an NDArray"


class _Field(NamedTuple):
    """A field of a class, TVM's name of it, and how it is written."""

    name: str
    theirs: str
    how: _As
    words: Sequence[str] = ()  # whose places are written instead of them


class _Kind(NamedTuple):
    """A class of nodes and the rows that it has in TVM's JSON."""

    cls: type
    key: str
    fields: tuple[_Field, ...]
    typed: bool = False  # whether the row has the dtype
    spanned: bool = True  # whether the row has the place in a source


def _fields(text: str, how: _As = _As.NODE) -> Iterator[_Field]:
    for name in text.split():
        ours, _, theirs = name.partition("=")
        yield _Field(ours, theirs or ours, how)


def _expression(cls: type, names: str, *others: _Field) -> _Kind:
    return _Kind(cls, f"tir.{cls.__name__}", (*_fields(names), *others), typed=True)


def _statement(cls: type, names: str, *others: _Field, spanned: bool = True) -> _Kind:
    return _Kind(cls, f"tir.{cls.__name__}", (*_fields(names), *others), spanned=spanned)


_ANNOTATIONS = _Field("annotations", "annotations", _As.PLAIN)
_DTYPE = _Field("dtype", "dtype", _As.HERE)
_LANES = _Field("lanes", "lanes", _As.LANES)
_BINARY = (*ops.BUILDERS, E.Mod)
_SHARED = (
    *[_expression(kind, "a b") for kind in dict.fromkeys(_BINARY)],
    _expression(E.Not, "a"),
    _expression(E.Cast, "value"),
    _expression(E.Select, "condition true_value false_value"),
    _expression(E.Ramp, "base stride", _LANES),
    _expression(E.Broadcast, "value", _LANES),
    _expression(E.Shuffle, "vectors indices"),
    _expression(E.Let, "var value body"),
    _expression(E.BufferLoad, "buffer indices predicate"),
    _expression(
        E.Reduce,
        "combiner source init axis condition",
        _Field("value_index", "value_index", _As.HERE),
    ),
    _statement(E.CommReducer, "lhs rhs result identity=identity_element"),
    _statement(E.BufferRegion, "buffer region", spanned=False),
    _Kind(E.Range, "Range", (*_fields("min extent"),)),
    _statement(
        E.IterVar,
        "dom var",
        _Field("kind", "iter_type", _As.HERE, E.ITER_KINDS),
        *_fields("thread_tag", _As.TEXT),
    ),
    _statement(
        E.Buffer,
        "data shape strides elem_offset",
        _DTYPE,
        *_fields("name", _As.TEXT),
        *_fields("data_alignment", _As.ALIGNMENT),
        *_fields("offset_factor", _As.HERE),
        _Field("buffer_type", "buffer_type", _As.HERE, (" ", "", "auto_broadcast")),
        *_fields("axis_separators", _As.PLAIN),
    ),
    _statement(
        S.For,
        "loop_var min extent",
        _Field("kind", "kind", _As.HERE, S.FOR_KINDS),
        *_fields("body thread_binding"),
        _ANNOTATIONS,
    ),
    _statement(S.While, "condition body"),
    _statement(S.LetStmt, "var value body"),
    _statement(S.AttrStmt, "node", *_fields("key=attr_key", _As.TEXT), *_fields("value body")),
    _statement(S.AssertStmt, "condition message body"),
    _statement(S.BufferStore, "buffer value indices predicate"),
    _statement(S.BufferRealize, "buffer bounds condition body"),
    _statement(S.Prefetch, "buffer bounds"),
    _statement(S.Allocate, "buffer_var extents condition body", _DTYPE, _ANNOTATIONS),
    _statement(
        B.AllocateConst,
        "buffer_var extents body",
        _DTYPE,
        *_fields("data", _As.ARRAY),
        _ANNOTATIONS,
    ),
    _statement(B.DeclBuffer, "buffer body"),
    _statement(S.IfThenElse, "condition then_case else_case"),
    _statement(S.Evaluate, "value"),
    _statement(SeqStmt, "seq"),
    _statement(
        B.Block,
        "iter_vars reads writes",
        *_fields("name_hint", _As.TEXT),
        *_fields("init body alloc_buffers match_buffers"),
        _ANNOTATIONS,
        spanned=False,
    ),
    _statement(B.BlockRealize, "iter_values predicate block", spanned=False),
    _statement(B.MatchBufferRegion, "buffer source", spanned=False),
    _statement(IndexMap, "initial_indices final_indices inverse_index_map", spanned=False),
    _Kind(
        VDevice,
        "VDevice",
        (
            *_fields("target", _As.PLAIN),
            *_fields("vdevice_id", _As.HERE),
            *_fields("memory_scope", _As.TEXT),
        ),
        spanned=False,
    ),
    _Kind(DummyGlobalInfo, "DummyGlobalInfo", (), spanned=False),
)
_BY_CLASS = {one.cls: one for one in _SHARED}
_BY_KEY = {one.key: one for one in _SHARED}
# Fields that TVM demands, and that have the same value in all rows.
_FIXED = {"tir.AllocateConst": {"irmod_storage_idx": "0"}}
_CALL_FUNCTION = "tir.call_function"  # whose first argument names a function of the module
# The bytes of an array: these numbers, the sizes as int64, the number of bytes, the elements.
_ARRAY_HEAD = struct.Struct("<QQiiiBBH")
_ARRAY_MAGIC = 0xDD5E40F096B4A13F


@walks_deeply("save a program", DeclarationError)
def save_tvm_json(node: Any) -> str:
    """The JSON of a program as TVM 0.19's `tvm.ir.save_json` writes it, for `tvm.ir.load_json`.

    Takes modules of functions of loops and blocks, such functions, statements and expressions,
    buffers, index maps, and lists and dictionaries of them. TVM prints the loaded program as
    te_sched prints this one.

    Raises
    ------
    DeclarationError for what TVM's format cannot hold: functions of graphs, tensors that have no
    buffers yet, floating-point constants that are infinite or NaN, objects of Python.

    >>> from te_sched import tir
    >>> i = tir.Var("i", "int32")
    >>> load_tvm_json(save_tvm_json(i * 2 + i))
    i * 2 + i
    """
    return _saved(node)


def load_tvm_json(text: str) -> Any:
    """What `tvm.ir.save_json` or `save_tvm_json` saved; `load_json` takes it, too.

    Raises
    ------
    DeclarationError for another text, and for nodes that te_sched does not have.
    """
    return load_document(_parsed(text, _PROGRAM))


@walks_deeply("load a program", DeclarationError)
def load_document(document: Any) -> Any:
    """The program of a document of TVM, which was read from its JSON."""
    return _loaded(document, _PROGRAM)


def is_tvm_document(document: Any) -> bool:
    """Whether a document, which was read from JSON, has the form of TVM's."""
    return isinstance(document, dict) and "root" in document and _has_rows(document)


def _has_rows(document: dict[str, Any]) -> bool:
    rows = document.get("nodes")
    return isinstance(rows, list) and bool(rows) and rows[0] == _NONE


@walks_deeply("save an index map", DeclarationError)
def save_index_map(index_map: IndexMap) -> str:
    """The JSON of an index map.

    >>> from te_sched.arith.index_functions import map_of
    >>> mapping, _ = map_of(lambda i, j: [j, i // 4])
    >>> load_index_map(save_index_map(mapping))
    T.index_map(lambda i, j: (j, i // 4))
    """
    if any(type(part) is E.BufferLoad for one in index_map.final_indices for part in walk(one)):
        raise DeclarationError(
            f"cannot save {repr_of(index_map)} as JSON",
            "it reads a buffer, and the loaded map would have another one",
            "use arithmetic of the indices in index maps",
        )
    return _saved(index_map)


@walks_deeply("load an index map", DeclarationError)
def load_index_map(text: str) -> IndexMap:
    """The index map that `save_index_map` or TVM saved.

    Raises
    ------
    DeclarationError for another text.
    """
    made = _loaded(_parsed(text, _INDEX_MAP), _INDEX_MAP)
    if not isinstance(made, IndexMap):
        raise _damaged(_INDEX_MAP, f"it is {repr_of(made)}")
    return made


_PROGRAM = ("a program", "give what tvm.ir.save_json or save_tvm_json returned")
_INDEX_MAP = ("an index map", "give what a trace or tvm.ir.save_json has")


def _saved(node: Any) -> str:
    writer = _Writer()
    root = writer.number(node)
    attrs = {"tvm_version": _VERSION}
    return json.dumps({"root": root, "nodes": writer.nodes, "b64ndarrays": [], "attrs": attrs})


def _parsed(text: str, what: tuple[str, str]) -> Any:
    try:
        return json.loads(text)
    except (ValueError, TypeError, RecursionError) as error:
        raise _damaged(what, f"{type(error).__name__}: {error}") from None


def _loaded(document: Any, what: tuple[str, str]) -> Any:
    try:
        return _Reader(document["nodes"]).node(document["root"])
    except TeSchedError as error:
        raise _damaged(what, error.fault) from None
    except RecursionError:
        raise
    except (ValueError, TypeError, LookupError, AttributeError, struct.error) as error:
        raise _damaged(what, f"{type(error).__name__}: {error}") from None


def _damaged(what: tuple[str, str], why: str) -> DeclarationError:
    return DeclarationError(f"cannot load {what[0]} from this JSON", why, what[1])


class _Writer:
    """Collects nodes; each is listed once, before its parts."""

    def __init__(self) -> None:
        self.nodes: list[Any] = [_NONE]
        self.known: dict[int, int] = {}
        self.functions: dict[str, int] = {}  # the numbers of the names of functions

    def number(self, value: Any) -> int:
        """The number of a node, after adding it and its parts."""
        if value is None:
            return 0
        if type(value) in (str, GlobalVar):
            return self.added({"type_key": "runtime.String", "repr_str": str(value)})
        known = self.known.get(id(value))
        if known is None:
            known = self.known[id(value)] = len(self.nodes)
            row: dict[str, Any] = {}
            self.nodes.append(row)
            row |= self.row(value)
        return known

    def added(self, row: dict[str, Any]) -> int:
        """The number of a node with a finished row."""
        self.nodes.append(row)
        return len(self.nodes) - 1

    def row(self, value: Any) -> dict[str, Any]:
        """The row of a node."""
        kind = _BY_CLASS.get(type(value))
        if kind is not None:
            return self.of_class(value, kind)
        write = _WRITERS.get(type(value))
        if write is None:
            raise DeclarationError(
                f"cannot save {repr_of(value)} as TVM's JSON",
                f"it is {kind_of(value)}",
                "save functions of loops and blocks and what they consist of, or use save_json and "
                "load_json, which keep everything",
            )
        found: dict[str, Any] = write(self, value)
        return found

    def of_class(self, value: Any, kind: _Kind) -> dict[str, Any]:
        """The row of a node of which all fields are in the table."""
        attrs = {one.theirs: self.field(getattr(value, one.name), one) for one in kind.fields}
        return {"type_key": kind.key, "attrs": self.attrs(attrs, value, kind)}

    def attrs(self, attrs: dict[str, str], value: Any, kind: _Kind) -> dict[str, str]:
        """The fields of a row, with those that do not depend on the node."""
        typed = {"dtype": value.dtype} if kind.typed else {}
        spanned = {"span": "0"} if kind.spanned else {}
        return attrs | typed | spanned | _FIXED.get(kind.key, {})

    def field(self, value: Any, field: _Field) -> str:
        """A field, as rows have it."""
        if field.words:
            return str(field.words.index(value))
        if field.how is _As.HERE:
            return str(value)
        if field.how is _As.ALIGNMENT:
            return str(_ALIGNMENT if value == E.DEFAULT_ALIGNMENT else value)
        if field.how is _As.PLAIN:
            return str(self.plain(value))
        if field.how is _As.LANES:
            return str(self.number(_lanes(value)))
        if field.how is _As.ARRAY:
            return str(self.added({"type_key": "runtime.NDArray", "repr_str": _packed(value)}))
        return str(self.number(value))

    def plain(self, value: Any) -> int:
        """The number of a value of an attribute."""
        if isinstance(value, bool):
            return self.number_of_constant(int(value), "bool")
        if isinstance(value, int):
            return self.number_of_constant(value, "int32" if -(2**31) <= value < 2**31 else "int64")
        if isinstance(value, float):
            return self.number(FloatImm(float(value), "float32"))
        if isinstance(value, str):
            return self.number(str(value))
        if isinstance(value, list | tuple):
            return self.added(self.array([self.plain(one) for one in value]))
        if isinstance(value, Mapping):
            return self.added(self.mapping(value))
        if hasattr(value, "export") and hasattr(value, "kind"):
            return self.added(self.target(value.export()))
        return self.number(value)

    def number_of_constant(self, value: int, dtype: str) -> int:
        """The number of an integer."""
        attrs = {"dtype": dtype, "span": "0", "value": str(value)}
        return self.added({"type_key": "IntImm", "attrs": attrs})

    def array(self, numbers: Sequence[int]) -> dict[str, Any]:
        """The row of an Array; TVM leaves out the data of an empty one."""
        return {"type_key": "Array", **({"data": list(numbers)} if numbers else {})}

    def mapping(self, values: Mapping[Any, Any]) -> dict[str, Any]:
        """The row of a Map, whose keys are strings or nodes."""
        row: dict[str, Any] = {"type_key": "Map"}
        if values and all(isinstance(one, str) for one in values):
            row["keys"] = [str(one) for one in values]
            row["data"] = [self.plain(one) for one in values.values()]
        elif values:
            row["data"] = [self.plain(one) for pair in values.items() for one in pair]
        return row

    def target(self, exported: Mapping[str, Any]) -> dict[str, Any]:
        """The row of a target."""
        given = dict(exported)
        host = given.pop("host", None)
        attrs = {
            "kind": self.added({"type_key": "TargetKind", "repr_str": given.pop("kind")}),
            "tag": self.plain(given.pop("tag", "")),
            "keys": self.plain(given.pop("keys", [])),
            "attrs": self.added({"type_key": "Map", **self.options(given)}),
            "features": self.added({"type_key": "Map"}),
            "host": 0 if host is None else self.added(self.target(host)),
        }
        return {"type_key": "Target", "attrs": {name: str(one) for name, one in attrs.items()}}

    def options(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The options of a target, whose numbers TVM keeps in boxes."""
        numbers = [self.boxed(one) for one in given.values()]
        return {"keys": list(given), "data": numbers} if numbers else {}

    def boxed(self, value: Any) -> int:
        """The number of an option of a target."""
        if isinstance(value, bool):
            return self.added({"type_key": "runtime.BoxBool", "repr_str": str(value).lower()})
        if isinstance(value, int):
            return self.added({"type_key": "runtime.BoxInt", "repr_str": str(value)})
        if isinstance(value, list | tuple):
            return self.added(self.array([self.boxed(one) for one in value]))
        return self.plain(value)

    def prim_type(self, dtype: str) -> str:
        """The number of a type of numbers."""
        return str(self.added({"type_key": "PrimType", "attrs": {"dtype": dtype}}))

    def global_var(self, name: str) -> int:
        """The number of the name of a function."""
        if name not in self.functions:
            unknown = dict.fromkeys(("_checked_type_", "span", "struct_info_", "virtual_device_"))
            attrs = {"name_hint": str(self.number(str(name))), **dict.fromkeys(unknown, "0")}
            self.functions[name] = self.added({"type_key": "GlobalVar", "attrs": attrs})
        return self.functions[name]

    def tuple(self, value: Sequence[Any]) -> dict[str, Any]:
        return self.array([self.number(one) for one in value])

    def var(self, value: Var) -> dict[str, Any]:
        attrs = {"name": str(self.number(value.name)), "type_annotation": self.type_of(value)}
        key = "tir.SizeVar" if value.is_size else "tir.Var"
        return {"type_key": key, "attrs": {**attrs, "dtype": value.dtype, "span": "0"}}

    def type_of(self, value: Var) -> str:
        """The number of the type of a variable."""
        if value.pointer is None:
            return self.prim_type(value.dtype)
        attrs = {
            "element_type": self.prim_type(value.pointer.element),
            "storage_scope": str(self.number(value.pointer.scope)),
        }
        return str(self.added({"type_key": "PointerType", "attrs": attrs}))

    def constant(self, value: Any) -> dict[str, Any]:
        if isinstance(value.value, float) and not math.isfinite(value.value):
            raise DeclarationError(
                f"cannot save {value.value} as TVM's JSON",
                "TVM saves constants that are infinite or NaN, but does not load them",
                "use the largest finite number, or save_json and load_json",
            )
        text = str(self.number(value.value)) if type(value) is StringImm else repr(value.value)
        key = "tir.StringImm" if type(value) is StringImm else type(value).__name__
        return {"type_key": key, "attrs": {"value": text, "dtype": value.dtype, "span": "0"}}

    def call(self, value: Call) -> dict[str, Any]:
        args = value.args
        if value.op == _CALL_FUNCTION:
            name: Any = args[0]
            op, args = self.global_var(name.value), args[1:]
        else:
            op = self.added({"type_key": "Op", "repr_str": str(value.op)})
        numbers = {"op": str(op), "args": str(self.number(args))}
        return {"type_key": "tir.Call", "attrs": {**numbers, "dtype": value.dtype, "span": "0"}}

    def function(self, value: PrimFunc) -> dict[str, Any]:
        params, body = self.number(value.params), self.number(value.body)
        buffers = [self.number(one) for pair in value.buffer_map.items() for one in pair]
        row = {"type_key": "Map", **({"data": buffers} if buffers else {})}
        attrs = {
            "params": str(params),
            "body": str(body),
            "buffer_map": str(self.added(row)),
            "ret_type": self.result(value.ret_type),
            "attrs": self.dict_attrs(value.attrs),
        }
        unknown = {"_checked_type_": "0", "span": "0"}
        return {"type_key": "tir.PrimFunc", "attrs": attrs | unknown}

    def result(self, dtype: str) -> str:
        """The number of the type of a function's result."""
        if dtype != "void":
            return self.prim_type(dtype)
        attrs = {"fields": str(self.added(self.array([]))), "span": "0"}
        return str(self.added({"type_key": "TupleType", "attrs": attrs}))

    def dict_attrs(self, values: Mapping[str, Any]) -> str:
        """The number of the attributes of a function or module."""
        attrs = {"__dict__": str(self.plain(values))}
        return str(self.added({"type_key": "DictAttrs", "attrs": attrs}))

    def module(self, value: IRModule) -> dict[str, Any]:
        names = [self.global_var(name) for name in value.functions]
        functions = [self.number(one) for one in value.functions.values()]
        pairs = [one for pair in zip(names, functions, strict=True) for one in pair]
        by_name = {"keys": [str(one) for one in value.functions], "data": names}
        empty = {"source_map": str(self.added({"type_key": "Map"}))}
        attrs = {
            "functions": self.added({"type_key": "Map", **({"data": pairs} if pairs else {})}),
            "type_definitions": self.added({"type_key": "Map"}),
            "global_var_map_": self.added({"type_key": "Map", **(by_name if names else {})}),
            "global_type_var_map_": self.added({"type_key": "Map"}),
            "source_map": self.added({"type_key": "SourceMap", "attrs": empty}),
            "attrs": self.dict_attrs(value.attrs),
            "global_infos": self.plain(value.global_infos),
        }
        return {"type_key": "IRModule", "attrs": {name: str(one) for name, one in attrs.items()}}


_WRITERS: dict[type, Callable[[_Writer, Any], dict[str, Any]]] = {
    tuple: _Writer.tuple,
    list: _Writer.tuple,
    dict: _Writer.mapping,
    Var: _Writer.var,
    IntImm: _Writer.constant,
    FloatImm: _Writer.constant,
    StringImm: _Writer.constant,
    Call: _Writer.call,
    PrimFunc: _Writer.function,
    IRModule: _Writer.module,
}


def _lanes(count: int) -> Expr:
    """A number of lanes, as an expression."""
    if isinstance(count, dtypes.ScalableLanes):
        return E.Mul(Call("int32", "tir.vscale", ()), IntImm(int(count), "int32"))
    return IntImm(count, "int32")


def _packed(given: Any) -> str:
    """The bytes of an array, in base 64."""
    array = np.ascontiguousarray(given)
    dtype = dtypes.parse(dtypes.spelled(array.dtype))
    head = _ARRAY_HEAD.pack(
        *(_ARRAY_MAGIC, 0, 1, 0, array.ndim),
        *(dtypes.type_code(str(array.dtype)), dtype.bits, 1),
    )
    sizes = struct.pack(f"<{array.ndim + 1}q", *array.shape, array.nbytes)
    return base64.b64encode(head + sizes + array.tobytes()).decode()


def _unpacked(text: str) -> np.ndarray[Any, Any]:
    """The array of some bytes in base 64."""
    data = base64.b64decode(text, validate=True)
    magic, _, _, _, rank, code, bits, lanes = _ARRAY_HEAD.unpack_from(data)
    if magic != _ARRAY_MAGIC or lanes != 1:
        raise ValueError("an array is not valid")
    sizes = struct.unpack_from(f"<{rank + 1}q", data, _ARRAY_HEAD.size)
    start = _ARRAY_HEAD.size + 8 * (rank + 1)
    name = "bool" if (code, bits) == (1, 1) else f"{_ARRAY_KINDS[code]}{bits}"
    found = np.frombuffer(data[start : start + sizes[-1]], np.dtype(name))
    return found.reshape(sizes[:-1]).copy()


_ARRAY_KINDS = {0: "int", 1: "uint", 2: "float"}


class _Reader:
    """Makes nodes of rows."""

    def __init__(self, rows: Sequence[Any]) -> None:
        self.rows = rows
        self.known: dict[int, Any] = {}
        self.open: set[int] = set()

    def node(self, given: Any) -> Any:
        """The node with a number."""
        number = int(given)
        if not 0 <= number < len(self.rows) or number in self.open:
            raise ValueError(f"there is no node {number}")
        if number not in self.known:
            self.open.add(number)
            self.known[number] = self.made(self.rows[number])
            self.open.discard(number)
        return self.known[number]

    def made(self, row: Any) -> Any:
        """The node of a row."""
        key, attrs = row["type_key"], row.get("attrs", {})
        if isinstance(attrs, dict) and "dtype" in attrs and attrs["dtype"]:
            dtypes.spelled(attrs["dtype"])  # refuses others
        if key in _BY_KEY:
            return self.of_class(_BY_KEY[key], attrs)
        read = _READERS.get(key)
        if read is None:
            raise DeclarationError(
                f"te_sched reads no nodes of TVM's kind {key!r}",
                "it reads functions of loops and blocks and what they consist of",
                "save a module of such functions alone",
            )
        return read(self, row, attrs)

    def of_class(self, kind: _Kind, attrs: Mapping[str, Any]) -> Any:
        """A node of which all fields are in the table."""
        given = {one.name: self.field(attrs[one.theirs], one) for one in kind.fields}
        if kind.cls is E.Cast:
            given["dtype"] = attrs["dtype"]
        if kind.cls is SeqStmt:
            given["seq"] = tuple(_flat(given["seq"]))
        for name in ("a", "b"):
            if kind.typed and name in given and not isinstance(given[name], Expr):
                raise ValueError(f"{repr_of(given[name])} is not an expression")
        if kind.cls in _BINARY and given["a"].dtype != given["b"].dtype:
            raise ValueError(f"{kind.key} of {given['a'].dtype} and {given['b'].dtype}")
        if kind.cls is IndexMap:
            _check_index_map(**given)
        made = kind.cls(**given)
        check_fields(made)
        return made

    def field(self, value: Any, field: _Field) -> Any:
        """The value of a field of a row."""
        if field.words:
            return field.words[int(value)]
        if field is _DTYPE:
            return value or "void"
        if field.how is _As.HERE:
            return int(value)
        if field.how is _As.ALIGNMENT:
            return E.DEFAULT_ALIGNMENT if int(value) == _ALIGNMENT else int(value)
        if field.how is _As.PLAIN:
            found = self.plain(value)
            return tuple(found) if field.name == "axis_separators" else found
        if field.how is _As.LANES:
            return E.lanes_of(self.node(value))
        return self.node(value)

    def plain(self, given: Any) -> Any:
        """The value of an attribute."""
        row = self.rows[int(given)]
        key = row["type_key"]
        if key == "Array":
            return [self.plain(one) for one in row.get("data", ())]
        if key == "Map":
            return self.mapping(row)
        made = self.node(given)
        if type(made) is IntImm and made.dtype in ("int32", "bool"):
            return bool(made.value) if made.dtype == "bool" else made.value
        return made.value if type(made) is FloatImm and made.dtype == "float32" else made

    def mapping(self, row: Any) -> dict[Any, Any]:
        """The dictionary of a row."""
        data = row.get("data", [])
        if "keys" in row:
            pairs = zip(row["keys"], data, strict=True)
            return {key: self.plain(one) for key, one in pairs}
        pairs = zip(data[::2], data[1::2], strict=True)
        return {self.node(key): self.plain(one) for key, one in pairs}

    def array(self, row: Any, attrs: Any) -> tuple[Any, ...]:
        return tuple([self.node(one) for one in row.get("data", ())])

    def text(self, row: Any, attrs: Any) -> str:
        return str(row.get("repr_str", ""))

    def var(self, row: Any, attrs: Any) -> Var:
        annotation = self.node(attrs["type_annotation"])
        pointer = annotation if isinstance(annotation, PointerType) else None
        is_size = row["type_key"] == "tir.SizeVar"
        return Var(self.node(attrs["name"]), attrs["dtype"], pointer, is_size)

    def pointer(self, row: Any, attrs: Any) -> PointerType:
        element = self.node(attrs["element_type"])
        kind = element if isinstance(element, str) else "handle"
        return PointerType(kind, self.node(attrs["storage_scope"]))

    def call(self, row: Any, attrs: Any) -> Call:
        op, args = self.node(attrs["op"]), self.node(attrs["args"])
        if isinstance(op, GlobalVar):
            op, args = _CALL_FUNCTION, (StringImm(str(op)), *args)
        return Call(attrs["dtype"], op, tuple([ops.convert(one) for one in args]))

    def function(self, row: Any, attrs: Any) -> PrimFunc:
        params = self.node(attrs["params"])
        buffers = self.mapping(self.rows[int(attrs["buffer_map"])])
        result = self.node(attrs["ret_type"])
        return PrimFunc(
            params,
            self.node(attrs["body"]),
            buffers,
            self.node(attrs["attrs"]),
            result if isinstance(result, str) else "void",
        )

    def module(self, row: Any, attrs: Any) -> IRModule:
        functions = self.mapping(self.rows[int(attrs["functions"])])
        infos = {name: tuple(one) for name, one in self.plain(attrs["global_infos"]).items()}
        return IRModule(functions, self.node(attrs["attrs"]), global_infos=infos)

    def target(self, row: Any, attrs: Any) -> Any:
        options = self.plain(attrs["attrs"])
        head = {name: self.plain(attrs[name]) for name in ("kind", "tag", "keys")}
        host = {} if attrs["host"] == "0" else {"host": self.node(attrs["host"])}
        described = {**head, **options, **host}
        return TARGETS[0](described) if TARGETS else described


_READERS: dict[str, Callable[[_Reader, Any, Any], Any]] = {
    "": lambda reader, row, attrs: None,
    "Array": _Reader.array,
    "Map": lambda reader, row, attrs: reader.mapping(row),
    "runtime.String": _Reader.text,
    "Op": _Reader.text,
    "TargetKind": _Reader.text,
    "runtime.BoxInt": lambda reader, row, attrs: int(row["repr_str"]),
    "runtime.BoxFloat": lambda reader, row, attrs: float(row["repr_str"]),
    "runtime.BoxBool": lambda reader, row, attrs: row["repr_str"] == "true",
    "runtime.NDArray": lambda reader, row, attrs: _unpacked(row["repr_str"]),
    "IntImm": lambda reader, row, attrs: IntImm(int(attrs["value"]), attrs["dtype"]),
    "FloatImm": lambda reader, row, attrs: FloatImm(float(attrs["value"]), attrs["dtype"]),
    "tir.StringImm": lambda reader, row, attrs: StringImm(reader.node(attrs["value"])),
    "tir.Var": _Reader.var,
    "tir.SizeVar": _Reader.var,
    "PrimType": lambda reader, row, attrs: attrs["dtype"] or "void",
    "PointerType": _Reader.pointer,
    "TupleType": lambda reader, row, attrs: reader.node(attrs["fields"]),
    "tir.Call": _Reader.call,
    "tir.PrimFunc": _Reader.function,
    "GlobalVar": lambda reader, row, attrs: GlobalVar(reader.node(attrs["name_hint"])),
    "DictAttrs": lambda reader, row, attrs: reader.plain(attrs["__dict__"]),
    "IRModule": _Reader.module,
    "Target": _Reader.target,
}


def _flat(statements: Sequence[Any]) -> Iterator[Any]:
    """Statements, without sequences among them."""
    for one in statements:
        if isinstance(one, SeqStmt):
            yield from one.seq
        else:
            yield one


def _check_index_map(initial_indices: Any, final_indices: Any, inverse_index_map: Any) -> None:
    if not all(type(one) is Var for one in initial_indices):
        raise ValueError("an initial index is not a variable")
    if not all(isinstance(one, Expr) for one in final_indices):
        raise ValueError("a final index is not an expression")
    if inverse_index_map is not None and not isinstance(inverse_index_map, IndexMap):
        raise ValueError("the inverse is not an index map")
