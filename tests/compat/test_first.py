"""Names of older generations of TVM."""

import pytest

from te_sched import te, tir
from te_sched.compat import first
from te_sched.errors import LoweringError
from tests.compat.importing import run

pytestmark = pytest.mark.usefixtures("as_tvm")


def test_extents_of_graphs_are_asked_for_and_never_found():
    names = run(
        "from tvm import te, tir\n"
        "from tvm.arith.analyzer import Analyzer\n"
        "from tvm.tir.generic import cast\n"
        "A = te.placeholder((te.var(), 3))\n"
        "found = [isinstance(extent, (tir.Any, tir.expr.Any)) for extent in A.shape]\n"
        "three = Analyzer().simplify(cast(A.shape[1] * 1, 'int64'))\n"
    )
    assert names["found"] == [False, False]
    assert (names["three"].dtype, names["three"].value) == ("int64", 3)


def test_integers_are_divided_as_in_older_versions():
    A = te.placeholder((8,), name="A")
    B = first.compute((8,), lambda i: A[(i - 4) / 2], name="B")
    assert isinstance(B.op.body[0].indices[0], tir.Div)


def test_options_are_those_of_the_pass_context():
    options = first.build_config(auto_unroll_max_step=4, disable_vectorize=True, offset_factor=2)
    assert options.config["tir.UnrollLoop"] == {"auto_max_step": 4}
    assert options.config["tir.disable_vectorize"] is True
    assert options.buffer_params == {"offset_factor": 2}
    with pytest.raises(LoweringError, match="unknown option of build_config: unrol=3"):
        first.build_config(unrol=3)


def test_statements_are_joined_and_taken_apart():
    statement, other = tir.Evaluate(0), tir.Evaluate(1)
    assert first.stmt_seq(statement) is statement
    assert first.stmt_list(first.stmt_seq(statement, other)) == [statement, other]
    assert first.stmt_list(statement) == [statement]


def test_intrinsics_need_no_prefix():
    assert str(first.call_intrin("float32", "exp", 1.0).op) == "tir.exp"
    assert str(first.call_intrin("float32", "tir.exp", 1.0).op) == "tir.exp"
