"""PassContext: what is honored, what is warned about, what is refused."""

import pytest

from te_sched import IRModule, build, config, lower, pass_context, te, tir
from te_sched.errors import BuildError, LoweringError
from te_sched.ir.visitor import Mapper, replace
from te_sched.transform import PassContext
from tests.transformed import schedule


def test_vectorizing_is_disabled():
    with PassContext(config={"tir.disable_vectorize": True}):
        assert "for i in range(4)" in str(lower(*schedule()))
    assert "for" not in str(lower(*schedule())).partition("func_attr")[2]


def test_short_loops_unroll():
    for options in ({"auto_max_step": 4}, {"auto_max_extent": 4}):
        with PassContext(config={"tir.UnrollLoop": options}):
            assert "b[3] = " in str(lower(*schedule("")))
    with PassContext(config={"tir.UnrollLoop": {"auto_max_step": 3}}):
        assert "for i in range(4)" in str(lower(*schedule("")))


def test_implicit_unrolling_marks_loops():
    with PassContext(config={"tir.UnrollLoop": {"explicit_unroll": False}}):
        assert "T.unroll(4)" in str(lower(*schedule("unroll")))


def test_passes_are_left_out():
    with PassContext(disabled_pass=["tir.UnrollLoop"]):
        assert "T.unroll(4)" in str(lower(*schedule("unroll")))


@pytest.mark.parametrize(
    ("phase", "kind"),
    [(0, "BufferRealize"), (1, "For"), (2, "BufferStore"), (3, "BufferStore"), (7, "BufferStore")],
)
def test_added_passes_come_at_their_phase(phase, kind):
    seen = []

    def look(func, mod, context):
        seen.append([type(node).__name__ for node in _nodes(func.body)])
        return func

    added = tir.transform.prim_func_pass(look, opt_level=0)
    with PassContext(config={"tir.add_lower_pass": [(phase, added)]}):
        lower(*schedule("unroll"))
    assert kind in seen[0]
    assert ("For" in seen[0]) == (phase < 2)


def _nodes(body):
    found = []
    tir.stmt_functor.post_order_visit(body, found.append)
    return found


def test_scopes_end():
    with PassContext(config={"tir.disable_vectorize": True}) as outer:
        with PassContext():
            assert PassContext.current() is not outer
            assert "range" not in str(lower(*schedule())).partition("func_attr")[2]
        assert PassContext.current() is outer
    build(*schedule())


def test_options_without_effect_warn_once():
    pass_context._warned.discard("tir.use_async_copy")
    with pytest.warns(UserWarning, match="tir.use_async_copy has no effect"):
        PassContext(config={"tir.use_async_copy": 1})
    PassContext(config={"tir.use_async_copy": 1})


def test_unknown_options_are_refused():
    with pytest.raises(
        LoweringError, match=r"unknown option of PassContext[\s\S]*tir.disable_vectorize"
    ):
        PassContext(config={"tir.disable_vectorizing": True})


def test_a_pass_that_gives_no_statement_is_refused():
    with (
        PassContext(config={"tir.add_lower_pass": [(1, lambda stmt: None)]}),
        pytest.raises(LoweringError, match="must return a statement, got None"),
    ):
        lower(*schedule())


def test_conditions_stay_in_unrolled_loops_as_in_older_versions():
    A = te.placeholder((10, 2), name="A")
    B = te.compute((10, 2), lambda i, j: A[i, j] + 1.0, name="B")
    s = te.create_schedule(B.op)
    s[B].split(B.op.axis[0], factor=4)
    s[B].unroll(B.op.axis[1])
    counts = []
    for older in (False, True):
        with PassContext(config={"te_sched.as_older": older}):
            counts.append(lower(s, [A, B], simple_mode=True).astext().count("@tir.likely"))
    assert counts == [1, 2]


