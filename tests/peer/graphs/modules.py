"""Random modules: functions of graphs and loops, dataflow blocks, branches, calls of each kind."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.peer.graphs.operators import RULES
from tests.peer.graphs.sources import (
    FLOATS,
    INTS,
    Module,
    Program,
    Size,
    Value,
    Writer,
    info_of,
    info_text,
    numbers,
    random_array,
    tuple_text,
)

PACKED = {
    "peer.double": lambda x, out: out.copyfrom(x.numpy() * 2),
    "peer.sum": lambda x, y, out: out.copyfrom(x.numpy() + y.numpy()),
}


def _sizes(shape: Sequence[Size]) -> list[str]:
    return [one if isinstance(one, str) else f"T.int64({one})" for one in shape]


def _prim_func(w: Writer, kind: str, x: Value) -> str:
    """The name of a function of loops for tensors like x."""
    key = f"{kind} {x.shape} {x.dtype}"
    if key in w.module.prim_funcs:
        return w.module.prim_funcs[key].split("(")[0]
    name = f"loops_{kind}_{len(w.module.prim_funcs)}"
    sizes = _sizes(x.shape)
    loops = [f"i{k}" for k in range(len(sizes))]
    axes = [f"v{k}" for k in range(len(sizes))]
    at = f"[{', '.join(axes) or '()'}]"
    buffers = {"scale": "xy", "two": "xyz", "inplace": "xy", "sizes": "xy"}[kind]
    symbols = sorted({one for one in x.shape if isinstance(one, str)})
    extra = [f"{one}_1: T.int64" for one in symbols] if kind == "sizes" else []
    params = [f"{one}_h: T.handle" for one in buffers] + extra
    head = f"{name}({', '.join(params)}):"
    number = f'T.Cast("{x.dtype}", 2)'
    lines = ['T.func_attr({"tir.noalias": T.bool(True)})']
    lines += [f"{one} = T.int64()" for one in symbols]
    lines += [
        f'{one} = T.match_buffer({one}_h, {tuple_text(sizes)}, "{x.dtype}")' for one in buffers
    ]
    inner = ['with T.block("compute"):']
    body = []
    if axes:
        kinds = "S" * len(axes)
        comma = ", ".join(axes)
        body.append(f'{comma} = T.axis.remap("{kinds}", [{", ".join(loops)}])')
        inner = [f"for {', '.join(loops)} in T.grid({', '.join(sizes)}):", f"    {inner[0]}"]
    if kind == "inplace":
        body.append(f"x{at} = x{at} + y{at}")
    elif kind == "two":
        body += [f"y{at} = x{at} + {number}", f"z{at} = x{at} * {number}"]
    elif kind == "sizes" and symbols:
        body.append(f'y{at} = x{at} + T.Cast("{x.dtype}", {symbols[0]}_1)')
    else:
        body.append(f"y{at} = x{at} * {number}")
    lines += inner + ["    " * len(inner) + one for one in body]
    text = ["    @T.prim_func(private=True)", f"    def {head}", *[" " * 8 + one for one in lines]]
    w.module.functions.append("\n".join(text))
    w.module.prim_funcs[key] = head
    return name


def _plain(value: Value) -> bool:
    return (
        value.fields is None
        and value.dtype != "bool"
        and all(isinstance(one, int) or one.isidentifier() for one in value.shape)
        and len(value.shape) > 0
    )


def call_loops(w: Writer) -> Value | None:
    """A call of a function of loops."""
    x = w.some(_plain)
    if x is None:
        return None
    symbols = sorted({one for one in x.shape if isinstance(one, str)})
    kinds = ["scale", "scale", "two", "inplace"] + ["sizes"] * bool(symbols)
    kind = w.rng.choice(kinds)
    name, info = _prim_func(w, kind, x), info_text(x.shape, x.dtype)
    two = np.asarray(2, x.dtype)
    if kind == "two":
        found = w.bind(
            f"R.call_tir(cls.{name}, ({x.name},), out_sinfo=[{info}, {info}])",
            (),
            "",
            lambda e: (e[x.name] + two, e[x.name] * two),
            x.exact,
            (Value("", x.shape, x.dtype, x.exact),) * 2,
        )
        place = w.rng.randrange(2)
        return w.bind(
            f"{found.name}[{place}]", x.shape, x.dtype, lambda e: e[found.name][place], x.exact
        )
    if kind == "inplace":
        y = w.like(x)
        fresh = w.bind(
            f"R.call_tir(cls.{_prim_func(w, 'scale', x)}, ({x.name},), out_sinfo={info})",
            x.shape,
            x.dtype,
            lambda e: e[x.name] * two,
            x.exact,
        )
        w.values.remove(fresh)  # overwritten
        return w.bind(
            f"R.call_tir_inplace(cls.{name}, ({fresh.name}, {y.name}), inplace_indices=[0], "
            f"out_sinfo=[{info}])",
            x.shape,
            x.dtype,
            lambda e: e[fresh.name] + e[y.name],
            x.exact and y.exact,
        )
    if kind == "sizes":
        return w.bind(
            f"R.call_tir(cls.{name}, ({x.name},), out_sinfo={info}, "
            f"tir_vars=R.shape([{', '.join(symbols)}]))",
            x.shape,
            x.dtype,
            lambda e: e[x.name] + np.asarray(numbers(symbols)[0], x.dtype),
            x.exact,
        )
    return w.bind(
        f"R.call_tir(cls.{name}, ({x.name},), out_sinfo={info})",
        x.shape,
        x.dtype,
        lambda e: e[x.name] * two,
        x.exact,
    )


def call_packed(w: Writer) -> Value | None:
    """A call of a registered function."""
    x = w.some(lambda one: one.dtype not in ("bool", "float16"))
    if x is None:
        return None
    info = info_text(x.shape, x.dtype)
    if w.rng.random() < 0.5:
        return w.bind(
            f'R.call_dps_packed("peer.double", ({x.name},), out_sinfo={info})',
            x.shape,
            x.dtype,
            lambda e: e[x.name] * np.asarray(2, x.dtype),
            x.exact,
        )
    y = w.like(x)
    return w.bind(
        f'R.call_dps_packed("peer.sum", ({x.name}, {y.name}), out_sinfo={info})',
        x.shape,
        x.dtype,
        lambda e: e[x.name] + e[y.name],
        x.exact and y.exact,
    )


ALL = [*RULES, *[call_loops] * 5, call_packed]


def grow(w: Writer, count: int, rules: Sequence[Any] = ()) -> None:
    """Add about so many bindings."""
    for _ in range(count):
        w.rng.choice(rules or ALL)(w)


def dataflow(w: Writer, count: int) -> None:
    """A dataflow block with some outputs."""
    w.write("with R.dataflow():")
    inner = Writer(w.module, w.depth + 1)
    inner.in_dataflow = True
    inner.values = list(w.values)
    grow(inner, count)
    made = [one for one in inner.values if one not in w.values]
    if not made:
        made = [inner.bind(w.values[-1].name, *_as(w.values[-1]))]
    outputs = w.rng.sample(made, min(len(made), w.rng.choice([1, 1, 2, 3])))
    if made[-1] not in outputs and w.rng.random() < 0.8:
        outputs.append(made[-1])
    inner.write(f"R.output({', '.join(one.name for one in outputs)})")
    w.lines += inner.lines
    w.steps += inner.steps
    w.values += outputs


def _as(value: Value) -> tuple[Any, ...]:
    """The rest of the arguments of `bind` for another name of a value."""
    return value.shape, value.dtype, lambda e: e[value.name], value.exact, value.fields


def branch(w: Writer) -> None:
    """A branch by a condition that is computed or given."""
    condition = w.some(lambda one: one.dtype == "bool" and one.shape == ())
    if condition is None:
        x = w.some(
            lambda one: one.exact and one.dtype in ("float32", "int32") and len(one.shape) > 0
        )
        if x is None:
            return
        text, limit = w.scalar(x.dtype)
        axes = list(range(len(x.shape)))
        top = w.bind(f"R.max({x.name}, axis={axes})", (), x.dtype, lambda e: e[x.name].max(), True)
        condition = w.bind(f"R.less({top.name}, {text})", (), "bool", lambda e: e[top.name] < limit)
    like = w.some(lambda one: True)
    if like is None:
        return
    name = w.fresh()
    writers = []
    for keyword in (f"if {condition.name}:", "else:"):
        w.write(keyword)
        inner = Writer(w.module, w.depth + 1)
        inner.values = list(w.values)
        if w.rng.random() < 0.3:
            dataflow(inner, w.rng.randint(1, 3))
        else:
            grow(inner, w.rng.randint(0, 3))
        same = [
            one
            for one in inner.values
            if one.fields is None and one.shape == like.shape and one.dtype == like.dtype
        ]
        last = w.rng.choice(same[-3:])
        operation = "multiply" if like.dtype != "bool" else "logical_or"
        other = w.rng.choice(same[-3:])
        inner.write(f"{name} = R.{operation}({last.name}, {other.name})")
        inner.steps.append(_product(name, last, other))
        w.lines += inner.lines
        writers.append(inner)
    then, otherwise = writers

    def step(env: Any) -> None:
        (then if env[condition.name] else otherwise).execute(env)

    w.steps.append(step)
    w.values.append(Value(name, like.shape, like.dtype, False))


def _product(name: str, one: Value, other: Value) -> Any:
    def step(env: Any) -> None:
        run = np.logical_or if one.dtype == "bool" else np.multiply
        env[name] = run(env[one.name], env[other.name])

    return step


def helper(w: Writer, local: bool = False) -> None:
    """A function, private to the module or local, and one or two calls of it."""
    given = [one for one in w.values[-8:] if _plain(one)]
    if not given:
        return
    args = [w.rng.choice(given) for _ in range(w.rng.randint(1, 3))]
    inner = Writer(w.module, w.depth + 1 if local else 2)
    params = [Value(inner.fresh(), one.shape, one.dtype, one.exact) for one in args]
    inner.values = list(params)
    if local and w.rng.random() < 0.6:
        inner.values = [*w.values[-3:], *params]
    if w.rng.random() < 0.6:
        dataflow(inner, w.rng.randint(1, 5))
    else:
        grow(inner, w.rng.randint(1, 4))
    made = [one for one in inner.values if one not in w.values]
    result = w.rng.choice(made[-3:])
    symbols = sorted({s for one in params for s in one.shape if isinstance(s, str)})
    wanted = {s for s in re.findall(r"\b[nm]\b", "\n".join([*inner.lines, info_of(result)]))}
    if not wanted <= set(symbols) and not local:
        return
    name = f"helper{w.module.counter}"
    if local:
        quoted = ", ".join(f"{one.name}: {info_of(one)}" for one in params)
        w.write("@R.function")
        w.write(f"def {name}({quoted}) -> {info_of(result)}:")
        w.lines += inner.lines
        w.lines.append("    " * inner.depth + f"return {result.name}")
        called = name
    else:
        quoted = ", ".join(f"{one.name}: {info_of(one, True)}" for one in params)
        private = "(private=True)" if w.rng.random() < 0.8 else ""
        lines = [
            f"    @R.function{private}",
            f"    def {name}({quoted}) -> {info_of(result, True)}:",
            *[f"        {one} = T.int64()" for one in symbols],
            "        cls = Module",
            *inner.lines,
            f"        return {result.name}",
        ]
        text = "\n".join(lines)
        if w.rng.random() < 0.5:
            text = re.sub(r"\bn\b", "k", text)
        w.module.functions.append(text)
        called = f"cls.{name}"
    for _ in range(w.rng.choice([1, 1, 2])):
        others = [w.like(one) if w.rng.random() < 0.3 else one for one in args]

        def run(env: Any, others: Any = tuple(others)) -> Any:
            local_env = dict(env)
            local_env.update({p.name: env[one.name] for p, one in zip(params, others, strict=True)})
            inner.execute(local_env)
            return local_env[result.name]

        names = ", ".join(one.name for one in others)
        w.bind(
            f"{called}({names})", result.shape, result.dtype, run, False, _inexact(result.fields)
        )


def _inexact(fields: Any) -> Any:
    if fields is None:
        return None
    return tuple(Value("", one.shape, one.dtype, False, _inexact(one.fields)) for one in fields)


SHAPES: list[tuple[Size, ...]] = [
    (4,),
    (4, 8),
    (8, 4),
    (2, 3, 4),
    (1, 4),
    (2, 4, 6, 6),
    (1, 3, 8, 8),
    (),
    (6, 1),
]
SYMBOLIC: list[tuple[Size, ...]] = [
    ("n", 4),
    ("n",),
    ("n", "m"),
    (4, "n"),
    (2, "m", 4),
    ("n", 2, 4, 4),
]


def program(seed: int) -> Program:
    """The program of a seed."""
    rng = random.Random(seed)
    module = Module(rng)
    w = Writer(module)
    symbolic = rng.random() < 0.35
    main_dtype = rng.choice(FLOATS)
    shapes = SHAPES + SYMBOLIC * 3 if symbolic else SHAPES
    params = []
    base = rng.choice(shapes)
    for k in range(rng.randint(1, 4)):
        dtype = rng.choice([main_dtype] * 5 + [*INTS, "bool"])
        shape = base if rng.random() < 0.5 else rng.choice(shapes)
        params.append(Value(f"x{k}", shape, dtype))
    defined = {s for one in params for s in one.shape if isinstance(s, str)}
    w.values = list(params)
    for _ in range(rng.randint(1, 4)):
        kind = rng.random()
        if kind < 0.55:
            dataflow(w, rng.randint(2, 10))
        elif kind < 0.75:
            grow(w, rng.randint(1, 6))
        elif kind < 0.83:
            branch(w)
        elif kind < 0.95:
            helper(w)
        else:
            helper(w, local=True)
    made = [one for one in w.values if one not in params] or params
    results = rng.sample(made[-6:], min(len(made[-6:]), rng.choice([1, 1, 2, 3])))
    if made[-1] not in results:
        results.append(made[-1])
    text = results[0].name if len(results) == 1 else tuple_text([one.name for one in results])
    signature = ", ".join(f"{one.name}: {info_of(one, True)}" for one in params)
    attrs = []
    if rng.random() < 0.4 and len(params) > 1:
        attrs = [f'R.func_attr({{"num_input": {rng.randint(1, len(params) - 1)}}})']
    lines = [
        "    @R.function",
        f"    def main({signature}):",
        *[" " * 8 + one for one in attrs],
        *[f"        {one} = T.int64()" for one in sorted(defined)],
        "        cls = Module",
        *w.lines,
        f"        return {text}",
    ]
    functions = "\n\n".join([*module.functions, "\n".join(lines)])
    source = f"@I.ir_module\nclass Module:\n{functions}\n"
    given = [random_array(f"{seed}{one.name}", one.shape, one.dtype) for one in params]
    env = {one.name: array for one, array in zip(params, given, strict=True)}
    env.update(module.constants)
    with np.errstate(all="ignore"):
        w.execute(env)
    expected = [env[one.name] for one in results]
    return Program(
        source,
        module.constants,
        given,
        expected[0] if len(results) == 1 else expected,
        all(one.exact for one in results),
        symbolic,
    )
