"""The nodes that TVM 0.19's JSON consists of: the names of their classes and fields, and how each
field is written. A node of programs, graphs or attributes that has nothing special is a row here.

`peer_json` writes and reads them. Must not know rows of JSON.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from typing import NamedTuple

from te_sched.ir import blocks as B
from te_sched.ir import expr as E
from te_sched.ir import graph as G
from te_sched.ir import graph_types as T
from te_sched.ir import ops
from te_sched.ir import stmt as S
from te_sched.ir import struct_info as I
from te_sched.ir.index_map import IndexMap


class As(Enum):
    """How a field of a node is written; tables have the names in small letters."""

    NODE = "the number of a node, or of an Array of nodes"
    TEXT = "the number of a String"
    PLAIN = "the number of a value of Python: an int is an IntImm"
    BOXED = "the number of a value of Python, whose numbers are in boxes"
    TARGET = "the number of a target, which te_sched has as a text"
    HERE = "the integer itself"
    FLAG = "the truth value itself, as 0 or 1"
    REAL = "the floating-point number itself"
    WORD = "the string itself"
    DTYPE = "the dtype itself; void is empty"
    ALIGNMENT = "the integer itself, but for the default, which is 64 in TVM"
    LANES = "the number of a number of lanes"
    ARRAY = "the number of an NDArray"
    LISTED = "the place of an array in the list of arrays"
    ID = "the number of the Id of a variable of a graph"
    DICT = "the number of DictAttrs, whose floats are in boxes"
    FUNCTION = "the number of an EnvFunc"


class NodeField(NamedTuple):
    """A field of a class, TVM's name of it, and how it is written."""

    name: str
    theirs: str
    how: As
    words: Sequence[str] = ()  # whose places are written instead of them


class NodeKind(NamedTuple):
    """A class of nodes and the rows that it has in TVM's JSON."""

    cls: type
    key: str
    fields: tuple[NodeField, ...]
    typed: bool = False  # whether the row has the dtype
    spanned: bool = True  # whether the row has the place in a source
    inferred: bool = False  # whether the row has the struct info and the type


def fields_of(text: str, usual: As = As.NODE) -> Iterator[NodeField]:
    """The fields of a text of names: `ours=theirs:how`, of which only the first is necessary.

    >>> [field.theirs for field in fields_of("identity=identity_element kind:text")]
    ['identity_element', 'kind']
    """
    for part in text.split():
        names, _, how = part.partition(":")
        ours, _, theirs = names.partition("=")
        yield NodeField(ours, theirs or ours, As[how.upper()] if how else usual)


def _expression(cls: type, names: str) -> NodeKind:
    return NodeKind(cls, f"tir.{cls.__name__}", (*fields_of(names),), typed=True)


def _statement(cls: type, names: str, *others: NodeField, spanned: bool = True) -> NodeKind:
    return NodeKind(cls, f"tir.{cls.__name__}", (*fields_of(names), *others), spanned=spanned)


def _words(name: str, theirs: str, words: Sequence[str]) -> NodeField:
    return NodeField(name, theirs, As.HERE, words)


def _of_graphs(cls: type, names: str, key: str = "", *, inferred: bool = True) -> NodeKind:
    """An expression, or a binding or block, of which nothing is inferred."""
    fields = (*fields_of(names),)
    return NodeKind(cls, f"relax.expr.{key or cls.__name__}", fields, inferred=inferred)


def _known(cls: type, names: str = "") -> NodeKind:
    """A struct info or type of graphs."""
    return NodeKind(cls, f"relax.{cls.__name__}", (*fields_of(names),))


