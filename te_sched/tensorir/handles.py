"""The handles of schedules of blocks, and how traces write them. Must not know what any primitive
does.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from inspect import Parameter, signature
from typing import Any, ClassVar, TypeVar, cast

from te_sched.arith.index_functions import index_of, map_of, value_map
from te_sched.deep_recursion import walks_deeply
from te_sched.errors import ScheduleError, kind_of
from te_sched.ir.blocks import Block, BlockRealize
from te_sched.ir.dtypes import bits, is_float
from te_sched.ir.expr import Buffer, IntImm, Var
from te_sched.ir.index_map import IndexMap
from te_sched.ir.ops import const, convert
from te_sched.ir.peer_json import load_index_map, save_index_map
from te_sched.ir.stmt import For
from te_sched.public_members import PublicObject
from te_sched.signatures import checked, is_index
from te_sched.tensorir.state import BlockIndex, BlockKey, Key
from te_sched.trace.entries import Entry, HandleReference
from te_sched.trace.handles import Signature
from te_sched.trace.primitive import DECISION, ArgumentKind, Primitive, primitive

_F = TypeVar("_F", bound=Callable[..., Any])


def _check_key(key: Any, kind: type, what: str) -> None:
    if key is not None and not isinstance(key, kind):
        raise ScheduleError(
            f"a handle of a {what} cannot be made of {kind_of(key)}",
            "primitives make handles",
            "take it from get_block or get_loops",
        )


class BlockRV(PublicObject):
    """A block of a schedule, as its primitives take and return it. Without arguments it is a new
    handle, for an instruction of a trace.

    >>> sch = tir.Schedule(matmul_relu)
    >>> sch.get_block("C")
    tir.BlockRV(C)
    """

    __slots__ = ("key", "name")
    _internal_members = ("key",)
    _advice_for_items = "use sch.get(block) for the block, sch.get_loops(block) for its loops"

    def __init__(self, key: BlockKey | None = None, name: str = "") -> None:
        _check_key(key, BlockKey, "block")
        name_hint = name if isinstance(name, str) else ""
        self.key = BlockKey(name_hint) if key is None else key
        self.name = name_hint or self.key.name

    def same_as(self, other: object) -> bool:
        """Whether both are the same handle."""
        return self is other

    def __repr__(self) -> str:
        return f"tir.BlockRV({self.name})"


class LoopRV(PublicObject):
    """A loop of a schedule, as its primitives take and return it. Without arguments it is a new
    handle, for an instruction of a trace.

    >>> sch = tir.Schedule(matmul_relu)
    >>> sch.get_loops("D")
    [tir.LoopRV(i), tir.LoopRV(j)]
    """

    __slots__ = ("key", "lineage")
    _internal_members = ("key", "lineage")
    _advice_for_items = "it is one loop: use sch.get(loop) for its statement"

    def __init__(self, key: Var | None = None) -> None:
        _check_key(key, Var, "loop")
        self.key = Var("loop") if key is None else key
        self.lineage: object = None  # that of its schedule: others of a function have its loops

    def same_as(self, other: object) -> bool:
        """Whether both are the same handle."""
        return self is other

    @property
    def name(self) -> str:
        """The name of the loop."""
        return self.key.name

    def __repr__(self) -> str:
        return f"tir.LoopRV({self.name})"


class StmtSRef(PublicObject):
    """A reference to the statement that a handle stands for in the present program."""

    __slots__ = ("_index", "_key")

    def __init__(self, index: BlockIndex, key: Key) -> None:
        self._index, self._key = index, key

    @property
    def stmt(self) -> Block | For | None:
        """The block or loop; None if it is gone."""
        node = self._index.nodes.get(self._key)
        return node.block if type(node) is BlockRealize else node  # type: ignore[return-value]

    def same_as(self, other: object) -> bool:
        """Whether both refer to the same loop or block of one schedule."""
        return (
            isinstance(other, StmtSRef) and other._index is self._index and other._key is self._key
        )

    @property
    def parent(self) -> StmtSRef | None:
        """The loop or block around it."""
        key = self._index.parents.get(self._key)
        return None if key is None else StmtSRef(self._index, key)


@dataclass(frozen=True, slots=True)
class BufferPlace:
    """A buffer that a block accesses: "read" or "write", and its number there.

    >>> sch = tir.Schedule(matmul_relu)
    >>> sch.get(sch.get_block("C")).reads[BufferPlace("read", 1).number]
    B[vk, vj]
    """

    kind: str
    number: int

    def buffer_in(self, block: Block) -> Buffer:
        """The buffer of a block."""
        return (block.writes if self.kind == "write" else block.reads)[self.number].buffer


@dataclass(frozen=True, slots=True)
class RangesMap:
    """A map of the iterators of a block to ranges: the final indices are begins and ends, in pairs.

    >>> sch = tir.Schedule(matmul_relu)
    >>> sch.annotate_buffer_access("D", 0, "read", lambda i, j: [i, (0, 8)])
    >>> sch.trace.entries[-1].arguments["gen_new_ranges"]
    lambda vi, vj: [(vi, vi + 1), (0, 8)]
    """

    map: IndexMap

    def __repr__(self) -> str:
        names = ", ".join([var.name for var in self.map.initial_indices])
        ends = [*map(str, self.map.final_indices)]
        pairs = [f"({low}, {high})" for low, high in zip(ends[::2], ends[1::2], strict=True)]
        return f"lambda {names}: [{', '.join(pairs)}]"


ExprRV = Var  # a sampled integer
ROOT, INLINE = Var("root"), Var("inline")  # sampled locations other than loops
_LETTERS: dict[type, str] = {BlockRV: "b", LoopRV: "l", Var: "v"}

# Kinds of arguments.
_SHOWN = ArgumentKind(by_name=True, is_always_shown=True)
ATTRIBUTE = _SHOWN._replace(is_attribute=True)
BY_PLACE = ArgumentKind()
FLAG = ATTRIBUTE._replace(record=lambda schedule, value: bool(value))
VALUE = _SHOWN._replace(record=lambda schedule, value: _as_lists(value))
INDEX_MAP = _SHOWN
INDEX_MAP_TEXT = ATTRIBUTE._replace(
    packed=lambda value: [save_index_map(value)],
    unpacked=lambda values: load_index_map(values[0]),
)
RANGES = _SHOWN._replace(
    packed=lambda value: [value.map], unpacked=lambda values: RangesMap(values[0])
)
MAYBE_INDEX_MAP = ATTRIBUTE._replace(
    packed=lambda value: [None if value is None else save_index_map(value)],
    unpacked=lambda values: None if values[0] is None else load_index_map(values[0]),
)
BUFFER_KINDS = ("read", "write")  # TVM's numbers of them
BUFFER_KIND = _SHOWN._replace(
    packed=lambda value: [BUFFER_KINDS.index(value)],
    unpacked=lambda values: BUFFER_KINDS[values[0]],
)
NUMBERS = ATTRIBUTE._replace(record=lambda schedule, value: [*map(_number, value)])
LIST = _SHOWN._replace(is_flat=True, record=lambda schedule, value: [*value])
MAYBE_LIST = ArgumentKind(
    lambda schedule, value: None if value is None else [*value] or None,
    by_name=True,
    packed=lambda value: [value or []],
    unpacked=lambda values: [*values[0]] or None,
)

_PLAIN = ("bool", "int", "float", "int | None")  # annotations

_CAPITALS = {
    "reindex": "ReIndex",
    "rfactor": "RFactor",
    "unsafe_set_dtype": "UnsafeSetDType",
}


_LONGEST = 40  # characters of a constant in a short text
_NAMING = ("get_", "sample_")  # how the names of primitives that change nothing begin
PRIMITIVES: dict[str, Primitive] = {}  # by the names of their instructions


def _number(value: Any) -> int | float:
    """A number of Python, numpy or the program as Python's."""
    return operator.index(value) if is_index(value) else float(value)


