"""BindParams: weights become constants of a function."""

import numpy as np
import pytest

from te_sched import relax
from te_sched.errors import GraphError
from tests.relax.transform.linear import Linear


def test_sizes_of_weights_are_known_everywhere():
    weights = np.random.rand(3, 2).astype("float32")
    module = relax.transform.BindParams("main", {"w": weights})(Linear)
    main = module["main"]
    assert str(main.params[0].struct_info) == 'R.Tensor((b, 3), dtype="float32")'
    assert str(main.ret_struct_info) == 'R.Tensor((b, 2), dtype="float32")'
    given = np.random.rand(5, 3).astype("float32")
    machine = relax.VirtualMachine(relax.build(module, "llvm"))
    np.testing.assert_allclose(machine["main"](given).numpy(), given @ weights, rtol=1e-5)


def test_bind_params_needs_a_function_of_graphs():
    with pytest.raises(GraphError, match="the module has no function 'mian' of graphs"):
        relax.transform.BindParams("mian", {})(Linear)
