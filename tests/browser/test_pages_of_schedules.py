"""Pages of real schedules in a browser: every step of each opens, reads well and links."""

from __future__ import annotations

from functools import partial

import pytest

import te_sched
from te_sched import te, tir
from tests.browser.looking import contrasts, marked
from tests.tensorir.programs import MATMUL, program


def blur():
    A = te.placeholder((34, 34), name="A")
    X = te.compute((34, 32), lambda y, x: A[y, x] + A[y, x + 1] + A[y, x + 2], name="X")
    Y = te.compute((32, 32), lambda y, x: X[y, x] + X[y + 1, x] + X[y + 2, x], name="Y")
    Z = te.compute((32, 32), lambda y, x: Y[y, x] / 9, name="Z")
    s = te.create_schedule(Z.op)
    s[Y].compute_inline()
    yo, _, _, xi = s[Z].tile(*Z.op.axis, 8, 16)
    s[X].compute_at(s[Z], yo)
    s[Z].vectorize(xi)
    return s


def kernels():
    A = te.placeholder((256,), name="A")
    B = te.compute((256,), lambda i: A[i] * 2, name="B")
    s = te.create_schedule(B.op)
    block, thread = s[B].split(B.op.axis[0], 64)
    s[B].bind(block, te.thread_axis("blockIdx.x"))
    s[B].bind(thread, te.thread_axis("threadIdx.x"))
    return s


def broken():
    A = te.placeholder((16, 16), name="A")
    k = te.reduce_axis((0, 16), name="k")
    R = te.compute((16,), lambda i: te.sum(A[i, k], axis=k), name="R")
    s = te.create_schedule(R.op)
    s[R].parallel(k)
    return s


def blocks():
    sch = tir.Schedule(program(MATMUL))
    _, j, k = sch.get_loops("C")
    outer, inner = sch.split(j, [None, 4])
    sch.reorder(outer, k, inner)
    sch.reverse_compute_at("D", outer)
    sch.decompose_reduction("C", k)
    return sch


_MADE = [blur, kernels, broken, blocks]


@pytest.fixture(scope="module", params=_MADE, ids=lambda made: made.__name__)
def html(request):
    return te_sched.explain(request.param(), measure=False).html()


def test_every_step_reads_well(open_page, html):
    page = open_page(html)
    while page.locator("#next").get_attribute("aria-disabled") == "false":
        page.keyboard.press("ArrowRight")
        assert page.locator("article:visible h2").count() == 1
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            assert contrasts(page, below=4.5) == []


def outlined_on(page, pane):
    return page.locator(f".current {pane} :is(.l, .row)").evaluate_all(
        "all => all.filter(it => getComputedStyle(it).outlineStyle !== 'none')"
        ".map(it => it.textContent.trim())"
    )


def test_a_row_of_the_nest_and_its_statement_are_highlighted_both_ways(open_page):
    A = te.placeholder((64, 64), name="A")
    B = te.compute((64, 64), lambda i, j: A[i, j] * 3.0, name="B")
    C = te.compute((64, 64), lambda i, j: B[j, i] + 7.0, name="C")
    s = te.create_schedule(C.op)
    s[C].vectorize(C.op.axis[1])
    page = open_page(te_sched.explain(s, [A, C], measure=False).html(), "#step-1")
    outlined = partial(outlined_on, page)
    page.locator(".current .nest .row", has_text="for i").last.hover()
    assert outlined(".program [data-tab=program]") == ["for i in range(64):"]
    page.locator(".current .nest .row", has_text=" * 3.0").hover()
    *views, line = outlined(".program [data-tab=program]")
    assert " * T.float32(3)" in line
    assert all("T.Buffer" in view for view in views)
    assert any("fmul" in one for one in outlined(".output [data-tab=llvm]"))
    page.locator(
        ".current .program [data-tab=program] .l", has_text="+ T.Broadcast(T.float32(7)"
    ).last.hover()
    (row,) = outlined(".nest")
    assert row.startswith("C[i, j] = ")


def test_a_block_its_lines_and_instructions_are_highlighted(open_page):
    page = open_page(te_sched.explain(blocks(), measure=False).html(), "#step-2")
    outlined = partial(outlined_on, page)
    page.locator(".current .nest .row", has_text="block C").hover()
    assert outlined(".program [data-tab=program]")[0] == 'with T.block("C"):'
    page.locator(".current .nest .row", has_text="for j_1").hover()
    assert outlined(".program [data-tab=program]") == ["for i, j_0, k, j_1 in T.grid(8, 2, 8, 4):"]
    page.locator(".current .nest .row", has_text="+= A[vi, vk]").hover()
    assert any("fmul" in one for one in outlined(".output [data-tab=llvm]"))


def test_a_statement_and_its_instructions_are_highlighted_both_ways(open_page):
    A = te.placeholder((64,), name="A")
    B, C = te.compute((64,), lambda i: (A[i] * 3.0, A[i] + 7.0), name="B")
    s = te.create_schedule(B.op)
    s[B].vectorize(B.op.axis[0])
    page = open_page(te_sched.explain(s, [A, B, C], measure=False).html(), "#step-1")
    outlined = partial(outlined_on, page)
    page.locator(".current .program .l", has_text=" * ").last.hover()
    instructions = outlined(".output [data-tab=llvm]")
    assert any("fmul" in one for one in instructions)
    assert not any("fadd" in one for one in instructions)
    page.locator(".current .output [data-tab=llvm] .l", has_text="fadd").first.hover()
    (line,) = outlined(".program")
    assert " + " in line
    assert any(" + " in one for one in outlined(".changes"))
    page.locator(".current .program .l", has_text=" * ").last.click()
    page.mouse.move(5, 5)
    assert outlined(".output [data-tab=llvm]") == instructions
    page.keyboard.press("Escape")
    assert outlined(".output [data-tab=llvm]") == []


@pytest.mark.parametrize(
    ("make", "names"),
    [
        (blur, []),
        (kernels, ["As lowered", "As compiled"]),
        (blocks, ["As scheduled", "As compiled"]),
    ],
)
def test_the_compiled_program_is_a_tab_where_it_differs(open_page, make, names):
    story = te_sched.explain(make(), measure=False)
    page = open_page(story.html(), f"#step-{len(story.steps) - 1}")
    assert page.locator(".current .program [role=tab]").all_text_contents() == names


def test_stages_are_highlighted_in_nest_picture_and_program(open_page, html):
    page = open_page(html, "#step-1")
    for folded in page.locator(".current .flow summary").all():
        folded.click()
    page.locator(".current .flow [data-s]").last.click()
    for pane in (".nest", ".program"):
        assert marked(page, pane), pane
    picture = page.locator(".current .flow g[data-s] rect")
    assert (
        picture.evaluate_all("all => all.map(it => getComputedStyle(it).strokeWidth)").count("3px")
        == 1
    )