def _as_lists(value: Any) -> Any:
    """A value with lists for tuples."""
    return [*map(_as_lists, value)] if isinstance(value, list | tuple) else value


def instruction(heading: str = "", **kinds: ArgumentKind) -> Callable[[_F], _F]:
    """A primitive whose arguments programs write by name, with defaults, as TVM does. `heading`
    describes a call, with {parameter} and {results}; `kinds` are those of its attributes, and of
    arguments that are written otherwise. A block may be given by its name.
    """

    def declare(body: _F) -> _F:
        own: dict[str, Any] = dict.fromkeys(list(signature(body).parameters)[1:], _SHOWN)
        variadic = [
            parameter.name
            for parameter in signature(body).parameters.values()
            if parameter.kind is Parameter.VAR_POSITIONAL
        ]
        own |= dict.fromkeys(variadic, BY_PLACE) | kinds
        own.pop(DECISION, None)
        name = body.__name__
        deeply = walks_deeply(f"the program is too deep for {name}", ScheduleError)
        is_naming = name.startswith(_NAMING)
        kinds_of = body.__annotations__.items()  # others are checked by the primitive
        tested = checked(body, ScheduleError, but=[a for a, kind in kinds_of if kind not in _PLAIN])
        call = cast(_F, deeply(primitive(heading, is_naming=is_naming, **own)(tested)))
        PRIMITIVES[instruction_name(name)] = call.declared  # type: ignore[attr-defined]
        prepared = [
            (position, name, _PREPARED[name])
            for position, name in enumerate(own)
            if name in _PREPARED
        ]

        @wraps(call)
        def find(self: Any, *args: Any, **options: Any) -> Any:
            values = list(args)
            try:
                for position, name, prepare in prepared:
                    arguments = {**dict(zip(own, values, strict=False)), **options}
                    if position < len(values):
                        values[position] = prepare(self, values[position], arguments)
                    elif name in options:
                        options[name] = prepare(self, options[name], arguments)
                result = call(self, *values, **options)
            except ScheduleError as error:
                self.render(error, [*values, *options.values()])
                raise
            for handle in result if isinstance(result, list) else (result,):
                if type(handle) is LoopRV:
                    handle.lineage = self.lineage
            return result

        return cast(_F, find)

    return declare


