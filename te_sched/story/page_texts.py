"""Parts shared by the page: stages by number, the packed table of lines, figures as text.

Each line of the texts is stored once, highlighted, also if several steps have it; `texts.js` reads
the table. Must not know the position of texts on the page.
"""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Collection, Iterable
from html import escape, unescape

from te_sched.story.model import Change, Line, LoopRow, Output, StoryStep
from te_sched.views.highlight import html_lines

_LANGUAGES = {
    "program": "python",
    "compiled": "python",
    "llvm": "llvm",
    "assembly": "asm",
    "cuda": "cuda",
}
_QUOTED = re.compile(r"`([^`]+)`")
_STYLE = re.compile(r"<style>(.*?)</style>", re.DOTALL)
_WIDTH = re.compile(r'<svg[^>]* width="([\d.]+)"')
_WIDE = 700  # pixels
_LEGIBLE = 0.85  # of the size that a picture was drawn for
_STAGES = re.compile(r' data-stages="([^"]*)"')
# The parts of highlighted lines that have no color: names, operators, punctuation, white space.
_PLAIN = re.compile(r'<span class="(?:n|na|nn|nv|nx|o|p|w|err)">([^<]*)</span>')


class StageIds:
    """Numbers of stages: elements of the page name theirs in `data-s`, the computed one first."""

    def __init__(self, names: Iterable[str]) -> None:
        self._numbers: dict[str, int] = {}
        for name in names:
            self._numbers.setdefault(name, len(self._numbers))

    def text(self, names: Iterable[str]) -> str:
        """The numbers of some stages, with spaces between."""
        numbers = self._numbers
        return " ".join(str(numbers.setdefault(name, len(numbers))) for name in names)

    def attribute(self, names: Iterable[str]) -> str:
        """The attribute of an element, with a space before it; empty if there are no stages."""
        text = self.text(names)
        return f' data-s="{text}"' if text else ""


def marks(line: Line | Change | LoopRow, stages: StageIds, lines: Iterable[int] = ()) -> str:
    """The attributes of a line: its stages, and in `data-l` the lines of the compiled program, and
    those of the step's own as p1, p2, ...
    """
    numbers = _marks(line, lines)
    return stages.attribute(line.stages) + (f' data-l="{numbers}"' if numbers else "")


def _marks(line: Line | Change | LoopRow, lines: Iterable[int]) -> str:
    return " ".join([*map(str, line.numbers), *(f"p{line_number}" for line_number in lines)])


class Pictures:
    """The pictures of the steps, whose styles the page needs once."""

    def __init__(self, stages: StageIds) -> None:
        self._stages = stages
        self._styles: dict[str, None] = {}

    def picture(self, svg: str) -> str:
        """A picture without its style, and with stages by number."""
        self._styles.update(dict.fromkeys(_STYLE.findall(svg)))
        bare = _WIDTH.sub(_not_too_narrow, _STYLE.sub("", svg), count=1)
        return _STAGES.sub(self._numbered, bare)

    def is_wide(self, svg: str) -> bool:
        """Whether a picture needs the whole width of the page."""
        width = _WIDTH.search(svg)
        return width is not None and float(width[1]) > _WIDE

    def _numbered(self, match: re.Match[str]) -> str:
        return self._stages.attribute([unescape(match[1])])

    def style(self) -> str:
        """The styles of all pictures so far."""
        return "\n".join(self._styles)


def _not_too_narrow(match: re.Match[str]) -> str:
    """The start tag of a picture, which may shrink while it stays legible."""
    return f'{match[0]} style="min-width:{_LEGIBLE * float(match[1]):.0f}px"'


