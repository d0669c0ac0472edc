"""One step as HTML: what was done, what is wrong, and the panes that need no script.

The whole program and generated code are put in by `texts.js`. Must not know the page around it.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from te_sched.story.model import Change, Problem, Step, Timing
from te_sched.story.page_nest import nest_html
from te_sched.story.page_texts import Pictures, StageIds, bytes_text, highlighted, time_text

_SHOWN_AT_END = 200  # lines of a text that a reader without JavaScript gets of the last step
_ELEMENTS = {"+": "ins", "-": "del"}
_PHASES = {
    "schedule": "This step is refused",
    "lower": "The schedule cannot be lowered",
    "build": "The program cannot be built",
    "run": "The program cannot be run",
}


def step_html(step: Step, last: int, stages: StageIds, pictures: Pictures) -> str:
    """A step of a story, which has steps 0 to `last`."""
    number = step.number
    return (
        f'<article class="page" id="step-{number}" data-step="{number}" '
        f'data-position="Step {number} of {last}" aria-labelledby="step-{number}-title">\n'
        f"<header>{''.join(_head(step))}</header>\n"
        f"{''.join(_problem(one) for one in step.problems)}"
        f'<div class="panes">\n{"".join(_panes(step, stages, pictures))}</div>\n'
        f"{_for_readers_without_script(step) if number == last else ''}</article>"
    )


def _head(step: Step) -> Iterable[str]:
    title = f"<code>{escape(step.title)}</code>" if step.method else escape(step.title)
    yield (
        f'<h2 id="step-{step.number}-title" tabindex="-1">'
        f'<span class="kicker">Step {step.number}</span> {title}</h2>'
    )
    if step.summary:
        yield f"<p>{escape(step.summary)}</p>"
    facts = (_place(step), _timing(step.timing), _memory(step.memory))
    yield f'<p class="facts">{"".join(f"<span>{fact}</span>" for fact in facts if fact)}</p>'
    if step.code and step.code.strip() not in (step.title, step.source_line.strip()):
        code = "\n".join(highlighted(step.code.splitlines()))
        yield (
            '<pre class="trace code" tabindex="0" role="group" '
            f'aria-label="Trace entry of step {step.number}">{code}</pre>'
        )
    for note in step.notes:
        yield f'<p class="note">{escape(note)}</p>'


def _place(step: Step) -> str:
    """Where the user asked for the step, and in which words where these are not the title."""
    if not step.where:
        return ""
    line = step.where.rpartition(":")[2]
    where = f'<a href="#line-{line}"><code>{escape(step.where)}</code></a>'
    said = step.source_line.strip()
    if said in ("", step.title):
        return where
    return f'{where} <code class="code">{highlighted([said])[0]}</code>'


def _timing(timing: Timing) -> str:
    if timing.milliseconds is None:
        return escape(timing.note)
    said = f"<strong>{time_text(timing.milliseconds)}</strong>"
    if timing.lowest is not None and timing.highest is not None:
        said += f" ({time_text(timing.lowest)} to {time_text(timing.highest)}, {timing.runs} runs)"
    if timing.against_first is not None:
        said += f", {timing.against_first:.3g} times as fast as at first"
    return said


def _memory(peak: int | None) -> str:
    return f"{bytes_text(peak)} of temporaries" if peak else ""


def _problem(problem: Problem) -> str:
    parts = (("where", problem.where), ("why", problem.why), ("cure", problem.cure))
    listed = "".join(f"<dt>{name}</dt><dd>{escape(text)}</dd>" for name, text in parts if text)
    phase = _PHASES.get(problem.phase, problem.phase)
    return (
        f'<section class="problem"><p><span class="badge error">{escape(problem.kind)}</span> '
        f"{escape(phase)}</p><h3>{escape(problem.what)}</h3><dl>{listed}</dl>"
        + (f"<pre>{escape(problem.loops)}</pre>" if problem.loops else "")
        + "</section>\n"
    )


def _panes(step: Step, stages: StageIds, pictures: Pictures) -> Iterable[str]:
    number = step.number
    if step.nest:
        yield _pane("nest-pane", number, "Loop nest", nest_html(step.nest, stages))
    if step.dataflow:
        picture = f'<div class="picture">{pictures.picture(step.dataflow)}</div>'
        yield _pane("flow", number, "Dataflow", picture)
    if step.program or step.changes:
        shown = _changes(step, stages)
        yield _pane("program", number, "Program", _tabs("program", number, "Program", shown))
    if step.outputs:
        tabs = _tabs("output", number, "Generated code", "")
        yield _pane("output", number, "Generated code", tabs)


def _pane(kind: str, number: int, title: str, content: str) -> str:
    name = f"step-{number}-{kind}"
    return (
        f'<section class="pane {kind}" aria-labelledby="{name}-title">'
        f'<h3 id="{name}-title">{title}</h3>{content}</section>\n'
    )


def _tabs(group: str, number: int, title: str, panels: str) -> str:
    return (
        f'<div class="tabs" id="step-{number}-{group}-tabs" data-group="{group}" '
        f'data-title="{title}">{panels}</div>'
    )


def _changes(step: Step, stages: StageIds) -> str:
    """What the step changed; of the first step, the whole program."""
    if step.changes:
        return _panel(step, "changes", "Changes", _change_lines(step.changes, stages))
    if step.number > 0:
        said = '<p class="note">The program is the same as at the step before.</p>'
        return f'<section class="panel" data-tab="changes"><h4>Changes</h4>{said}</section>'
    code = highlighted(line.text for line in step.program)
    lines = [
        f'<span class="l"{stages.attribute(line.stages)}>{html}</span>'
        for line, html in zip(step.program, code, strict=True)
    ]
    return _panel(step, "program", "Whole program", "".join(lines))


def _panel(step: Step, name: str, title: str, lines: str) -> str:
    return (
        f'<section class="panel" data-tab="{name}"><h4>{title}</h4>'
        '<pre class="scroll code" tabindex="0" role="group" '
        f'aria-label="{title}, step {step.number}">'
        f"{lines}</pre></section>"
    )


def _change_lines(changes: tuple[Change, ...], stages: StageIds) -> str:
    code = highlighted(change.text for change in changes)
    return "".join(
        _change_line(change, html, stages) for change, html in zip(changes, code, strict=True)
    )


def _change_line(change: Change, html: str, stages: StageIds) -> str:
    if change.mark == "@":
        return f'<span class="l gap">{escape(change.text)}</span>'
    element = _ELEMENTS.get(change.mark, "span")
    mark = f'<span class="diff">{change.mark.replace("-", "&minus;")}</span>'
    return f'<{element} class="l"{stages.attribute(change.stages)}>{mark}{html}</{element}>'


def _for_readers_without_script(step: Step) -> str:
    texts = [("Whole program", step.program), *((one.title, one.lines) for one in step.outputs)]
    parts = []
    for title, lines in texts:
        kept = "\n".join(escape(line.text) for line in lines[:_SHOWN_AT_END])
        more = len(lines) - _SHOWN_AT_END
        note = f'<p class="note">{more:,} more lines are left out.</p>' if more > 0 else ""
        parts.append(f"<section><h3>{escape(title)}</h3><pre>{kept}</pre>{note}</section>")
    return f"<noscript>{''.join(parts)}</noscript>"