def _block(schedule: Any, block: Any, arguments: Mapping[str, Any]) -> Any:
    """A block that is given by its name."""
    return schedule.get_block(block) if isinstance(block, str) else block


def _blocks(schedule: Any, blocks: Any, arguments: Mapping[str, Any]) -> Any:
    """Blocks that are given by their names."""
    if not isinstance(blocks, list | tuple):
        return blocks
    return [_block(schedule, block, arguments) for block in blocks]


def _buffer(schedule: Any, buffer: Any, arguments: Mapping[str, Any]) -> Any:
    """The place of a buffer that a block accesses."""
    block = arguments.get("block")
    return schedule.buffer_place(block, buffer) if isinstance(block, BlockRV) else buffer


def _index_map(schedule: Any, index_map: Any, arguments: Mapping[str, Any]) -> Any:
    """The index map that a function computes, of the indices of a buffer or of a block."""
    if not callable(index_map):
        return index_map
    block, buffer_place = arguments.get("block"), arguments.get("buffer")
    kinds: list[str] | None = None
    if isinstance(block, BlockRV) and block.key in schedule.nodes:
        own = schedule.block(block.key)
        kinds = [axis.dtype for axis in own.iter_vars]
        if isinstance(buffer_place, BufferPlace):
            kinds = index_types(buffer_place.buffer_in(own))
    new_map, separators = map_of(
        index_map, None if kinds is None else len(kinds), dtype=widest(kinds)
    )
    if separators:
        raise ScheduleError(
            "index_map has AXIS_SEPARATOR",
            "the primitives keep the buffers in one piece",
            "leave it out",
        )
    return new_map


def index_types(buffer: Buffer) -> list[str]:
    """The types of the indices of a buffer."""
    return [size.dtype for size in buffer.shape]


def widest(types: Iterable[str] | None) -> str:
    """The widest of some types of integers."""
    return max(types or ["int32"], key=bits)


def _pad_value(schedule: Any, pad_value: Any, arguments: Mapping[str, Any]) -> Any:
    """The map of new indices to the value of padding, of a number or a function."""
    block, buffer_place, mapping = (
        arguments.get("block"),
        arguments.get("buffer"),
        arguments.get("index_map"),
    )
    if pad_value is None or isinstance(pad_value, IndexMap) or not isinstance(mapping, IndexMap):
        return pad_value
    types = [index.dtype for index in mapping.final_indices]
    if callable(pad_value):
        return value_map(pad_value, len(types), widest(types))
    value = pad_value
    if isinstance(block, BlockRV) and isinstance(buffer_place, BufferPlace):
        dtype = buffer_place.buffer_in(schedule.block(block.key)).dtype
        is_same_kind = isinstance(pad_value, float) == is_float(dtype)
        if isinstance(pad_value, bool | int | float) and is_same_kind:
            value = const(pad_value, dtype)
    indices = [Var(f"indices_{number}", widest(types)) for number in range(len(types))]
    return IndexMap(tuple(indices), (convert(value),))


def _ranges(schedule: Any, gen_ranges: Any, arguments: Mapping[str, Any]) -> Any:
    """The ranges that a function computes, of the iterators of a block."""
    block = arguments.get("block")
    if (
        not callable(gen_ranges)
        or not isinstance(block, BlockRV)
        or block.key not in schedule.nodes
    ):
        return gen_ranges
    axes = [axis.var for axis in schedule.block(block.key).iter_vars]
    variables = tuple([Var(var.name, var.dtype) for var in axes])
    try:
        signature(gen_ranges).bind(*variables)
    except (TypeError, ValueError) as error:  # some functions written in C have no signature
        raise ScheduleError(
            f"gen_new_ranges cannot take the {len(axes)} iterators of block {block.name}",
            str(error),
            f"give a function of {', '.join([var.name for var in axes])}",
        ) from None
    ranges = gen_ranges(*variables)
    ends: list[Any] = []
    for dim_range in ranges if isinstance(ranges, list | tuple) else [ranges]:
        pair = (
            dim_range
            if isinstance(dim_range, list | tuple)
            else (dim_range, index_of(dim_range) + 1)
        )
        if len(pair) != 2:
            raise ScheduleError(
                f"gen_new_ranges gives {len(pair)} numbers for a dimension",
                "",
                "give an index, or a pair (begin, end)",
            )
        ends += map(index_of, pair)
    return RangesMap(IndexMap(variables, tuple(ends)))