@pytest.mark.parametrize("phase", [1, 2, 3])
def test_what_added_passes_make_wrong_is_refused(phase):
    def run_at_once(func, mod, context):
        return func.with_body(_Parallel().visit(func.body))

    A = te.placeholder((4, 8), name="a")
    k = te.reduce_axis((0, 8), name="k")
    B = te.compute((4,), lambda i: te.sum(A[i, k], axis=k), name="b")
    added = tir.transform.prim_func_pass(run_at_once, opt_level=0)
    with (
        PassContext(config={"tir.add_lower_pass": [(phase, added)]}),
        pytest.raises(BuildError, match="data race on b between iterations of parallel axis k"),
    ):
        build(te.create_schedule(B.op), [A, B])


class _Parallel(Mapper):
    """Lets the iterations of a loop run at once."""

    def visit_For(self, node):
        new = self.generic(node)
        return replace(new, kind="parallel") if node.loop_var.name == "k" else new


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"opt_level": "3"}, "opt_level of PassContext must be an int"),
        ({"disabled_pass": "tir.Simplify"}, "disabled_pass of PassContext must be a list"),
        ({"disabled_pass": [3]}, "disabled_pass .* must be a list of names"),
        ({"config": [("tir.disable_vectorize", True)]}, "config of PassContext must be a mapping"),
        ({"config": {3: True}}, "config of PassContext must be .*, got 3"),
        ({"config": {"tir.disable_vectorize": "False"}}, "must be True or False, got 'False'"),
        ({"config": {"tir.disable_cse_tir": 2}}, "disable_cse_tir .* must be True or False"),
        ({"config": {"tir.UnrollLoop": {"auto_max_step": "16"}}}, "auto_max_step .* an int"),
        ({"config": {"tir.UnrollLoop": {"auto_max_step": -1}}}, "auto_max_step .* 0 or more"),
        ({"config": {"tir.LoopPartition": {"partition_const_loop": []}}}, "is a list"),
        ({"config": {"tir.add_lower_pass": [lambda func: func]}}, "must be a pair"),
        ({"config": {"tir.add_lower_pass": {1}}}, "must be a list, got {1}"),
    ],
)
def test_options_reject_other_types(options, match):
    with pytest.raises(LoweringError, match=match):
        PassContext(**options)


def test_hoisting_of_conditions_on_threads_is_an_option() -> None:
    i, axis = tir.Var("i"), te.thread_axis("threadIdx.x")
    call = tir.Evaluate(tir.call_extern("int32", "f", i))
    work = tir.For(i, 0, 4, "serial", tir.IfThenElse(axis.var < 3, call))
    func = tir.PrimFunc((), tir.AttrStmt(axis, "thread_extent", 8, work), {})
    for is_wanted, kind in ((False, tir.For), (True, tir.IfThenElse)):
        with PassContext(
            config={"tir.HoistIfThenElse": {"support_block_scope_hosting": is_wanted}}
        ):
            new = tir.transform.HoistIfThenElse()(IRModule.from_expr(func))["main"]
        assert isinstance(new.body.body, kind)


def test_options_of_dataflow_analyses():
    options = {
        "tir.Simplify": {
            "propagate_knowns_to_prove_conditional": True,
            "propagate_knowns_to_simplify_expressions": True,
            "transitively_prove_inequalities": False,
            "convert_boolean_to_and_of_ors": True,
        },
        "tir.RemoveNoOp": {"use_dataflow_analysis": True, "max_simplification_steps": 9},
        "tir.HoistExpression": {
            "hoisted_conditionals": tir.transform.HoistedConditionals.IfElseExpr,
            "hoisted_let_bindings": 0,
        },
    }
    with PassContext(config=options):
        settings = config.current().lowering
    assert settings.propagate_to_conditions
    assert settings.propagate_to_values
    assert settings.prove_transitively is False
    assert settings.conditions_as_clauses
    assert settings.remove_by_dataflow
    assert settings.dataflow_steps == 9
    assert (settings.hoisted_conditionals, settings.hoisted_lets) == (2, 0)


@pytest.mark.parametrize("value", [16, -1, True, "All", None])
def test_unknown_flags_are_refused(value):
    options = {"tir.HoistExpression": {"hoisted_conditionals": value}}
    with pytest.raises(LoweringError, match=r"must be flags of .*HoistedConditionals"):
        PassContext(config=options)
