"""Programs as JSON in the form of TVM 0.19's `save_json`, which TVM loads, and back.

    {"root": 1, "nodes": [{"type_key": ""}, {"type_key": "tir.IndexMap", "attrs": {...}}, ...]}

A node refers to others by their numbers; number 0 is None. `peer_nodes` has the names and fields of
TVM's nodes. Must not know schedules.
"""

from __future__ import annotations

import base64
import json
import math
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from typing import Any

import numpy as np

from te_sched.deep_recursion import walks_deeply
from te_sched.errors import DeclarationError, TeSchedError, kind_of, repr_of
from te_sched.ir import dtypes, ops
from te_sched.ir import expr as E
from te_sched.ir.array_bytes import array_bytes, read_array
from te_sched.ir.calls import CALL_FUNCTION
from te_sched.ir.expr import (
    Call,
    Expr,
    FloatImm,
    IntImm,
    PointerType,
    PrimType,
    StringImm,
    TupleType,
    Var,
)
from te_sched.ir.graph import (
    ARRAY_CONVERSIONS,
    GraphCall,
    OpAttrs,
    update_struct_info,
)
from te_sched.ir.graph_types import type_of
from te_sched.ir.index_map import IndexMap
from te_sched.ir.op import Op
from te_sched.ir.peer_nodes import (
    ATTRIBUTES,
    BINARY,
    BY_CLASS,
    BY_KEY,
    FIXED,
    As,
    NodeField,
    NodeKind,
)
from te_sched.ir.stmt import Attributes, GlobalVar, IRModule, PrimFunc, SeqStmt
from te_sched.ir.struct_info import TARGETS, GraphExpr, ShapeExpr, StructInfo
from te_sched.ir.visitor import walk
from te_sched.signatures import check_fields

_VERSION = "0.19.0"
_ALIGNMENT = 64  # TVM's default alignment of buffers
_NONE = {"type_key": ""}
_LENGTH = struct.Struct("<Q")  # of a string, before its bytes
_NUMBERS = (bool, int, float)
_Types = type | tuple[type, ...]
Row = dict[str, Any]  # a node of TVM's JSON: its class, and its fields, items or text
Fields = Mapping[str, str]  # of a row by name; those that are nodes are their numbers
_Number = str | int  # of a node


@walks_deeply("save a program", DeclarationError)
def save_tvm_json(node: object) -> str:
    """The JSON of a program as TVM 0.19's `tvm.ir.save_json` writes it, for `tvm.ir.load_json`.

    Takes modules of functions of loops, blocks and graphs, such functions, statements and
    expressions, buffers, index maps, and lists and dictionaries of them. TVM prints the loaded
    program as te_sched prints this one.

    Raises
    ------
    DeclarationError for what TVM's format cannot hold: tensors that have no buffers yet,
    floating-point numbers that are infinite or NaN, attributes that an operator does not have in
    TVM, objects of Python.

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
def load_document(document: Row) -> Any:
    """The program of a document of TVM, which was read from its JSON."""
    return _loaded(document, _PROGRAM)


def is_tvm_document(document: object) -> bool:
    """Whether a document, which was read from JSON, has the form of TVM's."""
    return isinstance(document, dict) and "root" in document and _has_rows(document)


def _has_rows(document: Row) -> bool:
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
    if any(type(part) is E.BufferLoad for index in index_map.final_indices for part in walk(index)):
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
    index_map = _loaded(_parsed(text, _INDEX_MAP), _INDEX_MAP)
    if not isinstance(index_map, IndexMap):
        raise _damaged(_INDEX_MAP, f"it is {repr_of(index_map)}")
    return index_map


_PROGRAM = ("a program", "give what tvm.ir.save_json or save_tvm_json returned")
_INDEX_MAP = ("an index map", "give what a trace or tvm.ir.save_json has")


def _saved(node: object) -> str:
    writer = _PeerWriter()
    root = writer.number(node)
    attrs = {"tvm_version": _VERSION}
    document = {"root": root, "nodes": writer.nodes, "b64ndarrays": writer.arrays, "attrs": attrs}
    return json.dumps(document)


def _parsed(text: str, what: tuple[str, str]) -> Any:
    try:
        return json.loads(text)
    except (ValueError, TypeError, RecursionError) as error:
        raise _damaged(what, f"{type(error).__name__}: {error}") from None


