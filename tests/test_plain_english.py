"""Code, pages and tutorials avoid the phrases that readers stumble over."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PHRASES = {
    r"\bnobody\b": "name what does or does not do it",
    r"\bwho (reads|writes|asks|calls|uses|wants)\b": "use the noun: a reader, a caller, a user",
    r"\bso many\b": "give the number, or say 'this number of'",
    r"\binsists?\b": "say what to pass",
    r"(?<!there )\b(is|are) no (?!longer|more|less|better|worse|larger|smaller)": "use 'is not a'",
    r"\bwhat\b((?!\band\b)[^.,;:()|#])*\bwhat\b": "use one clause, or a noun",
    r"\bcalls tell\b": "write: a dynamic shape",
    r"\bbecame of\b": "name the result",
    r"\b(lets?|letting) go of\b": "use 'releases' or 'frees'",
    r"\bcomputes? what\b": "name what is computed",
    r"\bas it stands\b": "leave it out",
    r"\btowards the processor\b": "write: into the cache",
}


def _sentences(path: Path) -> Iterator[str]:
    """Texts for readers: docstrings, comments and messages of code; the prose of pages."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value
        yield from re.findall(r"#.*", text)  # also what follows # in texts
    elif path.suffix == ".ipynb":
        for cell in json.loads(text)["cells"]:
            yield "".join(cell["source"])
    else:
        yield re.sub(r"```.*?```", "", text, flags=re.DOTALL)


@cache
def _texts() -> list[tuple[Path, str]]:
    patterns = (
        "te_sched/**/*.py",
        "docs/**/*.md",
        "tutorials/*.ipynb",
        "*.md",
        "benchmarks/**/*.py",
    )
    paths = sorted(path for pattern in patterns for path in ROOT.glob(pattern))
    return [(path.relative_to(ROOT), text) for path in paths for text in _sentences(path)]


@pytest.mark.parametrize("phrase", PHRASES)
def test_phrases_that_are_avoided(phrase: str) -> None:
    found = [
        f"{path}: ...{' '.join(text[max(0, match.start() - 40) : match.end() + 40].split())}..."
        for path, text in _texts()
        for match in re.finditer(phrase, text, re.IGNORECASE)
    ]
    assert not found, f"{PHRASES[phrase]}\n" + "\n".join(found)
