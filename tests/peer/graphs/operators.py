"""Random calls of operators, each with what numpy computes.

Each function adds a binding to a `Writer`, or returns None where the values at hand do not fit.
"""

from __future__ import annotations

from collections.abc import Callable
from math import erf, prod
from typing import Any

import numpy as np

from tests.peer.graphs.sources import (
    FLOATS,
    INTS,
    Size,
    Value,
    Writer,
    info_text,
    number,
    numbers,
    tuple_text,
)

Rule = Callable[[Writer], "Value | None"]
_erf = np.vectorize(erf, otypes=[float])


def _wide(array: Any) -> Any:
    """An array for computations: half floats in single precision."""
    return array.astype("float32") if array.dtype == np.float16 else array


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


UNARY: dict[str, Callable[[Any], Any]] = {
    "exp": np.exp,
    "tanh": np.tanh,
    "sigmoid": _sigmoid,
    "sin": np.sin,
    "cos": np.cos,
    "atan": np.arctan,
    "asinh": np.arcsinh,
    "erf": _erf,
    "nn.gelu": lambda x: x * 0.5 * (1 + _erf(x / np.sqrt(2))),
    "nn.gelu_tanh": lambda x: (
        x * 0.5 * (1 + np.tanh(np.sqrt(2 / np.pi) * x * (1 + 0.044715 * x * x)))
    ),
    "nn.silu": lambda x: x * _sigmoid(x),
}
EXACT_UNARY: dict[str, Callable[[Any], Any]] = {
    "negative": np.negative,
    "abs": np.abs,
    "square": np.square,
    "nn.relu": lambda x: np.maximum(x, 0),
}
STEPS: dict[str, Callable[[Any], Any]] = {
    "ceil": np.ceil,
    "floor": np.floor,
    "sign": np.sign,
}


def unary(w: Writer) -> Value | None:
    """A function of each element of floats."""
    x = w.some(lambda one: one.is_float)
    if x is None:
        return None
    table = w.rng.choice([UNARY, EXACT_UNARY] + [STEPS] * x.exact)
    name = w.rng.choice(list(table))
    exact = x.exact and table is not UNARY
    return w.bind(
        f"R.{name}({x.name})", x.shape, x.dtype, lambda env: table[name](_wide(env[x.name])), exact
    )


def positive_unary(w: Writer) -> Value | None:
    """A root or logarithm of what is positive."""
    x = w.some(lambda one: one.is_float)
    if x is None:
        return None
    text, array = w.scalar(x.dtype)
    square = w.bind(
        f"R.square({x.name})", x.shape, x.dtype, lambda e: _wide(e[x.name]) ** 2, x.exact
    )
    more = w.bind(
        f"R.add({square.name}, {text})",
        x.shape,
        x.dtype,
        lambda e: _wide(e[square.name]) + array,
        x.exact,
    )
    name = w.rng.choice(["sqrt", "rsqrt", "log"])
    run = {"sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x), "log": np.log}[name]
    return w.bind(
        f"R.{name}({more.name})", x.shape, x.dtype, lambda e: run(_wide(e[more.name])), False
    )


def clip(w: Writer) -> Value | None:
    """Elements between two numbers."""
    x = w.some(lambda one: one.dtype != "bool")
    if x is None:
        return None
    if w.rng.random() < 0.3 and x.is_float:
        return w.bind(
            f"R.nn.leakyrelu({x.name}, 0.125)",
            x.shape,
            x.dtype,
            lambda e: np.where(e[x.name] < 0, e[x.name] * 0.125, e[x.name]),
            x.exact,
        )
    low = w.rng.choice([0, 1] if x.dtype.startswith("u") else [-2, 0])
    high = w.rng.choice([2, 3])
    return w.bind(
        f"R.clip({x.name}, {low}, {high})",
        x.shape,
        x.dtype,
        lambda e: np.clip(e[x.name], low, high),
        x.exact,
    )


def integer_unary(w: Writer) -> Value | None:
    """A function of each element of integers or conditions."""
    x = w.some(lambda one: not one.is_float)
    if x is None:
        return None
    if x.dtype == "bool":
        return w.bind(
            f"R.logical_not({x.name})", x.shape, "bool", lambda e: np.logical_not(e[x.name])
        )
    names = ["bitwise_not", "abs", "negative"]
    name = "bitwise_not" if x.dtype.startswith("u") else w.rng.choice(names)
    run = {"bitwise_not": np.invert, "abs": np.abs, "negative": np.negative}[name]
    return w.bind(f"R.{name}({x.name})", x.shape, x.dtype, lambda e: run(e[x.name]))


BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "maximum": np.maximum,
    "minimum": np.minimum,
}
COMPARED: dict[str, Callable[[Any, Any], Any]] = {
    "less": np.less,
    "less_equal": np.less_equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
    "equal": np.equal,
    "not_equal": np.not_equal,
}
LOGICAL: dict[str, Callable[[Any, Any], Any]] = {
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
}
BITWISE: dict[str, Callable[[Any, Any], Any]] = {
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
}
DIVIDING: dict[str, Callable[[Any, Any], Any]] = {
    "floor_divide": np.floor_divide,
    "floor_mod": np.mod,
    "mod": np.fmod,
    "left_shift": np.left_shift,
    "right_shift": np.right_shift,
}


