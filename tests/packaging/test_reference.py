"""The reference has headings for what users call, and for no helper."""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from pathlib import Path
from pkgutil import resolve_name
from types import ModuleType

import pytest

yaml = pytest.importorskip("yaml", reason="the extra docs is not installed")

REFERENCE = Path(__file__).resolve().parents[2] / "docs" / "reference"
_DIRECTIVE = re.compile(r"^::: (?P<path>\S+)\n(?P<options>(?: {4}.*\n)*)", re.MULTILINE)
# Modules that users import by themselves: their functions and classes are in no other one.
USED_ALONE = {
    "te_sched.config",
    "te_sched.errors",
    "te_sched.ir.builder",  # what tir.ir_builder makes
    "te_sched.runtime.timing",
    "te_sched.te.hybrid.runtime",  # words of hybrid scripts
    "te_sched.topi.cuda",
    "te_sched.topi.generic",
    "te_sched.topi.x86",
}


FACES = tuple(
    f"te_sched.{name}"
    for name in ("dlight", "meta_schedule", "relax", "testing", "tir.transform", "topi")
)


def listed_names() -> set[str]:
    """The names in the modules that list what they have for users."""
    for name in (*FACES, *(path for _, path, _ in directives())):
        resolve_name(name)
    faces = [
        module
        for name, module in sys.modules.items()
        if name.startswith("te_sched") and hasattr(module, "__all__")
    ]
    return {name for face in faces for name in (*dir(face), *face.__all__)}


def shown_members(path: str, options: dict) -> list[str]:
    """The functions and classes of a module that its directive shows."""
    members = options.get("members")
    if members is not None:
        return members or []
    module = importlib.import_module(path)
    filters = [re.compile(one.removeprefix("!")) for one in options.get("filters", ["!^_"])]
    return [
        name
        for name, value in vars(module).items()
        if (inspect.isfunction(value) or inspect.isclass(value))
        and inspect.unwrap(value).__module__ == path
        and not any(one.search(name) for one in filters)
    ]


def directives():
    """The directives of all pages: what each shows, and its options."""
    for page in sorted(REFERENCE.rglob("*.md")):
        for found in _DIRECTIVE.finditer(page.read_text()):
            options = yaml.safe_load(found["options"] or "{}").get("options", {})
            yield page, found["path"], options


def test_headings_of_modules_are_names_that_users_import():
    listed, helpers = listed_names(), {}
    for page, path, options in directives():
        if isinstance(resolve_name(path), ModuleType) and path not in USED_ALONE:
            strange = [name for name in shown_members(path, options) if name not in listed]
            helpers.update({f"{page.name}: {path}": strange} if strange else {})
    assert helpers == {}


def test_filters_of_the_reference_hide_what_is_there():
    """A filter of a name that went hides nothing, and may hide another one later."""
    stale = []
    for page, path, options in directives():
        names = [one.removeprefix("!^").removesuffix("$") for one in options.get("filters", [])]
        owner = resolve_name(path)
        owners = [owner, *(part for _, part in inspect.getmembers(owner, inspect.isclass))]
        stale += [f"{page.name}: {path} {name}" for name in names if not has(owners, name)]
    assert [one for one in stale if not one.endswith(" _")] == []


def has(owners, name):
    return any(hasattr(owner, name) for owner in owners)
