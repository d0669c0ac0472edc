"""The page of a story as a file: that it is whole, small, safe, and the same each time."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
import zlib
from dataclasses import replace
from html.parser import HTMLParser
from importlib.resources import files

import pytest

from te_sched.story.model import Change, Line, LoopRow, Output, StoryStage, StoryStep, Timing
from te_sched.story.page import page_html
from te_sched.story.page_texts import bytes_text, count_text, factor_text, time_text
from te_sched.story.text import times_text
from tests.story.page_sample import PICTURE, REFUSED, output, sample, step

_VOID = {"meta", "link", "br", "input", "img", "hr"}
HOSTILE = "</script><script>alert(1)</script><b>&\"'"


class Outline(HTMLParser):
    """What of a page matters here: whether its tags are closed, its scripts, its addresses."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[str] = []
        self.texts: list[str] = []
        self.addresses: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.addresses += [value for name, value in attrs if name in ("src", "href")]
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)

    def handle_data(self, data):
        self.texts.append(data)


def texts_of(html):
    """The packed table of lines and texts."""
    packed = re.search(r'id="texts">([^<]*)</script>', html)[1]
    return json.loads(zlib.decompress(base64.b64decode(packed)))


def lines_of(html, number, name):
    """The lines of a text of a step, as HTML."""
    table = texts_of(html)
    (text,) = [one for one in table["texts"][str(number)] if one["name"] == name]
    runs = text["runs"]
    pairs = zip(runs[::2], runs[1::2], strict=True)
    return [table["lines"][first + k] for first, count in pairs for k in range(count)]


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


def test_equal_texts_are_kept_once():
    one = tuple(step(number, "split", outputs=(output("llvm", "LLVM", 7),)) for number in range(3))
    table = texts_of(page_html(sample(steps=one)))
    runs = [text["runs"] for number in "012" for text in table["texts"][number][1:]]
    assert runs[0] == runs[1] == runs[2]
    assert sum("add i32" in re.sub("<[^>]*>", "", line) for line in table["lines"]) == 38


def test_lines_keep_their_order_and_text():
    lines = lines_of(page_html(sample()), 2, "assembly")
    plain = [re.sub("<[^>]*>", "", line) for line in lines]
    assert plain == [line.text for line in output("assembly", "Assembly", 2).lines]


def test_lines_with_other_breaks_stay_one_line():
    odd = tuple(Line(text) for text in ("a\x0cb", "", "c\u2028d", "x = 1"))
    html = page_html(sample(steps=(step(0, "As declared", program=odd),)))
    assert len(lines_of(html, 0, "program")) == 4


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


def test_pictures_share_their_style_and_name_stages_by_number():
    html = page_html(sample())
    assert html.count(".te-flow {}") == 1
    assert "data-stages=" not in html
    assert html.count('<g data-s="0">') == 4


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


def test_figures_of_loops_are_explained_where_they_stand():
    html = page_html(sample())
    assert html.count("Bytes of distinct elements that one iteration") == html.count('class="heads')
    plain = page_html(sample(steps=(step(0, "As declared", nest=()),)))
    assert "Bytes of distinct elements" not in plain


def test_last_step_is_whole_for_readers_without_scripts():
    steps = (step(0, "As declared"), step(1, "split", outputs=(output("cuda", "CUDA", 3),)))
    html = page_html(sample(steps=steps))
    assert "store float %y, ptr %B" in html[html.rindex("<noscript>") :]


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


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (512, "512 B"),
        (1536, "1.5 KiB"),
        (1 << 22, "4 MiB"),
        (None, ""),
        (150_000, "146 KiB"),
    ],
)
def test_sizes_are_said_shortly(count, text):
    assert bytes_text(count) == text


@pytest.mark.parametrize(
    ("count", "text"), [(64, "64"), (2.5e9, "2.5 G"), (None, ""), (0.25, "0.25")]
)
def test_counts_are_said_shortly(count, text):
    assert count_text(count) == text


@pytest.mark.parametrize(
    ("factor", "text"), [(None, ""), (1.5, "1.5x"), (682.4, "682x"), (1.7e7, "17Mx")]
)
def test_factors_are_said_shortly(factor, text):
    assert factor_text(factor) == text


@pytest.mark.parametrize(("ms", "text"), [(0.0123, "12.3 µs"), (4.5, "4.5 ms"), (1250, "1.25 s")])
def test_times_are_said_with_three_digits(ms, text):
    assert time_text(ms) == text


def test_large_ratios_have_no_exponent():
    assert [times_text(one) for one in (1.0512, 99.5, 488.2, 1105.3)] == [
        "1.05",
        "99.5",
        "488",
        "1,105",
    ]