class TextTable:
    """The lines of all texts of the page, each once, and the texts of all steps as runs of them."""

    def __init__(self, stages: StageIds) -> None:
        self._stages = stages
        self._index: dict[tuple[str, str, str], int] = {}
        self._texts: dict[int, list[dict[str, object]]] = {}
        self._figures: dict[int, str] = {}

    def add(self, step: StoryStep, figures: str) -> None:
        """Add a step's program, its generated code, and the table of its figures."""
        self._figures[step.number] = figures
        shown = {line for row in step.nest for line in row.lines}
        texts = [self._text("program", "program", step.program_title, step.program, shown)]
        for number, output in enumerate(step.outputs):
            is_first = all(
                output.kind != earlier_output.kind for earlier_output in step.outputs[:number]
            )
            if output.kind != "compiled" or _differ(output.lines, step.program):
                texts.append(self._output(output, "" if is_first else f"-{number}"))
        self._texts[step.number] = [text for text in texts if text["runs"] or "note" in text]

    def _output(self, output: Output, suffix: str) -> dict[str, object]:
        notes = [output.note] if output.note else []
        if output.left_out:
            notes.append(f"{output.left_out:,} more lines are left out.")
        group = "program" if output.kind == "compiled" else "output"
        text = self._text(group, output.kind, output.title, output.lines)
        text["name"] = f"{output.kind}{suffix}"
        return {**text, "note": " ".join(notes)} if notes else text

    def _text(
        self,
        group: str,
        name: str,
        title: str,
        lines: tuple[Line, ...],
        of_rows: Collection[int] = (),  # lines that rows of the nest show
    ) -> dict[str, object]:
        language = _LANGUAGES.get(name, "text")
        index, stages = self._index, self._stages
        keys = [(language, line.text, stages.text(line.stages)) for line in lines]
        runs = _runs([index.setdefault(key, len(index)) for key in keys])
        text: dict[str, object] = {"group": group, "name": name, "title": title, "runs": runs}
        numbers = [
            _marks(line, [number] if number in of_rows else ())
            for number, line in enumerate(lines, 1)
        ]
        return {**text, "numbers": numbers} if any(numbers) else text

    def packed(self) -> str:
        """The table as base64 of deflated JSON, which cannot end the script element that contains
        it."""
        sets: dict[str, int] = {}
        data = {
            "lines": self._highlighted(),
            "of": [sets.setdefault(stages, len(sets)) for _, _, stages in self._index],
            "sets": list(sets),
            "texts": self._texts,
            "figures": self._figures,
        }
        text = json.dumps(data, separators=(",", ":"))
        return base64.b64encode(zlib.compress(text.encode(), 9)).decode()

    def _highlighted(self) -> list[str]:
        """The lines of the table as HTML, those of a language together."""
        html = [""] * len(self._index)
        for language in dict.fromkeys(key[0] for key in self._index):
            of_it = {
                position: key[1] for key, position in self._index.items() if key[0] == language
            }
            for index, line in zip(of_it, highlighted(of_it.values(), language), strict=True):
                html[index] = line
        return html


def _differ(some: tuple[Line, ...], others: tuple[Line, ...]) -> bool:
    return [line.text for line in some] != [line.text for line in others]


def _runs(numbers: Iterable[int]) -> list[int]:
    """Ascending neighbors as [first, count, first, count, ...]."""
    runs: list[int] = []
    expected = -1
    for number in numbers:
        if number == expected:
            runs[-1] += 1
        else:
            runs += (number, 1)
        expected = number + 1
    return runs


def highlighted(lines: Iterable[str], language: str = "python") -> list[str]:
    """Lines of a program as HTML, in the classes that `te_sched.views.highlight` colors."""
    # characters that Python, unlike pygments, treats as ends of lines must not occur in lines
    text = "".join(f"{' '.join(line.splitlines())}\n" for line in lines)
    return [_PLAIN.sub(r"\1", line.rstrip("\n")) for line in html_lines(text, language)]


def words_html(text: str) -> str:
    """A sentence with `code` in backquotes, as HTML."""
    return _QUOTED.sub(r"<code>\1</code>", escape(text))


def bytes_text(count: int | None) -> str:
    """A readable size: 512 B, 24 KiB, 1.5 MiB."""
    return _in_units(count, 1024, ("B", "KiB", "MiB", "GiB"))


def count_text(count: float | None) -> str:
    """A readable number: 64, 1.5 K, 2.1 G."""
    return _in_units(count, 1000, ("", "K", "M", "G", "T"))


def _in_units(number: float | None, step: int, units: tuple[str, ...]) -> str:
    """A number in the largest unit that is not above it; empty if it is unknown."""
    if number is None:
        return ""
    for unit in units:
        if number < step or unit == units[-1]:
            break
        number /= step
    return f"{_short(number)} {unit}".rstrip()


def factor_text(factor: float | None) -> str:
    """How many times: 1.5x, 682x, 17Mx."""
    if factor is None:
        return ""
    if factor >= 1e5:
        return f"{count_text(factor).replace(' ', '')}x"
    return f"{factor:,.0f}x" if factor >= 100 else f"{factor:.3g}x"


def _short(number: float) -> str:
    return f"{number:.0f}" if number >= 100 or number == int(number) else f"{number:.2g}"


def time_text(milliseconds: float) -> str:
    """A time with three digits, in the unit that fits."""
    if milliseconds < 1:
        return f"{milliseconds * 1000:.3g} µs"
    if milliseconds < 1000:
        return f"{milliseconds:.3g} ms"
    return f"{milliseconds / 1000:.3g} s"
