"""Operators of random models: each maker draws a line of `forward` for the values that there are.

A line is kept if torch runs it when it is drawn, so that every case is a model that torch accepts.
Must not know te_sched.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from typing import Any

LARGEST = 4000  # elements of a value
UNARY = [
    *("torch.relu", "torch.sigmoid", "torch.tanh", "F.gelu", "F.silu", "F.elu", "F.selu"),
    *("F.softplus", "F.mish", "F.hardswish", "F.hardsigmoid", "F.hardtanh", "F.relu6"),
    *("F.leaky_relu", "F.logsigmoid", "torch.exp", "torch.sin", "torch.cos", "torch.tan"),
    *("torch.abs", "torch.neg", "torch.sqrt", "torch.rsqrt", "torch.square", "torch.erf"),
    *("torch.log", "torch.log1p", "torch.expm1", "torch.reciprocal", "torch.floor", "torch.ceil"),
    *("torch.round", "torch.trunc", "torch.sign", "torch.atan", "torch.sinh", "torch.asinh"),
    *("torch.log2", "torch.log10", "F.softsign", "F.tanhshrink", "torch.exp2", "torch.frac"),
    *("F.celu", "torch.isnan", "torch.isfinite", "torch.logical_not", "torch.positive"),
    *("torch.cosh", "torch.acosh", "torch.atanh", "torch.asin", "torch.acos", "F.softshrink"),
    *("F.hardshrink", "torch.zeros_like", "torch.ones_like", "torch.clone", "torch.isinf"),
    *("torch.nan_to_num", "torch.signbit", "torch.sgn", "torch.erfc", "torch.deg2rad"),
]
BINARY = [
    *("+", "-", "*", "/", "//", "%", "<", "<=", ">", ">=", "==", "!="),
    *("+", "-", "*"),
]
BINARY_FUNCTIONS = [
    *("torch.maximum", "torch.minimum", "torch.add", "torch.sub", "torch.mul", "torch.div"),
    *("torch.pow", "torch.fmod", "torch.remainder", "torch.atan2", "torch.floor_divide"),
    *("torch.logical_and", "torch.logical_or", "torch.logical_xor", "torch.eq", "torch.hypot"),
    *("torch.max", "torch.min", "torch.fmax", "torch.fmin", "torch.copysign", "torch.xlogy"),
]
IN_PLACE = ["add_", "mul_", "sub_", "clamp_", "relu_", "fill_", "masked_fill_", "copy_", "zero_"]


class Unsuitable(Exception):
    """Raised when no value suits an operator."""


class Generator:
    """Draws lines one by one, and runs them in torch."""

    makers: Sequence[Callable[[Any], str]] = ()  # by default all

    def __init__(self, rng: random.Random, scope: dict[str, Any]) -> None:
        import torch

        self.rng = rng
        self.torch = torch
        self.given: list[str] = []
        self.steps: list[str] = []
        self.scope = scope
        self.counts = {"x": 0, "p": 0, "m": 0, "v": 0}

    # Values

    def new(self, kind: str, expression: str) -> str:
        """The name of a new input, parameter or layer."""
        name = f"{kind}{self.counts[kind]}"
        self.counts[kind] += 1
        line = f"{name} = {expression}"
        exec(line, self.scope)
        self.given.append(line)
        return name

    def tensors(self, suits: Callable[[Any], bool] = lambda x: True) -> list[str]:
        """The names of values that suit."""
        found = [
            (name, one)
            for name, one in self.scope.items()
            if re.fullmatch(r"[xv]\d+", name) and isinstance(one, self.torch.Tensor)
        ]
        return [name for name, one in found if suits(one)]

    def any(self, suits: Callable[[Any], bool] = lambda x: True) -> str:
        """A value; the later ones are more likely."""
        names = self.tensors(suits)
        if not names:
            raise Unsuitable
        return names[max(self.rng.randrange(len(names)), self.rng.randrange(len(names)))]

    def floats(self, suits: Callable[[Any], bool] = lambda x: True) -> str:
        return self.any(lambda x: x.dtype.is_floating_point and suits(x))

    def of_rank(self, *ranks: int) -> str:
        return self.any(lambda x: x.dtype == self.torch.float32 and x.ndim in ranks)

    def shape(self, name: str) -> list[int]:
        return list(self.scope[name].shape)

    def dim(self, name: str, more: int = 0) -> int:
        rank = self.scope[name].ndim + more
        if not rank:
            raise Unsuitable
        return self.rng.randrange(-rank, rank)

    def parameter(self, shape: list[int], dtype: str = "float32") -> str:
        return self.new("p", f"normal({shape}, '{dtype}')")

    def indices(self, shape: list[int], below: int, dtype: str = "int64") -> str:
        """Places, as an input or a parameter."""
        if below == 0:
            raise Unsuitable
        kind = self.rng.choice("xp") if not self.steps else "p"
        return self.new(kind, f"integers({shape}, {below}, '{dtype}')")

    def pick(self, *values: Any) -> Any:
        return self.rng.choice(values)

    def input(self) -> str:
        rng = self.rng
        rank = rng.choice((0, 1, 1, 2, 2, 3, 3, 3, 4, 4, 4, 5))
        extents = (1, 2, 3, 4, 5, 6, 8) if rng.random() < 0.97 else (0, 1, 2, 3)
        shape = [rng.choice(extents) for _ in range(rank)]
        if rank == 4:
            shape = [
                rng.choice((1, 2)),
                rng.choice((1, 2, 3, 4, 6)),
                *rng.choices(range(5, 12), k=2),
            ]
        kind = rng.random()
        if kind < 0.8:
            return self.new("x", f"normal({shape}, 'float32')")
        if kind < 0.92:
            dtype = rng.choice(("int64", "int64", "int32", "uint8", "int8"))
            return self.new("x", f"integers({shape}, {rng.choice((2, 3, 5, 9))}, '{dtype}')")
        if kind < 0.96:
            return self.new("x", f"integers({shape}, 2, 'bool')")
        return self.new("x", f"normal({shape}, '{rng.choice(('float64', 'float16'))}')")

    # Lines

    def draw(self, inputs: int, lines: int) -> None:
        """Make inputs, and lines that torch runs."""
        for _ in range(inputs):
            self.input()
        for _ in range(lines * 6):
            if len(self.steps) < lines:
                self._draw_line()

    def _draw_line(self) -> None:
        maker = self.rng.choice(self.makers or MAKERS)
        before, counts = len(self.given), dict(self.counts)
        names = set(self.scope)
        try:
            expression = maker(self)
            if expression is None:
                raise Unsuitable
            self.add(expression)
        except Exception:
            del self.given[before:]
            self.counts = counts
            for name in set(self.scope) - names:
                del self.scope[name]

    def add(self, expression: str) -> None:
        """Run a line; its value must be one that later lines can take."""
        if expression.startswith("="):
            line, name = expression[1:], ""
            saved = {n: self.scope[n].clone() for n in self.tensors()}
            try:
                exec(line, self.scope)
                for one in self.tensors():
                    self.check(self.scope[one], line)
            except Exception:
                self.scope.update(saved)
                raise
            self.steps.append(line)
            return
        name = f"v{self.counts['v']}"
        line = f"{name} = {expression}"
        exec(line, self.scope)
        found = self.scope[name]
        self.counts["v"] += 1
        many = found if isinstance(found, tuple | list) else [found]
        for one in many:
            self.check(one, line)
        if isinstance(found, tuple | list):
            self.steps.append(line)
            for n in self.rng.sample(range(len(found)), min(2, len(found))):
                self.add(f"{name}[{n}]")
            return
        self.steps.append(line)

    def check(self, value: Any, line: str) -> None:
        torch = self.torch
        if not isinstance(value, torch.Tensor) or value.numel() > LARGEST:
            raise Unsuitable
        if value.dtype not in (
            *(torch.float32, torch.float64, torch.float16, torch.int64, torch.int32),
            *(torch.uint8, torch.int8, torch.int16, torch.bool),
        ):
            raise Unsuitable
        if value.dtype.is_floating_point and value.numel():
            sizes = value.abs()
            if "inf" not in line and not bool(torch.isfinite(value).all()):
                raise Unsuitable
            if bool((sizes[torch.isfinite(value)] > 1000).any()):
                raise Unsuitable


# Operators: each gives an expression of named values, or a statement after "="


def _unary(g: Generator) -> str:
    return f"{g.pick(*UNARY)}({g.floats() if g.rng.random() < 0.9 else g.any()})"


def _other(g: Generator, name: str) -> str:
    """A value, parameter or number that can be combined with a value."""
    what = g.rng.random()
    if what < 0.25:
        return str(g.pick(2, 0.5, -1.5, 3, 1, True, -2))
    shape = g.shape(name)
    if what < 0.6:
        suited = [n for n in g.tensors() if _broadcasts(g.shape(n), shape)]
        return g.rng.choice(suited)
    shape = [one if g.rng.random() < 0.7 else 1 for one in shape]
    return g.parameter(shape[g.rng.choice((0, 0, 1)) :])


def _broadcasts(a: list[int], b: list[int]) -> bool:
    return all(m == n or 1 in (m, n) for m, n in zip(a[::-1], b[::-1], strict=False))


def _binary(g: Generator) -> str:
    a = g.any()
    b = _other(g, a)
    if g.rng.random() < 0.15:
        a, b = b, a
    if g.rng.random() < 0.6:
        return f"{a} {g.pick(*BINARY)} {b}"
    name = g.pick(*BINARY_FUNCTIONS)
    more = ""
    if name in ("torch.add", "torch.sub") and g.rng.random() < 0.4:
        more = f", alpha={g.pick(2, 0.5, -1)}"
    if name == "torch.div":
        more = g.pick("", ", rounding_mode='floor'", ", rounding_mode='trunc'")
    return f"{name}({a}, {b}{more})"


def _logical(g: Generator) -> str:
    a = g.any(lambda x: not x.dtype.is_floating_point)
    if g.rng.random() < 0.2:
        return f"~{a}"
    shape = g.shape(a)
    b = g.any(lambda x: not x.dtype.is_floating_point and _broadcasts(list(x.shape), shape))
    return f"{a} {g.pick('&', '|', '^')} {b}"


def _reduction(g: Generator) -> str:
    x = g.any() if g.rng.random() < 0.3 else g.floats()
    name = g.pick(
        *("sum", "mean", "prod", "amax", "amin", "var", "std", "all", "any", "argmax", "argmin"),
        *("max", "min", "logsumexp", "norm", "count_nonzero", "sum", "mean", "aminmax"),
    )
    rank = len(g.shape(x))
    if not rank or g.rng.random() < 0.2:
        return f"{x}.{name}()"
    keep = g.pick("", ", keepdim=True", ", keepdim=False")
    dim = str(g.dim(x))
    takes_several = name in ("sum", "mean", "amax", "amin", "var", "std", "logsumexp", "norm")
    if rank > 1 and takes_several and g.rng.random() < 0.4:
        dims = g.rng.sample(range(rank), 2)
        dim = str(tuple(d - rank if g.rng.random() < 0.5 else d for d in dims))
    if name in ("var", "std"):
        keep += g.pick("", ", unbiased=False", ", correction=2")
    if name == "norm":
        return f"{x}.norm({g.pick(1, 2, 3)}, {dim}{keep})"
    if name == "count_nonzero":
        return f"{x}.count_nonzero(dim={dim})"
    return f"{x}.{name}(dim={dim}{keep})"


def _norm_function(g: Generator) -> str:
    x = g.floats(lambda x: x.ndim)
    order = g.pick(1, 2, "float('inf')", 0, 3)
    return g.pick(
        f"F.normalize({x}, dim={g.dim(x)})",
        f"torch.linalg.vector_norm({x}, {order}, dim={g.dim(x)}, keepdim=True)",
        f"torch.cdist({x}, {x})",
        f"F.cosine_similarity({x}, {x}, dim={g.dim(x)})",
    )


def _view(g: Generator) -> str:
    x = g.any()
    shape = g.shape(x)
    rank = len(shape)
    sizes = _factored(g, x)
    dims = g.rng.sample(range(rank), rank)
    dims = [d - rank if g.rng.random() < 0.3 else d for d in dims]
    choices = [
        f"{x}.reshape({sizes})",
        f"{x}.view({sizes})",
        f"{x}.contiguous().view({sizes})",
        f"{x}.unsqueeze({g.rng.randrange(-rank - 1, rank + 1)})",
        f"{x}.squeeze()",
        f"{x}.flatten()",
        f"{x}.ravel()",
    ]
    if rank:
        start = g.rng.randrange(rank)
        choices += [
            f"{x}.permute({dims})",
            f"{x}.transpose({g.dim(x)}, {g.dim(x)})",
            f"{x}.squeeze({g.dim(x)})",
            f"{x}.flatten({start}, {g.rng.randrange(start, rank)})",
            f"{x}.movedim({g.dim(x)}, {g.dim(x)})",
            f"{x}.flip({[g.dim(x)]})",
            f"{x}.roll({g.rng.randrange(-5, 6)}, {g.dim(x)})",
            f"{x}.roll({g.rng.randrange(-5, 6)})",
            f"{x}.repeat({[g.pick(1, 2, 1, 3) for _ in range(rank + g.pick(0, 0, 1))]})",
            f"{x}.tile({[g.pick(1, 2) for _ in range(g.rng.randrange(1, rank + 2))]})",
            f"{x}.repeat_interleave({g.pick(1, 2, 3)}, dim={g.dim(x)})",
            f"{x}.expand({[g.pick(2, 3), *[-1] * rank]})",
            f"{x}.expand({[g.pick(2, 3) if n == 1 else n for n in shape]})",
            f"{x}.unflatten({g.dim(x)}, (-1, {g.pick(1, 2, 3)}))",
            f"{x}.unfold({g.dim(x)}, {g.pick(1, 2, 3)}, {g.pick(1, 2)})",
        ]
    if rank >= 2:
        choices += [
            f"{x}.mT",
            f"{x}.swapaxes(0, -1)",
            f"torch.tril({x}, {g.pick(0, -1, 1)})",
            f"torch.triu({x}, {g.pick(0, -1, 1)})",
            f"{x}.diagonal({g.pick(0, 1, -1)}, {g.pick('0, 1', '-2, -1')})",
            f"torch.rot90({x})",
        ]
    if rank <= 2:
        choices += [f"{x}.t()", f"torch.diag({x})"]
    return g.rng.choice(choices)


def _factored(g: Generator, x: str) -> list[int]:
    """Sizes with the number of elements of a value, perhaps with -1 for one of them."""
    number = g.scope[x].numel()
    sizes: list[int] = []
    while number > 1:
        factor = g.rng.choice([n for n in range(2, number + 1) if number % n == 0])
        sizes.append(factor)
        number //= factor
    if g.rng.random() < 0.3:
        sizes.insert(g.rng.randrange(len(sizes) + 1), 1)
    if sizes and g.rng.random() < 0.4:
        sizes[g.rng.randrange(len(sizes))] = -1
    return sizes


def _slice(g: Generator) -> str:
    x = g.any(lambda x: x.ndim)
    items = []
    for extent in g.shape(x)[: g.rng.randrange(1, len(g.shape(x)) + 1)]:
        what = g.rng.random()
        if what < 0.25 and extent:
            items.append(str(g.rng.randrange(-extent, extent)))
        elif what < 0.4:
            items.append(":")
        elif what < 0.5:
            items += ["None", ":"]
        else:
            start = g.pick("", g.rng.randrange(-extent - 1, extent + 2))
            stop = g.pick("", g.rng.randrange(-extent - 1, extent + 2))
            items.append(f"{start}:{stop}" + g.pick("", "", ":2", ":3"))
    if g.rng.random() < 0.2:
        items = ["...", *items]
    return f"{x}[{', '.join(items)}]"


def _joined(g: Generator) -> str:
    x = g.any(lambda x: x.ndim)
    dim = g.dim(x)
    shape = g.shape(x)
    dtype = g.scope[x].dtype
    if g.rng.random() < 0.4:
        same = g.tensors(lambda y: list(y.shape) == shape and g.rng.random() < 0.8)
        more = [x, *g.rng.choices(same or [x], k=g.pick(0, 1, 2))]
        name = g.pick("stack", "stack", "hstack", "vstack", "dstack")
        extra = f", dim={g.dim(x, 1)}" if name == "stack" else ""
        return f"torch.{name}([{', '.join(more)}]{extra})"
    rest = shape[:]
    del rest[dim % len(shape)]

    def suits(y: Any) -> bool:
        if y.ndim != len(shape):
            return False
        other = list(y.shape)
        del other[dim % len(shape)]
        return other == rest and (y.dtype == dtype or g.rng.random() < 0.5)

    names = [x, *g.rng.choices(g.tensors(suits) or [x], k=g.pick(0, 1, 2))]
    return f"torch.cat([{', '.join(names)}], dim={dim})"


def _parts(g: Generator) -> str:
    x = g.any(lambda x: x.ndim)
    dim = g.dim(x)
    extent = g.shape(x)[dim]
    first = g.rng.randrange(extent + 1)
    return g.pick(
        f"{x}.split({g.pick(1, 2, 3)}, dim={dim})",
        f"{x}.split([{first}, {extent - first}], dim={dim})",
        f"{x}.chunk({g.pick(1, 2, 3, 4)}, dim={dim})",
        f"{x}.unbind({dim})",
        f"torch.tensor_split({x}, {g.pick(2, 3)}, dim={dim})",
        f"torch.meshgrid({x}, {x}, indexing='{g.pick('ij', 'xy')}')",
    )


def _selected(g: Generator) -> str:
    x = g.any(lambda x: x.ndim)
    dim = g.dim(x)
    shape = g.shape(x)
    extent = shape[dim]
    dtype = g.pick("int64", "int64", "int32")
    some = g.indices([g.pick(1, 2, 3)], extent, dtype)
    full = [min(n, g.pick(n, n, 1, 2)) for n in shape]
    full[dim] = g.pick(1, 2, 3)
    choice = g.rng.randrange(9)
    if choice == 0:
        return f"torch.index_select({x}, {dim}, {some})"
    if choice == 1:
        return f"torch.gather({x}, {dim}, {g.indices(full, extent)})"
    if choice == 2:
        return f"{x}[{', '.join([':'] * (dim % len(shape)) + [some])}]"
    if choice == 3 and g.rng.random() < 0.5:
        return f"{x}[{some} - 1]"
    if choice == 3:
        two = g.indices([g.pick(2, 1), g.pick(1, 3)], shape[0])
        return f"{x}[{two}]"
    if choice == 4 and len(shape) > 1:
        size = [g.pick(1, 2, 3)]
        a, b = g.indices(size, min(shape)), g.indices(size, min(shape))
        where = g.rng.randrange(len(shape) - 1)
        items = [":"] * where + [a] + g.pick([b], [b], [":", b])
        return f"{x}[{', '.join(items)}]"
    if choice == 5:
        return f"{x}.select({dim}, {g.rng.randrange(-extent, extent)})"
    if choice == 6:
        src = g.parameter(full)
        name = g.pick("scatter", "scatter_add")
        return f"torch.{name}({x}, {dim}, {g.indices(full, extent)}, {src})"
    if choice == 7:
        return f"torch.take_along_dim({x}, {g.indices(full, extent)}, {dim})"
    return f"{x}.narrow({dim}, {g.rng.randrange(extent)}, 1)"


def _embedding(g: Generator) -> str:
    i = g.any(lambda x: x.dtype in (g.torch.int64, g.torch.int32) and x.numel() < 100)
    value = g.scope[i]
    if value.numel() == 0 or int(value.min()) < 0 or int(value.max()) > 20:
        raise Unsuitable
    rows = int(value.max()) + g.pick(1, 2, 5)
    m = g.new("m", f"nn.Embedding({rows}, {g.pick(1, 3, 4)}{g.pick('', ', padding_idx=0')})")
    return g.pick(f"{m}({i})", f"{m}({i})", f"F.one_hot({i}.long(), {rows})")


def _where(g: Generator) -> str:
    x = g.any()
    shape = g.shape(x)
    mask = g.any(lambda y: y.dtype == g.torch.bool and _broadcasts(list(y.shape), shape))
    y = _other(g, x)
    return g.pick(
        f"torch.where({mask}, {x}, {y})",
        f"torch.where({mask}, {y}, {x})",
        f"{x}.masked_fill({mask}, {g.pick(0, -1.5, 2)})",
    )


def _compared(g: Generator) -> str:
    return f"{g.floats()} {g.pick('>', '<', '>=')} {g.pick(0, 0.1, -0.2)}"


def _clamp(g: Generator) -> str:
    x = g.any()
    low, high = g.pick(-1, -0.5, 0), g.pick(1, 0.5, 2)
    return g.pick(
        f"{x}.clamp({low}, {high})",
        f"{x}.clamp(min={low})",
        f"{x}.clamp(max={high})",
        f"torch.clamp_min({x}, {low})",
    )


def _convolution(g: Generator) -> str:
    rank = g.pick(1, 2, 2, 2, 3)
    x = g.of_rank(rank + 2, rank + 2, rank + 1) if rank < 3 else g.of_rank(rank + 2)
    shape = g.shape(x)
    channels = shape[-rank - 1]
    kernel = [g.rng.randrange(1, min(3, n) + 1) for n in shape[-rank:]]
    groups = g.pick(*[n for n in (1, 1, 2, 3, channels) if channels % n == 0])
    out = groups * g.pick(1, 2, 3)
    stride, dilation = ([g.pick(1, 1, 2, 3) for _ in range(rank)] for _ in range(2))
    padding = [g.pick(0, 1, 2) for _ in range(rank)]
    options = f"groups={groups}, bias={g.pick(True, False)}"
    if g.rng.random() < 0.3:
        dilation = [g.pick(1, 1, 2) for _ in range(rank)]
        more = [g.rng.randrange(max(s, d)) for s, d in zip(stride, dilation, strict=True)]
        m = g.new(
            "m",
            f"nn.ConvTranspose{rank}d({channels}, {out}, {kernel}, {stride}, {padding}, {more}, "
            f"dilation={dilation}, {options})",
        )
        return f"{m}({x})"
    if g.rng.random() < 0.15:
        stride, padding = 1, g.pick("'same'", "'valid'")
    elif g.rng.random() < 0.1:
        options += f", padding_mode='{g.pick('reflect', 'replicate', 'circular')}'"
    m = g.new(
        "m",
        f"nn.Conv{rank}d({channels}, {out}, {kernel}, {stride}, {padding}, {dilation}, {options})",
    )
    return f"{m}({x})"


def _pool(g: Generator) -> str:
    rank = g.pick(1, 2, 2, 3)
    x = g.of_rank(rank + 2, rank + 1)
    kernel = [g.pick(1, 2, 3) for _ in range(rank)]
    padding = [g.rng.randrange(k // 2 + 1) for k in kernel]
    stride = g.pick("None", [g.pick(1, 2, 3) for _ in range(rank)], 2)
    ceil = g.pick(True, False)
    sizes = [g.pick(1, 2, 3, 4, "None") for _ in range(rank)]
    sizes_text = f"({', '.join(map(str, sizes))},)"
    if rank == 1:
        kernel, padding, stride = kernel[0], padding[0], g.pick(1, 2, 3)
        sizes_text = g.pick("1", "2", "3")
    more = g.pick("", "", ", divisor_override=3") if rank > 1 else ""
    counted = g.pick(True, False)
    return g.pick(
        f"F.max_pool{rank}d({x}, {kernel}, {stride}, {padding}, {g.pick(1, 1, 2)}, {ceil})",
        f"F.avg_pool{rank}d({x}, {kernel}, {stride}, {padding}, {ceil}, {counted}{more})",
        f"F.adaptive_avg_pool{rank}d({x}, {sizes_text})",
        f"F.adaptive_max_pool{rank}d({x}, {sizes_text})",
        f"F.lp_pool{min(rank, 2)}d({x}, 2, {kernel})",
    )


def _normalized(g: Generator) -> str:
    x = g.of_rank(2, 3, 4, 5)
    shape = g.shape(x)
    rank = len(shape)
    channels = shape[1]
    affine = g.pick(True, False)
    dims = {2: 1, 3: 1, 4: 2, 5: 3}[rank]
    tail = shape[g.rng.randrange(1, rank) :]
    groups = g.pick(*[n for n in (1, 2, 3, channels) if channels % n == 0])
    layer = g.pick(
        f"batch_norm({dims}, {channels}, affine={affine})",
        f"nn.LayerNorm({tail}, elementwise_affine={affine}, bias={g.pick(True, False)})",
        f"nn.GroupNorm({groups}, {channels}, affine={affine})",
        f"nn.InstanceNorm{dims}d({channels}, affine={affine})",
        f"nn.RMSNorm({tail}, elementwise_affine={affine})",
        "nn.LocalResponseNorm(2)",
        f"nn.PReLU({g.pick(1, channels)})",
    )
    return f"{g.new('m', layer)}({x})"


def _softmax(g: Generator) -> str:
    x = g.floats()
    name = g.pick("softmax", "log_softmax", "softmin", "glu")
    return f"F.{name}({x}, dim={g.dim(x)})"


def _attention(g: Generator) -> str:
    q = g.of_rank(3, 4)
    shape = g.shape(q)
    length = g.pick(shape[-2], 1, 3)
    k = g.parameter([*shape[:-2], length, shape[-1]])
    v = g.parameter([*shape[:-2], length, g.pick(shape[-1], 2)])
    what = g.rng.randrange(6)
    more = ""
    if what == 0:
        more = ", is_causal=True"
    if what in (1, 2):
        size = [*(g.pick(one, 1) for one in shape[:-2]), shape[-2], length]
        size = size[g.rng.randrange(len(size) - 1) :]
        mask = g.new("p", f"normal({size}, 'float32')" + (" > -0.5" if what == 1 else ""))
        more = f", attn_mask={mask}"
    if what == 3:
        more = ", scale=0.3"
    if what == 4:
        m = g.new("m", f"nn.MultiheadAttention({shape[-1]}, 1, batch_first={g.pick(True, False)})")
        return f"{m}({q}, {q}, {q})[0]"
    return f"F.scaled_dot_product_attention({q}, {k}, {v}{more})"


def _scan(g: Generator) -> str:
    x = g.any(lambda x: x.ndim)
    dim = g.dim(x)
    values = g.scope[x].nan_to_num()  # the order of equal values is free, also that of NaNs
    if values.numel() > values.unique().numel():
        return f"{x}.{g.pick('cumsum', 'cumprod')}({dim})"
    return g.pick(
        f"{x}.cumsum({dim})",
        f"{x}.cumprod({dim})",
        f"{x}.sort({dim}, descending={g.pick(True, False)})",
        f"{x}.sort({dim}, descending={g.pick(True, False)}, stable=True)",
        f"{x}.argsort({dim})",
        f"{x}.topk({g.pick(1, 2, 3)}, {dim}, largest={g.pick(True, False)})",
        f"{x}.cummax({dim})",
        f"{x}.diff(dim={dim})",
        f"{x}.logcumsumexp({dim})",
        f"{x}.kthvalue(1, {dim})",
        f"{x}.median({dim})",
    )


def _linear(g: Generator) -> str:
    x = g.of_rank(1, 2, 3, 4)
    m = g.new("m", f"nn.Linear({g.shape(x)[-1]}, {g.pick(1, 3, 5)}, bias={g.pick(True, False)})")
    return f"{m}({x})"


def _product(g: Generator) -> str:
    a = g.of_rank(1, 2, 3, 4)
    shape = g.shape(a)
    inner = shape[-1]
    rank = g.pick(1, 2, len(shape), 3)
    other = [*([1] * 9 + shape[:-2])[-max(rank - 2, 0) :][: max(rank - 2, 0)], inner]
    if rank > 1:
        other.append(g.pick(1, 2, 4))
    b = g.parameter(other)
    if g.rng.random() < 0.2 and rank > 1 and len(shape) > 1:
        c = g.parameter(g.pick([other[-1]], [shape[-2], other[-1]], [1, other[-1]]))
        scales = g.pick("", ", beta=0.5", ", alpha=2", ", beta=2, alpha=0.5")
        name = {2: "addmm", 3: "baddbmm"}.get(len(shape), "addmm")
        return f"torch.{name}({c}, {a}, {b}{scales})"
    return g.pick(
        f"{a} @ {b}", f"torch.matmul({a}, {b})", f"{b}.mT @ {a}.mT", f"torch.mm({a}, {b})"
    )


def _einsum(g: Generator) -> str:
    x = g.of_rank(1, 2, 3, 4)
    shape = g.shape(x)
    letters = "abcd"[: len(shape)]
    other = g.rng.sample(letters, g.rng.randrange(1, len(letters) + 1))
    free = g.pick("", "e")
    sizes = [shape[letters.index(one)] for one in other] + [3] * len(free)
    used = [*letters, *free]
    kept = g.rng.sample(used, g.rng.randrange(len(used) + 1))
    y = g.parameter(sizes)
    arrow = "->" + "".join(kept) if g.rng.random() < 0.8 else ""
    return f"torch.einsum('{letters},{''.join(other)}{free}{arrow}', {x}, {y})"


def _in_place(g: Generator) -> str:
    x = g.any()
    if x[0] == "x":
        raise Unsuitable
    name = g.pick(*IN_PLACE)
    target = x
    if g.rng.random() < 0.4 and g.shape(x):
        extent = g.shape(x)[0]
        item = g.pick(f"{g.rng.randrange(extent)}", "1:", ":, 0", ":-1", "::2", "..., 0")
        if name in ("fill_", "copy_"):
            return f"={x}[{item}] = {_other(g, x)}"
        target = f"{x}[{item}]"
    arguments = ""
    if name in ("add_", "mul_", "sub_", "copy_"):
        arguments = _other(g, x)
    if name == "clamp_":
        arguments = f"{g.pick(-1, 0)}, {g.pick(0.5, 1)}"
    if name == "fill_":
        arguments = str(g.pick(0, 1.5))
    if name == "masked_fill_":
        arguments = f"{x} > 0.3, 0.5"
    if g.rng.random() < 0.15:
        return f"={x} {g.pick('+=', '*=', '-=')} {_other(g, x)}"
    return f"={target}.{name}({arguments})"


def _cast(g: Generator) -> str:
    x = g.any()
    return f"{x}." + g.pick(
        *("float()", "long()", "int()", "bool()", "to(torch.float32)", "double()", "float()"),
        *(f"type_as({g.any()})", "half()", "to(torch.int8)", "to(torch.uint8)", "float()"),
    )


def _image(g: Generator) -> str:
    x = g.of_rank(3, 4, 4)
    rank = len(g.shape(x))
    modes = ("nearest", "nearest-exact", "linear", "area")
    if rank == 4:
        modes = ("nearest", "nearest", "bilinear", "bilinear", "bicubic", "nearest-exact", "area")
    mode = g.pick(*modes)
    corners = (
        f", align_corners={g.pick(True, False)}" if "linear" in mode or mode == "bicubic" else ""
    )
    size = g.pick(
        f"scale_factor={g.pick(2, 1.5, 0.5, 3)}",
        f"size={[g.rng.randrange(1, 12) for _ in range(rank - 2)]}",
    )
    shape = g.shape(x)
    pads = [g.rng.randrange(3) for _ in range(2 * g.rng.randrange(1, 3))]
    choices = [
        f"F.interpolate({x}, {size}, mode='{mode}'{corners})",
        f"F.interpolate({x}, {size}, mode='{mode}'{corners})",
        f"F.pad({x}, {pads}, mode='{g.pick('reflect', 'replicate', 'circular')}')",
        f"F.pixel_shuffle({x}, 2)",
        f"F.pixel_unshuffle({x}, 2)",
        f"F.channel_shuffle({x}, 2)",
    ]
    if rank == 4:
        grid = g.parameter([shape[0], 3, 4, 2])
        choices += [
            f"F.unfold({x}, {g.pick(1, 2, 3)}, padding={g.pick(0, 1)}, stride={g.pick(1, 2)})",
            f"F.grid_sample({x}, {grid}, align_corners={g.pick(True, False)})",
        ]
    return g.rng.choice(choices)


def _pad(g: Generator) -> str:
    x = g.any(lambda x: x.ndim)
    count = g.rng.randrange(1, len(g.shape(x)) + 1)
    pads = [g.pick(0, 1, 2, 1, -1) for _ in range(2 * count)]
    return f"F.pad({x}, {pads}{g.pick('', ', value=0.5', ', value=2')})"


def _made(g: Generator) -> str:
    x = g.any()
    shape = g.shape(x)
    n = len(shape)
    size = f"{x}.shape[{g.rng.randrange(n)}]" if n else "3"
    dtype = g.pick("", ", dtype=torch.float32", ", dtype=torch.int64")
    return g.pick(
        f"torch.arange({size}{dtype})",
        f"torch.arange({g.pick(0, 1)}, {g.pick(5, 7.5)}, {g.pick(1, 2, 0.5)})",
        f"torch.full_like({x}, {g.pick(1, 0.5)})",
        f"torch.full(({size}, 2), {g.pick(1, 0.5, True)})",
        f"torch.ones({size}, 3{dtype})",
        f"torch.zeros({x}.shape)",
        f"{x}.new_ones({size}, 2)",
        f"{x}.new_full(({size},), 3)",
        f"torch.linspace(0, 1, {g.pick(2, 5)})",
        f"torch.eye({size})",
        f"{x} * {x}.shape[0]",
        f"{x}.reshape({x}.shape[0], -1)",
        f"{x}.reshape({x}.size(0), {x}.numel() // {x}.size(0))",
        f"{x}.view(*{x}.shape[:-1], 1, {x}.shape[-1])",
        f"{x} + torch.tensor({g.pick(1, 0.5, '[1.0]')})",
    )


def _loss(g: Generator) -> str:
    x = g.of_rank(2, 3)
    shape = g.shape(x)
    y = g.parameter(shape)
    reduction = g.pick("mean", "sum", "none")
    name = g.pick("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
    choices = [
        f"F.{name}({x}, {y}, reduction='{reduction}')",
        f"F.binary_cross_entropy_with_logits({x}, {y}.sigmoid(), reduction='{reduction}')",
        f"F.kl_div({x}.log_softmax(-1), {y}.softmax(-1), reduction='{reduction}')",
    ]
    target = g.indices([shape[0], *shape[2:]], shape[1])
    more = g.pick("", ", label_smoothing=0.1", ", ignore_index=0")
    choices.append(f"F.cross_entropy({x}, {target}, reduction='{reduction}'{more})")
    return g.rng.choice(choices)


def _recurrent(g: Generator) -> str:
    x = g.of_rank(3)
    if g.rng.random() < 0.6:
        raise Unsuitable
    size = g.shape(x)[-1]
    name = g.pick("LSTM", "GRU", "RNN")
    m = g.new("m", f"nn.{name}({size}, 3, batch_first={g.pick(True, False)})")
    return f"{m}({x})[0]"


MAKERS = [
    *[_unary] * 5,
    *[_binary] * 6,
    *[_view] * 5,
    *[_slice] * 3,
    *[_reduction] * 3,
    *[_joined] * 2,
    *[_convolution] * 3,
    *[_pool] * 3,
    *[_normalized] * 3,
    *[_where] * 2,
    *(_logical, _norm_function, _parts, _selected, _selected, _embedding, _compared, _clamp),
    *(_softmax, _attention, _scan, _scan, _linear, _product, _product, _einsum, _in_place),
    *(_in_place, _cast, _cast, _image, _image, _pad, _made, _made, _loss, _recurrent),
]
