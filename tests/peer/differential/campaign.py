"""Runs many random programs in child processes, so that a native crash ends only one program."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from queue import Empty, Queue
from typing import Any

from tests.peer.differential import script_outcome, tensorir
from tests.peer.differential.generate import generate
from tests.peer.differential.minimize import minimize, minimize_text
from tests.peer.differential.outcome import Outcome, judge, judge_alone
from tests.peer.differential.program import load_text

PATIENCE = 120.0  # time limit of a program and its minimization, in seconds
ALIKE = 2  # failures of a kind that are minimized


@dataclass(frozen=True)
class Kind:
    """A kind of random programs: their texts by number, and how they are judged and minimized."""

    generate: Callable[[int], str]
    judge: Callable[[str], Outcome]
    judge_alone: Callable[[str], Iterable[Outcome]]
    minimize: Callable[[int, Callable[[str], bool]], str]


KINDS = {
    "schedules": Kind(
        lambda number: generate(number).text(),
        lambda text: judge(load_text(text)),
        lambda text: [judge_alone(load_text(text))],
        lambda number, fails: minimize(generate(number), lambda one: fails(one.text())).text(),
    ),
    "tensorir": Kind(
        tensorir.generate,
        script_outcome.judge,
        script_outcome.judge_alone,
        lambda number, fails: minimize_text(tensorir.generate(number), fails),
    ),
}


@dataclass
class Report:
    """The results of a campaign."""

    outcomes: dict[int, Outcome] = field(default_factory=dict)
    seconds: float = 0.0

    def failures(self) -> dict[int, Outcome]:
        """The programs with failures."""
        return {number: one for number, one in self.outcomes.items() if one.is_failure}

    def errors(self) -> dict[int, Outcome]:
        """The programs with different results or other failures, except different texts, which are
        expected for one in a hundred (README.md).
        """
        return {
            number: one
            for number, one in self.outcomes.items()
            if one.numbers == "differs" or (one.is_failure and one.text != "differs")
        }

    def text(self) -> str:
        """Counts, percentages, and the failures by kind."""
        outcomes = list(self.outcomes.values())
        texts = Counter(one.text for one in outcomes)
        at_fault = {what: count for what, count in texts.items() if what.startswith("differs ")}
        compared = texts["same"] + texts["differs"]
        numbers = Counter(one.numbers for one in outcomes)
        run = numbers["equal"] + numbers["differs"] + numbers["error in te_sched"]
        read = Counter(one.printed for one in outcomes if one.printed)
        texts_read = read["same"] + read["differs"] + read["not read again"]
        lines = [
            f"{len(outcomes)} programs in {self.seconds:.0f} s",
            *[
                f"sources printed the same: {read['same']} of {texts_read} "
                f"({_percent(read['same'], texts_read)})"
            ][: len(read)],
            f"texts identical: {texts['same']} of {compared} ({_percent(texts['same'], compared)}) "
            f"and {sum(at_fault.values())} that differ because TVM is at fault:",
            *(f"    {count} {what}" for what, count in sorted(at_fault.items())),
            f"results equal to numpy's: {numbers['equal']} of {run} "
            f"({_percent(numbers['equal'], run)})",
            *(f"{count} {what}" for what, count in sorted(texts.items()) if "refused" in what),
            f"{numbers['refused']} not built by te_sched",
            f"{texts['error in te_sched'] + texts['not known']} errors in te_sched",
        ]
        groups: dict[str, list[int]] = {}
        for number, outcome in self.failures().items():
            groups.setdefault(outcome.group, []).append(number)
        for group, members in sorted(groups.items(), key=lambda item: -len(item[1])):
            lines.append(f"\n{len(members)} x {group}\n    programs {members[:8]}")
            lines.append(f"    {self.outcomes[members[0]].detail[:400]}")
        return "\n".join(lines)


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"


def run(
    count: int,
    seed: int,
    minutes: float | None = None,
    folder: pathlib.Path | None = None,
    batch: int = 100,
    kind: str = "schedules",
) -> Report:
    """Judge programs seed, seed + 1, ...; minimized failures are saved in the folder."""
    report, start = Report(), time.monotonic()
    end = start + 60 * minutes if minutes else float("inf")
    number, last = seed, seed + count
    while number < last and time.monotonic() < end:
        stop = min(number + batch, last)
        for judged, record in _judged_by_child(kind, number, stop, folder is not None, end):
            outcome = report.outcomes[judged] = Outcome(**record["outcome"])
            if folder is not None and outcome.is_failure:
                _save(folder, judged, outcome, record["program"])
            number = judged
        number += 1
    report.seconds = time.monotonic() - start
    return report


def _save(folder: pathlib.Path, number: int, outcome: Outcome, text: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    comment = "".join(
        f"# {line}\n" for line in (outcome.group + "\n" + outcome.detail).splitlines()
    )
    (folder / f"p{number}.py").write_text(comment + text)


def _judged_by_child(
    kind: str, first: int, stop: int, minimized: bool, end: float
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The records of a child process, the last one for the program at which it crashed."""
    option = ["--minimize"] if minimized else []
    command = [sys.executable, "-m", "tests.peer", "--kind", kind, *option]
    command += ["--child", str(first), str(stop)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as child:
        lines: Queue[str | None] = Queue()
        threading.Thread(target=_forward, args=(child.stdout, lines), daemon=True).start()
        pending, why = None, "crash"  # the current program
        while time.monotonic() < end:
            try:
                line = lines.get(timeout=PATIENCE)
            except Empty:
                line, why = None, "timeout"
            if line is None:
                break
            record = json.loads(line)
            pending = record["number"] if "outcome" not in record else None
            if pending is None:
                yield record["number"], record
        child.kill()
    if pending is not None and time.monotonic() < end:
        yield pending, _lost(kind, pending, why)


def _forward(stream: Any, lines: Queue[str | None]) -> None:
    for line in stream:
        if line.startswith("{"):
            lines.put(line)
    lines.put(None)


def _lost(kind: str, number: int, why: str) -> dict[str, Any]:
    """The record of a program at which a child crashed, judged with te_sched only."""
    command = [sys.executable, "-m", "tests.peer", "--kind", kind, "--alone", str(number)]
    try:
        alone = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
        lines = [line for line in alone.stdout.splitlines() if line.startswith("{")]
    except subprocess.TimeoutExpired:
        lines = []
    if lines:
        return json.loads(lines[-1])  # type: ignore[no-any-return]
    outcome = Outcome("not known", "error in te_sched", f"{why} of the process")
    return _record(number, outcome, KINDS[kind].generate(number))


def alone(kind: str, number: int) -> None:
    """Judge a program that crashes TVM: a record for each outcome, the last one is the best."""
    text = KINDS[kind].generate(number)
    for outcome in KINDS[kind].judge_alone(text):
        print(json.dumps(_record(number, outcome, text)), flush=True)


def child(kind: str, first: int, stop: int, minimized: bool) -> None:
    """Judge some programs and print a record for each."""
    of, seen = KINDS[kind], Counter[str]()
    for number in range(first, stop):
        text = of.generate(number)
        print(json.dumps({"number": number}), flush=True)
        outcome = of.judge(text)
        print(json.dumps(_record(number, outcome, text)), flush=True)
        seen[outcome.group] += outcome.is_failure
        if outcome.is_failure and minimized and seen[outcome.group] <= ALIKE:
            smaller = of.minimize(number, lambda one, like=outcome: of.judge(one).kind == like.kind)
            print(json.dumps(_record(number, of.judge(smaller), smaller)), flush=True)


def _record(number: int, outcome: Outcome, text: str) -> dict[str, Any]:
    return {"number": number, "outcome": asdict(outcome), "program": text}
