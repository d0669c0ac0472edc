"""Cases of kind "blocks": primitives of `tir.Schedule` with right and hostile arguments.

A case has a small program, chosen by its number, and lines. A line finds the handles that it takes
in the present program, or takes those of earlier lines, of which some are gone. Primitives and
their parameters come from their declarations.
"""

from __future__ import annotations

import inspect
import json
import random
from collections.abc import Callable
from typing import Any

import numpy as np

import te_sched
from te_sched import config, te, tir
from te_sched.errors import TeSchedError
from te_sched.script import from_source
from te_sched.tensorir.handles import PRIMITIVES
from te_sched.trace.primitive import PrimitiveParameter
from te_sched.trace.trace import Trace
from tests.fuzz.case import Case
from tests.hostile import judge, values, words
from tests.peer.differential.program import Program
from tests.tensorir.programs import GIVEN
from tests.tensorir.test_random_schedules import PROGRAMS, answers, check_index

HOSTILE = 0.06  # the share of arguments that are of any kind
GIVEN_OPTION = 0.3  # of the parameters that have a default
# They change what a program computes, as their names or documentation say.
UNSAFE = ("unsafe_set_dtype", "unsafe_hide_buffer_access", "annotate_buffer_access", "annotate")

_BLOCKS = [*(f"block({n})" for n in range(4)), "'C'", "'root'", "made(1)", "made(2)", "foreign()"]
_LOOPS = [*(f"loop({n})" for n in range(9)), "made(0)", "made(3)", "foreign().loop"]
_SCOPES = ["'global'", "'local'", "'shared'", "'shared.dyn'", "'wmma.accumulator'", "'nowhere'"]
_MAPS = [
    *("lambda *i: i", "lambda *i: i[::-1]", "lambda i, j: (j, i)", "lambda i: (i // 2, i % 2)"),
    *(
        "lambda i, j: (i // 3, j, i % 3)",
        "lambda i, j: i * 8 + j",
        "lambda i, j: (i, j // 4, j % 4)",
    ),
    *("lambda i: i * i", "lambda *i: []", "lambda i, j: (i, te.AXIS_SEPARATOR, j)"),
]
_NUMBERS = ["0", "0", "0", "1", "-1", "2", "8", "100"]
_FACTORS = [
    *("[None, 2]", "[2, None]", "[None, 4]", "[3, None]", "[None, 2, 2]", "[8, None]", "[2, 4]"),
    *("[1, None, 1]", "sch.sample_perfect_tile(loop(0), 2)", "[None, None]", "[0, None]", "[]"),
]
_ARGUMENTS: dict[str, list[str]] = {
    "block": _BLOCKS,
    "loop": _LOOPS,
    "loops": _LOOPS,
    "ordered_loops": _LOOPS,
    "block_or_loop": [*_BLOCKS, *_LOOPS],
    "target": [*_LOOPS, "[block(0), block(1)]"],
    "scope_block": _BLOCKS,
    "factors": _FACTORS,
    "factor_axis": _NUMBERS,
    "storage_scope": _SCOPES,
    "consumer_blocks": ["[block(1)]", "['C']", "[made(1)]"],
    "buffer": ["('read', 0)", "('write', 0)", "('read', 1)", "'A'", "'B'", "('read', 9)"],
    "index_map": _MAPS,
    "gen_new_ranges": _MAPS,
    "pad_value": ["0", "1.5", "lambda *i: 0.0"],
    "thread_axis": ["'threadIdx.x'", "'blockIdx.x'", "'vthread'", "'threadIdx.y'", "'nowhere'"],
    "new_order": ["[1, 0]", "[0, 1, 2]", "[0]", "[0, 0]"],
    "padding": ["[8, 8, 8]", "[3, 4, 1]", "[1, 1]", "[16]", "[0]"],
    "name": ["'B'", "'C'", "'D'", "'nowhere'"],
    "func_name": ["'main'", "'nowhere'"],
    "ann_key": ["'note'", "'pragma_auto_unroll_max_step'"],
    "ann_val": ["1", "'text'", "[1, 2]", "{'a': 1}", "sch.sample_categorical([1], [1.0])"],
    "candidates": ["[1, 2, 4]", "[]"],
    "probs": ["[0.5, 0.25, 0.25]", "[1]"],
    "decision": ["0", "-1", "[2, 4]", "1"],
    "tensor_intrin": ["'nowhere'"],
    "buf_type": ["'read'", "'write'", "'match_buffer'"],
    "axis_separators": ["[1]", "[]", "[9]"],
}


def generate(rng: random.Random, number: int) -> Case:
    """A case of one to ten primitives."""
    declared = sorted(PRIMITIVES.values(), key=lambda one: one.name)
    lines = []
    for _ in range(rng.randint(1, 10)):
        chosen = rng.choice(declared)
        given = [text for one in chosen.parameters if (text := _argument(rng, one))]
        lines.append(f"keep(sch.{chosen.name}({', '.join(given)}))")
    return Case("blocks", Program(number, (), (), tuple(lines)))


