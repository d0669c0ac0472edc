"""Tests of the peer import TVM into the same process; here `import tvm` must import te_sched."""

import sys

import pytest

from te_sched import compat


@pytest.fixture(scope="module", autouse=True)
def without_tvm():
    """Remove TVM's modules while a module of these tests runs."""
    names = [name for name in sys.modules if name == "tvm" or name.startswith("tvm.")]
    aside = {name: sys.modules.pop(name) for name in names}
    yield
    sys.modules.update(aside)


@pytest.fixture
def as_tvm():
    """Let `import tvm` import te_sched."""
    compat.install()
    yield
    compat.uninstall()
