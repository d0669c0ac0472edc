"""The programs that random primitives transform: sources of random sizes, with numpy's results."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

HEAD = """# from tvm.script import ir as I
# from tvm.script import tir as T

@I.ir_module
class Module:
    @T.prim_func
    def main({parameters}):
        T.func_attr({{"global_symbol": "main", "tir.noalias": True}})
"""


class Source(NamedTuple):
    """A program: parameters, statements, and its results in numpy for the parameters in order.

    `<n + 2>` in a text is a number: `n` and other letters are random sizes.
    """

    parameters: str
    body: str
    results: Callable[..., tuple[Any, ...]]


def _block(name: str, axes: str, extents: str, statements: str) -> str:
    """Loops around a block: `axes` has its iterators by kind, as "i:S k:R"."""
    pairs = [one.split(":") for one in axes.split()]
    loops = ", ".join([name for name, _ in pairs])
    own = ", ".join([f"v{name}" for name, _ in pairs])
    kinds = "".join([kind for _, kind in pairs])
    lines = [
        f"for {loops} in T.grid({extents}):",
        f'    with T.block("{name}"):',
        f'        {own} = T.axis.remap("{kinds}", [{loops}])',
        *[f"        {one}" for one in statements.strip("\n").splitlines()],
    ]
    return "\n".join(lines) + "\n"


def _reduction(name: str, axes: str, extents: str, element: str, value: str) -> str:
    """A sum, or the maximum of `max VALUE`."""
    start, update = "T.float32(0)", f"{element} + {value}"
    if value.startswith("max "):
        start, update = 'T.min_value("float32")', f"T.max({element}, {value[4:]})"
    lines = f"with T.init():\n    {element} = {start}\n{element} = {update}"
    return _block(name, axes, extents, lines)


def _product(name: str, value: str) -> str:
    return _reduction(name, "i:S j:S k:R", "<n>, <m>, <k>", f"{name}[vi, vj]", value)


def _rows(name: str, element: str, value: str) -> str:
    return _reduction(name, "i:S k:R", "<n>, <m>", element, value)


def _map(name: str, value: str, extents: str = "<n>, <m>") -> str:
    return _block(name, "i:S j:S", extents, f"{name}[vi, vj] = {value}")


def _buffers(*shapes: str) -> str:
    pairs = [one.split(":") for one in shapes]
    return "".join([f"{name} = T.alloc_buffer(({shape},))\n" for name, shape in pairs])


def _patches(x: Any, rows: int = 3, columns: int = 3) -> Any:
    return np.lib.stride_tricks.sliding_window_view(x, (rows, columns), axis=(-2, -1))


def _windows(x: Any, rows: int, columns: int, combine: Any) -> Any:
    return combine(_patches(x, rows, columns), axis=(-2, -1))


def _convolved(x: Any, w: Any) -> Any:
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    return np.einsum("ncyxrs,ocrs->noyx", _patches(padded), w)


def _softmax(a: Any) -> Any:
    power = np.exp(a - a.max(1, keepdims=True))
    return power / power.sum(1, keepdims=True)


_IMAGE = "c:S y:S x:S r:R s:R"
SOURCES = {
    "product": Source(
        "A:n,k B:k,m C:n,m",
        _product("C", "A[vi, vk] * B[vk, vj]"),
        lambda a, b, c: (a @ b,),
    ),
    "product, relu": Source(
        "A:n,k B:k,m D:n,m",
        _buffers("C:<n>, <m>")
        + _product("C", "A[vi, vk] * B[vk, vj]")
        + _map("D", "T.max(C[vi, vj], T.float32(0))"),
        lambda a, b, d: (np.maximum(a @ b, 0),),
    ),
    "dense": Source(
        "X:n,k W:m,k bias:m Z:n,m",
        _buffers("Y:<n>, <m>", "D:<n>, <m>")
        + _product("Y", "X[vi, vk] * W[vj, vk]")
        + _map("D", "Y[vi, vj] + bias[vj]")
        + _map("Z", "T.max(D[vi, vj], T.float32(0))"),
        lambda x, w, bias, z: (np.maximum(x @ w.T + bias, 0),),
    ),
    "chain": Source(
        "A:n,m D:n,m",
        _buffers("B:<n>, <m>", "C:<n>, <m>")
        + _map("B", "A[vi, vj] * T.float32(2)")
        + _map("C", "B[vi, vj] + T.float32(1)")
        + _map("D", "T.max(C[vi, vj], T.float32(2.5))"),
        lambda a, d: (np.maximum(a * 2 + 1, 2.5),),
    ),
    "two readers": Source(
        "A:n,m C:n,m D:n,m",
        _buffers("B:<n>, <m>")
        + _map("B", "A[vi, vj] * T.float32(2)")
        + _map("C", "B[vi, vj] + T.float32(1)")
        + _map("D", "B[vi, vj] - A[vi, vj]"),
        lambda a, c, d: (a * 2 + 1, a),
    ),
    "stencil": Source(
        "A:n+2,m+2 C:n,m",
        _buffers("B:<n + 2>, <m>")
        + _map("B", "A[vi, vj] + A[vi, vj + 1] + A[vi, vj + 2]", "<n + 2>, <m>")
        + _map("C", "B[vi, vj] + B[vi + 1, vj] + B[vi + 2, vj]"),
        lambda a, c: (_windows(a, 3, 3, np.sum),),
    ),
    "transposed": Source(
        "A:m,n B:n,m C:n,m",
        _buffers("t:<n>, <m>") + _map("t", "A[vj, vi]") + _map("C", "t[vi, vj] + B[vi, vj]"),
        lambda a, b, c: (a.T + b,),
    ),
    "softmax": Source(
        "A:n,m B:n,m",
        _buffers("mx:<n>", "ex:<n>, <m>", "sm:<n>")
        + _rows("rowmax", "mx[vi]", "max A[vi, vk]")
        + _block("expo", "i:S j:S", "<n>, <m>", "ex[vi, vj] = T.exp(A[vi, vj] - mx[vi])")
        + _rows("rowsum", "sm[vi]", "ex[vi, vk]")
        + _map("B", "ex[vi, vj] / sm[vi]"),
        lambda a, b: (_softmax(a),),
    ),
    "row sums": Source("A:n,m B:n", _rows("B", "B[vi]", "A[vi, vk]"), lambda a, b: (a.sum(1),)),
    "pooling": Source(
        "X:4,2*p,2*p Y:4,p,p",
        _reduction(
            "Y",
            _IMAGE,
            "4, <p>, <p>, 2, 2",
            "Y[vc, vy, vx]",
            "max X[vc, vy * 2 + vr, vx * 2 + vs]",
        ),
        lambda x, y: (x.reshape(4, x.shape[1] // 2, 2, -1, 2).max((2, 4)),),
    ),
    "depthwise": Source(
        "X:4,p+2,p+2 W:4,3,3 Y:4,p,p",
        _reduction(
            "Y",
            _IMAGE,
            "4, <p>, <p>, 3, 3",
            "Y[vc, vy, vx]",
            "X[vc, vy + vr, vx + vs] * W[vc, vr, vs]",
        ),
        lambda x, w, y: (np.einsum("cyxrs,crs->cyx", _patches(x), w),),
    ),
    "convolution": Source(
        "X:1,2,p,p W:4,2,3,3 Y:1,4,p,p",
        _buffers("P:1, 2, <p + 2>, <p + 2>")
        + _block(
            "P",
            "i:S j:S k:S l:S",
            "1, 2, <p + 2>, <p + 2>",
            "P[vi, vj, vk, vl] = T.if_then_else(1 <= vk and vk < <p + 1> and 1 <= vl and "
            "vl < <p + 1>, X[vi, vj, vk - 1, vl - 1], T.float32(0))",
        )
        + _reduction(
            "Y",
            "n:S o:S y:S x:S c:R r:R s:R",
            "1, 4, <p>, <p>, 2, 3, 3",
            "Y[vn, vo, vy, vx]",
            "P[vn, vc, vy + vr, vx + vs] * W[vo, vc, vr, vs]",
        ),
        lambda x, w, y: (_convolved(x, w),),
    ),
    "batches": Source(
        "A:3,n,k B:3,k,m C:3,n,m",
        _reduction(
            "C",
            "b:S i:S j:S k:R",
            "3, <n>, <m>, <k>",
            "C[vb, vi, vj]",
            "A[vb, vi, vk] * B[vb, vk, vj]",
        ),
        lambda a, b, c: (a @ b,),
    ),
}
SIZES = (8, 8, 12, 16, 16, 7, 10, 20, 24, 30, 32)


class Instance(NamedTuple):
    """A source of certain sizes."""

    name: str
    text: str
    shapes: list[tuple[int, ...]]

    def results(self, *arrays: Any) -> tuple[Any, ...]:
        """What the program computes of its arguments."""
        return SOURCES[self.name].results(*arrays)


def instance(rng: random.Random) -> Instance:
    """A random program."""
    name = rng.choice(sorted(SOURCES))
    sizes = {one: rng.choice(SIZES) for one in "nmk"} | {"p": rng.choice((6, 8, 12))}
    return sized(name, sizes)


def sized(name: str, sizes: Mapping[str, int]) -> Instance:
    """The source of a name with the sizes `n`, `m`, `k` and `p`."""
    source = SOURCES[name]

    def number(text: str) -> int:
        return int(eval(text, {}, dict(sizes)))  # of the table above

    parameters = [one.split(":") for one in source.parameters.split()]
    shapes = [tuple([number(size) for size in shape.split(",")]) for _, shape in parameters]
    given = ", ".join(
        f'{one}: T.Buffer({shape}, "float32")'
        for (one, _), shape in zip(parameters, shapes, strict=True)
    )
    body = re.sub(r"<([^<>=]+)>", lambda found: str(number(found[1])), source.body)
    lines = "".join(f"        {line}\n" for line in body.splitlines())
    return Instance(name, HEAD.format(parameters=given) + lines, shapes)


def is_right(module: Any, scheduled: Any, program: Instance, target: str) -> bool:
    """Whether a scheduled program computes numpy's results; `module` is tvm or te_sched."""
    rng = np.random.default_rng(0)
    data = [rng.random(shape, "float32") for shape in program.shapes]
    expected = program.results(*data)
    function = module.build(scheduled, target=target)
    device = module.cuda(0) if target == "cuda" else module.cpu(0)
    arrays = [module.nd.array(one, device) for one in data]
    function(*arrays)
    found = [one.numpy() for one in arrays[-len(expected) :]]
    return all(np.allclose(a, b, 1e-4, 1e-4) for a, b in zip(found, expected, strict=True))