BINARY = (*ops.BUILDERS, E.Mod)
_SHARED = (
    *[_expression(kind, "a b") for kind in dict.fromkeys(BINARY)],
    _expression(E.Not, "a"),
    _expression(E.Cast, "value"),
    _expression(E.Select, "condition true_value false_value"),
    _expression(E.Ramp, "base stride lanes:lanes"),
    _expression(E.Broadcast, "value lanes:lanes"),
    _expression(E.Shuffle, "vectors indices"),
    _expression(E.Let, "var value body"),
    _expression(E.BufferLoad, "buffer indices predicate"),
    _expression(E.Reduce, "combiner source init axis condition value_index:here"),
    _statement(E.CommReducer, "lhs rhs result identity=identity_element"),
    _statement(E.BufferRegion, "buffer region", spanned=False),
    NodeKind(E.Range, "Range", (*fields_of("min extent"),)),
    _statement(E.IterVar, "dom var thread_tag:text", _words("kind", "iter_type", E.ITER_KINDS)),
    _statement(
        E.Buffer,
        "data shape strides elem_offset dtype:dtype name:text data_alignment:alignment "
        "offset_factor:here axis_separators:plain",
        _words("buffer_type", "buffer_type", (" ", "", "auto_broadcast")),
    ),
    _statement(
        S.For,
        "loop_var min extent body thread_binding annotations:plain",
        _words("kind", "kind", S.FOR_KINDS),
    ),
    _statement(S.While, "condition body"),
    _statement(S.LetStmt, "var value body"),
    _statement(S.AttrStmt, "node key=attr_key:text value body"),
    _statement(S.AssertStmt, "condition message body"),
    _statement(S.BufferStore, "buffer value indices predicate"),
    _statement(S.BufferRealize, "buffer bounds condition body"),
    _statement(S.Prefetch, "buffer bounds"),
    _statement(S.Allocate, "buffer_var extents condition body dtype:dtype annotations:plain"),
    _statement(B.AllocateConst, "buffer_var extents body dtype:dtype data:array annotations:plain"),
    _statement(B.DeclBuffer, "buffer body"),
    _statement(S.IfThenElse, "condition then_case else_case"),
    _statement(S.Evaluate, "value"),
    _statement(S.SeqStmt, "seq"),
    _statement(
        B.Block,
        "iter_vars reads writes name_hint:text init body alloc_buffers match_buffers "
        "annotations:plain",
        spanned=False,
    ),
    _statement(B.BlockRealize, "iter_values predicate block", spanned=False),
    _statement(B.MatchBufferRegion, "buffer source", spanned=False),
    _statement(IndexMap, "initial_indices final_indices inverse_index_map", spanned=False),
    NodeKind(
        I.VDevice,
        "VDevice",
        (*fields_of("target:target vdevice_id:here memory_scope:text"),),
        spanned=False,
    ),
    NodeKind(I.DummyGlobalInfo, "DummyGlobalInfo", (), spanned=False),
    _of_graphs(G.GraphVar, "name_hint=vid:id", "Var"),
    _of_graphs(G.DataflowVar, "name_hint=vid:id"),
    _of_graphs(G.Constant, "data:listed"),
    _of_graphs(G.Tuple, "fields"),
    _of_graphs(G.TupleGetItem, "tuple_value index:here"),
    _of_graphs(G.If, "cond true_branch false_branch"),
    _of_graphs(G.VarBinding, "var value", inferred=False),
    _of_graphs(G.MatchCast, "var value struct_info", inferred=False),
    _of_graphs(G.BindingBlock, "bindings", inferred=False),
    _of_graphs(G.DataflowBlock, "bindings", inferred=False),
    _of_graphs(G.SeqExpr, "blocks body"),
    _of_graphs(G.PrimValue, "value"),
    _of_graphs(G.GraphString, "value:text", "StringImm"),
    _of_graphs(G.DataTypeImm, "value:dtype"),
    _of_graphs(G.ExternFunc, "global_symbol:text"),
    _of_graphs(G.GraphFunction, "params body ret_struct_info is_pure:flag attrs:dict", "Function"),
    _of_graphs(I.ShapeExpr, "values"),
    _known(I.ObjectStructInfo),
    _known(I.PrimStructInfo, "dtype:word value"),
    _known(I.ShapeStructInfo, "values ndim:here"),
    _known(I.TensorStructInfo, "shape dtype:word vdevice ndim:here"),
    _known(I.TupleStructInfo, "fields"),
    _known(I.FuncStructInfo, "params ret purity:flag derive_func:function"),
    _known(T.ObjectType),
    _known(T.PackedFuncType),
    _known(T.ShapeType, "ndim:here"),
    _known(T.DynTensorType, "ndim:here dtype:word"),
    NodeKind(
        T.FuncType, "FuncType", (*fields_of("arg_types ret_type type_params type_constraints"),)
    ),
    NodeKind(E.TupleType, "TupleType", (*fields_of("fields"),)),
)
BY_CLASS = {kind.cls: kind for kind in _SHARED}
BY_KEY = {kind.key: kind for kind in _SHARED}
# Fields that TVM demands, and that have the same value in all rows.
FIXED = {"tir.AllocateConst": {"irmod_storage_idx": "0"}}


