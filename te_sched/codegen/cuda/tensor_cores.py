"""Tensor cores: fragments of matrices (wmma), and mma.sync as the assembler has it.

The arguments are TVM's:

    tvm_fill_fragment(fragment, m, n, k, number, value)
    tvm_load_matrix_sync(fragment, m, n, k, number, pointer, stride, layout)
    tvm_store_matrix_sync(fragment, m, n, k, number, pointer, stride, layout)
    tvm_mma_sync(d, number, a, number, b, number, c, number)
    ptx_mma(shape, layout of a, of b, types of a, b, c, a, index, b, index, c, index, saturate)
    ptx_ldmatrix(transposed, count, type, local, offset, shared, offset)

A fragment's shape and layout are read off the calls that use it. Must not know statements.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from te_sched.codegen.cuda.matrix_registers import SHAPE
from te_sched.codegen.cuda.pieces import UNARY, Piece, call, element, offset
from te_sched.codegen.cuda.writer import CallWriter, KernelText
from te_sched.ir import expr as E
from te_sched.ir import stmt as S
from te_sched.ir.device_limits import WARP

_PREFIX = "nvcuda::wmma::"
_SHAPED = ("tir.tvm_fill_fragment", "tir.tvm_load_matrix_sync", "tir.tvm_store_matrix_sync")
_ACCUMULATOR = "accumulator"


@dataclass(slots=True)
class FragmentShape:
    """The shape of the product that a fragment takes part in, and its layout in memory."""

    shape: tuple[int, ...]
    layout: str | None = None


def fragment_extents(use: str, shape: tuple[int, ...]) -> tuple[int, int]:
    """Rows and columns of a fragment in a product of m, n, k, by the tag of its scope.

    >>> fragment_extents("matrix_b", (16, 8, 32))
    (32, 8)
    """
    m, n, k = shape
    return {"matrix_a": (m, k), "matrix_b": (k, n)}.get(use, (m, n))


def find_fragments(nodes: Iterable[object]) -> dict[E.Var, FragmentShape]:
    """Shapes and layouts of the fragments of a kernel."""
    fragments: dict[E.Var, FragmentShape] = {}
    products: list[tuple[E.Var, ...]] = []
    for node in nodes:
        if type(node) is not E.Call:
            continue
        if node.op in _SHAPED and isinstance(node.args[0], E.Var):
            shape = tuple(arg.value for arg in node.args[1:4] if isinstance(arg, E.IntImm))
            fragment = fragments.setdefault(node.args[0], FragmentShape(shape))
            if node.op == "tir.tvm_load_matrix_sync" and isinstance(node.args[7], E.StringImm):
                fragment.layout = node.args[7].value
        elif node.op == "tir.tvm_mma_sync":
            products.append(tuple(arg for arg in node.args[::2] if isinstance(arg, E.Var)))
    for product in products:  # an operand that is only multiplied has the shape of the other one
        operand = next((fragments[var] for var in product if var in fragments), None)
        for var in product:
            if operand is not None:
                fragments.setdefault(var, FragmentShape(operand.shape))
    return fragments


def declare_fragments(out: KernelText, node: S.Allocate) -> None:
    """`fragment<matrix_a, 16, 16, 16, half, row_major> A_frag[2];`"""
    var = node.buffer_var
    use = _use(var)
    fragment = out.fragments.get(var)
    if fragment is None or len(fragment.shape) != 3:
        raise out.error(
            f"fragment {var.name} has no known shape",
            "no tvm_load_matrix_sync, tvm_fill_fragment or tvm_store_matrix_sync gives its shape",
            "fill or load the fragment, with constant m, n, k",
        )
    if use not in ("matrix_a", "matrix_b", _ACCUMULATOR):
        raise out.error(
            f"fragment {var.name} has scope wmma.{use}, which does not exist",
            "",
            "use wmma.matrix_a, wmma.matrix_b or wmma.accumulator",
        )
    m, n, k = fragment.shape
    size = math.prod(fragment_extents(use, fragment.shape))
    total = math.prod(e.value if isinstance(e, E.IntImm) else 0 for e in node.extents)
    if total == 0 or total % size:
        raise out.error(
            f"fragment {var.name} has {total} elements, expected a multiple of {size}",
            f"one fragment of shape {m}x{n}x{k} has {size}",
            "tile the loops by the shape of the fragment",
        )
    out.unit.headers.add("mma.h")
    kind = out.unit.type_of(node.dtype)
    layout = "" if use == _ACCUMULATOR else f", {_PREFIX}{fragment.layout or 'row_major'}"
    name = out.names.fresh(var.name)
    out.environment[var] = [Piece(name)]
    full = f"{_PREFIX}fragment<{_PREFIX}{use}, {m}, {n}, {k}, {kind}{layout}>"
    out.do(f"{full} {name}[{total // size}];")


def _fragment(out: KernelText, var: E.Expr, number: E.Expr) -> Piece:
    return element(out.scalar(var).text, out.scalar(number))


def _fill(out: KernelText, node: E.Call) -> list[Piece]:
    value = out.scalar(node.args[5])
    return [call(f"{_PREFIX}fill_fragment", _fragment(out, node.args[0], node.args[4]), value)]


def _load(out: KernelText, node: E.Call) -> list[Piece]:
    address, stride = out.scalar(node.args[5]), out.scalar(node.args[6])
    values = [_fragment(out, node.args[0], node.args[4]), address, stride]
    if isinstance(node.args[0], E.Var) and _use(node.args[0]) == _ACCUMULATOR:
        values.append(_memory_layout(node.args[7]))
    return [call(f"{_PREFIX}load_matrix_sync", *values)]


def _use(var: E.Var) -> str:
    return var.scope.removeprefix("wmma.")


def _memory_layout(node: E.Expr) -> Piece:
    layout = node.value if isinstance(node, E.StringImm) else "row_major"
    return Piece(f"{_PREFIX}mem_{layout}")


def _store(out: KernelText, node: E.Call) -> list[Piece]:
    address, stride = out.scalar(node.args[5]), out.scalar(node.args[6])
    fragment = _fragment(out, node.args[0], node.args[4])
    layout = _memory_layout(node.args[7])
    return [call(f"{_PREFIX}store_matrix_sync", address, fragment, stride, layout)]


def _multiply(out: KernelText, node: E.Call) -> list[Piece]:
    pairs = zip(node.args[::2], node.args[1::2], strict=True)
    return [call(f"{_PREFIX}mma_sync", *[_fragment(out, var, number) for var, number in pairs])]


# -- assembler -------------------------------------------------------------------------------------

_TYPES = {"fp16": "f16", "fp32": "f32", "bf16": "bf16", "tf32": "tf32", "fp64": "f64"}
_TYPES |= {"float16": "f16", "float32": "f32", "bfloat16": "bf16", "float64": "f64"}
_WHOLE = ("f32", "f64", "s32", "tf32")  # of which an element fills a register
_TYPES |= {"int8": "s8", "uint8": "u8", "int32": "s32", "int4": "s4", "uint4": "u4"}


def _text(out: KernelText, node: E.Expr, what: str) -> str:
    if isinstance(node, E.StringImm):
        return node.value
    raise out.error(f"{what} expects a string, got {node}", "", 'pass for example "row"')


def _pointer(out: KernelText, node: E.Expr, dtype: str, index: E.Expr) -> Piece:
    """(dtype*)(place + index)"""
    address = out.scalar(node)
    start = offset(address.at(UNARY), out.scalar(index))
    return Piece(f"(({dtype}*){start.at(UNARY)})")


def _ptx_mma(out: KernelText, node: E.Call) -> list[Piece]:
    shape, *layouts = (_text(out, arg, "ptx_mma") for arg in node.args[:3])
    kinds = [_TYPES.get(_text(out, arg, "ptx_mma"), "") for arg in node.args[3:6]]
    match = SHAPE.match(shape)
    if match is None or not all(kinds) or shape == "m8n8k4" or len(node.args) < 12:
        raise out.error(
            f"ptx_mma of shape {shape!r} is not supported",
            "its shape or one of its types is not known, or arguments are missing",
            'use for example "m16n8k16" with "fp16", "fp16", "fp32"',
        )
    m, n, k = map(int, match.groups())
    sizes = (m * k, k * n, m * n)
    counts = [
        size // WARP if kind in _WHOLE else size * int(kind.strip("bfsu")) // 32 // WARP
        for size, kind in zip(sizes, kinds, strict=True)
    ]
    operands = []
    for number, kind in enumerate(kinds):
        cast = {"f32": "float", "f64": "double"}.get(kind, "unsigned int")
        cast = "int" if kind == "s32" else cast
        base = _pointer(out, node.args[6 + 2 * number], cast, node.args[7 + 2 * number])
        operands.append([f"{base.text}[{k}]" for k in range(max(1, counts[number]))])
    return _assemble(out, node, shape, layouts, kinds, operands)


def _assemble(
    out: KernelText,
    node: E.Call,
    shape: str,
    layouts: list[str],
    kinds: list[str],
    operands: list[list[str]],
) -> list[Piece]:
    a, b, c = operands
    numbers = itertools.count()

    def group(values: list[str]) -> str:
        return "{" + ", ".join(f"%{next(numbers)}" for _ in values) + "}"

    result, left, right = group(c), group(a), group(b)
    saturate = node.args[12] if len(node.args) > 12 else None
    finite = ".satfinite" if isinstance(saturate, E.IntImm) and saturate.value else ""
    rows = ".".join(layout.replace("_major", "") for layout in layouts)
    types = ".".join((kinds[2], kinds[0], kinds[1], kinds[2]))
    code = f"mma.sync.aligned.{shape}.{rows}{finite}.{types} {result}, {left}, {right}, {result};"
    outputs = ", ".join(f'"+{_constraint(kinds[2])}"({value})' for value in c)
    inputs = ", ".join(
        f'"{_constraint(kind)}"({value})'
        for values, kind in zip((a, b), kinds[:2], strict=True)
        for value in values
    )
    out.do(f'asm volatile("{code}" : {outputs} : {inputs});')
    return []


def _constraint(kind: str) -> str:
    return {"f32": "f", "f64": "d"}.get(kind, "r")


def _ptx_load_matrix(out: KernelText, node: E.Call) -> list[Piece]:
    transposed, count = (arg.value if isinstance(arg, E.IntImm) else -1 for arg in node.args[:2])
    kind = _text(out, node.args[2], "ptx_ldmatrix").removeprefix(".")
    if count not in (1, 2, 4) or transposed not in (0, 1) or kind != "b16":
        raise out.error(
            f"ptx_ldmatrix cannot load {count} matrices of {kind}",
            "",
            "load 1, 2 or 4 matrices of .b16",
        )
    local = _pointer(out, node.args[3], "unsigned int", E.IntImm(0))
    start = out.scalar(node.args[4])
    if start.text != "0":
        address = offset(out.scalar(node.args[3]).at(UNARY), start)
        local = Piece(f"((unsigned int*){address.at(UNARY)})")
    shared = offset(out.scalar(node.args[5]).at(UNARY), out.scalar(node.args[6]))
    name = out.names.fresh("shared_address")
    out.do(f"const unsigned int {name} = (unsigned int)__cvta_generic_to_shared({shared.text});")
    results = ", ".join(f'"=r"({local.text}[{k}])' for k in range(count))
    registers = ", ".join(f"%{k}" for k in range(count))
    trans = ".trans" if transposed else ""
    code = f"ldmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 {{{registers}}}, [%{count}];"
    out.do(f'asm volatile("{code}" : {results} : "r"({name}));')
    return []


CALLS: Mapping[str, CallWriter] = {
    "tvm_fill_fragment": _fill,
    "tvm_load_matrix_sync": _load,
    "tvm_store_matrix_sync": _store,
    "tvm_mma_sync": _multiply,
    "ptx_mma": _ptx_mma,
    "ptx_ldmatrix": _ptx_load_matrix,
}