def broadcast(one: tuple[Size, ...], other: tuple[Size, ...]) -> tuple[Size, ...] | None:
    """The shape of two tensors together, or None."""
    length = max(len(one), len(other))
    sizes: list[Size] = []
    both = [(1,) * (length - len(shape)) + shape for shape in (one, other)]
    for a, b in zip(*both, strict=True):
        if a != b and 1 not in (a, b):
            return None
        sizes.append(b if a == 1 else a)
    return tuple(sizes)


def binary(w: Writer) -> Value | None:
    """A function of pairs of elements, with broadcasting."""
    x = w.some(lambda one: True)
    if x is None:
        return None
    if x.dtype == "bool":
        table = LOGICAL
    elif x.is_float:
        table = w.rng.choice([BINARY, BINARY, COMPARED])
    else:
        table = w.rng.choice([BINARY, COMPARED, BITWISE])
    y = w.some(lambda one: one.dtype == x.dtype and broadcast(x.shape, one.shape) is not None)
    if y is None or w.rng.random() < 0.3:
        y = w.like(x)
    if table is COMPARED and not (x.exact and y.exact):
        table = BINARY
    name = w.rng.choice(list(table))
    shape = broadcast(x.shape, y.shape)
    assert shape is not None
    dtype = "bool" if table in (COMPARED, LOGICAL) else x.dtype
    if w.rng.random() < 0.5:
        x, y = y, x
    return w.bind(
        f"R.{name}({x.name}, {y.name})",
        shape,
        dtype,
        lambda e: table[name](_wide(e[x.name]), _wide(e[y.name])),
        x.exact and y.exact,
    )


def with_number(w: Writer) -> Value | None:
    """An operation of a tensor and a number."""
    x = w.some(lambda one: one.dtype != "bool")
    if x is None:
        return None
    text, array = w.scalar(x.dtype)
    table = BINARY if x.is_float or w.rng.random() < 0.5 else DIVIDING
    name = w.rng.choice(list(table) + ["divide"] * x.is_float + ["power"] * x.is_float)
    exact = x.exact and name not in ("divide", "power")
    if name == "power":
        text, array = f'R.const(2, "{x.dtype}")', np.asarray(2, x.dtype)
    run = {**table, "divide": np.divide, "power": np.power}[name]
    return w.bind(
        f"R.{name}({x.name}, {text})",
        x.shape,
        x.dtype,
        lambda e: run(_wide(e[x.name]), _wide(array)),
        exact,
    )


def where(w: Writer) -> Value | None:
    """A choice between elements."""
    c = w.some(lambda one: one.dtype == "bool")
    x = c and w.some(lambda one: broadcast(c.shape, one.shape) is not None)
    if c is None or x is None:
        return None
    y = w.like(x)
    shape = broadcast(c.shape, x.shape)
    return w.bind(
        f"R.where({c.name}, {x.name}, {y.name})",
        shape,
        x.dtype,
        lambda e: np.where(e[c.name], e[x.name], e[y.name]),
        x.exact and y.exact,
    )


