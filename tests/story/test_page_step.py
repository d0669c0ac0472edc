"""One step as HTML."""

from __future__ import annotations

import re
from dataclasses import replace

from te_sched.story.model import Output, StoryStep
from te_sched.story.page import page_html
from tests.story.outlines import Outline, texts_of
from tests.story.page_sample import PICTURE, REFUSED, output, sample, step


def test_a_step_of_which_nothing_is_known_has_its_title():
    bare = StoryStep(1, "s[B].split(i, 8)")
    html = page_html(sample(steps=(step(0, "As declared"), bare), stages=()))
    assert Outline(html).open == []
    assert "<code>s[B].split(i, 8)</code></h2>" in html


def test_an_output_without_lines_has_its_note():
    empty = Output("llvm", "LLVM", (), note="too long to compile")
    html = page_html(sample(steps=(step(0, "As declared", outputs=(empty,)),)))
    notes = [text.get("note") for text in texts_of(html)["texts"]["0"]]
    assert notes == [None, "too long to compile"]


def test_outputs_of_one_kind_have_names_of_their_own():
    twice = (output("cuda", "CUDA", 1), output("cuda", "CUDA again", 2))
    html = page_html(sample(steps=(step(0, "As declared", outputs=twice),)))
    names = [text["name"] for text in texts_of(html)["texts"]["0"]]
    assert names == ["program", "cuda", "cuda-1"]


def test_problems_say_where_why_and_cure():
    html = page_html(sample())
    for part in ("where", "why", "help"):
        assert f"<dt>{part}</dt>" in html
    assert html.count('<span class="badge error">refused</span>') == 2  # in the list, and before it


def test_problems_that_later_steps_mend_are_told_quietly():
    steps = (
        step(0, "As declared", problems=(replace(REFUSED, phase="build"),)),
        step(1, "split"),
        step(2, "bind", problems=(replace(REFUSED, phase="lower"),)),
    )
    html = page_html(sample(steps=steps))
    assert html.count('<span class="badge">not built</span>') == 1
    assert html.count('<a href="#step-1">step 1</a> mends that') == 1
    assert html.count('<span class="badge error">not lowered</span>') == 2


def test_wide_pictures_have_the_width_of_the_page():
    wide = '<svg width="900" height="40"></svg>'
    html = page_html(sample(steps=(step(0, "As declared", dataflow=wide),)))
    assert 'style="min-width:765px"' in html
    assert html.index('class="pane flow') < html.index('class="pane nest-pane')


def test_a_dataflow_like_that_of_the_step_before_is_folded():
    other = PICTURE.replace(">A<", ">B<")
    flows = (PICTURE, PICTURE, PICTURE, other, other, "", other)
    steps = tuple(step(number, "split", dataflow=one) for number, one in enumerate(flows))
    html = page_html(sample(steps=steps))
    folded = re.findall(r'id="step-(\d)-flow-title">Dataflow</h3><details><summary>([^<]*)<', html)
    same = "The same as at step"
    assert folded == [("1", f"{same} 0"), ("2", f"{same} 0"), ("4", f"{same} 3")]


def test_last_step_is_whole_for_readers_without_scripts():
    steps = (step(0, "As declared"), step(1, "split", outputs=(output("cuda", "CUDA", 3),)))
    html = page_html(sample(steps=steps))
    assert "store float %y, ptr %B" in html[html.rindex("<noscript>") :]
