"""Cases of kind "shapes": graphs of operators with symbolic sizes, called with sizes that do and do
not fit.

A case has lines of Python that are read twice: with the operators of graphs, and with numpy (or
small functions of it, which refuse what does not fit). Those of `given` make inputs,
`x0 = tensor(n, 4)`, the steps of its program values, `v0 = reshape(x0, (n * 2, 2))`; `calls` are
the sizes of each call, `n=3, m=4`. numpy's results are the answer, or an error where it has none.
"""

from __future__ import annotations

import random
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

import te_sched
from te_sched import nd, relax, tir
from te_sched.errors import InternalError, TeSchedError
from te_sched.relax import op as R
from tests.fuzz.case import Case
from tests.peer.differential.program import Program
from tests.tracebacks import place_of

# Reasons why a build may refuse a graph: the shape of a result is not known before a call.
ALLOWED = (
    "the shape of its result is not known",
    "the shape of the tensor is not known",
    "expected a tuple of numbers of known values",  # a slice of such a tensor
    "cannot broadcast",
    "of which sizes are known",
    "instead of",  # of collapse_sum
)
LARGEST = 1 << 16  # elements of a value that is run
NAMES = ("n", "m", "k", "p")
VALUE = re.compile(r"\b[xv]\d+\b")


class NotJudged(Exception):
    """Raised for values that are too large, and for the rest of a shape without elements."""


class Misfit(Exception):
    """Raised by the functions of numpy where sizes do not fit."""


# Whether numpy broadcast a size of 1 in a call, which graphs do with constants alone.
LENIENT: list[bool] = []
REST = object()  # the size that remains, which a size of a call is not


def _require(condition: bool) -> None:
    if not condition:
        raise Misfit


def _not_negative(shape: Sequence[int]) -> tuple[int, ...]:
    _require(all(one >= 0 for one in shape))
    return tuple(shape)


# numpy's side


def _np_reshape(x: Any, shape: Sequence[Any]) -> Any:
    known = _not_negative([one for one in shape if one is not REST])
    count = int(np.prod(known))
    _require(count > 0 or x.size == 0)
    if REST in shape and not count:
        raise NotJudged
    rest = x.size // max(count, 1)
    return x.reshape([rest if one is REST else one for one in shape])


def _np_slice(x: Any, axis: int, begin: int, end: int, step: int) -> Any:
    cuts = [slice(None)] * x.ndim
    cuts[axis] = slice(begin, end, step)
    return x[tuple(cuts)]


