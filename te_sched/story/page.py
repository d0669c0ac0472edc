"""The page of a story: one self-contained HTML file, from a template, a style and scripts.

Owns the parts of the page around the steps, and the overview before them. Must not know how a story
is made.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from html import escape
from importlib.resources import files
from itertools import pairwise
from string import Template

from te_sched.story.model import NOISE, StoryData, StoryStage, StoryStep
from te_sched.story.page_nest import figures_html
from te_sched.story.page_step import step_html
from te_sched.story.page_texts import (
    Pictures,
    StageIds,
    TextTable,
    bytes_text,
    factor_text,
    highlighted,
    time_text,
)
from te_sched.story.text import times_text
from te_sched.views.highlight import css

_SCRIPTS = ("texts.js", "tabs.js", "stages.js", "steps.js", "main.js")
_FIRST = "document.documentElement.classList.add('js')"

_STATES = {
    "program": "failed",
    "schedule": "refused",
    "lower": "not lowered",
    "build": "not built",
    "run": "not run",
}


def page_html(story: StoryData) -> str:
    """A story as one HTML file, readable without JavaScript; nothing is loaded from elsewhere."""
    stages = StageIds(stage.name for stage in story.stages)
    texts, pictures = TextTable(stages), Pictures(stages)
    last = len(story.steps) - 1
    sections = []
    mended = _mended(story.steps)
    like = _same_dataflow(story.steps)
    for step in story.steps:
        texts.add(step, figures_html(step.nest))
        ends = mended.get(step.number), stages, pictures, story.caches, like.get(step.number)
        sections.append(step_html(step, last, *ends))
    script = "\n".join(asset(name) for name in _SCRIPTS)
    return page_template("page.html").substitute(
        title=escape(story.title),
        generator=escape(" ".join(("te_sched", dict(story.versions).get("te_sched", ""))).strip()),
        policy=policy(_FIRST, f"\n{script}\n"),
        style=f"{asset('style.css')}\n{css('.code')}\n{pictures.style()}",
        first=_FIRST,
        subtitle=_subtitle(story),
        scale=_scale(story.steps),
        steps="\n".join(_links(story.steps)),
        chips="\n".join(_chips(story.stages, stages)),
        notes="".join(f'<p class="note">{escape(note)}</p>' for note in story.notes),
        outcome=_refused(story.steps[-1]) + _fastest(story.steps),
        stages="".join(map(_row, story.stages)),
        part=story.part,
        parts=f"{story.part}s".capitalize(),
        sources=_program(story) + _trace(story.trace),
        sections="\n".join(sections),
        footer=_footer(story),
        texts=texts.packed(),
        script=script,
    )


def asset(name: str) -> str:
    """The text of a file of the page."""
    return (files("te_sched.story") / "assets" / name).read_text("utf-8").strip()


def page_template(name: str) -> Template:
    """The template of a page, with the head that all pages have."""
    return Template(f"{asset('head.html')}\n{asset(name)}")


def policy(*scripts: str) -> str:
    """The content security policy of the page: run these scripts, and load nothing."""
    hashes = [
        base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts
    ]
    allowed = " ".join(f"'sha256-{digest}'" for digest in hashes)
    return f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:"


def _subtitle(story: StoryData) -> str:
    parts = [f"{len(story.steps) - 1} steps" if len(story.steps) != 2 else "1 step"]
    if story.program_path:
        parts.append(f"<code>{escape(story.program_path)}</code>")
    if story.target:
        parts.append(f"for <code>{escape(story.target)}</code>")
    return " &middot; ".join(parts)


def _scale(steps: Iterable[StoryStep]) -> str:
    """What the columns of the list of steps are, if there are times."""
    first = next((step.timing.first for step in steps if step.timing.is_timed), None)
    is_timed = any(step.timing.is_timed for step in steps)
    over = "" if first is None else f" over step {first}"
    return f"time, speedup{over}" if is_timed else ""


def _links(steps: tuple[StoryStep, ...]) -> Iterable[str]:
    """The list of steps, which is also the chart of their times."""
    yield (
        '<li value="0"><a href="#overview"><span class="number" aria-hidden="true"></span>'
        '<span class="name">Overview</span></a></li>'
    )
    mended = _mended(steps)
    longest = max((step.timing.milliseconds or 0 for step in steps), default=0)
    for step in steps:
        kind = "code" if step.number else "span"
        name = f'<{kind} class="name">{escape(step.title)}</{kind}>'
        yield (
            f'<li value="{step.number}"><a href="#step-{step.number}">'
            f'<span class="number">{step.number}</span>{name}'
            f"{_badge(step, step.number not in mended)}{_bar(step, longest)}</a></li>"
        )


def _mended(steps: tuple[StoryStep, ...]) -> dict[int, int]:
    """The step that repairs the problems of a step: the next one without problems."""
    mended: dict[int, int] = {}
    sound: int | None = None
    for step in reversed(steps):
        if not step.problems:
            sound = step.number
        elif sound is not None:
            mended[step.number] = sound
    return mended


def _same_dataflow(steps: tuple[StoryStep, ...]) -> dict[int, int]:
    """Of steps whose dataflow is that of the step before, the first step that has it."""
    like: dict[int, int] = {}
    for before, step in pairwise(steps):
        if step.dataflow and step.dataflow == before.dataflow:
            like[step.number] = like.get(before.number, before.number)
    return like


def _badge(step: StoryStep, is_kept: bool) -> str:
    """The problems of a step; highlighted if no later step repairs them."""
    if not step.problems:
        return ""
    said = escape(_STATES.get(step.problems[0].phase, "problem"))
    return (
        f'<span></span><span><span class="badge{" error" if is_kept else ""}">{said}</span></span>'
    )


def _bar(step: StoryStep, longest: float) -> str:
    """The time of a step, with a bar if it was measured, in a list that has times."""
    time = step.timing.milliseconds
    if time is None:
        is_missing = longest and step.timing.note and not step.problems
        why = f' title="{escape(step.timing.note)}"'
        return f'<span></span><span class="no-time"{why}>not measured</span>' if is_missing else ""
    width = 100 * time / longest if longest > 0 else 0
    faster = step.timing.against_first
    factor = "" if faster is None or abs(faster - 1) < NOISE else f"<b>{factor_text(faster)}</b>"
    return (
        f'<span class="time"><span class="track"><span style="width:{width:.1f}%"></span>'
        f"</span><b>{time_text(time)}</b>{factor}</span>"
    )


def _chips(stages: Iterable[StoryStage], ids: StageIds) -> Iterable[str]:
    for stage in stages:
        yield (
            f'<button type="button" aria-pressed="false"{ids.attribute((stage.name,))} '
            f'data-born="{stage.born}" data-about="{escape(_about(stage))}">'
            f"{escape(stage.name)}</button>"
        )


def _about(stage: StoryStage) -> str:
    parts = [stage.kind, _type(stage), bytes_text(stage.nbytes), stage.formula, stage.where]
    return " · ".join(part for part in parts if part)


def _type(stage: StoryStage) -> str:
    return f"{stage.dtype}[{', '.join(stage.shape)}]"


def _refused(last: StoryStep) -> str:
    """The problems that prevent the whole schedule from being built."""
    if not last.problems:
        return ""
    what = escape(last.problems[0].fault)
    state = escape(_STATES.get(last.problems[0].phase, "problem"))
    return (
        f'<p class="problem"><span class="badge error">{state}</span> '
        f'<a href="#step-{last.number}">Step {last.number}</a>: {what}</p>\n'
    )


def _fastest(steps: tuple[StoryStep, ...]) -> str:
    """The fastest of the steps that were measured several times, with those near it."""
    timed = [step for step in steps if step.timing.is_repeated]
    if len(timed) < 2:
        return ""
    best = min(timed, key=lambda step: step.timing.shortest)
    first = next(step for step in steps if step.timing.is_timed)
    near = [step for step in timed if step.timing.shortest <= (1 + NOISE) * best.timing.shortest]
    names = ", ".join(f'<a href="#step-{step.number}">{step.number}</a>' for step in near)
    said = f"Step {names} is" if len(near) == 1 else f"Steps {names} are"
    said += f" the fastest: {time_text(best.timing.shortest)}"
    if first not in near:
        said += (
            f", where step {first.number} takes {time_text(first.timing.shortest)}"
            f" ({times_text(best.timing.against_first or 0)} times as fast)"
        )
    return f"<p>{said}.</p>\n"


def _row(stage: StoryStage) -> str:
    """A row of the table of stages."""
    declared = f"<code>{escape(stage.where)}</code>" if stage.where else ""
    if stage.born:
        declared = f'by <a href="#step-{stage.born}">step {stage.born}</a>'
    return (
        f'<tr><th scope="row"><code>{escape(stage.name)}</code></th><td>{escape(stage.kind)}</td>'
        f"<td><code>{escape(_type(stage))}</code></td>"
        f'<td class="figure" data-column="size">{bytes_text(stage.nbytes)}</td>'
        f'<td data-column="computes"><code>{escape(stage.formula)}</code></td>'
        f'<td data-column="declared">{declared}</td></tr>'
    )


def _program(story: StoryData) -> str:
    """The user's program, with links from its primitives to their steps."""
    if not story.program:
        return ""
    steps: dict[int, list[int]] = {}
    for number, line in story.highlights:
        steps.setdefault(line, []).append(number)
    lines = [
        f'<span class="l" id="line-{number}"><span class="no">{number}</span>{html}'
        f"{_to_steps(steps.get(number, ()))}</span>"
        for number, html in enumerate(highlighted(story.program.splitlines()), 1)
    ]
    return (
        '<section aria-labelledby="program-title"><h3 id="program-title">Program'
        f' <code class="aside">{escape(story.program_path)}</code></h3>'
        '<pre class="listing scroll code" tabindex="0" role="group" '
        'aria-labelledby="program-title">'
        f"{''.join(lines)}</pre></section>\n"
    )


def _to_steps(numbers: Iterable[int]) -> str:
    return "".join(f'<a class="to" href="#step-{number}">step {number}</a>' for number in numbers)


def _trace(trace: str) -> str:
    if not trace:
        return ""
    return (
        '<section aria-labelledby="trace-title"><h3 id="trace-title">Trace</h3>'
        '<p class="note">The whole schedule as Python that does it again.</p>'
        '<pre class="trace code" tabindex="0" role="group" aria-labelledby="trace-title">'
        f"{chr(10).join(highlighted(trace.splitlines()))}</pre></section>\n"
    )


def _footer(story: StoryData) -> str:
    versions = ", ".join(f"{escape(name)} {escape(version)}" for name, version in story.versions)
    return f"<p>Made by te_sched.explain with {versions}.</p>" if versions else ""
