"""Results of the analysis of a program: verdicts, with the reasons.

Must not know analyses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, fields, replace
from functools import partial

from te_sched.errors import BuildError, Subject, counted
from te_sched.ir.source_lines import About
from te_sched.notebook_display import Shown
from te_sched.wording import BLOCKS, Wording, wording

REFUTED, UNPROVED, HINT, PROVED = "refuted", "unproved", "hint", "proved"
RACE, COVERAGE, INITIALIZED, RULE, BOUNDS = "race", "coverage", "initialized", "rule", "bounds"
_ORDER = {REFUTED: 0, UNPROVED: 1, HINT: 2, PROVED: 3}


@dataclass(frozen=True, slots=True)
class Finding:
    """A verdict about one property of a program.

    `kind` is the property: "race" (parallel iterations do not access the same element), "coverage"
    (every element of an output is written), "initialized" (elements are written before they are
    read), "bounds" (indices are within bounds) or "rule" (a restriction on schedules). `verdict` is
    "refuted", "unproved", "proved" or "hint" (legal, but perhaps not meant). `buffer`, `axis` and
    `stage` name the subject. `message` states the fault, or the property if it is proved; `why`
    gives the reason, `help` a remedy, `line` the user's line, if known, and `where` the subject
    with the lines that declare it.
    `words` are those for the kind of program.
    """

    kind: str
    verdict: str
    message: str
    buffer: str = ""
    axis: str = ""
    stage: str = ""
    why: str = ""
    help: str = ""
    line: str = ""
    where: str = field(default="", compare=False)
    words: Wording = field(default_factory=wording, compare=False, repr=False)

    def __str__(self) -> str:
        where = self.where or ", ".join(map(str, self.about()))
        parts = (("where", where), ("why", self.why), ("help", self.help))
        labeled = [f"  {label}: {text}" for label, text in parts if text]
        return "\n".join([f"{self.verdict} ({self.kind}): {self.message}", *labeled])

    def about(self, stage: Callable[[str], Subject] | None = None) -> list[Subject]:
        """The subject and the line in the source, for messages; `stage` names a stage."""
        name = self.words.subject if stage is None else stage
        named = (name(self.stage), Subject(self.words.loop, self.axis))
        line = Subject("line", self.line, self.line)
        return [subject for subject in (*named, line) if subject.name]

    def located(self, locate: Callable[[About], About]) -> Finding:
        """The finding with the lines of its subject."""
        return replace(self, where=", ".join(map(str, locate(self.about()))))

    def error(self) -> BuildError:
        """The finding as an error."""
        return BuildError(self.message, self.why, self.help, self.about(), can_override=True)


def broken_rule(
    name: str,
    message: str,
    why: str,
    help: str,
    words: Wording | None = None,
    verdict: str = REFUTED,
) -> Finding:
    """An illegal request of a schedule about the memory of a stage."""
    vocabulary = words or wording()
    return Finding(RULE, verdict, message, name, stage=name, why=why, help=help, words=vocabulary)


# The same about a block.
broken_rule_of_block = partial(broken_rule, words=BLOCKS._replace(memory="block"))


class Findings(tuple[Finding, ...], Shown):
    """The findings about a program, the worst first."""

    __slots__ = ()

    def __new__(cls, findings: Iterable[Finding] = ()) -> Findings:
        """Findings sorted by verdict."""
        return super().__new__(cls, sorted(findings, key=lambda finding: _ORDER[finding.verdict]))

    def of(self, verdict: str) -> Iterator[Finding]:
        """The findings with a verdict."""
        return (finding for finding in self if finding.verdict == verdict)

    @property
    def refuted(self) -> tuple[Finding, ...]:
        """The properties that are violated."""
        return tuple(self.of(REFUTED))

    @property
    def unproved(self) -> tuple[Finding, ...]:
        """The properties that are neither proved nor refuted."""
        return tuple(self.of(UNPROVED))

    @property
    def hints(self) -> tuple[Finding, ...]:
        """What is legal, but perhaps not meant."""
        return tuple(self.of(HINT))

    @property
    def proved(self) -> tuple[Finding, ...]:
        """The properties that hold."""
        return tuple(self.of(PROVED))

    def records(self) -> list[dict[str, str]]:
        """A record per finding, for pandas.DataFrame, with the names of `Finding`'s fields."""
        names = [field.name for field in fields(Finding) if field.name != "words"]
        return [{name: getattr(finding, name) for name in names} for finding in self]

    def raise_refuted(self) -> None:
        """Refuse a program with a refuted finding.

        Raises
        ------
        BuildError for the first refuted finding.
        """
        for finding in self.refuted:
            raise finding.error()

    def __str__(self) -> str:
        counts = [(len([*self.of(verdict)]), verdict) for verdict in (REFUTED, UNPROVED, PROVED)]
        head = ", ".join(f"{number} {verdict}" for number, verdict in counts)
        if self.hints:
            head += f", {counted(len(self.hints), 'hint')}"
        return "\n".join([head, *[str(finding) for finding in self if finding.verdict != PROVED]])