_CONV = "dilation groups:here data_layout kernel_layout out_layout out_dtype:word"
_POOL = "pool_size strides dilation padding ceil_mode:flag count_include_pad:flag layout out_layout"
_NORM = "epsilon:real center:flag scale:flag"
_RANKS = (1, 2, 3)
# The attributes of calls of operators: TVM's class of them, their fields, and the operators.
_OPERATORS = (
    *[
        (f"AdaptivePool{n}D", "output_size layout out_layout", f"nn.adaptive_avg_pool{n}d")
        for n in _RANKS
    ],
    ("ArgmaxArgmin", "axis keepdims:flag", "argmax argmin"),
    ("Argsort", "axis:here descending:flag dtype:word", "argsort"),
    ("Astype", "dtype:word", "astype"),
    (
        "Attention",
        "scale:node causal_mask window_size",
        "nn.attention nn.attention_bias nn.attention_var_len",
    ),
    ("BatchNorm", f"axis:here {_NORM} momentum:real", "nn.batch_norm"),
    ("CallInplacePacked", "inplace_indices", "call_inplace_packed"),
    ("CallTIRInplace", "inplace_indices", "call_tir_inplace"),
    ("CallTIRWithGrad", "te_grad_name te_grad_kwargs:boxed", "call_tir_with_grad"),
    ("Concat", "axis", "concat"),
    *[(f"Conv{n}D", f"strides padding {_CONV}", f"nn.conv{n}d") for n in _RANKS],
    *[
        (f"Conv{n}DTranspose", f"strides padding output_padding {_CONV}", f"nn.conv{n}d_transpose")
        for n in _RANKS[:2]
    ],
    ("Dropout", "rate:real", "nn.dropout"),
    ("Einsum", "subscripts", "einsum"),
    ("ExpandDims", "axis", "expand_dims"),
    ("Flip", "axis", "flip"),
    ("GatherElements", "axis", "gather_elements"),
    ("GatherND", "batch_dims", "gather_nd"),
    ("GroupNorm", f"num_groups:here channel_axis:here axes {_NORM}", "nn.group_norm"),
    ("HintOnDevice", "dev_type:here dev_id:here", "hint_on_device"),
    ("Init", "dtype:word", "arange eye eye_like full full_like ones ones_like zeros zeros_like"),
    ("LayerNorm", f"axes {_NORM}", "nn.layer_norm"),
    (
        "LayoutTransform",
        "index_map pad_value axis_separators input_axis_separators",
        "layout_transform",
    ),
    ("LeakyRelu", "alpha:real", "nn.leakyrelu"),
    ("Matmul", "out_dtype:word", "matmul"),
    ("MultinomialFromUniform", "dtype:word", "multinomial_from_uniform"),
    ("NLLLoss", "reduction ignore_index:here", "nn.nll_loss grad.nll_loss_backward"),
    ("OneHot", "depth:here axis:here", "one_hot"),
    ("Pad", "pad_width pad_mode", "nn.pad"),
    ("PermuteDims", "axes", "permute_dims"),
    *[(f"Pool{n}D", _POOL, f"nn.avg_pool{n}d nn.max_pool{n}d") for n in _RANKS],
    ("Pool2D", _POOL, "grad.avg_pool2d_backward grad.max_pool2d_backward"),
    ("Quantize", "out_dtype:word axis:here", "dequantize quantize"),
    ("RMSNorm", "axes epsilon:real", "nn.rms_norm"),
    ("Repeat", "repeats:here axis", "repeat"),
    (
        "Resize2D",
        "roi:node layout method coordinate_transformation_mode rounding_method cubic_alpha:real "
        "cubic_exclude:here extrapolation_value:real out_dtype:word",
        "image.resize2d",
    ),
    ("Scanop", "axis dtype:word exclusive", "cumprod cumsum"),
    ("ScatterElements", "axis reduction", "scatter_elements"),
    ("ScatterND", "reduction", "scatter_nd"),
    ("Softmax", "axis:here", "nn.log_softmax nn.softmax"),
    ("Sort", "axis:here descending:flag", "sort"),
    ("Split", "indices_or_sections axis:here", "split"),
    ("Squeeze", "axis", "squeeze"),
    ("Statistical", "axis keepdims:flag", "max mean min prod std sum variance"),
    ("StridedSlice", "assume_inbound:flag", "strided_slice"),
    ("Take", "axis", "take grad.take_backward"),
    ("Tile", "repeats", "tile"),
    ("ToVDevice", "dst_vdevice", "to_vdevice"),
    ("TopK", "k:here axis:here ret_type largest:flag dtype:word", "topk"),
    ("WrapParam", "dtype:word", "wrap_param"),
)


def _attributes(name: str, names: str) -> NodeKind:
    of = "relay" if name == "Pad" else "relax"
    fields = (*fields_of(names, As.PLAIN),)
    return NodeKind(G.OpAttrs, f"{of}.attrs.{name}Attrs", fields, spanned=False)


ATTRIBUTES = {
    f"relax.{op}": _attributes(name, names) for name, names, ops in _OPERATORS for op in ops.split()
}
BY_KEY |= {kind.key: kind for kind in ATTRIBUTES.values()}
