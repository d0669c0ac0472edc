"""Results that candidates must have."""

import numpy as np

import te_sched
from te_sched.tuning import reference
from te_sched.tuning.arguments import random_arrays
from tests.meta_schedule.programs import MODULE


def test_results_are_kept_in_a_file(tmp_path):
    path = str(tmp_path / "results")
    assert reference.kept(path) is None
    bits = random_arrays([((3,), "bfloat16")], te_sched.cpu(0))[0].numpy()
    results = [np.ones((2, 3), "float32"), bits]
    reference.keep(results, path)
    again = reference.kept(path)
    assert reference.difference(results, again) is None
    assert reference.kept(path) is again
    assert [file.name for file in tmp_path.iterdir()] == ["results"]
    reference.keep([np.zeros(4)], path)
    assert reference.kept(path)[0].shape == (4,)


def test_a_difference_tells_the_argument_and_the_elements():
    results = [np.zeros(4, "int32"), np.ones((2, 3), "float32")]
    changed = [results[0], results[1] + np.eye(2, 3, dtype="float32")]
    assert reference.difference(changed, results) == reference.WrongResult(1, 2, 6)
    assert reference.difference([np.zeros(5), *results[1:]], results) is None


def test_a_run_returns_copies_of_the_arguments():
    module = te_sched.build(MODULE, target="llvm")
    cpu = te_sched.cpu(0)
    arguments = random_arrays([((64, 64), "float32")] * 3, cpu)
    (a, b, c), seconds = reference.run(module, cpu, arguments)
    np.testing.assert_allclose(c, a @ b, rtol=1e-4, atol=1e-5)
    assert seconds > 0
    c[:] = 0
    assert arguments[2].numpy().any()


def agree(results, wanted):
    return reference.agree(np.array(results, "float32"), np.array(wanted, "float32"))


def test_other_orders_of_sums_agree():
    assert agree([1.0, 1000.0], [1.0001, 1000.1])
    assert not agree([1.0, 1000.0], [1.0, 1002.0])
    assert agree([np.nan, np.inf], [np.nan, np.inf])
    assert not agree([np.nan], [np.inf])
    assert not agree([np.nan], [1.0])


def test_integers_agree_if_they_are_equal():
    ones = np.ones(3, "int32")
    assert reference.agree(ones, ones)
    assert not reference.agree(ones, ones + 1)
