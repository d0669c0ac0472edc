"""LiftTransformParams: computations of weights alone."""

import numpy as np
import pytest

from te_sched import IRModule, relax
from te_sched.errors import GraphError
from te_sched.relax.analysis import well_formed
from te_sched.transform import PassContext
from tests.relax.transform.weights import run, weights_of


def test_computations_of_weights_are_lifted():
    module = relax.transform.LiftTransformParams()(weights_of("main"))
    assert well_formed(module)
    x, *weights = [np.random.rand(4, 4).astype("float32") for _ in range(3)]
    from te_sched import nd

    ready = run(module, [nd.array(one) for one in weights], name="main_transform_params")
    found = run(module, x, *[ready[place] for place in range(2)]).numpy()
    np.testing.assert_allclose(found, x @ weights[0].T @ weights[1].T, rtol=1e-5)


def test_weights_are_freed_when_they_are_taken():
    with PassContext(config={"relax.lift_transform_params.consume_params": True}):
        module = relax.transform.LiftTransformParams()(weights_of("main"))
    (block,) = module["main_transform_params"].body.blocks
    callees = [one.value.args[0] for one in block.bindings if hasattr(one.value, "args")]
    names = [getattr(one, "global_symbol", "") for one in callees]
    assert names.count("vm.builtin.tuple_reset_item") == 2


def test_shared_weights_must_agree():
    first = weights_of("f")
    lift = relax.transform.LiftTransformParams(shared_transform=True)

    def both(other):
        return IRModule({**first.functions, **other.functions})

    assert "transform_params" in lift(both(weights_of("g")))
    with pytest.raises(GraphError, match="two functions with shared weights have 2 and 1 weights"):
        lift(both(weights_of("g", count=1)))
    with pytest.raises(GraphError, match=r"weight w0 is .* in one function and"):
        lift(both(weights_of("g", size=5)))
