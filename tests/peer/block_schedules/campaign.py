"""Compares te_sched with what TVM did to random programs: texts after each primitive, refusals,
traces, lowered programs and results.

A program ends at the first text that differs, since all that follows would differ, too. Where the
execution of TVM's program shows a fault that te_sched's does not have, or TVM fails inside, the
difference counts as TVM's fault. A call that ends TVM's process costs its program alone.
"""

from __future__ import annotations

import collections
import contextlib
import json
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import te_sched
from te_sched.errors import TeSchedError
from tests.peer.block_schedules.sources import Instance, instance, is_right
from tests.peer.block_schedules.steps import namespace
from tests.peer.block_schedules.verdicts import fault_of, fault_of_theirs

Events = list[dict[str, Any]]
REFUSALS = (TeSchedError, IndexError)  # the latter of a step: l(name)[7]
FAILS_INSIDE = re.compile("InternalError|Could not get the corresponding function")
LITERAL = re.compile(r"T\.(float\d+)\(([-+.\dEe]+)\)")


def plain(text: str) -> str:
    """A text without the spelling of floating-point literals."""
    return LITERAL.sub(lambda found: f"T.{found[1]}({float(found[2])!r})", text.strip())


def recorded(first: int, count: int) -> Iterator[tuple[int, Events]]:
    """The events of programs; where TVM ends the process, those before it."""
    last = first + count
    while first < last:
        command = [sys.executable, "-m", "tests.peer.block_schedules.record"]
        child = subprocess.Popen(
            [*command, str(first), str(last - first)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert child.stdout is not None
        events: Events = []
        for line in child.stdout:
            event = json.loads(line)
            if "seed" in event:
                first = event["seed"]
            events.append(event)
            if "end" in event:
                yield first, events
                first, events = first + 1, []
        child.wait()
        if events:
            yield first, events
        if first < last:
            first += 1


def _arguments(schedule: Any) -> list[Any]:
    """The buffers that are given, of which transform_layout makes others."""
    return [id(one) for one in schedule.mod["main"].buffer_map.values()]


class Comparison:
    """What differs in a program: pairs of a kind and a description, and how much is the same."""

    def __init__(self, seed: int, events: Events) -> None:
        self.seed, self.events = seed, events
        self.counts: collections.Counter[str] = collections.Counter()
        self.differences: list[tuple[str, str]] = []
        self.excused: list[tuple[str, str]] = []
        self.steps: list[str] = []
        self.is_callable = True  # with the arguments of the source
        self.has_trace = True  # a copy lacks what arguments of later refused steps added
        rng = random.Random(seed)
        self.program: Instance = instance(rng)
        self.for_gpu = events[0]["gpu"]
        self.schedule = te_sched.tir.Schedule(
            te_sched.script.from_source(self.program.text), seed=1
        )
        self.is_same = self._same_steps()
        if self.is_same:
            self._results()
        self._runs()

    def _note(self, what: str, is_same: bool, description: str = "", excuse: str = "") -> None:
        """Count a comparison; an `excuse` is the fault of TVM's that explains a difference."""
        if excuse and not is_same:
            self.counts[f"{what}, TVM's fault"] += 1
            self.excused.append((what, f"{excuse}\n{description}"))
            return
        self.counts[what] += 1
        self.counts[f"{what}, the same"] += is_same
        if not is_same:
            self.differences.append((what, description))

    def _excuse(self, theirs: str, ours: Any = None) -> str:
        """The fault of TVM's program, if te_sched's does not have one."""
        return fault_of_theirs(theirs, ours, self.program)

    def _same_steps(self) -> bool:
        """Whether all steps have been compared."""
        call = ""
        for event in self.events:
            if "step" in event:
                call = event["step"]
            elif "script" in event:
                if call and not self._accepted(call, event):
                    return False
                text = plain(self.schedule.mod.script())
                is_same = text == plain(event["script"])
                excuse = "" if is_same else self._excuse(event["script"], self.schedule.mod)
                self._note("texts", is_same, f"{call}\n{text}\n--- TVM\n{event['script']}", excuse)
                if not is_same:
                    return False
            elif "refused" in event:
                self._refused(call, event)
        if "end" not in self.events[-1]:
            return self._ended(self.events[-1])
        return True

    def _accepted(self, call: str, event: dict[str, Any]) -> bool:
        self.steps.append(call)
        before = self.schedule.copy()
        try:
            eval(call, namespace(te_sched, self.schedule))
        except TeSchedError as error:
            text = before.mod.script()
            description = f"{call}\nrefused: {error}\n{text}\n--- TVM\n{event['script']}"
            self._note("texts", False, description, self._excuse(event["script"]))
            self.schedule = before
            return False
        changes = "transform_layout" in call or "reindex" in call
        if changes and _arguments(self.schedule) != _arguments(before):
            self.is_callable = False
        return True

    def _refused(self, call: str, event: dict[str, Any]) -> None:
        before, text = self.schedule.copy(), self.schedule.mod.script()
        try:
            eval(call, namespace(te_sched, self.schedule))
        except REFUSALS:
            self._note("refusals", self.schedule.mod.script() == text, "changed by " + call)
        else:
            why = event["refused"]
            excuse = "TVM fails inside"
            if not FAILS_INSIDE.search(why) or fault_of(self.schedule.mod, self.program, False):
                excuse = ""
            self._note("refusals", False, f"{call}\nTVM: {why[-400:]}\n{text}", excuse)
            self.schedule, self.has_trace = before, False

    def _ended(self, event: dict[str, Any]) -> bool:
        """Do alone the step that ended TVM's process; whether it was none."""
        self.counts["TVM ended"] += 1
        call = event.get("step", "")
        self.excused.append(("TVM ended", call or min(event)))
        if call:
            with contextlib.suppress(*REFUSALS):
                eval(call, namespace(te_sched, self.schedule))
        return not call

    def _results(self) -> None:
        for event in self.events:
            if "trace" in event and self.has_trace:
                trace, want = plain(str(self.schedule.trace)), event["trace"]
                self._note("traces", trace == plain(want), f"{trace}\n--- TVM\n{want}")
            if event.get("lowered"):
                want, ours = event["lowered"], None
                try:
                    ours = te_sched.lower(self.schedule.mod)
                    text = plain(ours.script())
                except TeSchedError as error:
                    text = f"refused: {error}\n{self.schedule.mod.script()}"
                is_same = text == plain(want)
                excuse = "" if is_same else self._excuse(want, ours)
                self._note("lowered", is_same, f"{text}\n--- TVM\n{want}", excuse)

    def _runs(self) -> None:
        """Build the schedule as far as it came, and compare its results."""
        if not self.is_callable:
            return
        target = "cuda" if self.for_gpu else "llvm"
        try:
            right = is_right(te_sched, self.schedule.mod, self.program, target)
        except TeSchedError as error:
            self.counts["refused by build"] += 1
            if self.is_same and any(event.get("right") for event in self.events):
                text = self.schedule.mod.script()
                fault = fault_of(self.schedule.mod, self.program)
                self._note("refused what runs", False, f"{error}\n{text}", fault)
        else:
            self._note("results", right, self.schedule.mod.script())

    def text(self) -> str:
        """The differences, for people."""
        steps = "\n".join(self.steps)
        return "\n".join(
            f"==== {self.seed}: {what}: {found}\n---- steps\n{steps}"
            for what, found in self.differences
        )