def _argument(rng: random.Random, parameter: PrimitiveParameter) -> str:
    if parameter.is_variadic:
        some = _ARGUMENTS.get(parameter.name, _LOOPS)
        start = rng.randrange(8)
        run = f"*chain({start}, {rng.choice((2, 2, 3))})"
        return run if rng.random() < 0.6 else ", ".join(rng.sample(some, rng.choice((1, 2, 3))))
    is_option = parameter.default is not inspect.Parameter.empty
    if is_option and rng.random() > GIVEN_OPTION:
        return ""
    known = _ARGUMENTS.get(parameter.name, _NUMBERS)
    text = rng.choice(values.ALL if rng.random() < HOSTILE else known)
    return f"{parameter.name}={text}"


class _Names:
    """The functions that lines find handles with."""

    def __init__(self, sch: Any, other: Any) -> None:
        self.sch = sch
        self.results: list[Any] = []
        self._other = other

    def block(self, number: int) -> Any:
        """A block of the present program."""
        names = [one.name_hint for one in self.sch.keys]
        unique = sorted({one for one in names if names.count(one) == 1})
        return self.sch.get_block(unique[number % len(unique)])

    def loop(self, number: int) -> Any:
        """A loop of the present program."""
        loops = self.sch.get_loops(self.block(number // 3))
        return loops[number % len(loops)] if loops else None

    def chain(self, start: int, count: int) -> list[Any]:
        """Some loops around a block, one in the other."""
        loops = self.sch.get_loops(self.block(start))
        return loops[start % 3 :][:count]

    def keep(self, result: Any) -> None:
        """Keep handles for later lines."""
        self.results += result if isinstance(result, list) else [result]

    def made(self, number: int) -> Any:
        """A handle that an earlier line made, which may be gone."""
        return self.results[number % len(self.results)] if self.results else None

    def foreign(self) -> Any:
        """A block of another schedule, whose `loop` is one of its loops."""
        return self._other


def problem(case: Case) -> tuple[str, str]:
    """What is wrong, with the line; ("", "right"), ("", "refused") or ("", "not judged")."""
    number = case.program.number
    func = from_source(GIVEN + PROGRAMS[sorted(PROGRAMS)[number % len(PROGRAMS)]])
    sch = tir.Schedule(func, seed=number % 2**31 or 1)
    helpers = _Names(sch, _foreign())
    known = judge.names() | {"sch": sch, "words": words, "te": te}
    known |= {
        name: getattr(helpers, name)
        for name in ("block", "loop", "chain", "keep", "made", "foreign")
    }
    for line in case.program.steps:
        before, count = dict(sch.functions), len(sch.trace)
        found = judge.judge(line, known)
        if found and not found.startswith("vague"):
            return line, found
        is_same = all(sch.functions[name] is one for name, one in before.items())
        if len(sch.trace) == count and not is_same:
            return line, "changed: a refused primitive changed the program"
    return _of_program(sch, func)


def _foreign() -> Any:
    other = tir.Schedule(from_source(GIVEN + PROGRAMS["matmul"]))

    class Foreign(tir.BlockRV):
        loop = other.get_loops("C")[0]

    return Foreign(other.get_block("C").key)


def _of_program(sch: Any, func: Any) -> tuple[str, str]:
    """The fault of a scheduled program: its index, text, trace and results."""
    checks: list[tuple[str, Callable[[], Any]]] = [
        ("index", lambda: check_index(sch)),
        ("text", lambda: _check_text(sch)),
        ("trace", lambda: _check_trace(sch, func)),
    ]
    for what, check in checks:
        try:
            check()
        except Exception as error:
            return str(sch.trace), f"{what}: {type(error).__name__}: {str(error)[:300]}"
    given, now = func.buffer_map.values(), sch.mod["main"].buffer_map.values()
    changed = any(a is not b for a, b in zip(given, now, strict=True))
    if changed or any(entry.method in UNSAFE for entry in sch.trace.entries):
        return "", "not judged"
    sizes = [tuple(int(one) for one in buffer.shape) for buffer in given]
    expected = answers(te_sched.build(func), len(sizes), sizes)
    try:
        with config.scoped(verify_passes=False):
            results = answers(te_sched.build(sch.mod), len(sizes), sizes)
    except TeSchedError as error:
        if isinstance(error, te_sched.errors.InternalError):
            return str(sch.trace), f"InternalError: {error.fault}"
        return "", "refused"
    except Exception as error:
        return str(sch.trace), f"build: {type(error).__name__}: {str(error)[:300]}"
    for one, other in zip(results, expected, strict=True):
        if not np.allclose(one, other, rtol=1e-4, atol=1e-4):
            return str(sch.trace), "wrong: another result than without the schedule"
    return "", "right"


def _check_text(sch: Any) -> None:
    text = sch.mod.script()
    assert from_source(text).script() == text, "the text is read otherwise"


def _check_trace(sch: Any, func: Any) -> None:
    again = tir.Schedule(func)
    Trace.apply_json_to_schedule(json.loads(json.dumps(sch.trace.as_json())), again)
    assert again.mod.script() == sch.mod.script(), "the trace makes another program"


def script(case: Case) -> list[str]:
    """A script that reproduces a case, in the repository."""
    return [
        "from tests.fuzz.blocks import problem",
        "from tests.fuzz.case import Case",
        "from tests.peer.differential.program import Program",
        "",
        "lines = (",
        *[f"    {line!r}," for line in case.program.steps],
        ")",
        f"case = Case('blocks', Program({case.program.number}, (), (), lines))",
        'print(*problem(case), sep="\\n")',
    ]