def _loaded(document: Row, what: tuple[str, str]) -> Any:
    try:
        return _PeerReader(document["nodes"], document.get("b64ndarrays", ())).node(
            document["root"]
        )
    except TeSchedError as error:
        raise _damaged(what, error.fault) from None
    except RecursionError:
        raise
    except (ValueError, TypeError, LookupError, AttributeError, struct.error) as error:
        raise _damaged(what, f"{type(error).__name__}: {error}") from None


def _damaged(what: tuple[str, str], why: str) -> DeclarationError:
    return DeclarationError(f"cannot load {what[0]} from this JSON", why, what[1])


class _PeerWriter:
    """Collects nodes; each is listed once, before its parts."""

    def __init__(self) -> None:
        self.nodes: list[Row] = [_NONE]
        self.arrays: list[str] = []
        self.known: dict[int, int] = {}
        self.kept: list[object] = []  # the known objects, whose ids no others may get
        self.functions: dict[str, int] = {}  # the numbers of the names of functions
        self.infos: dict[str, StructInfo | None] = {}  # of functions, in modules with graphs

    def number(self, value: object) -> int:
        """The number of a node, after adding it and its parts."""
        if value is None:
            return 0
        if type(value) is str:
            return self.added({"type_key": "runtime.String", **_text_row(value)})
        if type(value) is GlobalVar:
            return self.global_var(value)
        row_number = self.known.get(id(value))
        if row_number is None:
            row_number = self.known[id(value)] = len(self.nodes)
            self.kept.append(value)
            row: Row = {}
            self.nodes.append(row)
            row |= self.row(value)
        return row_number

    def added(self, row: Row) -> int:
        """The number of a node with a finished row."""
        self.nodes.append(row)
        return len(self.nodes) - 1

    def row(self, value: object) -> Row:
        """The row of a node."""
        usual = _PeerWriter.of_class if type(value) in BY_CLASS else None
        write = _WRITERS.get(type(value), usual)
        if write is None:
            raise DeclarationError(
                f"cannot save {repr_of(value)} as TVM's JSON",
                f"it is {kind_of(value)}",
                "save functions and what they consist of, or use save_json and load_json, which "
                "keep everything",
            )
        result: Row = write(self, value)
        return result

    def of_class(self, value: Any) -> Row:
        """The row of a node of which all fields are in the table."""
        kind = BY_CLASS[type(value)]
        attrs = {
            field.theirs: self.field(getattr(value, field.name), field) for field in kind.fields
        }
        typed = {"dtype": value.dtype} if kind.typed else {}
        inferred = self.inferred(value) if kind.inferred else {}
        spanned = {"span": "0"} if kind.spanned else {}
        fixed = FIXED.get(kind.key, {})
        return {"type_key": kind.key, "attrs": attrs | typed | inferred | spanned | fixed}

    def inferred(self, value: GraphExpr) -> dict[str, str]:
        """What is known of an expression of a graph."""
        info = value.struct_info_
        kind = str(self.number(type_of(info)))
        return {"struct_info_": str(self.number(info)), "_checked_type_": kind}

    def field(self, value: Any, field: NodeField) -> str:
        """A field, as rows have it."""
        if field.words:
            return str(field.words.index(value))
        write = _FIELD_WRITERS.get(field.how)
        return str(self.number(value) if write is None else write(self, value))

    def plain(self, value: object, boxed: _Types = ()) -> int:
        """The number of a value of an attribute; numbers of some types are in boxes."""
        if isinstance(value, boxed):
            kind = "Bool" if isinstance(value, bool) else type(value).__name__.capitalize()
            text = str(value).lower() if kind == "Bool" else repr(value)
            return self.added({"type_key": f"runtime.Box{kind}", "repr_str": text})
        if isinstance(value, bool):
            return self.number_of_constant(int(value), "bool")
        if isinstance(value, int):
            return self.number_of_constant(value, "int32" if -(2**31) <= value < 2**31 else "int64")
        if isinstance(value, float):
            return self.number(FloatImm(float(value), "float32"))
        if isinstance(value, str):
            return self.number(str(value))
        if isinstance(value, list | tuple):
            return self.added(self.array([self.plain(item, boxed) for item in value]))
        if isinstance(value, Mapping):
            return self.added(self.mapping(value, boxed))
        if hasattr(value, "export") and hasattr(value, "kind"):
            return self.added(self.target(value.export()))
        return self.number(value)

    def number_of_constant(self, value: int, dtype: str) -> int:
        """The number of an integer."""
        attrs = {"dtype": dtype, "span": "0", "value": str(value)}
        return self.added({"type_key": "IntImm", "attrs": attrs})

    def array(self, numbers: Sequence[int]) -> Row:
        """The row of an Array; TVM leaves out the data of an empty one."""
        return {"type_key": "Array", **({"data": list(numbers)} if numbers else {})}

    def mapping(self, values: Mapping[Any, object], boxed: _Types = ()) -> Row:
        """The row of a Map, whose keys are strings or nodes."""
        row: Row = {"type_key": "Map"}
        if values and all(isinstance(key, str) for key in values):
            row["keys"] = [str(key) for key in values]
            row["data"] = [self.plain(value, boxed) for value in values.values()]
        elif values:
            row["data"] = [self.plain(item, boxed) for pair in values.items() for item in pair]
        return row

    def target(self, exported: Attributes) -> Row:
        """The row of a target."""
        fields = dict(exported)
        host = fields.pop("host", None)
        attrs = {
            "kind": self.added({"type_key": "TargetKind", "repr_str": fields.pop("kind")}),
            "tag": self.plain(fields.pop("tag", "")),
            "keys": self.plain(fields.pop("keys", [])),
            "attrs": self.added(self.mapping(fields, _NUMBERS)),
            "features": self.added({"type_key": "Map"}),
            "host": 0 if host is None else self.added(self.target(host)),
        }
        return {"type_key": "Target", "attrs": {name: str(value) for name, value in attrs.items()}}

    def global_var(self, name: str) -> int:
        """The number of the name of a function."""
        if name not in self.functions:
            info = self.infos.get(name) or getattr(name, "struct_info_", None)
            attrs = {
                "name_hint": self.number(str(name)),
                "_checked_type_": self.number(type_of(info)),
                "struct_info_": self.number(info),
                "virtual_device_": 0,
                "span": 0,
            }
            self.functions[name] = self.numbered("GlobalVar", attrs)
        return self.functions[name]

    def numbered(self, key: str, numbers: Mapping[str, int]) -> int:
        """The number of a node whose fields are nodes."""
        attrs = {name: str(value) for name, value in numbers.items()}
        return self.added({"type_key": key, "attrs": attrs})

    def tuple(self, value: Sequence[object]) -> Row:
        return self.array([self.number(item) for item in value])

    def var(self, value: Var) -> Row:
        attrs = {"name": str(self.number(value.name)), "type_annotation": self.type_of(value)}
        key = "tir.SizeVar" if value.is_size else "tir.Var"
        return {"type_key": key, "attrs": {**attrs, "dtype": value.dtype, "span": "0"}}

    def type_of(self, value: Var) -> str:
        """The number of the type of a variable."""
        if value.pointer is None:
            return str(self.number(PrimType(value.dtype)))
        attrs = {
            "element_type": self.number(PrimType(value.pointer.element)),
            "storage_scope": self.number(value.pointer.scope),
        }
        return str(self.numbered("PointerType", attrs))

    def constant(self, value: IntImm | FloatImm | StringImm) -> Row:
        number = _finite(value.value) if isinstance(value.value, float) else value.value
        text = str(self.number(number)) if type(value) is StringImm else repr(number)
        key = "tir.StringImm" if type(value) is StringImm else type(value).__name__
        return {"type_key": key, "attrs": {"value": text, "dtype": value.dtype, "span": "0"}}

    def call(self, value: Call) -> Row:
        args = value.args
        if value.op == CALL_FUNCTION:
            name: Any = args[0]
            op, args = self.global_var(name.value), args[1:]
        else:
            op = self.number(Op(value.op))
        numbers = {"op": str(op), "args": str(self.number(args))}
        return {"type_key": "tir.Call", "attrs": {**numbers, "dtype": value.dtype, "span": "0"}}

    def function(self, value: PrimFunc) -> Row:
        params, body = self.number(value.params), self.number(value.body)
        buffers = [self.number(item) for pair in value.buffer_map.items() for item in pair]
        row = {"type_key": "Map", **({"data": buffers} if buffers else {})}
        result = TupleType(()) if value.ret_type == "void" else PrimType(value.ret_type)
        attrs = {
            "params": str(params),
            "body": str(body),
            "buffer_map": str(self.added(row)),
            "ret_type": str(self.number(result)),
            "attrs": str(self.dict_attrs(value.attrs)),
        }
        unknown = {"_checked_type_": "0", "span": "0"}
        return {"type_key": "tir.PrimFunc", "attrs": attrs | unknown}

    def dict_attrs(self, values: Attributes, boxed: _Types = ()) -> int:
        """The number of the attributes of a function, a module or a call."""
        return self.numbered("DictAttrs", {"__dict__": self.plain(values, boxed)})

    def graph_call(self, value: GraphCall) -> Row:
        numbers = {
            "op": self.number(value.op),
            "args": self.number(value.args),
            "attrs": self.operator_attrs(value.op, value.attrs) if value.attrs else 0,
            "sinfo_args": self.number(value.sinfo_args),
        }
        attrs = {name: str(value) for name, value in numbers.items()}
        attrs |= {**self.inferred(value), "span": "0"}
        return {"type_key": "relax.expr.Call", "attrs": attrs}

    def operator_attrs(self, op: object, values: Attributes) -> int:
        """The number of the attributes of a call."""
        kind = ATTRIBUTES.get(op) if type(op) is Op else None
        if kind is None:
            return self.dict_attrs(values)
        names = [field.name for field in kind.fields]
        if {*names} != {*values}:
            raise DeclarationError(
                f"cannot save a call of {op} as TVM's JSON",
                f"it has the attributes {', '.join(values)}",
                f"give those that it has in TVM: {', '.join(names)}",
            )
        attrs = {field.theirs: self.field(values[field.name], field) for field in kind.fields}
        return self.added({"type_key": kind.key, "attrs": attrs})

    def module(self, value: IRModule) -> Row:
        if len(value.functions_of_loops) < len(value.functions):
            self.infos = {name: value.get_global_var(name).struct_info_ for name in value.functions}
        names = [self.global_var(name) for name in value.functions]
        functions = [self.number(function) for function in value.functions.values()]
        pairs = [number for pair in zip(names, functions, strict=True) for number in pair]
        by_name = {"keys": [str(global_var) for global_var in value.functions], "data": names}
        empty = {"source_map": str(self.added({"type_key": "Map"}))}
        attrs = {
            "functions": self.added({"type_key": "Map", **({"data": pairs} if pairs else {})}),
            "type_definitions": self.added({"type_key": "Map"}),
            "global_var_map_": self.added({"type_key": "Map", **(by_name if names else {})}),
            "global_type_var_map_": self.added({"type_key": "Map"}),
            "source_map": self.added({"type_key": "SourceMap", "attrs": empty}),
            "attrs": self.dict_attrs(value.attrs, float),
            "global_infos": self.plain(value.global_infos),
        }
        return {
            "type_key": "IRModule",
            "attrs": {name: str(value) for name, value in attrs.items()},
        }


