"""A story for a terminal: its steps with their loops, figures, changes, times and problems.

Must not know how a story is made.
"""

from __future__ import annotations

from collections.abc import Iterator

from te_sched.story.machine import fitting_cache
from te_sched.story.model import NOISE, LoopRow, Problem, StoryData, StoryStep, Timing

_UNITS = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def story_text(story: StoryData) -> str:
    """The whole story."""
    head = f"{story.title}, for {story.target}"
    parts = [f"{head}\n{'=' * len(head)}", *story.notes]
    parts += [step_text(step, story.caches) for step in story.steps]
    return "\n\n".join(parts) + "\n"


def step_text(step: StoryStep, caches: tuple[tuple[str, int], ...] = ()) -> str:
    """One step; working sets are marked with the cache they fit."""
    head = f"step {step.number}: {step.heading or step.title}"
    lines = [head, "-" * len(head), *([step.title] if step.heading else [])]
    lines += [text for text in (step.where and f"at {step.where}", _time(step.timing)) if text]
    lines += step.notes
    for problem in step.problems:
        lines += ["", *_problem(problem)]
    if step.nest:
        lines += ["", *_nest(step.nest, caches)]
    if step.changes:
        lines += ["", *(f"{change.mark} {change.text}" for change in step.changes)]
    return "\n".join(lines)


def bytes_text(count: int | None) -> str:
    """A number of bytes in the largest unit below it."""
    if count is None:
        return "?"
    for size, unit in _UNITS:
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count} B"


def _time(timing: Timing) -> str:
    if timing.milliseconds is None:
        return timing.note
    parts = [f"{timing.milliseconds:.4g} ms"]
    if timing.is_repeated:
        spread = f"median {timing.median or 0:.4g} ms, longest {timing.highest:.4g} ms"
        parts[0] += f" ({spread}, {timing.runs} runs)"
    parts += filter(None, (timing.note, rate_text(timing), *speedup_texts(timing)))
    return ", ".join(parts)


def rate_text(timing: Timing) -> str:
    """ "12.3 GFLOP/s, 40 % of the peak", as far as known."""
    if timing.gigaflops is None:
        return ""
    share = "" if timing.of_peak is None else f", {100 * timing.of_peak:.2g} % of the peak"
    return f"{timing.gigaflops:.3g} GFLOP/s{share}"


def speedup_texts(timing: Timing) -> Iterator[str]:
    """The speed in terms of that of the measured step before, and of the first one."""
    if timing.previous is not None and timing.previous != timing.first:
        yield _compared(timing.against_previous, f"step {timing.previous}")
    if timing.previous is not None:
        yield _compared(
            timing.against_first, f"step {timing.first}" if timing.first else "at first"
        )


def times_text(factor: float) -> str:
    """A ratio with three digits or all before the point: 1.05, 488, 1,105."""
    return f"{factor:,.0f}" if factor >= 100 else f"{factor:.3g}"


def _compared(factor: float | None, what: str) -> str:
    if factor is None:
        return ""
    if abs(factor - 1) < NOISE:
        return f"about as fast as {what}"
    faster, slower = times_text(factor), times_text(1 / factor)
    times = f"{faster} times as fast" if factor > 1 else f"{slower} times as slow"
    return f"{times} as {what}"


def _problem(problem: Problem) -> Iterator[str]:
    yield f"{problem.kind} ({problem.phase}): {problem.fault}"
    for label in ("where", "why", "help"):
        text = getattr(problem, label)
        if text:
            yield f"  {label}: {text}"
    yield from (f"    {line}" for line in problem.loops.splitlines())


def _nest(rows: tuple[LoopRow, ...], caches: tuple[tuple[str, int], ...]) -> Iterator[str]:
    """The loops, with their figures in columns."""
    texts = ["  " * row.depth + row.text for row in rows]
    width = min(72, max(len(text) for text in texts))
    if any(row.figures is not None for row in rows):
        yield f"{'':{width}}  {'iteration':>9}  {'whole':>9}  {'reuse':>7}"
    for text, row in zip(texts, rows, strict=True):
        yield f"{text:{width}}  {_columns(row, caches)}".rstrip()


def _columns(row: LoopRow, caches: tuple[tuple[str, int], ...]) -> str:
    figures = row.figures
    if figures is None:
        return ""
    reuse = "?" if figures.reuse is None else f"{figures.reuse:.3g}"
    sizes = f"{bytes_text(figures.iteration):>9}  {bytes_text(figures.whole):>9}"
    return f"{sizes}  {reuse:>7}  {fitting_cache(figures.iteration, caches)}"