# How the arguments of a name are prepared before a call, which has those that are known.
_PREPARED: dict[str, Callable[[Any, Any, Mapping[str, Any]], Any]] = {
    "buffer": _buffer,
    "block": _block,
    "block_or_loop": _block,
    "consumer_blocks": _blocks,
    "target": _blocks,
    "index_map": _index_map,
    "pad_value": _pad_value,
    "gen_new_ranges": _ranges,
}


class BlockHandles:
    """The handles of schedules of blocks: b0, l1, v2, numbered together."""

    __slots__ = ()

    reserved = ("sch",)
    references: ClassVar[Mapping[str, Callable[[Any], HandleReference]]] = {}
    roots: ClassVar[Sequence[object]] = ()
    signature: ClassVar[Signature] = ()
    indent = "  "
    empty = "pass"
    is_named = True

    def head(self, name: Callable[[Any], str]) -> list[str]:
        """The beginning of TVM's program of a trace."""
        return ["# from tvm import tir", "def apply_trace(sch: tir.Schedule) -> None:"]

    def name_of(self, value: Any, number: int) -> str | None:
        """A letter and a number."""
        letter = _LETTERS.get(type(value))
        return f"{letter}{number}" if letter else None

    def variable_of(self, handle: Any) -> Var | None:
        """A sampled integer is a variable."""
        return handle if type(handle) is Var else None

    def results_text(self, names: list[str], is_several: bool) -> str:
        """`l1, l2`, or `l1,` of a list of one."""
        return f"{names[0]}," if is_several and len(names) == 1 else ", ".join(names)

    def literal(self, value: Any) -> str:
        """A constant as TVM writes it."""
        if isinstance(value, str):
            return json.dumps(value)
        if isinstance(value, float):
            return f"{value:.17g}"
        if isinstance(value, IndexMap):
            names = ", ".join([var.name for var in value.initial_indices])
            finals = ", ".join(map(str, value.final_indices))
            return f"lambda {names}: ({finals},)"
        if isinstance(value, RangesMap):
            return repr(value)
        if isinstance(value, BufferPlace):
            return f'("{value.kind}", {value.number})'
        if isinstance(value, list | tuple):
            return f"[{', '.join(map(self.literal, value))}]"
        if isinstance(value, Mapping):
            items = [f"{self.literal(key)}: {self.literal(item)}" for key, item in value.items()]
            return f"{{{', '.join(items)}}}"
        return repr(value.value if isinstance(value, IntImm) else value)

    def instruction_name(self, method: str) -> str:
        """GetBlock of get_block."""
        return instruction_name(method)

    def title(self, entry: Entry, line: str) -> str:
        """The call by the names of loops and blocks, without defaults."""
        by_place: list[str] = []
        by_name: list[str] = []
        for parameter in entry.primitive.parameters:
            value = entry.arguments[parameter.name]
            if parameter.is_variadic:
                by_place += map(self._short, value)
            elif parameter.default is Parameter.empty and not by_name:
                by_place.append(self._short(value))
            elif value != parameter.default:
                by_name.append(f"{parameter.name}={self._short(value)}")
        return f"{entry.method}({', '.join([*by_place, *by_name])})"

    def _short(self, value: Any) -> str:
        if isinstance(value, list | tuple):
            return f"[{', '.join(map(self._short, value))}]"
        if type(value) in _LETTERS:
            return str(value.name)
        text = self.literal(value)
        return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"

    def reference(self, target: Any) -> Any:
        """Primitives are calls of the schedule."""
        raise NotImplementedError

    def introduced(self, schedule: Any, entry: Entry, known_handles: set[Any]) -> Iterable[Entry]:
        """Handles come from primitives alone."""
        return ()

    def primitive(self, schedule: Any, name: str) -> Primitive | None:
        """The primitive of an instruction's name, such as GetBlock."""
        return PRIMITIVES.get(name)


def instruction_name(name: str) -> str:
    """The name of a primitive's instructions: GetBlock of get_block."""
    return _CAPITALS.get(name) or "".join([part.capitalize() for part in name.split("_")])