def astype(w: Writer) -> Value | None:
    """Elements of another type."""
    x = w.some(lambda one: one.exact or one.is_float)
    if x is None:
        return None
    wanted = [*FLOATS, "int32", "int64"] if x.exact else list(FLOATS)
    dtype = w.rng.choice(wanted)
    return w.bind(
        f'R.astype({x.name}, "{dtype}")', x.shape, dtype, lambda e: e[x.name].astype(dtype), x.exact
    )


def permute(w: Writer) -> Value | None:
    """Dimensions in another order."""
    x = w.some(lambda one: len(one.shape) > 1)
    if x is None:
        return None
    axes = w.rng.sample(range(len(x.shape)), len(x.shape))
    if w.rng.random() < 0.3:
        axes = list(range(len(x.shape)))[::-1]
        text = f"R.permute_dims({x.name})"
    else:
        text = f"R.permute_dims({x.name}, axes={axes})"
    shape = [x.shape[axis] for axis in axes]
    return w.bind(text, shape, x.dtype, lambda e: np.transpose(e[x.name], axes), x.exact)


def reshape(w: Writer) -> Value | None:
    """The same elements in another shape."""
    x = w.some(lambda one: len(one.shape) > 0)
    if x is None:
        return None
    shape: list[Size] = list(x.shape)
    kind = w.rng.random()
    if kind < 0.3 and x.is_static:
        size = prod(x.shape)  # type: ignore[arg-type]
        divisors = [one for one in (1, 2, 3, 4, 6, 8) if size % one == 0]
        first = w.rng.choice(divisors)
        shape = [first, size // first]
    elif kind < 0.6 and x.is_static:
        shape = [prod(x.shape)]  # type: ignore[arg-type]
        if w.rng.random() < 0.5:
            return w.bind(
                f"R.flatten({x.name})", shape, x.dtype, lambda e: e[x.name].reshape(-1), x.exact
            )
    elif len(shape) > 1 and all(isinstance(one, int) for one in shape[1:]):
        size = prod(shape[1:])  # type: ignore[arg-type]
        shape = [shape[0], size]
    else:
        shape.insert(w.rng.randint(0, len(shape)), 1)
    target = numbers(shape)
    written = list(shape)
    if w.rng.random() < 0.2 and all(isinstance(one, int) for one in shape):
        written[-1] = -1
    text = f"R.reshape({x.name}, R.shape([{', '.join(map(str, written))}]))"
    if -1 in written:
        text = f"R.reshape({x.name}, {tuple_text(written)})"
    return w.bind(text, shape, x.dtype, lambda e: e[x.name].reshape(target), x.exact)


def expand(w: Writer) -> Value | None:
    """More, or fewer dimensions of size 1."""
    x = w.some(lambda one: len(one.shape) < 4)
    if x is None:
        return None
    if 1 in x.shape and w.rng.random() < 0.6:
        axis = x.shape.index(1)
        shape = x.shape[:axis] + x.shape[axis + 1 :]
        return w.bind(
            f"R.squeeze({x.name}, axis=[{axis}])",
            shape,
            x.dtype,
            lambda e: np.squeeze(e[x.name], axis),
            x.exact,
        )
    axis = w.rng.randint(0, len(x.shape))
    shape = (*x.shape[:axis], 1, *x.shape[axis:])
    return w.bind(
        f"R.expand_dims({x.name}, axis=[{axis}])",
        shape,
        x.dtype,
        lambda e: np.expand_dims(e[x.name], axis),
        x.exact,
    )


def concat(w: Writer) -> Value | None:
    """Tensors behind one another."""
    x = w.some(lambda one: len(one.shape) > 0 and one.dtype != "bool")
    if x is None:
        return None
    y = w.like(x)
    axes = [axis for axis, size in enumerate(x.shape) if isinstance(size, int)]
    if not axes:
        return None
    axis = w.rng.choice(axes)
    shape = list(x.shape)
    shape[axis] = 2 * x.shape[axis]  # type: ignore[operator]
    if number(shape[axis]) > 32:
        return None
    return w.bind(
        f"R.concat(({x.name}, {y.name}), axis={axis})",
        shape,
        x.dtype,
        lambda e: np.concatenate([e[x.name], e[y.name]], axis),
        x.exact and y.exact,
    )


def split(w: Writer) -> Value | None:
    """Parts of a tensor, as a tuple."""
    x = w.some(lambda one: any(isinstance(s, int) and s % 2 == 0 for s in one.shape))
    if x is None:
        return None
    axis = w.rng.choice([k for k, s in enumerate(x.shape) if isinstance(s, int) and s % 2 == 0])
    size = x.shape[axis]
    assert isinstance(size, int)
    if w.rng.random() < 0.6:
        places: Any = 2
        sizes = [size // 2] * 2
    else:
        at = w.rng.randint(1, size - 1)
        places, sizes = [at], [at, size - at]
    fields = []
    for one in sizes:
        shape = (*x.shape[:axis], one, *x.shape[axis + 1 :])
        fields.append(Value("", shape, x.dtype, x.exact))
    found = w.bind(
        f"R.split({x.name}, indices_or_sections={places}, axis={axis})",
        (),
        "",
        lambda e: tuple(np.split(e[x.name], places, axis)),
        x.exact,
        tuple(fields),
    )
    return item(w, found)


def item(w: Writer, of: Value | None = None) -> Value | None:
    """A field of a tuple."""
    tuples = [one for one in w.values if one.fields]
    of = of or (w.rng.choice(tuples) if tuples else None)
    if of is None or of.fields is None:
        return None
    places = [k for k, one in enumerate(of.fields)]
    place = w.rng.choice(places)
    one = of.fields[place]
    return w.bind(
        f"{of.name}[{place}]",
        one.shape,
        one.dtype,
        lambda e: e[of.name][place],
        one.exact,
        one.fields,
    )


def make_tuple(w: Writer) -> Value | None:
    """A tuple of values."""
    if len(w.values) < 2:
        return None
    fields = tuple(w.rng.choice(w.values[-6:]) for _ in range(w.rng.randint(1, 3)))
    return w.bind(
        tuple_text([one.name for one in fields]),
        (),
        "",
        lambda e: tuple(e[one.name] for one in fields),
        True,
        fields,
    )


def alias(w: Writer) -> Value | None:
    """Another name."""
    if not w.values:
        return None
    x = w.rng.choice(w.values[-6:])
    return w.bind(x.name, x.shape, x.dtype, lambda e: e[x.name], x.exact, x.fields)


def match_cast(w: Writer) -> Value | None:
    """A value of which the same, or more, is stated."""
    x = w.some(lambda one: True)
    if x is None:
        return None
    return w.bind(
        f"R.match_cast({x.name}, {info_text(x.shape, x.dtype)})",
        x.shape,
        x.dtype,
        lambda e: e[x.name],
        x.exact,
    )


REDUCED: dict[str, Callable[..., Any]] = {
    "sum": np.sum,
    "mean": np.mean,
    "max": np.max,
    "min": np.min,
    "std": np.std,
    "variance": np.var,
    "prod": np.prod,
}


def reduction(w: Writer) -> Value | None:
    """A reduction over some dimensions."""
    x = w.some(lambda one: len(one.shape) > 0 and one.dtype in ("float32", "float64", "int32"))
    if x is None:
        return None
    names = list(REDUCED) if x.is_float else ["sum", "max", "min"]
    name = w.rng.choice(names)
    axes = sorted(w.rng.sample(range(len(x.shape)), w.rng.randint(1, len(x.shape))))
    keeps = w.rng.random() < 0.5
    shape = [
        1 if axis in axes else size
        for axis, size in enumerate(x.shape)
        if keeps or axis not in axes
    ]
    exact = x.exact and name in ("max", "min", "sum") and not x.is_float
    exact = exact or (x.exact and name in ("max", "min"))
    return w.bind(
        f"R.{name}({x.name}, axis={axes}, keepdims={keeps})",
        shape,
        x.dtype,
        lambda e: REDUCED[name](e[x.name], tuple(axes), keepdims=keeps),
        exact,
    )


def argument_of_extreme(w: Writer) -> Value | None:
    """The place of the greatest or least element."""
    x = w.some(lambda one: len(one.shape) > 0 and one.exact and one.dtype in ("float32", "int32"))
    if x is None:
        return None
    name, run = w.rng.choice([("argmax", np.argmax), ("argmin", np.argmin)])
    axis = w.rng.randrange(len(x.shape))
    shape = x.shape[:axis] + x.shape[axis + 1 :]
    return w.bind(
        f"R.{name}({x.name}, axis={axis}, keepdims=False)",
        shape,
        "int64",
        lambda e: run(e[x.name], axis),
    )


def cumulated(w: Writer) -> Value | None:
    """Sums or products of the elements before."""
    x = w.some(lambda one: len(one.shape) > 0 and one.dtype in ("float32", "int32"))
    if x is None:
        return None
    axis = w.rng.randrange(len(x.shape))
    return w.bind(
        f"R.cumsum({x.name}, axis={axis})",
        x.shape,
        x.dtype,
        lambda e: np.cumsum(e[x.name], axis),
        x.exact and not x.is_float,
    )


def softmax(w: Writer) -> Value | None:
    """softmax or its logarithm."""
    x = w.some(lambda one: one.is_float and len(one.shape) > 0)
    if x is None:
        return None
    axis = w.rng.randrange(len(x.shape))
    name = w.rng.choice(["softmax", "log_softmax"])

    def run(env: Any) -> Any:
        array = _wide(env[x.name])
        moved = array - array.max(axis, keepdims=True)
        total = np.exp(moved).sum(axis, keepdims=True)
        return np.exp(moved) / total if name == "softmax" else moved - np.log(total)

    return w.bind(f"R.nn.{name}({x.name}, axis={axis})", x.shape, x.dtype, run, False)


def layer_norm(w: Writer) -> Value | None:
    """layer_norm or rms_norm over the last dimension."""
    x = w.some(lambda one: one.is_float and len(one.shape) > 1 and isinstance(one.shape[-1], int))
    if x is None:
        return None
    gamma = w.with_array(w.constant(x.shape[-1:], x.dtype))
    if w.rng.random() < 0.5:

        def rms(e: Any) -> Any:
            array = _wide(e[x.name])
            mean = (array * array).mean(-1, keepdims=True)
            return array * _wide(e[gamma.name]) / np.sqrt(mean + 1e-5)

        return w.bind(
            f"R.nn.rms_norm({x.name}, {gamma.name}, axes=[-1])", x.shape, x.dtype, rms, False
        )
    beta = w.with_array(w.constant(x.shape[-1:], x.dtype))

    def norm(e: Any) -> Any:
        array = _wide(e[x.name])
        mean, var = array.mean(-1, keepdims=True), array.var(-1, keepdims=True)
        return (array - mean) / np.sqrt(var + 1e-5) * _wide(e[gamma.name]) + _wide(e[beta.name])

    return w.bind(
        f"R.nn.layer_norm({x.name}, {gamma.name}, {beta.name}, axes=[-1])",
        x.shape,
        x.dtype,
        norm,
        False,
    )


def matmul(w: Writer) -> Value | None:
    """A product of matrices, maybe with transposed weights."""
    x = w.some(lambda one: one.is_float and len(one.shape) > 1)
    if x is None:
        return None
    inner = x.shape[-1]
    y = w.some(lambda one: len(one.shape) == 2 and one.dtype == x.dtype and one.shape[0] == inner)
    if y is None or w.rng.random() < 0.4:
        if not isinstance(inner, int):
            return None
        columns = w.rng.choice([2, 4, 8])
        if w.rng.random() < 0.4:
            weights = w.with_array(w.constant((columns, inner), x.dtype))
            y = w.bind(
                f"R.permute_dims({weights.name})",
                (inner, columns),
                x.dtype,
                lambda e: e[weights.name].T,
            )
        else:
            y = w.with_array(w.constant((inner, columns), x.dtype))
    shape = (*x.shape[:-1], y.shape[1])
    return w.bind(
        f"R.matmul({x.name}, {y.name})",
        shape,
        x.dtype,
        lambda e: _wide(e[x.name]) @ _wide(e[y.name]),
        False,
    )


def take(w: Writer) -> Value | None:
    """Elements at indices that are constants or computed."""
    x = w.some(lambda one: len(one.shape) > 0 and one.dtype != "bool")
    if x is None:
        return None
    axis = w.rng.randrange(len(x.shape))
    size = number(x.shape[axis])
    count = w.rng.randint(1, 4)
    name = f"c{len(w.module.constants)}"
    w.module.constants[name] = np.array([w.rng.randrange(size) for _ in range(count)], "int64")
    indices = w.with_array(Value(name, (count,), "int64"))
    shape = (*x.shape[:axis], count, *x.shape[axis + 1 :])
    return w.bind(
        f"R.take({x.name}, {name}, axis={axis})",
        shape,
        x.dtype,
        lambda e: np.take(e[x.name], e[indices.name], axis),
        x.exact,
    )


def strided_slice(w: Writer) -> Value | None:
    """Every so many elements of a range."""
    x = w.some(lambda one: any(isinstance(size, int) and size > 1 for size in one.shape))
    if x is None:
        return None
    axis = w.rng.choice([k for k, s in enumerate(x.shape) if isinstance(s, int) and s > 1])
    size = x.shape[axis]
    assert isinstance(size, int)
    begin = w.rng.randrange(size)
    end = w.rng.randint(begin + 1, size)
    step = w.rng.choice([1, 1, 2])
    length = len(range(begin, end, step))
    shape = (*x.shape[:axis], length, *x.shape[axis + 1 :])
    index = (slice(None),) * axis + (slice(begin, end, step),)
    return w.bind(
        f"R.strided_slice({x.name}, axes=[{axis}], begin=[{begin}], end=[{end}], strides=[{step}])",
        shape,
        x.dtype,
        lambda e: e[x.name][index],
        x.exact,
    )


def repeated(w: Writer) -> Value | None:
    """Elements repeated, reversed, or broadcast."""
    x = w.some(lambda one: len(one.shape) > 0)
    if x is None:
        return None
    axis = w.rng.randrange(len(x.shape))
    kind = w.rng.choice(["repeat", "flip", "tile", "broadcast_to"])
    size = x.shape[axis]
    if kind == "flip":
        return w.bind(
            f"R.flip({x.name}, axis={axis})",
            x.shape,
            x.dtype,
            lambda e: np.flip(e[x.name], axis),
            x.exact,
        )
    if kind == "broadcast_to":
        shape: tuple[Size, ...] = (w.rng.choice([2, 3]), *x.shape)
        target = numbers(shape)
        return (
            w.bind(
                f"R.broadcast_to({x.name}, {tuple_text(shape)})",
                shape,
                x.dtype,
                lambda e: np.broadcast_to(e[x.name], target),
                x.exact,
            )
            if len(shape) < 5
            else None
        )
    if not isinstance(size, int) or size > 8:
        return None
    shape = (*x.shape[:axis], size * 2, *x.shape[axis + 1 :])
    if kind == "repeat":
        return w.bind(
            f"R.repeat({x.name}, repeats=2, axis={axis})",
            shape,
            x.dtype,
            lambda e: np.repeat(e[x.name], 2, axis),
            x.exact,
        )
    times = [2 if k == axis else 1 for k in range(len(x.shape))]
    return w.bind(
        f"R.tile({x.name}, repeats={times})",
        shape,
        x.dtype,
        lambda e: np.tile(e[x.name], times),
        x.exact,
    )


def create(w: Writer) -> Value | None:
    """Tensors of one number, or of numbers in order."""
    x = w.some(lambda one: True)
    if x is None:
        return None
    kind = w.rng.choice(
        ["zeros_like", "ones_like", "full_like", "full", "ones", "zeros", "arange", "eye"]
    )
    dtype = x.dtype
    target = numbers(x.shape)
    if kind in ("zeros_like", "ones_like"):
        run = np.zeros if kind == "zeros_like" else np.ones
        return w.bind(f"R.{kind}({x.name})", x.shape, dtype, lambda e: run(target, dtype))
    if kind == "arange" or dtype == "bool":
        size = w.rng.choice([2, 3, 4])
        return w.bind(
            f'R.arange(0, {size}, 1, dtype="float32")',
            (size,),
            "float32",
            lambda e: np.arange(size),
        )
    if kind == "eye":
        return w.bind(
            'R.eye(3, 4, 1, dtype="float32")', (3, 4), "float32", lambda e: np.eye(3, 4, 1)
        )
    text, array = w.scalar(dtype)
    if kind == "full_like":
        text = f"R.full_like({x.name}, {text})"
    elif kind == "full":
        text = f'R.full({tuple_text(x.shape)}, {text}, dtype="{dtype}")'
    else:
        array = np.asarray(kind == "ones", dtype)
        text = f'R.{kind}({tuple_text(x.shape)}, dtype="{dtype}")'
    return w.bind(text, x.shape, dtype, lambda e: np.full(target, array))


def triangle(w: Writer) -> Value | None:
    """The upper or lower triangle of matrices."""
    x = w.some(lambda one: len(one.shape) > 1 and one.dtype != "bool")
    if x is None:
        return None
    name, run = w.rng.choice([("tril", np.tril), ("triu", np.triu)])
    k = w.rng.choice([-1, 0, 1])
    return w.bind(
        f"R.{name}({x.name}, {k})", x.shape, x.dtype, lambda e: run(e[x.name], k), x.exact
    )


def sort(w: Writer) -> Value | None:
    """Elements in order."""
    x = w.some(lambda one: len(one.shape) > 0 and one.dtype in ("float32", "int32") and one.exact)
    if x is None:
        return None
    axis = w.rng.randrange(len(x.shape))
    return w.bind(
        f"R.sort({x.name}, axis={axis}, descending=False)",
        x.shape,
        x.dtype,
        lambda e: np.sort(e[x.name], axis),
    )


def one_hot(w: Writer) -> Value | None:
    """Rows with one element of 1."""
    size = w.rng.randint(1, 4)
    name = f"c{len(w.module.constants)}"
    w.module.constants[name] = np.array([w.rng.randrange(4) for _ in range(size)], "int64")
    indices = w.with_array(Value(name, (size,), "int64"))
    return w.bind(
        f"R.one_hot({name}, R.prim_value(T.float32(1)), R.prim_value(T.float32(0)), depth=4)",
        (size, 4),
        "float32",
        lambda e: np.eye(4, dtype="float32")[e[indices.name]],
    )


def conv2d(w: Writer) -> Value | None:
    """A convolution, a pool, or padding of images."""
    x = w.some(lambda one: one.dtype == "float32" and len(one.shape) == 4)
    if x is None or not all(isinstance(one, int) for one in x.shape[1:]):
        return None
    if min(numbers(x.shape)[2:]) < 3:
        return None
    _, channels, height, width = x.shape
    assert isinstance(channels, int)
    kind = w.rng.choice(["conv2d", "conv2d", "max_pool2d", "avg_pool2d", "batch_norm"])
    if kind == "conv2d":
        k = w.rng.choice([1, 3])
        out = w.rng.choice([2, 4])
        pad = w.rng.choice([0, 1])
        weights = w.with_array(w.constant((out, channels, k, k), "float32"))
        shape = (x.shape[0], out, height + 2 * pad - k + 1, width + 2 * pad - k + 1)  # type: ignore

        def run(e: Any) -> Any:
            array = np.pad(e[x.name], ((0, 0), (0, 0), (pad, pad), (pad, pad)))
            windows = np.lib.stride_tricks.sliding_window_view(array, (k, k), (2, 3))
            return np.einsum("nchwij,ocij->nohw", windows, e[weights.name])

        text = f"R.nn.conv2d({x.name}, {weights.name}, padding={pad})"
        return w.bind(text, shape, "float32", run, False)
    if kind == "batch_norm":
        four = [w.with_array(w.constant((channels,), "float32")) for _ in range(3)]
        name = f"c{len(w.module.constants)}"
        w.module.constants[name] = np.arange(1, channels + 1, dtype="float32")
        four.append(w.with_array(Value(name, (channels,), "float32")))

        def normal(e: Any) -> Any:
            g, b, mean, var = [e[one.name].reshape(-1, 1, 1) for one in four]
            return (
                (e[x.name] - mean) / np.sqrt(var + 1e-5) * g + b,
                e[four[2].name],
                e[four[3].name],
            )

        fields = tuple(
            Value("", shape, "float32", False) for shape in (x.shape, (channels,), (channels,))
        )
        names = ", ".join(one.name for one in four)
        found = w.bind(f"R.nn.batch_norm({x.name}, {names}, axis=1)", (), "", normal, False, fields)
        return w.bind(f"{found.name}[0]", x.shape, "float32", lambda e: e[found.name][0], False)
    shape = (x.shape[0], channels, height - 1, width - 1)  # type: ignore[operator]
    pool = np.max if kind == "max_pool2d" else np.mean

    def pooled(e: Any) -> Any:
        windows = np.lib.stride_tricks.sliding_window_view(e[x.name], (2, 2), (2, 3))
        return pool(windows, (-1, -2))

    text = f"R.nn.{kind}({x.name}, pool_size=[2, 2], strides=[1, 1])"
    return w.bind(text, shape, "float32", pooled, False)


def pad(w: Writer) -> Value | None:
    """A border of one number."""
    x = w.some(lambda one: one.is_float and 0 < len(one.shape) < 4 and one.is_static)
    if x is None:
        return None
    widths = [w.rng.randint(0, 2) for _ in range(2 * len(x.shape))]
    pairs = list(zip(widths[::2], widths[1::2], strict=True))
    shape = [size + sum(pair) for size, pair in zip(x.shape, pairs, strict=True)]  # type: ignore[operator]
    return w.bind(
        f"R.nn.pad({x.name}, {widths}, pad_value=0.5)",
        shape,
        x.dtype,
        lambda e: np.pad(e[x.name], pairs, constant_values=0.5),
        x.exact,
    )


def fma(w: Writer) -> Value | None:
    """A product and a sum."""
    x = w.some(lambda one: one.dtype == "float32")
    if x is None:
        return None
    y, z = w.like(x), w.like(x)
    return w.bind(
        f"R.ewise_fma({x.name}, {y.name}, {z.name})",
        x.shape,
        x.dtype,
        lambda e: e[x.name] * e[y.name] + e[z.name],
        x.exact and y.exact and z.exact,
    )


def of_shape(w: Writer) -> Value | None:
    """A shape as a value, and a tensor made of it."""
    x = w.some(lambda one: 0 < len(one.shape) < 4)
    if x is None:
        return None
    target = numbers(x.shape)
    name, written = w.fresh(), f"R.shape([{', '.join(map(str, x.shape))}])"
    if w.in_dataflow:  # the struct info of a result must not have variables of the block
        name = written
    else:
        w.write(f"{name} = {written}")
    kind = w.rng.choice(["zeros", "shape_to_tensor", "broadcast_to"])
    if kind == "zeros":
        return w.bind(
            f'R.zeros({name}, dtype="float32")', x.shape, "float32", lambda e: np.zeros(target)
        )
    if kind == "broadcast_to":
        return w.bind(
            f'R.broadcast_to(R.const(1.5, "float32"), {name})',
            x.shape,
            "float32",
            lambda e: np.full(target, 1.5),
        )
    return w.bind(
        f"R.shape_to_tensor({name})", (len(target),), "int64", lambda e: np.array(target, "int64")
    )


RULES: list[Rule] = [
    *[unary] * 4,
    positive_unary,
    clip,
    integer_unary,
    *[binary] * 6,
    *[with_number] * 3,
    where,
    *[astype] * 2,
    *[permute] * 2,
    *[reshape] * 3,
    *[expand] * 2,
    concat,
    split,
    item,
    make_tuple,
    alias,
    match_cast,
    *[reduction] * 2,
    argument_of_extreme,
    softmax,
    layer_norm,
    *[matmul] * 3,
    take,
    strided_slice,
    repeated,
    create,
    triangle,
    one_hot,
    *[conv2d] * 3,
    pad,
    of_shape,
]
INTEGERS = INTS
