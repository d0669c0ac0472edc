"""The reference has every public name, and every public name says what it is."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

import te_sched
from te_sched import nd, te, tir, topi

ROOT = Path(__file__).resolve().parents[2]
PRIMITIVES = [
    name
    for kind in (*te.Stage.__mro__, *te.Schedule.__mro__)
    if kind.__module__.startswith("te_sched.schedule.primitives")
    for name in vars(kind)
    if name[0] != "_"
]
HELPERS = ("InvalidShapeError", "const_vector", "get_const_tuple")


@pytest.mark.parametrize(
    ("page", "names"),
    [
        ("te", te.__all__),
        ("primitives", PRIMITIVES),
        (
            "topi",
            [
                name
                for name in topi.__all__
                if callable(getattr(topi, name)) and name not in HELPERS
            ],
        ),
        ("runtime", ["array", "empty", "zeros", "from_dlpack", "NDArray", "load_module"]),
    ],
)
def test_reference_has_all_names(page, names):
    reference = ROOT / "docs/reference"
    paths = [reference / f"{page}.md", *reference.glob(f"{page}/*.md")]
    text = "\n".join(path.read_text() for path in paths)
    modules = re.findall(r"^::: te_sched\.(topi\.[\w.]+)", text, re.MULTILINE)
    shown = set(re.findall(r"\w+", text))
    shown |= {
        name for module in modules for name in vars(importlib.import_module(f"te_sched.{module}"))
    }
    assert [name for name in names if name not in shown] == []


@pytest.mark.parametrize(
    "owner",
    [te_sched, te, tir, nd, te_sched.runtime, te_sched.transform, te_sched.target],
    ids=lambda module: module.__name__,
)
def test_public_names_have_docstrings(owner):
    bare = [
        name
        for name in owner.__all__
        if callable(getattr(owner, name)) and not getattr(owner, name).__doc__
    ]
    assert bare == []


@pytest.mark.parametrize("kind", [te.Schedule, te.Stage, te.Tensor, nd.NDArray, tir.PrimFunc])
def test_public_methods_have_docstrings(kind):
    bare = [
        name
        for name in dir(kind)
        if name[0] != "_" and callable(getattr(kind, name)) and not getattr(kind, name).__doc__
    ]
    assert bare == []
