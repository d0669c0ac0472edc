"""Colors of all views, as CSS variables for light and for dark pages.

They follow the theme of the page (Jupyter, VS Code, mkdocs, a `data-theme`), and otherwise the
preference of the reader's system. Must not know the colored elements.
"""

from __future__ import annotations

# name: (on light, on dark); each has a contrast above 4.5 to 1 on white and on #1e1e1e
_COLORS = {
    "keyword": ("#a40e26", "#ff7b72"),
    "name": ("#6639ba", "#d2a8ff"),
    "string": ("#0a3069", "#a5d6ff"),
    "number": ("#0550ae", "#79c0ff"),
    "comment": ("#59636e", "#9da7b1"),
    "added": ("#116329", "#7ee787"),
    "removed": ("#a40e26", "#ffa198"),
    "mark": ("#0550ae", "#79c0ff"),
    "line": ("#8c959f", "#6e7681"),
}
_IS_LIGHT = (
    *('[data-jp-theme-light="true"]', ".vscode-light", '[data-theme="light"]'),
    '[data-md-color-scheme="default"]',
)
_IS_DARK = (
    *('[data-jp-theme-light="false"]', ".vscode-dark", '[data-theme="dark"]'),
    '[data-md-color-scheme="slate"]',
)


def colors(selector: str) -> str:
    """CSS that gives the elements of a selector the variables --te-keyword, --te-name, ..."""
    light, dark = (
        ";".join(f"--te-{name}:{pair[side]}" for name, pair in _COLORS.items()) for side in (0, 1)
    )
    return (
        f"{selector}{{{light}}}"
        f"@media(prefers-color-scheme:dark){{{selector}{{{dark}}}}}"
        f"{_inside(_IS_LIGHT, selector)}{{{light}}}"
        f"{_inside(_IS_DARK, selector)}{{{dark}}}"
    )


def _inside(pages: tuple[str, ...], selector: str) -> str:
    return f":is({','.join(pages)}) {selector}"
