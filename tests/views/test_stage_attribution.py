"""Which stage a statement computes."""

from benchmarks.gpu.tensor_cores import WarpTile, tensor_cores
from te_sched import tir
from te_sched.ir.expr import Var
from te_sched.ir.stmt import Evaluate
from te_sched.views.loop_tree import loop_tree
from te_sched.views.stage_attribution import StageAttribution


def test_instructions_for_fragments_write_what_they_name_first():
    fragment, matrix = Var("fragment", "handle"), Var("matrix", "handle")
    owners = StageAttribution({fragment: "A.wmma.matrix_a", matrix: "A.shared"}.__getitem__)
    load = tir.call_intrin("handle", "tir.tvm_load_matrix_sync", fragment, 16, 16, 16, 0, matrix)
    assert owners.of(Evaluate(load)) == "A.wmma.matrix_a"
    assert owners.of(Evaluate(tir.call_intrin("handle", "tir.tvm_storage_sync", "shared"))) == ""


def test_tree_has_the_stages_of_tensorized_loops():
    s, args = tensor_cores(128, 128, 32, WarpTile())
    stages = {line.text for line in loop_tree(s, args) if line.kind == "stage"}
    fragments = {"A.shared.wmma.matrix_a", "B.shared.wmma.matrix_b", "C.wmma.accumulator"}
    assert stages == {f"stage {name}" for name in {"A.shared", "B.shared", "C"} | fragments}


def test_stores_are_of_the_stage_of_their_memory():
    buffer = tir.decl_buffer((4,), name="A")
    owners = StageAttribution({buffer.data: "A"}.__getitem__)
    assert owners.of(tir.BufferStore(buffer, 1.0, [0])) == "A"
