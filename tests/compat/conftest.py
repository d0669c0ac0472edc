"""The peer's tests import TVM into the same process; here `import tvm` must mean te_sched."""

import sys

import pytest

from te_sched import compat


@pytest.fixture(scope="module", autouse=True)
def without_tvm():
    """TVM's own modules set aside while a module of these tests runs."""
    names = [name for name in sys.modules if name == "tvm" or name.startswith("tvm.")]
    aside = {name: sys.modules.pop(name) for name in names}
    yield
    sys.modules.update(aside)


@pytest.fixture
def as_tvm():
    """`import tvm` gives te_sched."""
    compat.install()
    yield
    compat.uninstall()
