"""Answers of a function to items, in processes that may crash or hang: a new one continues after
the item. Must not know the function; items and answers are values of JSON.

python -m tests.workers MODULE:FUNCTION    answer the items of standard input
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import select
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
MEMORY = 16 << 30  # limit of the address space of a process, in bytes
STARTING = 120.0  # time limit for the start of a process, in seconds


class Death(NamedTuple):
    """The end of a process without an answer: "hung", a signal, or an exit status."""

    reason: str


class Worker:
    """A process that answers items, of which it gets at most `lasts`.

    Files that it writes by relative paths are deleted with it. An answer may take `limit` seconds.
    """

    def __init__(self, function: str, limit: float = 30.0, lasts: int = 1 << 30) -> None:
        self.function, self.limit, self.lasts = function, limit, lasts
        self._folder = tempfile.TemporaryDirectory()
        self._process: subprocess.Popen[bytes] | None = None
        self._answered = 0
        self._lines: list[bytes] = []
        self._rest = b""

    def answer(self, item: Any, limit: float | None = None) -> Any:
        """The answer to an item, or a Death."""
        return next(self.answers([item], limit))

    def answers(self, items: Sequence[Any], limit: float | None = None) -> Iterator[Any]:
        """The answer to each item, or a Death."""
        first = 0
        while first < len(items):
            process = self._running()
            last = min(len(items), first + self.lasts - self._answered)
            sending = threading.Thread(target=_send, args=(process, items[first:last]), daemon=True)
            sending.start()
            while first < last:
                line = self._line(limit or self.limit)
                first += 1
                self._answered += 1
                if not line:
                    yield self._death(hung=line is None)
                    break
                yield json.loads(line)

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
        self._folder.cleanup()

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._answered >= self.lasts:
            self.close()
        if self._process is None:
            self._answered, self._lines, self._rest = 0, [], b""
            paths = filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.workers", self.function],
                cwd=self._folder.name,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "TE_SCHED_CACHE": "0", "PYTHONPATH": os.pathsep.join(paths)},
            )
            self._line(STARTING)  # says that it has started
        return self._process

    def _line(self, patience: float) -> bytes | None:
        """The next line of the process; b"" at its end, None if it says nothing for so long."""
        assert self._process is not None
        assert self._process.stdout is not None
        # Not readline: select does not see a second line that it would keep.
        while not self._lines:
            if not select.select([self._process.stdout], [], [], patience)[0]:
                return None
            text = os.read(self._process.stdout.fileno(), 1 << 16)
            if not text:
                return b""
            *self._lines, self._rest = (self._rest + text).split(b"\n")
        return self._lines.pop(0)

    def _death(self, hung: bool) -> Death:
        assert self._process is not None
        code = 0 if hung else self._process.wait()
        self.close()
        if hung:
            return Death("hung")
        return Death(signal.Signals(-code).name if code < 0 else f"exit status {code}")


def _send(process: subprocess.Popen[bytes], items: Sequence[Any]) -> None:
    assert process.stdin is not None
    try:
        for item in items:
            process.stdin.write(json.dumps(item).encode() + b"\n")
        process.stdin.flush()
    except (OSError, ValueError):  # it has ended, or was closed
        return


def work(function: str) -> None:
    """The main function of a process: answer the items of standard input."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # discard the output of items
    module, _, name = function.partition(":")
    answer = getattr(importlib.import_module(module), name)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    answers.write("null\n")
    for line in sys.stdin:
        answers.write(json.dumps(answer(json.loads(line))) + "\n")


if __name__ == "__main__":
    work(sys.argv[1])
