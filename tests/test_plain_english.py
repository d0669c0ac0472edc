"""Code, pages and tutorials avoid the phrases that readers stumble over."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.syntax_trees import syntax_trees, walk

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

# Words of British spelling, also in names; those that only end like them are American, too.
_BRITISH = re.compile(
    r"(?<![a-z])[a-z]*is(?:e|ed|es|er|ers|ing|ation|ations|able)(?![a-z])"
    r"|(?:col|neighb|behavi|fav|hon|flav|lab|endeav|arm|vap|rum|hum)our"
    r"|(?<![a-z])analys(?:e|ed|er|ing)(?![a-z])"
    r"|(?:label|model|travel|signal|channel|tunnel|level|total|marshal)l(?:ed|ing)(?![a-z])"
    r"|(?<![a-z])(?:centre[ds]?|metre|litre|grey|licence|defence|fulfils?|per cent)(?![a-z])",
    re.IGNORECASE,
)
_ENDS_LIKE_BRITISH = re.compile(
    r"\w*(?:rais(?:e|ed|es|ing)|wise|promis(?:e|ed|es|ing)|advis(?:e|ed|es|ing)|rise|precise|noise|disable)",
    re.IGNORECASE,
)
_INSTALLING = re.compile(r"pip install [\"'-]*e?[\"' ]*te[-_]sched\[")


def _sentences(path: Path) -> Iterator[str]:
    """Texts for readers: docstrings, comments and messages of code; the prose of pages."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        tree = syntax_trees().get(path) or ast.parse(text)
        for node in walk(tree):
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


def _whole_texts() -> Iterator[tuple[Path, str]]:
    """Pages, and code with its names."""
    folders = ("te_sched", "docs", "tutorials", "benchmarks", "scripts", "tests")
    paths = [*ROOT.glob("*.md"), *(path for one in folders for path in (ROOT / one).rglob("*.*"))]
    for path in sorted(paths):
        own = path.relative_to(ROOT)
        if path.suffix in (".py", ".md", ".ipynb") and own.parts[:2] != ("tests", "golden"):
            yield own, path.read_text(encoding="utf-8")


@cache
def _is_british(word: str) -> bool:
    matches = _BRITISH.finditer(word)
    return any(not _ENDS_LIKE_BRITISH.fullmatch(match[0]) for match in matches)


def test_spelling_is_american() -> None:
    found = [
        f"{path}: {word}"
        for path, text in _whole_texts()
        if path.name != Path(__file__).name
        for word in {*re.findall(r"\bper cent\b|[A-Za-z]+", text)}
        if _is_british(word)
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("word", ["optimised", "neighbours", "Vectorise", "labelled", "per cent"])
def test_british_words_are_found(word: str) -> None:
    assert _BRITISH.search(f"a_{word} b")


@pytest.mark.parametrize("word", ["raises", "elementwise", "promised", "RISE", "labels", "four"])
def test_american_words_are_not(word: str) -> None:
    match = _BRITISH.search(f"a {word} b")
    assert match is None or _ENDS_LIKE_BRITISH.fullmatch(match[0])


def test_extras_are_installed_from_a_checkout() -> None:
    """te_sched is on no index: messages name packages, pages write `pip install '.[tune]'`."""
    found = [
        f"{path}: {match[0]}" for path, text in _texts() for match in _INSTALLING.finditer(text)
    ]
    assert not found, "\n".join(found)