_WRITERS: dict[type, Callable[[_PeerWriter, Any], Row]] = {
    tuple: _PeerWriter.tuple,
    list: _PeerWriter.tuple,
    dict: _PeerWriter.mapping,
    Var: _PeerWriter.var,
    IntImm: _PeerWriter.constant,
    FloatImm: _PeerWriter.constant,
    StringImm: _PeerWriter.constant,
    Op: lambda writer, value: {"type_key": "Op", "repr_str": str(value)},
    PrimType: lambda writer, value: {"type_key": "PrimType", "attrs": {"dtype": str(value)}},
    Call: _PeerWriter.call,
    PrimFunc: _PeerWriter.function,
    GraphCall: _PeerWriter.graph_call,
    IRModule: _PeerWriter.module,
}


def _listed(writer: _PeerWriter, value: object) -> int:
    writer.arrays.append(_packed(value))
    return len(writer.arrays) - 1


def _derives(writer: _PeerWriter, name: str | None) -> int:
    return 0 if name is None else writer.added({"type_key": "EnvFunc", "repr_str": name})


# How fields are written that are not the numbers of nodes.
_FIELD_WRITERS: dict[As, Callable[[_PeerWriter, Any], object]] = {
    As.PLAIN: _PeerWriter.plain,
    As.BOXED: lambda writer, value: writer.plain(value, _NUMBERS),
    As.TARGET: lambda writer, value: writer.plain(None if value is None else TARGETS[0](value)),
    As.HERE: lambda writer, value: value,
    As.FLAG: lambda writer, value: int(value),
    As.REAL: lambda writer, value: repr(_finite(value)),
    As.WORD: lambda writer, value: value,
    As.DTYPE: lambda writer, value: "" if value == "void" else value,
    As.ALIGNMENT: lambda writer, value: _ALIGNMENT if value == E.DEFAULT_ALIGNMENT else value,
    As.LANES: lambda writer, value: writer.number(_lanes(value)),
    As.ARRAY: lambda writer, value: writer.added(
        {"type_key": "runtime.NDArray", "repr_str": _packed(value)}
    ),
    As.LISTED: _listed,
    As.ID: lambda writer, value: writer.numbered("relax.Id", {"name_hint": writer.number(value)}),
    As.DICT: lambda writer, value: writer.dict_attrs(value, float),
    As.FUNCTION: _derives,
}


