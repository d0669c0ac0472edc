"""te_sched.testing: marks, with pytest and without."""

import numpy as np
import pytest

from te_sched import testing
from te_sched.errors import DeclarationError


def skips(test):
    return [mark.args[0] for mark in test.pytestmark if mark.name == "skipif"]


@pytest.mark.parametrize(
    ("mark", "is_skipped"),
    [
        (testing.requires_gpu, True),
        (testing.requires_llvm, False),
        (testing.requires_cuda(), True),
        (testing.requires_package("numpy", "no_such_package"), True),
        (testing.slow, False),
    ],
)
def test_marks(mark, is_skipped, monkeypatch):
    monkeypatch.delenv("SKIP_SLOW_TESTS", raising=False)

    def test():
        pass

    assert skips(mark(test)) == [is_skipped]


def test_without_pytest_a_test_says_that_it_is_skipped(monkeypatch, capsys):
    monkeypatch.setattr(testing, "_pytest", lambda: None)
    ran = []
    testing.requires_gpu(ran.append)(1)
    testing.requires_llvm(ran.append)(2)
    testing.uses_gpu(ran.append)(3)
    assert ran == [2, 3]
    assert "no cuda device is available" in capsys.readouterr().err


def test_targets():
    assert [name for name, _ in testing.enabled_targets()] == ["llvm"]
    assert not testing.device_enabled("opencl")


@testing.parametrize_targets("llvm", "cuda")
def test_parametrized_by_targets(target, dev):
    assert (target, str(dev)) == ("llvm", "cpu(0)")


small, large = testing.parameters((1, 10), (2, 20))


@pytest.mark.filterwarnings("error")
def test_parameters_go_together(small, large):
    assert large == 10 * small


one_of = testing.parameter("a", "b")


def test_parameter(one_of):
    assert one_of in "ab"


def of_two(x, y):
    return np.sum(np.sin(x) * y) + np.sum(1 / x)


@pytest.fixture
def point():
    x, y = np.random.default_rng(0).uniform(0.5, 3.0, (2, 3, 4))
    return x, y, np.cos(x) * y - 1 / (x * x), np.sin(x)


def test_numerical_gradients_that_agree(point):
    x, y, by_x, by_y = point
    testing.check_numerical_grads(of_two, [x, y], [by_x, by_y])
    testing.check_numerical_grads(of_two, [x, y], [by_x])
    testing.check_numerical_grads(of_two, {"x": x, "y": y}, {"y": by_y}, of_two(x, y))
    with pytest.raises(DeclarationError, match="no such input"):
        testing.check_numerical_grads(of_two, [x, y], [by_x, by_y, by_y])


def test_more_points_where_two_are_not_enough():
    x = np.array([np.pi / 2 - 0.003])
    testing.check_numerical_grads(lambda x: np.tan(x).sum(), [x], [1 / np.cos(x) ** 2], rtol=0.02)


@pytest.mark.parametrize("index", [(0, 0), (2, 3)])
def test_numerical_gradients_that_differ(point, index):
    x, y, by_x, by_y = point
    by_y = by_y.copy()
    by_y[index] += 2.0
    with pytest.raises(AssertionError, match=r"^the derivative with respect to input 1 differs"):
        testing.check_numerical_grads(of_two, [x, y], [by_x, by_y])
    by_y[index] = np.nan
    with pytest.raises(AssertionError, match="by nan"):
        testing.check_numerical_grads(of_two, [x, y], [by_x, by_y])
