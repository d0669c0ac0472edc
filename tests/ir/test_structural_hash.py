"""Structural hash: agrees with structural equality."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from pathlib import Path

import numpy as np

from te_sched import te, tir
from te_sched.ir import load_json, save_json, structural_equal, structural_hash
from te_sched.ir.buffer import decl_buffer
from te_sched.ir.expr import BufferLoad, Expr, StringImm, Var
from te_sched.ir.stmt import IRModule, PrimFunc
from te_sched.ir.structural import tokens_of
from te_sched.script import from_source

PROGRAMS = Path(__file__).parent.parent / "golden" / "tensorir" / "schedules.json"


def texts() -> list[str]:
    """Texts of modules of blocks."""
    found: list[str] = []

    def collect(value: object) -> None:
        if isinstance(value, str) and "@T.prim_func" in value:
            found.append(value)
        elif isinstance(value, dict | list):
            for one in value.values() if isinstance(value, dict) else value:
                collect(one)

    collect(json.loads(PROGRAMS.read_text()))
    return sorted(set(found))[:60]


def test_equal_programs_have_equal_hashes() -> None:
    modules = [from_source(text) for text in texts()]
    assert len(modules) > 20
    for module in modules:
        assert structural_hash(load_json(save_json(module))) == structural_hash(module)
    for a, b in itertools.combinations(modules, 2):
        assert structural_equal(a, b) == (structural_hash(a) == structural_hash(b))


def test_names_of_bound_variables_do_not_matter() -> None:
    def function(name: str, extra: int) -> PrimFunc:
        var = Var(name)
        return PrimFunc((var,), tir.Evaluate(var + extra), {})

    assert structural_hash(function("i", 1)) == structural_hash(function("j", 1))
    assert structural_hash(function("i", 1)) != structural_hash(function("i", 2))


def test_free_variables_count_as_themselves_or_by_their_order() -> None:
    x, y = te.var("x"), te.var("y")
    pairs: list[tuple[Expr, Expr]] = [(x + y, y + x), (x + x, y + y), (x + 1, y + 1)]
    for a, b in pairs:
        assert structural_hash(a) != structural_hash(b)
        assert structural_hash(a, map_free_vars=True) == structural_hash(b, map_free_vars=True)
    assert structural_hash(x + x, True) != structural_hash(x + y, True)


def test_arrays_and_mappings_count_by_their_contents() -> None:
    numbers = np.arange(10)
    assert structural_hash({"x": numbers, "y": 2}) == structural_hash({"y": 2, "x": numbers.copy()})
    assert structural_hash(numbers) != structural_hash(numbers.reshape(2, 5))
    assert structural_hash(IRModule({})) != structural_hash(IRModule({}, {"a": True}))
    assert structural_hash({"a": tir.const(1, "bool")}) == structural_hash({"a": True})


def test_the_hash_is_the_same_in_other_processes() -> None:
    program = (
        "from te_sched.ir import structural_hash\n"
        "from te_sched.script import from_source\n"
        f"print(structural_hash(from_source({texts()[0]!r})))"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert int(run.stdout) == structural_hash(from_source(texts()[0]))


def test_arrays_count_by_their_type_shape_and_bytes() -> None:
    values = np.arange(6, dtype="float32")
    different = [
        values,
        values.reshape(2, 3),
        values.view("int32"),
        values + 1,
        values[:0],
        values[:0].reshape(0, 2),
        np.float32(3).reshape(()),
    ]
    hashes = [structural_hash(one) for one in different]
    assert len(set(hashes)) == len(different)
    assert hashes == [structural_hash(one.copy(order="F")) for one in different]
    assert structural_hash(np.repeat(values, 2)[::2]) == hashes[0]


def test_equal_parts_of_programs_have_equal_hashes() -> None:
    """Free buffers are equal by their contents; constants are equal to plain values."""
    loads = [BufferLoad(decl_buffer((8,), "float32", name), (Var("i"),)) for name in "AB"]
    assert structural_equal(*loads, map_free_vars=True)
    assert structural_hash(loads[0], True) == structural_hash(loads[1], True)
    first, second = (BufferLoad(decl_buffer((8,)), (tir.const(0),)) for _ in range(2))
    assert structural_equal(first, second)
    assert structural_hash(first) == structural_hash(second)
    pairs = [(1, tir.const(1)), (True, 1), ([1.0], [tir.const(1.0)]), ("a", StringImm("a"))]
    for a, b in pairs:
        assert structural_equal(a, b)
        assert structural_hash(a) == structural_hash(b)


def test_tokens_number_what_a_program_defines() -> None:
    x, y = Var("x"), Var("y")
    assert tokens_of(x + y, True) == tokens_of(y + x, True) != tokens_of(x + x, True)
    assert tokens_of(x + 1) == tokens_of(x + 1) != tokens_of(y + 1)
    assert tokens_of(tir.const(0.0)) != tokens_of(tir.const(-0.0))
