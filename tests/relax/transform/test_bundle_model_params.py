"""BundleModelParams: the weights of a function as a tuple."""

import numpy as np
import pytest

from te_sched import IRModule, nd, relax
from te_sched.errors import LoweringError
from te_sched.transform import ApplyPassToFunction
from tests.relax.transform.weights import run, weights_of


def test_a_pass_is_applied_to_one_function():
    module = IRModule({**weights_of("f").functions, **weights_of("g").functions})
    bundle = ApplyPassToFunction(relax.transform.BundleModelParams("weights"), "f")
    found = bundle(module)
    assert [len(found[name].params) for name in "fg"] == [2, 3]
    strict = ApplyPassToFunction(bundle, "h", error_if_no_function_matches_regex=True)
    with pytest.raises(LoweringError, match="no function has a name that matches 'h'"):
        strict(module)


def test_weights_are_taken_out_of_the_tuple():
    module = relax.transform.BundleModelParams()(weights_of("main"))
    x, v, w = (np.random.default_rng(seed).random((4, 4), "float32") for seed in range(3))
    assert [one.name_hint for one in module["main"].params] == ["x", "model_params"]
    found = run(module, x, [nd.array(v), nd.array(w)]).numpy()
    np.testing.assert_allclose(found, x @ v.T @ w.T, rtol=1e-5)


def test_functions_without_a_number_of_inputs_stay():
    module = IRModule({"main": weights_of("main")["main"].without_attr("num_input")})
    assert relax.transform.BundleModelParams()(module)["main"] is module["main"]
