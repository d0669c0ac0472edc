"""Judges cases in processes that may crash or hang.

A worker reads cases and writes verdicts, each a line of JSON. After a timeout the worker is killed,
and the next case starts a new one. Must not know the content of verdicts.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import threading
from queue import Empty, Queue
from typing import Any

from tests.fuzz.case import Case
from tests.fuzz.judge import Verdict, judge

LASTS = 400  # cases that one process judges
MEMORY = 16 << 30  # bytes of addresses that it may use


class Worker:
    """A process that judges cases, restarted if it dies."""

    def __init__(self, limit: float = 30.0) -> None:
        self.limit = limit
        self._process: subprocess.Popen[str] | None = None
        self._lines: Queue[str | None] = Queue()
        self._judged = 0

    def judge(self, case: Case, limit: float | None = None) -> Verdict:
        """The verdict on a case; "crashed" or "hung" if the process returned none."""
        process = self._running()
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(case.to_json()) + "\n")
            process.stdin.flush()
            line = self._lines.get(timeout=limit or self.limit)
        except Empty:
            self.close()
            return Verdict("hung", "hung", f"no answer within {limit or self.limit} s")
        except BrokenPipeError:
            line = None
        if line is None:
            code = process.wait()
            self.close()
            name = signal.Signals(-code).name if code < 0 else f"exit status {code}"
            return Verdict("crashed", f"crashed: {name}", name)
        record = json.loads(line)
        record["refusals"], record["lines"] = tuple(record["refusals"]), tuple(record["lines"])
        return Verdict(**record)

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _running(self) -> subprocess.Popen[str]:
        if self._process is not None and self._judged >= LASTS:
            self.close()
        if self._process is None:
            self._judged = 0
            self._lines = Queue()
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.fuzz", "--worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                env={**os.environ, "TE_SCHED_CACHE": "0", "PYTHONDONTWRITEBYTECODE": ""},
            )
            threading.Thread(
                target=_forward, args=(self._process.stdout, self._lines), daemon=True
            ).start()
        self._judged += 1
        return self._process


def _forward(stream: Any, lines: Queue[str | None]) -> None:
    for line in stream:
        lines.put(line)
    lines.put(None)


def work() -> None:
    """The main function of a worker: judge the cases of standard input."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # discard the output of cases
    for line in sys.stdin:
        verdict = judge(Case.from_json(json.loads(line)))
        answers.write(json.dumps(vars(verdict)) + "\n")
        answers.flush()
