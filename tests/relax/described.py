"""Graphs as short texts, for tests: `lv = exp(x); gv* = tanh(lv); gv`, outputs with a star."""

from te_sched.ir.graph import DataflowVar, GraphFunction
from te_sched.ir.stmt import GlobalVar


def described(func):
    """The bindings and the result of a function."""
    parts = [_binding(one) for block in func.body.blocks for one in block.bindings]
    names = ", ".join(one.name_hint for one in func.params)
    return f"({names}) " + "; ".join([*parts, _text(func.body.body)])


def described_module(module):
    """The functions of graphs of a module by name."""
    return {
        str(name): described(func)
        for name, func in module.functions_items()
        if isinstance(func, GraphFunction)
    }


def _binding(binding):
    star = "" if isinstance(binding.var, DataflowVar) else "*"
    return f"{binding.var.name_hint}{star} = {_text(binding.value)}"


def _text(value):
    kind = type(value).__name__
    if kind in ("GraphVar", "DataflowVar"):
        return value.name_hint
    if kind == "Tuple":
        return f"({', '.join(map(_text, value.fields))})"
    if kind == "TupleGetItem":
        return f"{_text(value.tuple_value)}[{value.index}]"
    if kind == "Constant":
        return str(value.data.numpy().tolist())
    if kind == "ShapeExpr":
        sizes = [getattr(size, "value", size) for size in value.values]
        return f"[{', '.join(map(str, sizes))}]"
    if kind != "GraphCall":
        return str(getattr(value, "global_symbol", value))
    name, args = _text(value.op), list(value.args)
    if name in ("relax.call_tir", "relax.call_tir_inplace") and isinstance(args[0], GlobalVar):
        name, args = str(args[0]), [*args[1].fields, *args[2:]]
    return f"{name.removeprefix('relax.')}({', '.join(map(_text, args))})"
