"""Parts that the charts of pages share."""

from __future__ import annotations

from te_sched.story.charts import ChartFrame, both_widths, legend


def test_a_chart_is_drawn_for_screens_and_for_phones():
    html = both_widths(lambda width: f"<i>{width}</i>")
    assert html.index("for-screens") < html.index("for-phones")
    assert html.count("<i>") == 2


def test_a_legend_escapes_its_words():
    html = legend(("<circle/>", "a & b"), ("<path/>", "c"))
    assert "<circle/></svg>a &amp; b</li>" in html
    assert html.count("<li>") == 2


def test_numbers_that_have_no_room_are_left_out():
    frame = ChartFrame(200, 100, 20, 20, 10, 20)
    last = frame.end - frame.left
    few = list(frame.numbers(5, lambda number: frame.left + number * last / 5, "step"))
    many = list(frame.numbers(500, lambda number: frame.left + number * last / 500, "step"))
    assert ">1<" in few[0]
    assert len(few) == 6
    assert len(many) < 20
    assert many[-1].endswith(">step</text>")
