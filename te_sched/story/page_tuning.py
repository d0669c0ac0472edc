"""The page of a search: charts of the trials, failures, and the best program with its trace.

Must not know how candidates are found or measured.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from te_sched.meta_schedule.tuning import Trials, schedule_text
from te_sched.story.charts import NARROW, ChartFrame, both_widths, legend
from te_sched.story.page import asset, page_template, policy
from te_sched.story.page_texts import highlighted, time_text
from te_sched.story.text import times_text
from te_sched.views.highlight import css

_APART = 30  # pixels between the names of lines
_BOUNDS = (1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0)  # of the spread, in terms of the best time
_MOST_POINTS = 5000  # of a chart; more would only be slow


def tuning_html(trials: Trials, name: str) -> str:
    """A search as one HTML file without scripts; nothing is loaded from elsewhere."""
    sections = (_summary(trials), _over_trials(trials), _spread(trials), _failures(trials))
    return page_template("tuning.html").substitute(
        title=escape(f"Search for schedules of {name}"),
        generator="te_sched",
        policy=policy(),
        style=f"{asset('style.css')}\n{asset('tuning.css')}\n{css('.code')}",
        subtitle=_subtitle(trials),
        sections="\n".join(filter(None, (*sections, _best(trials, name)))),
        footer="<p>Made by te_sched.story.tuning.tuning_report.</p>",
    )


def _subtitle(trials: Trials) -> str:
    machines = {trial.machine for trial in trials.candidates if trial.machine}
    parts = [
        f"{len(trials.candidates)} candidates",
        f"for <code>{escape(str(trials.target))}</code>",
    ]
    if machines:
        parts.append(f"measured on {escape(', '.join(sorted(machines)))}")
    return " &middot; ".join(parts)


def _time(seconds: float) -> str:
    return time_text(seconds * 1e3)


def _summary(trials: Trials) -> str:
    if trials.best is None:
        return '<p class="problem">No candidate could be measured.</p>'
    best, plain = trials.best.mean, trials.unscheduled
    said = f"The best schedule takes {_time(best)}"
    if trials.is_unscheduled_best:
        said = f"{trials.outcome}, which takes {_time(best)}"
    elif plain is not None:
        said += f", {times_text(plain.mean / best)} times as fast as the unscheduled program"
        said += f", which takes {_time(plain.mean)}"
    hints = [escape(f"{hint.message}: {hint.why}") for hint in trials.hints()]
    return "".join(f"<p>{text}.</p>" for text in (said, *hints))


def _section(anchor: str, title: str, body: str) -> str:
    return f'<section aria-labelledby="{anchor}"><h2 id="{anchor}">{title}</h2>{body}</section>'


@dataclass(frozen=True)
class _Scale:
    """Positions in a chart: trials to the right, the logarithm of seconds upwards."""

    frame: ChartFrame
    count: int
    low: float
    high: float

    def x(self, number: float) -> float:
        """The position of a trial, counted from 1."""
        frame = self.frame
        return frame.left + (frame.end - frame.left) * (number - 0.5) / max(self.count, 1)

    def y(self, seconds: float) -> float:
        """The position of a time."""
        share = math.log(seconds / self.low) / math.log(self.high / self.low)
        return self.frame.floor - (self.frame.floor - self.frame.top) * share


def _over_trials(trials: Trials) -> str:
    """Each candidate as a point, and the best time until each as a line."""
    latencies = trials.latencies[:_MOST_POINTS]
    plain = None if trials.unscheduled is None else trials.unscheduled.mean
    times = [
        latency for latency in (*latencies, plain) if latency is not None and 0 < latency < math.inf
    ]
    if not times:
        return ""
    low, high = min(times) / 1.15, max(times) * 1.15

    def draw(width: int) -> str:
        is_narrow = width == NARROW
        left, right = (52, 84) if is_narrow else (70, 110)
        frame = ChartFrame(width, 300 if is_narrow else 320, left, right, top=30, bottom=44)
        return _chart(_Scale(frame, len(latencies), low, high), latencies, plain)

    entries = [
        ('<circle cx="12" cy="6" r="3.5"/>', "a candidate"),
        ('<path class="best" d="M0 6H24"/>', "the best time until then"),
        ('<circle class="won" cx="12" cy="6" r="3.5"/>', "the best of all"),
    ]
    if not all(0 < latency < math.inf for latency in latencies):
        entries.append(('<text class="failed" x="8" y="10">&times;</text>', "a failure"))
    body = legend(*entries) + both_widths(draw)
    return _section("over-trials", "Best time over the trials", body)


def _chart(scale: _Scale, latencies: Sequence[float], plain: float | None) -> str:
    frame = scale.frame
    parts = [*_grid(scale), *_points(latencies, scale), _best_line(latencies, scale)]
    lines = {}
    if plain is not None:
        parts.append(f'<path class="plain" d="M{frame.left} {scale.y(plain):.1f}H{frame.end}"/>')
        lines["unscheduled"] = plain
    valid = [latency for latency in latencies if 0 < latency < math.inf]
    if valid:
        lines["best"] = min(valid)
    parts += _names_of_lines(lines, scale)
    return frame.svg("Time of each candidate, and the best until then", *parts)


def _names_of_lines(lines: Mapping[str, float], scale: _Scale) -> Iterator[str]:
    """The name and the time of each line, at its right end, below each other."""
    last = -math.inf
    for name, seconds in sorted(lines.items(), key=lambda line: -line[1]):
        y = last = max(scale.y(seconds), last + _APART)
        x = scale.frame.end + 6
        yield (
            f'<text x="{x}" y="{y - 2:.1f}">{name}</text>'
            f'<text x="{x}" y="{y + 12:.1f}">{_time(seconds)}</text>'
        )


def _grid(scale: _Scale) -> Iterator[str]:
    for seconds in _ticks(scale.low, scale.high):
        yield scale.frame.level(scale.y(seconds), _time(seconds))
    yield f'<text x="4" y="{scale.frame.top - 16}">time of a call</text>'
    yield from scale.frame.numbers(scale.count, scale.x, "trial")


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers between two times: 1, 2 and 5 of each power of ten."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    every = [digit * 10.0**power for power in powers for digit in (1, 2, 5)]
    return [tick for tick in every if low <= tick <= high]


def _points(latencies: Sequence[float], scale: _Scale) -> Iterator[str]:
    best = min(latencies, default=math.inf)
    for number, seconds in enumerate(latencies, 1):
        x = f"{scale.x(number):.1f}"
        if not 0 < seconds < math.inf:
            yield (
                f'<text class="failed" x="{x}" y="{scale.frame.top - 2}" text-anchor="middle">'
                f"&times;<title>trial {number}: failed</title></text>"
            )
            continue
        kind = ' class="won"' if seconds == best else ""
        yield (
            f'<circle{kind} cx="{x}" cy="{scale.y(seconds):.1f}" r="3.5">'
            f"<title>trial {number}: {_time(seconds)}</title></circle>"
        )


def _best_line(latencies: Sequence[float], scale: _Scale) -> str:
    """The best time until each trial, as steps."""
    best, path = math.inf, ""
    for number, seconds in enumerate(latencies, 1):
        if 0 < seconds < best:
            y, x = scale.y(seconds), scale.x(number)
            path += f"H{x:.1f}V{y:.1f}" if path else f"M{x:.1f} {y:.1f}"
            best = seconds
    return f'<path class="best" d="{path}H{scale.frame.end}"/>' if path else ""


def _spread(trials: Trials) -> str:
    """How many candidates are how much slower than the best one."""
    valid = sorted(latency for latency in trials.latencies if 0 < latency < math.inf)
    if not valid:
        return ""
    best, rows, low = valid[0], [], 1.0
    for high in (*_BOUNDS, math.inf):
        count = sum(low * best <= latency < high * best for latency in valid)
        words = f"{low:g} to {high:g}" if high < math.inf else f"{low:g} and more"
        width = 100 * count / len(valid)
        rows.append(
            f'<tr><th scope="row">{words}</th><td class="figure">{count}</td>'
            f'<td class="count"><span style="width:{width:.1f}%"></span></td></tr>'
        )
        low = high
    heads = ("times the best time", "candidates", "share of all")
    head = "".join(f'<th scope="col">{heading}</th>' for heading in heads)
    middle = f"<p>Median {_time(valid[len(valid) // 2])}, slowest {_time(valid[-1])}.</p>"
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    return _section("spread", "Spread of the candidates", middle + table)


def _failures(trials: Trials) -> str:
    """Failures by kind, each with the message and the trace of its first candidate."""
    counts = trials.failures
    if not counts:
        return ""
    parts = []
    for what, count in counts.items():
        first = trials.first_failure(what)
        parts.append(
            f"<details><summary>{count} &times; {escape(what)}</summary>"
            f"<pre>{escape(first.error_msg or '')}</pre>"
            f"{_code(str(first.trace), 'Trace of the first of them')}</details>"
        )
    return _section("failures", "Failures", "".join(parts))


def _code(text: str, label: str) -> str:
    lines = "\n".join(highlighted(text.strip("\n").splitlines()))
    return (
        f'<pre class="trace code" tabindex="0" role="group" aria-label="{escape(label)}">'
        f"{lines}</pre>"
    )


def _best(trials: Trials, name: str) -> str:
    if trials.best is None:
        return ""
    program = _code(trials.best.schedule().mod.script(), "Best program")
    text = schedule_text(trials.module, trials.best.trace, trials.target, name)
    return _section("best", "The best program", program) + _section(
        "trace",
        "Its trace",
        '<p class="note">A program that makes the schedule and builds it.</p>'
        + _code(text, "Program that makes the schedule"),
    )
