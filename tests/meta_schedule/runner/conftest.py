from collections.abc import Callable, Iterator

import pytest

from te_sched.ir.stmt import IRModule, PrimFunc
from te_sched.meta_schedule.builder import local_builder
from te_sched.tuning.artifacts import remove_artifact


@pytest.fixture
def built() -> Iterator[Callable[..., list[str]]]:
    """A function that builds functions in this process; the paths are removed at the end."""
    paths: list[str] = []

    def build(*functions: PrimFunc) -> list[str]:
        modules = [IRModule({"main": func}) for func in functions]
        made = [local_builder.built(one, "llvm", None, None, None) for one in modules]
        paths.extend(made)
        return made

    yield build
    for path in paths:
        remove_artifact(path)
