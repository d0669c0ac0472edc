"""Settings of all tests: programs are verified after each pass, kernels are compiled if there is a
compiler, the cache is off, raised errors are recorded.

Objects made by the collection of tests, and what modules leave behind, are excluded from garbage
collection, which would look through them again and again; the collection itself runs without.
"""

from __future__ import annotations

import gc
import inspect
import os
import signal
from collections.abc import Generator, Iterator

import pytest

from te_sched import config, errors
from te_sched.codegen.cuda import nvrtc
from te_sched.deep_recursion import in_one_chunk
from tests import raise_sites, read_back
from tests.compiled_kernels import compiled_kernels
from tests.raise_sites import (  # noqa: F401 (hooks)
    pytest_sessionfinish,
    pytest_terminal_summary,
    pytest_testnodedown,
)
from tests.random_order import (  # noqa: F401 (hooks)
    pytest_addoption,
    pytest_collection_modifyitems,
)
from tests.read_back import _read_back  # noqa: F401 (a fixture)
from tests.sampling import pytest_runtest_setup  # noqa: F401 (a hook)

os.environ["TE_SCHED_CACHE"] = "0"  # except in the tests of the cache

raise_sites.record()
read_back.record()

errors.hides_frames = lambda info: False  # show te_sched's frames of failed tests


def pytest_configure() -> None:
    """Restore Ctrl-C, which a shell script disables in the commands that it runs in the background.

    The processes that tests start inherit it.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """One more than there are cores: many tests wait for processes."""
    return 1 + (os.cpu_count() or 1)


@pytest.hookimpl(wrapper=True)
def pytest_collect_file() -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Tests have no examples in docstrings: pytest does not search them."""
    collectors = yield
    return [collector for collector in collectors if type(collector) is pytest.Module]


def pytest_collection() -> None:
    gc.disable()


def pytest_collection_finish() -> None:
    gc.enable()
    gc.collect()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool:
    """Call a test; what it calls does not take memory for frames again and again."""
    parameters, values = inspect.signature(pyfuncitem.obj).parameters, pyfuncitem.funcargs
    in_one_chunk(pyfuncitem.obj, **{name: values[name] for name in parameters if name in values})
    return True


@pytest.fixture(autouse=True, scope="module")
def _frozen_rest() -> Iterator[None]:
    yield
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
