"""Functions that call themselves, or each other."""

from te_sched import IRModule, relax
from te_sched.relax.analysis import detect_recursion

INFO = relax.TensorStructInfo([4], "float32")


def module_of(**calls):
    """Functions that call others by name."""
    functions = {}
    for name, callees in calls.items():
        value = x = relax.Var("x", INFO)
        for callee in callees:
            value = relax.Call(relax.GlobalVar(callee), [value], sinfo_args=[INFO])
        functions[name] = relax.Function([x], value, INFO)
    return IRModule(functions)


def groups(**calls):
    return [sorted(map(str, group)) for group in detect_recursion(module_of(**calls))]


def test_groups_refer_to_each_other():
    assert groups(a="b", b="c", c="a", d="a", e="") == [["a", "b", "c"]]


def test_a_function_of_itself_is_a_group_and_calls_of_others_are_not():
    assert groups(a="ab", b="c", c="") == [["a"]]
    assert groups(a="bz", b="") == []