def _np_split(x: Any, places: Any, axis: int, number: int) -> Any:
    if isinstance(places, int):
        each = -(-x.shape[axis] // places)
        _require(x.shape[axis] >= each * (places - 1))
        places = [each * one for one in range(1, places)]
    return np.split(x, places, axis)[number]


def _np_conv(x: Any, w: Any, padding: int, stride: int) -> Any:
    x = np.pad(x, ((0, 0), (0, 0), (padding, padding)))
    _require(x.shape[1] == w.shape[1] and x.shape[2] >= w.shape[2])
    windows = sliding_window_view(x, w.shape[2], 2)[:, :, ::stride]
    return np.einsum("nctk,ock->not", windows, w)


def _np_pool(x: Any, size: int, stride: int) -> Any:
    _require(x.shape[2] >= size)
    return sliding_window_view(x, size, 2)[:, :, ::stride].max(-1)


def _np_attention(q: Any, k: Any, v: Any) -> Any:
    _require(q.shape[0] == k.shape[0] == v.shape[0] and k.shape[1] == v.shape[1])
    _require(q.shape[2:] == k.shape[2:] and q.shape[2] == v.shape[2])
    scores = np.einsum("bshd,bthd->bhst", q, k) / np.sqrt(q.shape[3])
    weights = np.exp(scores - scores.max(-1, keepdims=True, initial=-np.inf))
    return np.einsum("bhst,bthd->bshd", weights / weights.sum(-1, keepdims=True), v)


def _np_topk(x: Any, count: int) -> Any:
    _require(x.shape[-1] >= count)
    return -np.sort(-x, axis=-1)[..., :count]


def _np_cast(x: Any, shape: Sequence[int]) -> Any:
    _require(x.shape == tuple(shape))
    return x


def _np_group_norm(x: Any, weight: Any, groups: int) -> Any:
    _require(x.shape[1] % groups == 0 and weight.shape == x.shape[1:2])
    parts = x.reshape(x.shape[0], groups, x.shape[1] // groups * x.shape[2])
    centered = parts - parts.mean(-1, keepdims=True)
    spread = np.sqrt((centered**2).mean(-1, keepdims=True) + 1e-5)
    return (centered / spread).reshape(x.shape) * weight[:, None] + weight[:, None]


def _np_pair(function: Any) -> Callable[[Any, Any], Any]:
    def apply(a: Any, b: Any) -> Any:
        LENIENT.append(a.shape != b.shape)
        return function(a, b)

    return apply


def _np_broadcast(x: Any, shape: Sequence[int]) -> Any:
    LENIENT.append(x.shape != tuple(shape)[len(shape) - x.ndim :])
    return np.broadcast_to(x, _not_negative(shape))


def _np_einsum(text: str, *operands: Any) -> Any:
    sizes: dict[str, int] = {}
    for letters, one in zip(text.split("->")[0].split(","), operands, strict=True):
        for letter, size in zip(letters, one.shape, strict=True):
            known = sizes.setdefault(letter, size)
            LENIENT.append(known != size)
            _require(known == size or 1 in (known, size))
            sizes[letter] = max(known, size) if known and size else 0
    return np.einsum(text, *operands)


def _np_gather(x: Any, w: Any) -> Any:
    _require(x.shape[1:] == w.shape[1:])
    return np.take_along_axis(x, np.zeros(w.shape, "int64"), 0)


NUMPY: dict[str, Any] = {
    "tanh": np.tanh,
    "negative": np.negative,
    "add": _np_pair(np.add),
    "multiply": _np_pair(np.multiply),
    "REST": REST,
    "reshape": _np_reshape,
    "matmul": np.matmul,
    "einsum": _np_einsum,
    "concat": lambda a, b, axis: np.concatenate([a, b], axis),
    "permute": np.transpose,
    "expand": np.expand_dims,
    "squeeze": lambda x, axis: np.squeeze(x, axis),
    "flatten": lambda x: x.reshape(-1),
    "tile": np.tile,
    "repeat": np.repeat,
    "broadcast": _np_broadcast,
    "cut": _np_slice,
    "split": _np_split,
    "take": lambda x, at, axis: np.take(x, [at], axis),
    "zeros": lambda shape: np.zeros(_not_negative(shape), "float32"),
    "total": lambda x, axis: x.sum(axis),
    "running": lambda x, axis: x.cumsum(axis),
    "conv": _np_conv,
    "pool": _np_pool,
    "attention": _np_attention,
    "topk": _np_topk,
    "cast": _np_cast,
    "norm": _np_group_norm,
    "gather": _np_gather,
    "flip": lambda x, axis: np.flip(x, axis),
}


# The graph's side


def _graph_words(builder: relax.BlockBuilder) -> dict[str, Any]:
    def emitted(make: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *args: builder.emit(make(*args))

    def cast(x: Any, shape: Any) -> Any:
        return builder.match_cast(x, relax.TensorStructInfo(list(shape), "float32"))

    def bound(value: Any) -> Any:
        return relax.PrimValue(value)

    def split(x: Any, places: Any, axis: int, number: int) -> Any:
        return relax.TupleGetItem(builder.emit(R.split(x, places, axis)), number)

    def gather(x: Any, w: Any) -> Any:
        places = builder.emit(R.zeros(w.struct_info.shape, "int64"))
        return R.gather_elements(x, places, 0)

    def norm(x: Any, weight: Any, groups: int) -> Any:
        return R.nn.group_norm(x, weight, weight, groups, 1, [2])

    words = {
        "tanh": R.tanh,
        "negative": R.negative,
        "add": R.add,
        "multiply": R.multiply,
        "reshape": lambda x, shape: R.reshape(x, [-1 if one is REST else one for one in shape]),
        "matmul": R.matmul,
        "einsum": lambda text, *operands: R.einsum(operands, text),
        "concat": lambda a, b, axis: R.concat((a, b), axis),
        "permute": R.permute_dims,
        "expand": lambda x, axis: R.expand_dims(x, [axis]),
        "squeeze": lambda x, axis: R.squeeze(x, [axis]),
        "flatten": R.flatten,
        "tile": R.tile,
        "repeat": R.repeat,
        "broadcast": R.broadcast_to,
        "cut": lambda x, axis, begin, end, step: R.strided_slice(
            x, [axis], [bound(begin)], [bound(end)], [step]
        ),
        "split": split,
        "take": lambda x, at, axis: R.take(x, relax.const([at], "int64"), axis),
        "zeros": lambda shape: R.zeros(relax.ShapeExpr(list(shape)), "float32"),
        "total": lambda x, axis: R.sum(x, [axis]),
        "running": R.cumsum,
        "conv": lambda x, w, padding, stride: R.nn.conv1d(x, w, stride, padding),
        "pool": lambda x, size, stride: R.nn.max_pool1d(x, size, stride),
        "attention": lambda q, k, v: R.nn.attention(q, k, v),
        "topk": lambda x, count: R.topk(x, count, -1, "values"),
        "norm": norm,
        "gather": gather,
        "flip": R.flip,
    }
    return {**{name: emitted(make) for name, make in words.items()}, "cast": cast, "REST": REST}


# Drawing


class _Generator:
    """Draws lines that fit for the first sizes; their texts say how shapes depend on sizes."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.sizes = {name: rng.choice((1, 2, 2, 3, 3, 4, 5, 6)) for name in NAMES}
        self.given: list[str] = []
        self.steps: list[str] = []
        self.values: dict[str, Any] = {}
        self.defined: list[str] = []
        self.scope = {**NUMPY, **self.sizes}

    def size(self, value: int) -> str:
        """A text for a size, with the value that it has now."""
        rng, texts = self.rng, [str(value)]
        for name in self.defined:
            now = self.sizes[name]
            texts += [name] * 3 if now == value else []
            texts += [f"{name} + {value - now}"] if value > now else []
            texts += [f"{name} - {now - value}"] if value < now else []
            texts += [f"{name} * {value // now}"] if value % now == 0 and value else []
            texts += [f"{name} // {now // value}"] if value and now % value == 0 else []
        return rng.choice(texts)

    def input(self, shape: Sequence[int]) -> str:
        """A new input of a shape, in which sizes are numbers or variables."""
        texts = []
        for one in shape:
            alike = [name for name in NAMES if self.sizes[name] == one]
            texts.append(self.rng.choice([*alike, *alike, str(one)]))
        self.defined += [one for one in texts if one in NAMES and one not in self.defined]
        name = f"x{len(self.given)}"
        self.given.append(f"{name} = tensor({', '.join(texts)})")
        self.values[name] = np.zeros(shape, "float32")
        return name

    def any(self, *ranks: int) -> str:
        """A value of some rank: a new input if there is none."""
        names = [one for one, value in self.values.items() if value.ndim in ranks]
        if not names or self.rng.random() < 0.15:
            rank = self.rng.choice(ranks)
            return self.input(
                [self.rng.choice([*self.sizes.values(), 1, 2, 4]) for _ in range(rank)]
            )
        return names[max(self.rng.randrange(len(names)), self.rng.randrange(len(names)))]

    def like(self, shape: Sequence[int]) -> str:
        """A value of a shape, perhaps of other variables."""
        names = [one for one, value in self.values.items() if value.shape == tuple(shape)]
        return self.rng.choice(names) if names and self.rng.random() < 0.6 else self.input(shape)

    def shape(self, sizes: Sequence[int]) -> str:
        """The text of a shape."""
        texts = [self.size(one) for one in sizes]
        return f"({', '.join(texts)},)"

    def line(self) -> None:
        """Draw a line; it stays if numpy runs it."""
        name = f"v{len(self.steps)}"
        try:
            text = getattr(self, f"_{self.rng.choice(MAKERS)}")()
            with np.errstate(all="ignore"):
                found = np.asarray(eval(text, dict(self.scope), dict(self.values)))
        except (Misfit, NotJudged, ValueError, IndexError, ZeroDivisionError):
            return
        if found.size <= 512:
            self.steps.append(f"{name} = {text}")
            self.values[name] = found

    def axis(self, x: str) -> int:
        return self.rng.randrange(self.values[x].ndim)

    def factors(self, count: int, parts: int) -> list[int]:
        """Numbers of which the product is a count."""
        found = []
        for _ in range(parts - 1):
            divisors = [one for one in range(1, count + 1) if count % one == 0] or [1]
            found.append(self.rng.choice(divisors))
            count //= found[-1]
        return [*found, count]

    def _unary(self) -> str:
        return f"{self.rng.choice(('tanh', 'negative'))}({self.any(1, 2, 3)})"

    def _binary(self) -> str:
        x = self.any(1, 2, 3)
        return f"{self.rng.choice(('add', 'multiply'))}({x}, {self.like(self.values[x].shape)})"

    def _reshape(self) -> str:
        x = self.any(1, 2, 3)
        sizes = self.factors(self.values[x].size, self.rng.choice((1, 2, 2, 3)))
        texts = [self.size(one) for one in sizes]
        if "0" in texts:  # which means the size of the tensor
            raise Misfit
        if self.rng.random() < 0.3:
            texts[self.rng.randrange(len(texts))] = "REST"
        return f"reshape({x}, ({', '.join(texts)},))"

    def _matmul(self) -> str:
        x = self.any(1, 2, 3)
        inner = self.values[x].shape[-1]
        return f"matmul({x}, {self.like((inner, self.rng.choice((1, 3, 4))))})"

    def _einsum(self) -> str:
        text = self.rng.choice(("ij,jk->ik", "ij,ij->i", "ij,kj->ki", "i,i->", "ij,j->"))
        left, right = text.split("->")[0].split(",")
        x = self.any(len(left))
        sizes = dict(zip(left, self.values[x].shape, strict=True))
        other = [sizes.get(one, self.rng.choice((1, 2, 3))) for one in right]
        return f'einsum("{text}", {x}, {self.like(other)})'

    def _concat(self) -> str:
        x = self.any(1, 2, 3)
        axis, shape = self.axis(x), list(self.values[x].shape)
        shape[axis] = self.rng.choice((1, 2, 3, shape[axis]))
        return f"concat({x}, {self.like(shape)}, {axis})"

    def _move(self) -> str:
        x = self.any(1, 2, 3)
        rank = self.values[x].ndim
        order = self.rng.sample(range(rank), rank)
        kinds = [f"permute({x}, {order})", f"expand({x}, {self.rng.randrange(rank + 1)})"]
        kinds += [f"flatten({x})", f"flip({x}, {self.axis(x)})"]
        kinds += [f"squeeze({x}, {at})" for at, one in enumerate(self.values[x].shape) if one == 1]
        return self.rng.choice(kinds)

    def _more(self) -> str:
        x = self.any(1, 2)
        rank = self.values[x].ndim
        return self.rng.choice(
            [
                f"tile({x}, {[self.rng.choice((1, 2)) for _ in range(rank)]})",
                f"repeat({x}, {self.rng.choice((1, 2, 3))}, {self.axis(x)})",
                f"running({x}, {self.axis(x)})",
                f"total({x}, {self.axis(x)})",
            ]
        )

    def _broadcast(self) -> str:
        x = self.any(1, 2)
        more = [self.rng.choice((1, 2, 3)) for _ in range(self.rng.choice((0, 1, 1)))]
        return f"broadcast({x}, {self.shape([*more, *self.values[x].shape])})"

    def _cut(self) -> str:
        x, rng = self.any(1, 2, 3), self.rng
        axis = self.axis(x)
        size = self.values[x].shape[axis]
        bounds = [self.size(rng.randint(0, size + 1)) for _ in range(2)]
        if rng.random() < 0.3:
            bounds[rng.randrange(2)] = str(-rng.randint(1, 3))
        return f"cut({x}, {axis}, {', '.join(bounds)}, {rng.choice((1, 1, 1, 2, -1, -2))})"

    def _split(self) -> str:
        x, rng = self.any(1, 2, 3), self.rng
        parts: Any = rng.choice((2, 2, 3))
        if rng.random() < 0.5:
            parts = sorted(rng.sample(range(1, 6), 2))
        count = parts if isinstance(parts, int) else 3
        return f"split({x}, {parts}, {self.axis(x)}, {rng.randrange(count)})"

    def _take(self) -> str:
        x = self.any(1, 2, 3)
        axis = self.axis(x)
        size = self.values[x].shape[axis]
        return f"take({x}, {self.rng.randrange(max(size, 1))}, {axis})"

    def _zeros(self) -> str:
        sizes = [self.rng.choice((0, 1, 2, 3, 4)) for _ in range(self.rng.choice((1, 2)))]
        return f"zeros({self.shape(sizes)})"

    def _layer(self) -> str:
        rng, x = self.rng, self.any(3)
        channels, length = self.values[x].shape[1:]
        size = rng.randint(1, max(length, 1))
        groups = rng.choice([one for one in range(1, channels + 1) if channels % one == 0] or [1])
        return rng.choice(
            [
                f"conv({x}, {self.like((2, channels, size))}, {rng.choice((0, 1))}, "
                f"{rng.choice((1, 2))})",
                f"pool({x}, {size}, {rng.choice((1, 2))})",
                f"norm({x}, {self.like((channels,))}, {groups})",
                f"gather({x}, {self.like((rng.choice((1, 2)), channels, length))})",
            ]
        )

    def _attention(self) -> str:
        batch, heads, depth, steps, keys = [self.rng.choice((1, 2, 3)) for _ in range(5)]
        q = self.input((batch, steps, heads, depth))
        others = [self.input((batch, keys, heads, depth)) for _ in range(2)]
        return f"attention({q}, {', '.join(others)})"

    def _topk(self) -> str:
        x = self.any(1, 2)
        return f"topk({x}, {self.rng.randint(1, max(self.values[x].shape[-1], 1))})"

    def _cast(self) -> str:
        x = self.any(1, 2, 3)
        return f"cast({x}, {self.shape(self.values[x].shape)})"


MAKERS = (
    *("unary", "binary", "reshape", "reshape", "reshape", "matmul", "matmul", "einsum", "concat"),
    *("move", "more", "broadcast", "cut", "cut", "split", "take", "zeros", "layer", "layer"),
    *("attention", "topk", "cast", "cast"),
)


def generate(rng: random.Random, number: int) -> Case:
    """A case of one to six operators, and four calls."""
    drawn = _Generator(rng)
    for _ in range(rng.choice((1, 2))):
        drawn.any(rng.choice((1, 2, 3)))
    wanted = rng.choice((1, 1, 2, 3, 4, 6))
    while len(drawn.steps) < wanted:
        drawn.line()
    used = {name for line in drawn.steps for name in VALUE.findall(line.partition(" = ")[2])}
    made = [line.partition(" = ")[0] for line in drawn.steps]
    outputs = [name for name in made if name not in used][-4:]
    calls = [dict(drawn.sizes)]
    for _ in range(3):
        other = dict(drawn.sizes)
        for name in rng.sample(NAMES, rng.choice((1, 1, 2, 4))):
            other[name] = rng.choice((0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 12))
        calls.append(other)
    texts = [", ".join(f"{name}={size}" for name, size in one.items()) for one in calls]
    program = Program(number, (), tuple(outputs), tuple(drawn.steps))
    return Case("shapes", program, tuple(drawn.given), tuple(texts))


# Judging


def problem(case: Case) -> tuple[str, str, str]:
    """The outcome of a case, the common part of such findings, and what is wrong."""
    machine: Any = None
    outcomes = []
    for call in case.calls:
        sizes = eval(f"dict({call})")
        try:
            arrays, wanted = _expected(case, sizes)
        except NotJudged:
            continue
        try:
            if machine is None:
                machine = relax.VirtualMachine(relax.build(_module(case), "llvm"), te_sched.cpu())
            found = machine["main"](*[nd.array(one) for one in arrays])
            found = [one.numpy() for one in (found if isinstance(found, list | tuple) else [found])]
        except InternalError as error:
            return "error", f"InternalError: {error.fault}", f"{call}\n{error}"
        except TeSchedError as error:
            if machine is None and any(one in str(error) for one in ALLOWED):
                return "refused", "", ""
            if wanted is not None and not any(LENIENT):
                return "needless", VALUE.sub("v", error.fault), f"{call}\n{error}"
            if machine is None:  # also refused where no sizes fit
                return "refused", "", ""
            outcomes.append("refused")
            continue
        except Exception as error:
            return "error", f"{type(error).__name__} at {place_of(error)}", f"{call}\n{error}"
        if wanted is None:
            return (
                "accepted",
                "accepted: sizes do not fit",
                f"{call}\n{[one.shape for one in found]}",
            )
        what = _difference(found, wanted)
        if what:
            return "wrong", "wrong", f"{call}\n{what}"
        outcomes.append("right")
    return (outcomes[0] if outcomes else "not judged"), "", ""


def _expected(case: Case, sizes: dict[str, int]) -> tuple[list[Any], list[Any] | None]:
    """The arrays of a call and numpy's results; None where the sizes do not fit."""
    rng = np.random.default_rng(0)
    scope: dict[str, Any] = {**NUMPY, **sizes}
    scope["tensor"] = lambda *shape: rng.integers(-2, 3, shape).astype("float32")
    for line in case.given:
        exec(line, scope)
    arrays = [scope[line.partition(" = ")[0]] for line in case.given]
    LENIENT.clear()
    try:
        for line in case.program.steps:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                exec(line, scope)
            if np.size(scope[line.partition(" = ")[0]]) > LARGEST:
                raise NotJudged
    except (Misfit, ValueError, IndexError, ZeroDivisionError):
        return arrays, None
    return arrays, [np.asarray(scope[name]) for name in case.program.outputs]


def _module(case: Case) -> te_sched.IRModule:
    builder = relax.BlockBuilder()
    scope: dict[str, Any] = {name: tir.Var(name, "int64") for name in NAMES}
    scope |= _graph_words(builder)
    scope["tensor"] = lambda *shape: relax.TensorStructInfo(list(shape), "float32")
    for line in case.given:
        exec(line, scope)
    for line in case.given:
        name = line.partition(" = ")[0]
        scope[name] = relax.Var(name, scope[name])
    with builder.function("main", [scope[line.partition(" = ")[0]] for line in case.given]):
        for line in case.program.steps:
            exec(line, scope)
        results = [scope[name] for name in case.program.outputs]
        builder.emit_func_output(results[0] if len(results) == 1 else relax.Tuple(tuple(results)))
    return builder.get()


def _difference(found: list[Any], wanted: list[Any]) -> str:
    for place, (one, right) in enumerate(zip(found, wanted, strict=True)):
        if one.shape != right.shape:
            return f"result {place} is {list(one.shape)} instead of {list(right.shape)}"
        if not np.allclose(one, right, 1e-3, 1e-3, equal_nan=True):
            return f"result {place} is {one} instead of {right}"[:400]
    return ""


# Smaller cases and scripts


def smaller(case: Case) -> Iterator[Case]:
    """The case with one call, one of its values as the only result, or without an input."""
    if len(case.calls) > 1:
        for call in case.calls:
            yield replace(case, calls=(call,))
    for line in case.program.steps:
        name = line.partition(" = ")[0]
        if (name,) != case.program.outputs:
            yield _pruned(replace(case, program=replace(case.program, outputs=(name,))))


def _pruned(case: Case) -> Case:
    """The case without lines that its results do not need."""
    needed, kept = set(case.program.outputs), []
    for line in reversed(case.program.steps):
        if line.partition(" = ")[0] in needed:
            kept.append(line)
            needed |= set(VALUE.findall(line))
    variables = {word for line in kept for word in re.findall(r"\b[a-z]\b", line)}
    given = [
        line
        for line in case.given
        if line.partition(" = ")[0] in needed or variables & set(re.findall(r"\b[a-z]\b", line))
    ]
    program = replace(case.program, steps=tuple(kept[::-1]))
    return replace(case, given=tuple(given), program=program)


def script(case: Case) -> list[str]:
    """The lines of a script that reproduces a case."""
    return [
        "from tests.fuzz.case import Case  # run it in the repository",
        "from tests.fuzz.shapes import problem",
        "from tests.peer.differential.program import Program",
        "",
        *[f"# {line}" for line in (*case.given, *case.program.steps, *case.calls)],
        f"print(problem({case!r}))",
    ]
