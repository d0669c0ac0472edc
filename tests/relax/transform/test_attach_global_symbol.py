"""Names of functions in libraries."""

import te_sched
from te_sched import relax, tir
from te_sched.relax import transform
from te_sched.relax.op import call_tir
from tests.relax.transform.lowered import INFO


def test_functions_in_system_libraries_have_a_prefix():
    x = relax.Var("x", INFO)
    loops = tir.PrimFunc((), tir.Evaluate(0), {})
    main = relax.Function([x], call_tir(relax.GlobalVar("f"), (), INFO))
    module = te_sched.IRModule({"f": loops, "main": main}, {"system_lib_prefix": "a_"})
    named = transform.AttachGlobalSymbol()(module)
    assert sorted(named.functions) == ["a_f", "main"]
    assert named["main"].body.blocks[0].bindings[0].value.args[0] == "a_f"


def test_functions_of_graphs_get_their_name_and_functions_of_loops_keep_theirs():
    x = relax.Var("x", INFO)
    loops = tir.PrimFunc((), tir.Evaluate(0), {}, {"global_symbol": "kept"})
    graph = relax.Function([x], x).with_attr("global_symbol", "older")
    module = transform.AttachGlobalSymbol()(te_sched.IRModule({"f": loops, "main": graph}))
    symbols = {str(name): func.attrs["global_symbol"] for name, func in module.functions.items()}
    assert symbols == {"f": "kept", "main": "main"}


def test_functions_with_their_symbols_stay():
    x = relax.Var("x", INFO)
    graph = relax.Function([x], x).with_attr("global_symbol", "main")
    module = te_sched.IRModule({"main": graph})
    assert transform.AttachGlobalSymbol()(module)["main"] is graph
