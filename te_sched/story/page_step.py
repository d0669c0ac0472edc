"""One step as HTML: its heading, its problems, and the panes that work without scripts.

`texts.js` inserts the whole program and generated code. Must not know the rest of the page.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from te_sched.story.model import Change, Problem, StoryStep, Timing
from te_sched.story.page_nest import Caches, nest_html
from te_sched.story.page_texts import (
    Pictures,
    StageIds,
    bytes_text,
    highlighted,
    marks,
    time_text,
    words_html,
)
from te_sched.story.text import rate_text, speedup_texts

_SHOWN_AT_END = 200  # lines of each text of the last step that are shown without JavaScript
_ELEMENTS = {"+": "ins", "-": "del"}
_PHASES = {
    "program": "The program fails here",
    "schedule": "This step is refused",
    "lower": "The schedule cannot be lowered",
    "build": "The program cannot be built",
    "run": "The program cannot be run",
}


def step_html(
    step: StoryStep,
    last: int,
    mended: int | None,
    stages: StageIds,
    pictures: Pictures,
    caches: Caches,
    like: int | None = None,
) -> str:
    """A step of a story with steps 0 to `last`; `mended` is the step that repairs this one, `like`
    the first of the steps before it that have the same dataflow.
    """
    number = step.number
    return (
        f'<article class="page" id="step-{number}" data-step="{number}" '
        f'data-position="Step {number} of {last}" aria-labelledby="step-{number}-title">\n'
        f"<header>{''.join(_head(step))}</header>\n"
        f"{''.join(_problem(problem, mended) for problem in step.problems)}"
        f'<div class="panes">\n{"".join(_panes(step, stages, pictures, caches, like))}</div>\n'
        f"{_for_readers_without_script(step) if number == last else ''}</article>"
    )


def _head(step: StoryStep) -> Iterable[str]:
    is_call = step.number and not step.heading
    title = f"<code>{escape(step.title)}</code>" if is_call else escape(step.heading or step.title)
    yield (
        f'<h2 id="step-{step.number}-title" tabindex="-1">'
        f'<span class="kicker">Step {step.number}</span> {title}</h2>'
    )
    if step.summary:
        yield f"<p>{words_html(step.summary)}</p>"
    facts = (_timing(step.timing), _memory(step.memory))
    yield f'<p class="facts">{"".join(f"<span>{fact}</span>" for fact in facts if fact)}</p>'
    sources = ((_place(step.where), step.source_line.strip()), ("trace", step.code))
    shown = "".join(_source(*source) for source in sources if source[0] and source[1])
    yield f'<dl class="sources">{shown}</dl>' if shown else ""
    for note in step.notes:
        yield f'<p class="note">{escape(note)}</p>'


def _source(location: str, code: str) -> str:
    html = "\n".join(highlighted(code.splitlines()))
    return f'<dt>{location}</dt><dd><code class="code">{html}</code></dd>'


def _place(where: str) -> str:
    """The user's line of a step, with a link; of the path only the name of the file."""
    line = where.rpartition(":")[2]
    name = where.replace("\\", "/").rpartition("/")[2]
    shown = f'<code title="{escape(where)}">{escape(name)}</code>'
    return f'<a href="#line-{line}">{shown}</a>' if line.isdecimal() else shown if where else ""


def _timing(timing: Timing) -> str:
    if timing.milliseconds is None:
        return words_html(timing.note)
    said = f"<strong>{time_text(timing.milliseconds)}</strong>"
    if timing.median is not None and timing.highest is not None and timing.is_repeated:
        spread = f"median {time_text(timing.median)}, longest {time_text(timing.highest)}"
        said += f" (the shortest of {timing.runs} runs; {spread})"
    more = filter(None, (timing.note, rate_text(timing), *speedup_texts(timing)))
    return "".join([said, *(f", {escape(note)}" for note in more)])


def _memory(peak: int | None) -> str:
    return f"{bytes_text(peak)} of temporaries" if peak else ""


def _problem(problem: Problem, mended: int | None) -> str:
    parts = (("where", problem.where), ("why", problem.why), ("help", problem.help))
    listed = "".join(f"<dt>{name}</dt><dd>{escape(text)}</dd>" for name, text in parts if text)
    phase, kind, badge = escape(_PHASES.get(problem.phase, problem.phase)), "problem", "badge error"
    if mended is not None:
        phase += f'; <a href="#step-{mended}">step {mended}</a> mends that'
        kind, badge = "problem mended", "badge"
    return (
        f'<section class="{kind}"><p><span class="{badge}">{escape(problem.kind)}</span> '
        f"{phase}</p><h3>{escape(problem.fault)}</h3><dl>{listed}</dl>"
        + (f"<pre>{escape(problem.loops)}</pre>" if problem.loops else "")
        + "</section>\n"
    )