def _finite(value: float) -> float:
    if math.isfinite(value):
        return value
    raise DeclarationError(
        f"cannot save {value} as TVM's JSON",
        "TVM saves constants that are infinite or NaN, but does not load them",
        "use the largest finite number, or save_json and load_json",
    )


def _text_row(value: str) -> dict[str, str]:
    """The field of a string: itself, or if there are other characters than those of ASCII its
    length and bytes in base 64.
    """
    if value.isascii() and value.isprintable():
        return {"repr_str": value}
    data = value.encode()
    return {"repr_b64": base64.b64encode(_LENGTH.pack(len(data)) + data).decode()}


def _lanes(count: int) -> Expr:
    """A number of lanes, as an expression."""
    if isinstance(count, dtypes.ScalableLanes):
        return E.Mul(Call("int32", "tir.vscale", ()), IntImm(int(count), "int32"))
    return IntImm(count, "int32")


def _packed(array: Any) -> str:
    """The bytes of an array, in base 64."""
    return base64.b64encode(array_bytes(array)).decode()


def _unpacked(text: str) -> tuple[np.ndarray, str]:
    """The array of some bytes in base 64, and its dtype; bfloat16 is kept as its bits."""
    elements, dtype, _ = read_array(base64.b64decode(text, validate=True))
    return elements, dtype


