"""What a pass makes of a function, as a text."""

from te_sched import IRModule
from tests.relax.described import described
from tests.relax.running import assert_same_results


def module_of(func):
    return IRModule({"main": func.with_attr("global_symbol", "main")})


def applied(one, func):
    return described(one(module_of(func))["main"])


def check_values(one, func):
    module = module_of(func)
    assert_same_results(module, one(module))


def is_kept(one, func):
    module = module_of(func)
    return one(module)["main"] is module["main"]
