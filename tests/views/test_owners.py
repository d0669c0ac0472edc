"""Which stage a statement computes."""

from te_sched import tir
from te_sched.ir.expr import Var
from te_sched.ir.stmt import Evaluate
from te_sched.views.owners import Owners


def test_instructions_for_fragments_write_what_they_name_first():
    fragment, matrix = Var("fragment", "handle"), Var("matrix", "handle")
    owners = Owners({fragment: "A.wmma.matrix_a", matrix: "A.shared"}.__getitem__)
    load = tir.call_intrin("handle", "tir.tvm_load_matrix_sync", fragment, 16, 16, 16, 0, matrix)
    assert owners.of(Evaluate(load)) == "A.wmma.matrix_a"
    assert owners.of(Evaluate(tir.call_intrin("handle", "tir.tvm_storage_sync", "shared"))) == ""
