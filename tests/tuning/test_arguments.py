"""The arrays that programs are run with."""

import numpy as np

import te_sched
from te_sched.tuning.arguments import arrays_of, random_arrays

CPU = te_sched.cpu(0)


def test_random_arrays_are_the_same_for_all_candidates():
    shapes = [((4, 8), "float32"), ((3,), "int8")]
    for first, second in zip(random_arrays(shapes, CPU), random_arrays(shapes, CPU), strict=True):
        np.testing.assert_array_equal(first.numpy(), second.numpy())
    other = random_arrays(shapes, CPU, seed=1)[0].numpy()
    assert not np.array_equal(other, random_arrays(shapes, CPU)[0].numpy())


def test_integers_may_be_indices():
    integers, truths = random_arrays([((999,), "int32"), ((999,), "bool")], CPU)
    assert {*integers.numpy().tolist()} == {*range(8)}
    assert {*truths.numpy().tolist()} == {False, True}


def test_floats_are_below_one():
    values = random_arrays([((999,), "float16")], CPU)[0].numpy()
    assert abs(values).max() <= 1


def test_values_of_the_user_become_arrays_of_the_device():
    (array,) = arrays_of([np.full((2, 3), 5, "int16")], CPU)
    assert (array.dtype, array.shape, array.numpy().sum()) == ("int16", (2, 3), 30)