def _panes(
    step: StoryStep, stages: StageIds, pictures: Pictures, caches: Caches, like: int | None
) -> Iterable[str]:
    """The loops and changes of the step, over its program and code, which `texts.js` fills in."""
    flow = _flow(step, pictures, like)
    is_wide = pictures.is_wide(step.dataflow) and like is None
    if is_wide:
        yield flow
    if step.nest:
        yield _pane(step, "nest-pane", "Loop nest", nest_html(step.nest, stages, caches))
    yield '<div class="side">'
    if not is_wide:
        yield flow
    if step.number > 0 and step.program:
        yield _pane(step, "changes", "Changes", _changes(step.changes, stages, step.number))
    yield "</div>\n"
    if step.program:
        yield _pane(step, "program", "Program", _code_group(step, "program", stages))
    if step.outputs:
        yield _pane(step, "output", "Generated code", _code_group(step, "output", stages))


def _flow(step: StoryStep, pictures: Pictures, like: int | None) -> str:
    """The dataflow, folded if it is that of the steps before."""
    if not step.dataflow:
        return ""
    picture = (
        f'<div class="picture" tabindex="0" role="group" '
        f'aria-labelledby="step-{step.number}-flow-title">'
        f"{pictures.picture(step.dataflow)}</div>"
    )
    if like is not None:
        picture = f"<details><summary>The same as at step {like}</summary>{picture}</details>"
    return _pane(step, "flow", "Dataflow", picture)


def _pane(step: StoryStep, kind: str, title: str, content: str) -> str:
    name = f"step-{step.number}-{kind}"
    # without scripts, the first step shows the program, later steps their changes
    rest = " only-script" if kind == "output" or (kind == "program" and step.number > 0) else ""
    return (
        f'<section class="pane {kind}{rest}" aria-labelledby="{name}-title">'
        f'<h3 id="{name}-title">{title}</h3>{content}</section>\n'
    )


def _code_group(step: StoryStep, group: str, stages: StageIds) -> str:
    code = _program(step, stages) if group == "program" and step.number == 0 else ""
    return (
        f'<div class="group" id="step-{step.number}-{group}-group" data-group="{group}">'
        f"{code}</div>"
    )


def _program(step: StoryStep, stages: StageIds) -> str:
    """The whole program as declared, for readers without a script."""
    code = highlighted(line.text for line in step.program)
    lines = [
        f'<span class="l"{marks(line, stages)}>{html}</span>'
        for line, html in zip(step.program, code, strict=True)
    ]
    title = escape(step.program_title)
    shown = _code(title, 0, lines)
    return f'<section class="panel" data-tab="program" data-title="{title}">{shown}</section>'


def _code(title: str, number: int, lines: Iterable[str]) -> str:
    return (
        '<pre class="scroll code" tabindex="0" role="group" '
        f'aria-label="{title}, step {number}">{"".join(lines)}</pre>'
    )


def _changes(changes: tuple[Change, ...], stages: StageIds, number: int) -> str:
    if not changes:
        return '<p class="note">The program is the same as at the step before.</p>'
    return _code("Changes", number, _change_lines(changes, stages))


def _change_lines(changes: tuple[Change, ...], stages: StageIds) -> Iterable[str]:
    """The lines of a difference, without the indentation that all of them have."""
    texts = [change.text for change in changes if change.mark != "@" and change.text.strip()]
    indented = min((len(text) - len(text.lstrip()) for text in texts), default=0)
    code = highlighted(
        change.text if change.mark == "@" else change.text[indented:] for change in changes
    )
    for change, html in zip(changes, code, strict=True):
        yield _change_line(change, html, stages)


def _change_line(change: Change, html: str, stages: StageIds) -> str:
    if change.mark == "@":
        return f'<span class="l gap">{escape(change.text)}</span>'
    element = _ELEMENTS.get(change.mark, "span")
    mark = f'<span class="diff">{change.mark.replace("-", "&minus;")}</span>'
    return f'<{element} class="l"{marks(change, stages)}>{mark}{html}</{element}>'


def _for_readers_without_script(step: StoryStep) -> str:
    texts = [("Program", step.program), *((output.title, output.lines) for output in step.outputs)]
    parts = []
    for title, lines in texts:
        kept = "\n".join(escape(line.text) for line in lines[:_SHOWN_AT_END])
        more = len(lines) - _SHOWN_AT_END
        note = f'<p class="note">{more:,} more lines are left out.</p>' if more > 0 else ""
        parts.append(f"<section><h3>{escape(title)}</h3><pre>{kept}</pre>{note}</section>")
    return f"<noscript>{''.join(parts)}</noscript>"