class _PeerReader:
    """Makes nodes of rows."""

    def __init__(self, rows: Sequence[Row], arrays: Sequence[str]) -> None:
        self.rows, self.arrays = rows, arrays
        self.known: dict[int, Any] = {}
        self.open: set[int] = set()

    def node(self, reference: _Number) -> Any:
        """The node with a number."""
        number = int(reference)
        if not 0 <= number < len(self.rows) or number in self.open:
            raise ValueError(f"there is no node {number}")
        if number not in self.known:
            self.open.add(number)
            self.known[number] = self.made(self.rows[number])
            self.open.discard(number)
        return self.known[number]

    def made(self, row: Row) -> Any:
        """The node of a row."""
        key, attrs = row["type_key"], row.get("attrs", {})
        if isinstance(attrs, dict) and "dtype" in attrs and attrs["dtype"]:
            dtypes.spelled(attrs["dtype"])  # refuses others
        if key in BY_KEY:
            return self.of_class(BY_KEY[key], attrs)
        read = _READERS.get(key)
        if read is None:
            raise DeclarationError(
                f"te_sched reads no nodes of TVM's kind {key!r}",
                "it reads functions of loops, blocks and graphs and what they consist of",
                "save a module of such functions alone",
            )
        return read(self, row, attrs)

    def of_class(self, kind: NodeKind, attrs: Fields) -> Any:
        """A node of which all fields are in the table."""
        values = {field.name: self.field(attrs[field.theirs], field) for field in kind.fields}
        if kind.cls is OpAttrs:
            return OpAttrs(values)
        if kind.cls is E.Cast:
            values["dtype"] = attrs["dtype"]
        if kind.cls is SeqStmt:
            values["seq"] = tuple(_flat(values["seq"]))
        for name in ("a", "b"):
            if kind.typed and name in values and not isinstance(values[name], Expr):
                raise ValueError(f"{repr_of(values[name])} is not an expression")
        if kind.cls in BINARY and values["a"].dtype != values["b"].dtype:
            raise ValueError(f"{kind.key} of {values['a'].dtype} and {values['b'].dtype}")
        if kind.cls is IndexMap:
            _check_index_map(**values)
        node = kind.cls(**values)
        if kind.inferred and kind.cls is not ShapeExpr:
            update_struct_info(node, self.info(attrs))
        if is_dataclass(node):
            check_fields(node)
        return node

    def field(self, value: str, field: NodeField) -> Any:
        """The value of a field of a row."""
        if field.words:
            return field.words[int(value)]
        read = _FIELD_READERS.get(field.how)
        return self.node(value) if read is None else read(self, value)

    def plain(self, reference: _Number, is_exact: bool = False) -> Any:
        """The value of an attribute; an exact one is a float only if it is in a box."""
        row = self.rows[int(reference)]
        key = row["type_key"]
        if key == "Array":
            return [self.plain(item, is_exact) for item in row.get("data", ())]
        if key == "Map":
            return self.mapping(row, is_exact)
        node = self.node(reference)
        if type(node) is IntImm and node.dtype in ("int32", "bool"):
            return bool(node.value) if node.dtype == "bool" else node.value
        is_float = type(node) is FloatImm and node.dtype == "float32" and not is_exact
        return node.value if is_float else node

    def mapping(self, row: Row, is_exact: bool = False) -> dict[Any, Any]:
        """The dictionary of a row."""
        data = row.get("data", [])
        if "keys" in row:
            pairs = zip(row["keys"], data, strict=True)
            return {key: self.plain(item, is_exact) for key, item in pairs}
        pairs = zip(data[::2], data[1::2], strict=True)
        return {self.node(key): self.plain(item, is_exact) for key, item in pairs}

    def exact_attrs(self, reference: _Number) -> Any:
        """The attributes of a module or of a function of a graph."""
        return self.plain(self.rows[int(reference)]["attrs"]["__dict__"], is_exact=True)

    def array(self, row: Row, attrs: Fields) -> tuple[object, ...]:
        return tuple([self.node(item) for item in row.get("data", ())])

    def text(self, row: Row, attrs: Fields) -> str:
        if "repr_b64" not in row:
            return str(row.get("repr_str", ""))
        return base64.b64decode(row["repr_b64"], validate=True)[_LENGTH.size :].decode()

    def var(self, row: Row, attrs: Fields) -> Var:
        annotation = self.node(attrs["type_annotation"])
        pointer = annotation if isinstance(annotation, PointerType) else None
        is_size = row["type_key"] == "tir.SizeVar"
        return Var(self.node(attrs["name"]), attrs["dtype"], pointer, is_size)

    def pointer(self, row: Row, attrs: Fields) -> PointerType:
        element = self.node(attrs["element_type"])
        kind = element if isinstance(element, str) else "handle"
        return PointerType(kind, self.node(attrs["storage_scope"]))

    def call(self, row: Row, attrs: Fields) -> Call:
        op, args = self.node(attrs["op"]), self.node(attrs["args"])
        if isinstance(op, GlobalVar):
            op, args = CALL_FUNCTION, (StringImm(str(op)), *args)
        return Call(attrs["dtype"], op, tuple([ops.convert(arg) for arg in args]))

    def function(self, row: Row, attrs: Fields) -> PrimFunc:
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

    def module(self, row: Row, attrs: Fields) -> IRModule:
        functions = self.mapping(self.rows[int(attrs["functions"])])
        infos = {name: tuple(info) for name, info in self.plain(attrs["global_infos"]).items()}
        return IRModule(functions, self.exact_attrs(attrs["attrs"]), global_infos=infos)

    def graph_call(self, row: Row, attrs: Fields) -> GraphCall:
        op = self.node(attrs["op"])
        args, values, infos = (self.node(attrs[key]) for key in ("args", "attrs", "sinfo_args"))
        op = Op.get(op) if type(op) is str else op
        return GraphCall(op, args, values, infos, self.info(attrs))

    def info(self, attrs: Fields) -> StructInfo | None:
        """What is known of an expression of a graph."""
        info = self.node(attrs["struct_info_"])
        if info is None or isinstance(info, StructInfo):
            return info
        raise ValueError(f"{repr_of(info)} is not a struct info")

    def global_var(self, row: Row, attrs: Fields) -> GlobalVar:
        name = GlobalVar(self.node(attrs["name_hint"]))
        name.struct_info_ = self.info(attrs)
        return name

    def items(self, reference: _Number) -> Any:
        """The value of an attribute, in which a list is a tuple."""
        value = self.plain(reference)
        return tuple(value) if type(value) is list else value

    def target(self, row: Row, attrs: Fields) -> Any:
        options = self.plain(attrs["attrs"])
        head = {name: self.plain(attrs[name]) for name in ("kind", "tag", "keys")}
        host = {} if attrs["host"] == "0" else {"host": self.node(attrs["host"])}
        return TARGETS[0]({**head, **options, **host})


