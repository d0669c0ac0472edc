"""Every place that raises an error: it says why and what to do, and a test reaches it.

Whether all are reached is known when all tests have run: tests/raise_sites.py.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from te_sched import register_func
from te_sched.errors import CallError
from tests import raise_sites
from tests.refusals.unreached import INTERNAL, UNREACHED
from tests.syntax_trees import nodes, walk

TESTS = Path(__file__).resolve().parent.parent


def test_every_error_says_the_fault_and_what_to_do() -> None:
    missing = []
    for path, call in nodes(ast.Call):
        kind = raise_sites.name_of(call.func)
        if kind not in raise_sites.ERRORS or kind == "InternalError":
            continue
        if any(isinstance(argument, ast.Starred) for argument in call.args):
            continue
        named = {word.arg: word.value for word in call.keywords}
        for number, part in ((0, "fault"), (2, "help")):
            given = call.args[number] if number < len(call.args) else named.get(part)
            if given is None or (isinstance(given, ast.Constant) and not given.value):
                missing.append(f"{path.relative_to(raise_sites.PACKAGE)}:{call.lineno}: {part}")
    assert not missing


def test_expected_errors_are_matched() -> None:
    missing = []
    for path in TESTS.rglob("*.py"):
        text = path.read_text()
        if "raises" not in text:
            continue
        parts = walk(ast.parse(text))
        looked_at = {  # `as caught`: the test looks at the error itself
            item.context_expr
            for node in parts
            if isinstance(node, ast.With)
            for item in node.items
            if item.optional_vars is not None
        }
        for call in parts:
            if not isinstance(call, ast.Call) or raise_sites.name_of(call.func) != "raises":
                continue
            kind = raise_sites.name_of(call.args[0]) if call.args else ""
            is_matched = any(word.arg == "match" for word in call.keywords) or call in looked_at
            if kind in raise_sites.ERRORS and not is_matched:
                missing.append(f"{path.relative_to(TESTS)}:{call.lineno}")
    assert not missing


def test_exceptions_to_the_rule_are_still_there() -> None:
    known = {site.key for site in raise_sites.sites()}
    assert UNREACHED.keys() - known == set()
    assert all(UNREACHED.values())


def test_internal_errors_are_listed() -> None:
    found = {site.key for site in raise_sites.sites() if site.error == "InternalError"}
    assert found == INTERNAL


def test_a_site_is_reached_when_its_error_is_made() -> None:
    key = "runtime/registry.py::register_func"
    site = next(one for one in raise_sites.sites() if one.key == key)
    with pytest.raises(CallError, match="the name of a function is 3, expected a string"):
        register_func(3)  # type: ignore[call-overload]
    assert site not in raise_sites.unreached()


def test_helpers_that_make_errors_are_sites() -> None:
    found = raise_sites.sites_of(
        "a.py", ast.parse("def f():\n    raise error('x')\n    raise KeyError('y')\n")
    )
    assert [(one.function, one.first) for one in found] == [("f", 2)]
