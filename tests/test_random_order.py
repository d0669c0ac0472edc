"""The random order of the tests that campaigns use."""

from __future__ import annotations

import pytest

pytest_plugins = ["pytester"]

FILES = {f"test_{name}": f"def test_{name}1(): ...\ndef test_{name}2(): ..." for name in "abcdef"}


def order(pytester: pytest.Pytester, *options: str) -> list[str]:
    pytester.makepyfile(**FILES)
    pytester.makeconftest("from tests.random_order import *")
    result = pytester.runpytest_inprocess("--collect-only", "-q", *options)
    return [line for line in result.outlines if "::" in line]


def test_random_order_depends_on_the_seed_alone(pytester: pytest.Pytester) -> None:
    usual, first = order(pytester), order(pytester, "--random-order", "1")
    assert first == order(pytester, "--random-order", "1")
    assert first not in (usual, order(pytester, "--random-order", "2"))
    assert sorted(first) == sorted(usual)


def test_random_order_keeps_files_together(pytester: pytest.Pytester) -> None:
    files = [line.partition("::")[0] for line in order(pytester, "--random-order", "1")]
    assert len([*dict.fromkeys(files)]) == len(FILES)
    assert all(files[2 * k] == files[2 * k + 1] for k in range(len(FILES)))
