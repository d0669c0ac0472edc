"""What every test shares: programs are verified after each pass, kernels are compiled where there
is a compiler, nothing compiled is kept, hypothesis knows no deadline, errors are remembered.

What the collection has made is not looked at for garbage while tests run.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator

import hypothesis
import pytest

from te_sched import config, errors
from te_sched.codegen.cuda import nvrtc
from tests import raise_sites
from tests.compiled_kernels import compiled_kernels
from tests.raise_sites import (  # noqa: F401 (hooks)
    pytest_sessionfinish,
    pytest_terminal_summary,
    pytest_testnodedown,
)
from tests.sampling import pytest_runtest_setup  # noqa: F401 (a hook)

os.environ["TE_SCHED_CACHE"] = "0"  # tests compile, those of the cache aside

raise_sites.record()

# The same examples in each CI run; new ones on each run of a developer.
hypothesis.settings.register_profile("developer", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "developer")


errors.hides_frames = lambda info: False  # these tests are about what is behind them


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="session")
def _verified_passes() -> Iterator[None]:
    with config.scoped(verify_passes=True):
        yield


if nvrtc.is_available():

    @pytest.fixture(autouse=True)
    def _compiled_kernels() -> Iterator[None]:
        with compiled_kernels():
            yield
