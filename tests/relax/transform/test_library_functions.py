"""Functions that libraries compute."""

import pytest

from te_sched.relax.dpl import is_op, wildcard
from te_sched.relax.transform import FuseOpsByPattern
from te_sched.relax.transform.library_functions import (
    calling,
    for_library,
    is_composite,
    library_of,
    renamed_functions,
)
from tests.relax.described import described, described_module
from tests.relax.transform.matched import built, exp_sin


@pytest.fixture
def module():
    """A module with a function of the pattern "lib.exp"."""
    return FuseOpsByPattern([("lib.exp", is_op("relax.exp")(wildcard()))])(built(exp_sin))


def composite_of(module):
    return next(
        name for name in map(module.get_global_var, module.functions) if is_composite(module, name)
    )


def test_functions_of_patterns_have_the_library_of_their_pattern(module):
    name = composite_of(module)
    assert library_of(module, str(name)) == "lib"
    assert not is_composite(module, module.get_global_var("main"))
    assert not is_composite(module, "main")


def test_a_function_of_a_library_has_those_of_patterns_inside(module):
    name = composite_of(module)
    outer = for_library(calling(module, name), module, "lib", "lib_exp")
    assert outer.attrs == {"Codegen": "lib", "global_symbol": "lib_exp"}
    assert described(outer).count("local_func") == 2
    inner = outer.body.blocks[0].bindings[0].value
    assert inner.attrs["Composite"] == "lib.exp"
    assert "Primitive" not in inner.attrs


def test_functions_of_patterns_that_nothing_calls_are_removed(module):
    name = composite_of(module)
    outer = for_library(calling(module, name), module, "lib", "lib_exp")
    found = renamed_functions(module, {str(name): "lib_exp"}, {"lib_exp": outer})
    assert sorted(map(str, found.functions)) == ["lib_exp", "main"]
    assert "lib_exp(" in described_module(found)["main"]
