"""tvm.topi where it accepts more than te_sched.topi."""

import numpy as np
import pytest

import te_sched
from te_sched import te, topi
from te_sched.compat.operators import reshape
from te_sched.errors import DeclarationError

A = te.placeholder((4, 6), name="A")


@pytest.mark.parametrize("shape", [(3, 5), 7, (2, 12), (-1, 8), (24,)])
def test_reshape_takes_the_first_elements(shape):
    B = reshape(A, shape)
    wanted = [int(extent) for extent in B.shape]
    built = te_sched.build(te.create_schedule(B.op), [A, B])
    a = np.arange(24, dtype="float32").reshape(4, 6)
    found = te_sched.nd.array(np.zeros(wanted, "float32"))
    built(te_sched.nd.array(a), found)
    assert np.array_equal(found.numpy(), a.ravel()[: np.prod(wanted)].reshape(wanted))


def test_reshape_of_as_many_elements_is_that_of_topi():
    assert str(reshape(A, (3, 8)).op.body) == str(topi.reshape(A, (3, 8)).op.body)


def test_reshape_rejects_more_elements():
    with pytest.raises(DeclarationError, match=r"^topi.reshape: \(5, 5\) changes the number"):
        reshape(A, (5, 5))


@pytest.mark.usefixtures("as_tvm")
def test_programs_for_tvm_find_it():
    names = {}
    exec("from tvm import topi\nfrom tvm.te.autodiff import gradient", names)
    assert names["topi"].reshape is reshape
    assert names["gradient"] is te.gradient
