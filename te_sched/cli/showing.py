"""Programs and code on a terminal, in colors if it is interactive. Must not know their content."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import click

from te_sched.views.highlight import to_terminal

_COMMENTS = {"python": "#", "llvm": ";", "cuda": "//", "asm": "#", "text": "#", "diff": "#"}


def has_color() -> bool:
    """Whether to print colors: the terminal is interactive, and NO_COLOR is not set."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def show(text: str, language: str) -> None:
    """Some code."""
    click.echo(to_terminal(text, language).rstrip("\n") if has_color() else text.rstrip("\n"))


def show_title(text: str, language: str = "text") -> None:
    """A line before some code, as a comment of its language."""
    mark = _COMMENTS.get(language, "#")
    click.echo(click.style(f"{mark} {text}", bold=True) if has_color() else f"{mark} {text}")


def show_json(value: Any) -> None:
    """Data for programs."""
    click.echo(json.dumps(value, indent=2))
