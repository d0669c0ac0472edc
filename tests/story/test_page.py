"""The page of a story as a file: that it is whole, small, safe, and the same each time."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import pytest

import te_sched
from te_sched import te
from te_sched.story.model import Change, Line, LoopRow, StoryStage, Timing
from te_sched.story.page import page_html
from tests.story.outlines import Outline, lines_of, texts_of
from tests.story.page_sample import output, sample, step

HOSTILE = "</script><script>alert(1)</script><b>&\"'"


def test_page_is_well_formed():
    outline = Outline(page_html(sample()))
    assert outline.open == []
    assert outline.tags.count("main") == 1


def test_page_needs_nothing_else():
    html = page_html(sample())
    addresses = Outline(html).addresses
    assert all(address.startswith(("#", "data:")) for address in addresses)
    assert "default-src 'none'" in html
    assert "@import" not in html
    assert "url(" not in html


def test_page_is_the_same_each_time():
    assert page_html(sample()) == page_html(sample())


def test_names_and_sources_cannot_become_tags():
    plain = Outline(page_html(sample())).tags
    stages = (StoryStage(HOSTILE, "compute", (HOSTILE,), HOSTILE, 4, HOSTILE, HOSTILE),)
    lines = (Line(HOSTILE, (HOSTILE,)),)
    hostile = step(
        1,
        HOSTILE,
        stage=HOSTILE,
        code=HOSTILE,
        where=HOSTILE,
        source_line=HOSTILE,
        summary=HOSTILE,
        nest=(LoopRow(0, "loop", HOSTILE, (HOSTILE,), 4, HOSTILE),),
        program=lines,
        changes=(Change("+", HOSTILE, (HOSTILE,)), Change("@", HOSTILE)),
        timing=Timing(note=HOSTILE),
        notes=(HOSTILE,),
    )
    story = sample(title=HOSTILE, target=HOSTILE, stages=stages, program=HOSTILE, trace=HOSTILE)
    html = page_html(replace(story, steps=(step(0, HOSTILE), hostile)))
    outline = Outline(html)
    assert outline.open == []
    assert "b" not in set(outline.tags) - set(plain)
    assert outline.tags.count("script") == plain.count("script")
    assert "<script>alert" not in html


def test_hostile_code_is_escaped_in_the_packed_table():
    story = sample(steps=(step(0, "As declared", program=(Line(HOSTILE, ("A",)),)),))
    (line,) = lines_of(page_html(story), 0, "program")
    assert "<script" not in line
    assert Outline(line).open == []


def test_lines_left_out_are_told():
    cut = output("llvm", "LLVM", 1)
    left = replace(cut, left_out=1234)
    html = page_html(sample(steps=(step(0, "As declared", outputs=(left,)),)))
    (note,) = [text["note"] for text in texts_of(html)["texts"]["0"] if "note" in text]
    assert note == "1,234 more lines are left out."


def test_story_without_primitives_has_one_step():
    html = page_html(sample(steps=(step(0, "As declared"),), highlights=()))
    assert "0 steps" in html
    assert html.count("<article") == 2


def test_story_of_a_hundred_steps_stays_small():
    steps = tuple(step(number, f"s[B].split(i, {number})") for number in range(101))
    html = page_html(sample(steps=steps))
    assert html.count("<article") == 102
    assert len(html.encode()) < 1_000_000


def test_times_unknown_draw_no_bars():
    steps = tuple(step(number, "split", timing=Timing(note="no GPU here")) for number in range(2))
    html = page_html(sample(steps=steps))
    assert 'class="track"' not in html
    assert "time, speedup" not in html
    assert html.count("no GPU here") == 2


def test_bars_are_relative_to_the_longest():
    html = page_html(sample())
    assert re.findall(r'style="width:([\d.]+)%"', html) == ["100.0", "50.0"]


def test_steps_without_a_time_have_no_bars():
    missing = Timing(note="Not measured (`--budget 60`): it runs for more than 2 s.")
    steps = (step(0, "declared", timing=missing), step(1, "split"))
    html = page_html(sample(steps=steps))
    assert html.count('class="track"') == 1
    assert html.count(f'<span class="no-time" title="{missing.note}">not measured</span>') == 1
    assert "Not measured (<code>--budget 60</code>): it runs" in html


def test_speedups_over_another_step_than_the_first_say_so():
    times = [Timing(note="Not measured"), Timing(8.0, 7.0, 9.0, 5, 1.0, first=1)]
    steps = tuple(step(number, "split", timing=timing) for number, timing in enumerate(times))
    assert "time, speedup over step 1" in page_html(sample(steps=steps))


def test_scripts_parse():
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node to check the scripts with; the browser tests run them")
    html = page_html(sample())
    script = re.search(r'<script type="module">(.*?)</script>', html, re.DOTALL)[1]
    command = [node, "--input-type=module", "--check"]
    done = subprocess.run(command, input=script, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_assets_are_small_files():
    for asset in (files("te_sched.story") / "assets").iterdir():
        assert len(asset.read_text().splitlines()) < 400, asset.name


def gemm(size):
    """A matrix product in steps, as courses teach it."""
    A = te.placeholder((size, size), name="A")
    B = te.placeholder((size, size), name="B")
    k = te.reduce_axis((0, size), name="k")
    C = te.compute((size, size), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    s = te.create_schedule(C.op)
    local = s.cache_write(C, "local")
    io, jo, _, ji = s[C].tile(*C.op.axis, 32, 64)
    s[local].compute_at(s[C], jo)
    i, j = s[local].op.axis
    ko, ki = s[local].split(s[local].op.reduce_axis[0], factor=4)
    jco, jci = s[local].split(j, factor=16)
    s[local].reorder(ko, i, ki, jco, jci)
    s[local].vectorize(jci)
    s[local].unroll(ki)
    s[local].unroll(jco)
    s[C].vectorize(ji)
    packed = s.cache_read(B, "global", [local])
    s[packed].compute_at(s[C], jo)
    s[C].parallel(io)
    return s, [A, B, C]


def test_page_of_the_gemm_ladder_is_small():
    s, args = gemm(512)
    html = te_sched.explain(s, args, measure=False).html()
    assert html.count("<article") == 15
    assert len(html.encode()) < 1_000_000
    assert Outline(html).open == []


def test_page_of_an_odd_name_is_well_formed():
    A = te.placeholder((8,), name="<b>")
    B = te.compute((8,), lambda i: A[i] + 1, name="</script>")
    s = te.create_schedule(B.op)
    s[B].split(B.op.axis[0], 4)
    html = te_sched.explain(s, measure=False).html()
    outline = Outline(html)
    assert outline.open == []
    assert "b" not in outline.tags
    assert html.count("</script>") == 3


@pytest.mark.parametrize("axis", ["k", "i"])
def test_page_of_a_refused_schedule_says_why(axis):
    A = te.placeholder((8, 8), name="A")
    k = te.reduce_axis((0, 8), name="k")
    R = te.compute((8,), lambda i: te.sum(A[i, k], axis=k), name="R")
    s = te.create_schedule(R.op)
    s[R].parallel(k if axis == "k" else R.op.axis[0])
    html = te_sched.explain(s, measure=False).html()
    assert ("<dt>why</dt>" in html) == (axis == "k")


IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pictures_are_there_and_small(scheme):
    data = (IMAGES / f"explain-{scheme}.png").read_bytes()
    width, height = struct.unpack(">II", data[16:24])
    assert data.startswith(b"\x89PNG")
    assert (width, height) == (1400, 1120)
    assert len(data) < 250_000
