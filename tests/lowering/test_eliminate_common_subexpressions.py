"""What gets a name, where, and with which number."""

from __future__ import annotations

from te_sched.config import TO_RUN
from te_sched.ir import ops
from te_sched.ir.buffer import decl_buffer
from te_sched.ir.expr import Let
from te_sched.ir.stmt import IfThenElse, LetStmt, PrimFunc, Stmt
from te_sched.lowering.eliminate_common_subexpressions import (
    eliminate_common_subexpressions,
    identify_equal_terms,
)
from tests.lowering.build import block, expected, function, loop, read, store, text, thread, var

A = decl_buffer((4096,), dtype="int32", name="A")
i, j, k, n, m = var("i"), var("j"), var("k"), var("n"), var("m")


def named(body: Stmt) -> str:
    return text(eliminate_common_subexpressions(function(body, A, n, m)))


def unchanged(body: Stmt) -> bool:
    func: PrimFunc = function(body, A, n, m)
    return eliminate_common_subexpressions(func) is func


def test_largest_term_has_number_one_and_its_parts_stand_before_it() -> None:
    place = i * 64 + j
    body = store(A, read(A, place) + read(A, i * 64 + k), place)
    assert named(loop(i, 4, loop(j, 4, loop(k, 4, body)))) == expected("""
        for i, j, k in T.grid(4, 4, 4):
            cse_var_2: T.int32 = i * 64
            cse_var_1: T.int32 = cse_var_2 + j
            A[cse_var_1] = A[cse_var_1] + A[cse_var_2 + k]
    """)


def test_loops_do_not_share_with_what_stands_before_them() -> None:
    body = block(store(A, 0, n * 4), loop(i, 4, store(A, i, n * 4)))
    assert unchanged(body)


def test_both_branches_share() -> None:
    body = IfThenElse(m < 3, store(A, 1, n * 4), store(A, 2, n * 4))
    assert named(body) == expected("""
        cse_var_1: T.int32 = n * 4
        if m < 3:
            A[cse_var_1] = 1
        else:
            A[cse_var_1] = 2
    """)


def test_condition_binds_inside_of_itself() -> None:
    body = IfThenElse(ops.logical_or(n * 3 < 5, n * 3 > 9), store(A, 1, m))
    func = eliminate_common_subexpressions(function(body, A, n, m))
    assert isinstance(func.body, IfThenElse)
    assert isinstance(func.body.condition, Let)


def test_threads_have_no_names() -> None:
    body = store(A, i * 4, i * 4)
    assert unchanged(thread("threadIdx.x", 4, i, body))


def test_loads_constants_and_single_terms_have_no_names() -> None:
    assert unchanged(block(store(A, read(A, n), n), store(A, read(A, n), m + 1)))


def test_terms_of_one_size_are_numbered_by_their_text() -> None:
    body = block(*[store(A, value, value) for value in (n * 3, m * 3, n * 2)])
    assert named(body).splitlines()[:3] == [
        "cse_var_3: T.int32 = n * 3",
        "cse_var_2: T.int32 = n * 2",
        "cse_var_1: T.int32 = m * 3",
    ]


def test_variable_of_the_program_is_used_again() -> None:
    body = LetStmt(k, n * 7, loop(i, 4, store(A, n * 7, i)))
    assert named(body) == expected("""
        k: T.int32 = n * 7
        for i in range(4):
            A[i] = k
    """)


def test_value_is_shared_where_its_variable_is_defined() -> None:
    quotient = n * 32 // 30
    lines = named(
        block(*[store(A, n * 32, (n * 16 + d) // 15 - quotient) for d in (1, 1, 2, 2)])
    ).splitlines()
    assert lines[1:3] == [
        "cse_var_3: T.int32 = n * 32",
        "cse_var_5: T.int32 = cse_var_3 // 30",
    ]


def test_terms_that_differ_in_their_form_are_identified() -> None:
    body = block(store(A, k * (n + m), n), store(A, k * n + k * m, m))
    func = function(body, A, n, m, k)
    assert text(eliminate_common_subexpressions(identify_equal_terms(func))) == expected("""
        cse_var_1: T.int32 = k * n + k * m
        A[n] = cse_var_1
        A[m] = cse_var_1
    """)


def test_functions_without_equal_terms_are_kept() -> None:
    func = function(store(A, n + m, n), A, n, m)
    assert identify_equal_terms(func) is func


def test_sizes_of_arguments_are_defined_in_programs_to_run() -> None:
    sized = decl_buffer((k,), dtype="int32", name="sized")
    body = loop(i, 4, store(sized, read(A, i // k), i // k))
    func = function(body, A, sized)
    assert eliminate_common_subexpressions(func) is func  # as TVM prints it
    assert text(eliminate_common_subexpressions(func, TO_RUN)) == expected("""
        k = T.int32()
        sized_1 = T.match_buffer(sized, (k,), "int32")
        for i in range(4):
            cse_var_1: T.int32 = i // k
            sized_1[cse_var_1] = A[cse_var_1]
    """)
