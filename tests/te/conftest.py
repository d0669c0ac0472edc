import pytest

from te_sched import te


@pytest.fixture
def A():
    return te.placeholder((4, 5), name="A")
