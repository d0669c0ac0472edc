"""A random order of the tests: `pytest --random-order SEED` shuffles files, and the tests of each.

What depends on the tests before it fails then. A file stays together, for its fixtures.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    help = "run the files, and the tests of each file, in a random order"
    parser.addoption("--random-order", metavar="SEED", type=int, help=help)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    seed = config.getoption("--random-order")
    if seed is None:
        return
    of_files: dict[Path, list[pytest.Item]] = {}
    for item in items:
        of_files.setdefault(item.path, []).append(item)
    files, numbers = list(of_files.values()), random.Random(seed)
    numbers.shuffle(files)
    for tests in files:
        numbers.shuffle(tests)
    items[:] = [item for tests in files for item in tests]