_READERS: dict[str, Callable[[_PeerReader, Row, Fields], Any]] = {
    "": lambda reader, row, attrs: None,
    "Array": _PeerReader.array,
    "Map": lambda reader, row, attrs: reader.mapping(row),
    "runtime.String": _PeerReader.text,
    "Op": _PeerReader.text,
    "TargetKind": _PeerReader.text,
    "runtime.BoxInt": lambda reader, row, attrs: int(row["repr_str"]),
    "runtime.BoxFloat": lambda reader, row, attrs: float(row["repr_str"]),
    "runtime.BoxBool": lambda reader, row, attrs: row["repr_str"] == "true",
    "runtime.NDArray": lambda reader, row, attrs: _unpacked(row["repr_str"])[0],
    "IntImm": lambda reader, row, attrs: IntImm(int(attrs["value"]), attrs["dtype"]),
    "FloatImm": lambda reader, row, attrs: FloatImm(float(attrs["value"]), attrs["dtype"]),
    "tir.StringImm": lambda reader, row, attrs: StringImm(reader.node(attrs["value"])),
    "tir.Var": _PeerReader.var,
    "tir.SizeVar": _PeerReader.var,
    "PrimType": lambda reader, row, attrs: attrs["dtype"] or "void",
    "PointerType": _PeerReader.pointer,
    "tir.Call": _PeerReader.call,
    "tir.PrimFunc": _PeerReader.function,
    "relax.expr.Call": _PeerReader.graph_call,
    "relax.Id": lambda reader, row, attrs: reader.node(attrs["name_hint"]),
    "EnvFunc": lambda reader, row, attrs: str(row["repr_str"]),
    "GlobalVar": _PeerReader.global_var,
    "DictAttrs": lambda reader, row, attrs: reader.plain(attrs["__dict__"]),
    "IRModule": _PeerReader.module,
    "Target": _PeerReader.target,
}
# How fields are read that are not the numbers of nodes.
_FIELD_READERS: dict[As, Callable[[_PeerReader, str], Any]] = {
    As.PLAIN: _PeerReader.items,
    As.BOXED: lambda reader, value: reader.plain(value, is_exact=True),
    As.DICT: _PeerReader.exact_attrs,
    As.HERE: lambda reader, value: int(value),
    As.FLAG: lambda reader, value: bool(int(value)),
    As.REAL: lambda reader, value: float(value),
    As.WORD: lambda reader, value: str(value),
    As.DTYPE: lambda reader, value: value or "void",
    As.ALIGNMENT: lambda reader, value: _own_alignment(int(value)),
    As.LANES: lambda reader, value: E.lanes_of(reader.node(value)),
    As.LISTED: lambda reader, value: _on_device(*_unpacked(reader.arrays[int(value)])),
}


def _on_device(array: np.ndarray, dtype: str) -> Any:
    return ARRAY_CONVERSIONS[0](array, dtype=dtype)


def _own_alignment(value: int) -> int:
    return E.DEFAULT_ALIGNMENT if value == _ALIGNMENT else value


def _flat(statements: Sequence[object]) -> Iterator[object]:
    """Statements, without sequences among them."""
    for statement in statements:
        if isinstance(statement, SeqStmt):
            yield from statement.seq
        else:
            yield statement


def _check_index_map(
    initial_indices: Sequence[object], final_indices: Sequence[object], inverse_index_map: object
) -> None:
    if not all(type(var) is Var for var in initial_indices):
        raise ValueError("an initial index is not a variable")
    if not all(isinstance(index, Expr) for index in final_indices):
        raise ValueError("a final index is not an expression")
    if inverse_index_map is not None and not isinstance(inverse_index_map, IndexMap):
        raise ValueError("the inverse is not an index map")
