"""Runs many cases in several processes, with a report and a script per kind of finding."""

from __future__ import annotations

import pathlib
import re
import threading
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from tests.fuzz import blocks, hostile, models, shapes, special, tensorir
from tests.fuzz.case import Case
from tests.fuzz.generate import KINDS, generate
from tests.fuzz.judge import Judge, Verdict
from tests.fuzz.minimize import minimize

ALIKE = 2  # findings of a group that are minimized
HUNG = 5.0  # seconds after which a smaller case counts as hung


@dataclass
class Report:
    """The results of a campaign."""

    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)  # of kind, outcome
    refusals: Counter[str] = field(default_factory=Counter)
    findings: dict[str, list[tuple[str, int, str]]] = field(default_factory=dict)
    seconds: float = 0.0

    def add(self, kind: str, number: int, verdict: Verdict) -> None:
        """Count a case."""
        self.outcomes[kind, verdict.outcome] += 1
        self.refusals.update(verdict.refusals)
        if verdict.is_finding:
            known = self.findings.setdefault(verdict.group, [])
            known.append((kind, number, verdict.detail))

    def text(self, most: int = 25) -> str:
        """Counts by kind, refusals by message, findings by group."""
        total = Counter[str]()
        for (_, outcome), n in self.outcomes.items():
            total[outcome] += n
        shown = sorted({"right", "refused", "wrong", *total})
        parts = ", ".join(f"{total[outcome]} {outcome}" for outcome in shown)
        lines = [f"{total.total()} programs in {self.seconds:.0f} s: {parts}"]
        for kind in KINDS:
            counts = {what: n for (one, what), n in self.outcomes.items() if one == kind}
            if counts:
                parts = ", ".join(f"{n} {what}" for what, n in sorted(counts.items()))
                lines.append(f"  {kind}: {parts}")
        lines.append(f"{sum(self.refusals.values())} refusals, of {len(self.refusals)} kinds:")
        lines += [f"  {count:5} {text[:150]}" for text, count in self.refusals.most_common(most)]
        lines.append(f"{sum(map(len, self.findings.values()))} findings:")
        for group, found in sorted(self.findings.items(), key=lambda item: -len(item[1])):
            numbers = ", ".join(f"{kind} {number}" for kind, number, _ in found[:6])
            lines += [f"\n{len(found)} x {group}", f"    {numbers}"]
            lines += [f"    {line}" for line in found[0][2].splitlines()[:6]]
        return "\n".join(lines)


def run(
    kinds: Sequence[str] = KINDS,
    seed: int = 1,
    minutes: float | None = None,
    count: int | None = None,
    jobs: int = 1,
    folder: pathlib.Path | None = None,
    limit: float = 30.0,
) -> Report:
    """Judge cases seed, seed + 1, ... of each kind; minimized findings are saved in the folder.

    Failures of generation and minimization are findings too, and do not stop the campaign.
    """
    report, start, lock = Report(), time.monotonic(), threading.Lock()
    end = start + 60 * minutes if minutes else float("inf")
    numbers = _numbers(kinds, seed, count)

    def judge_some() -> None:
        with Judge(limit) as worker:
            while time.monotonic() < end:
                with lock:
                    kind, number = next(numbers, ("", 0))
                if not kind:
                    return
                try:
                    judge_one_of_many(worker, kind, number)
                except Exception as error:
                    worker.close()
                    group = f"broken: {type(error).__name__}: {error}"
                    with lock:
                        report.add(kind, number, Verdict("broken", group, traceback.format_exc()))

    def judge_one_of_many(worker: Judge, kind: str, number: int) -> None:
        case = generate(kind, number)
        verdict = worker.verdict(case)
        with lock:
            report.add(kind, number, verdict)
            alike = len(report.findings.get(verdict.group, ()))
        if verdict.is_finding and folder is not None and alike <= ALIKE:
            save(folder, *smallest(worker, case, verdict))

    threads = [threading.Thread(target=judge_some) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    report.seconds = time.monotonic() - start
    return report


def _numbers(kinds: Sequence[str], seed: int, count: int | None) -> Iterator[tuple[str, int]]:
    number = seed
    while count is None or number < seed + count:
        for kind in kinds:
            yield kind, number
        number += 1


def smallest(worker: Judge, case: Case, verdict: Verdict) -> tuple[Case, Verdict]:
    """A smaller case with the same finding."""
    found = verdict
    limit = HUNG if verdict.outcome == "hung" else None
    is_of_schedule = verdict.outcome == "wrong" and _is_right(worker, case)

    def fails(smaller: Case) -> bool:
        nonlocal found
        again = worker.verdict(smaller, limit)
        is_alike = (again.outcome, again.group) == (verdict.outcome, verdict.group)
        if is_alike and is_of_schedule:
            is_alike = _is_right(worker, smaller)
        if is_alike:
            found = again
        return is_alike

    return minimize(case, fails), found


def _is_right(worker: Judge, case: Case) -> bool:
    """Whether numpy's formulas hold for the declarations: they may not for shorter axes."""
    plain = Case("legal", replace(case.program, steps=()))
    return worker.verdict(plain).outcome == "right"


def save(folder: pathlib.Path, case: Case, verdict: Verdict) -> pathlib.Path:
    """Write the script of a finding."""
    folder.mkdir(parents=True, exist_ok=True)
    name = re.sub(r"\W+", "_", verdict.group)[:60].strip("_")
    path = folder / f"{name}_{case.kind}_{case.program.number}.py"
    note = f"{verdict.outcome}: {verdict.group}\n{verdict.detail}"
    path.write_text(_script(case, note, verdict))
    return path


def _script(case: Case, note: str, verdict: Verdict) -> str:
    scripts = {"hostile": hostile.script, "blocks": blocks.script, "models": models.script}
    scripts |= {"special": special.script, "shapes": shapes.script, "tensorir": tensorir.script}
    own = scripts.get(case.kind)
    if own is not None:
        return "\n".join([*(f"# {line}" for line in note.splitlines()), *own(case), ""])
    return case.script(note, frozenset(verdict.lines))


def judge_one(kind: str, number: int, folder: pathlib.Path | None) -> str:
    """The verdict on one case, and its script."""
    case = generate(kind, number)
    with Judge() as worker:
        verdict = worker.verdict(case)
        if verdict.is_finding and folder is not None:
            case, verdict = smallest(worker, case, verdict)
            save(folder, case, verdict)
    note = f"{verdict.outcome}: {verdict.group}\n{verdict.detail}"
    return _script(case, note, verdict)
