"""dir and completion show the names that docs/reference/names.md documents, and no others."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path

import te_sched
from scripts import names
from te_sched import meta_schedule as ms
from te_sched import relax, te, tir
from te_sched.public_members import PublicClass, public_members
from te_sched.script import tir as T

ROOT = Path(__file__).resolve().parents[2]


def documented() -> dict[str, list[str]]:
    """The names of the page, by the namespace or class."""
    page = (ROOT / "docs/reference/names.md").read_text()
    sections = re.split(r"^## (?:class )?(\S+)$", page, flags=re.MULTILINE)[1:]
    return {
        name: re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)
        for name, text in zip(sections[::2], sections[1::2], strict=True)
    }


def owners() -> Iterator[tuple[str, object, list[str]]]:
    """Namespaces and classes with the names that dir shows, without what modules load late."""
    for name, module in names.namespaces().items():
        yield name, module, names.public(module)
    for name, kind in names.CLASSES.items():
        yield name, kind, public_members(kind)


def test_page_is_what_the_script_writes() -> None:
    """In a process of its own, where tests have registered nothing."""
    command = [sys.executable, "-m", "scripts.names", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_dir_shows_the_documented_names() -> None:
    page = documented()
    shown = {name: found for name, _, found in owners()}
    assert shown.keys() == page.keys()
    differing = {
        name: {*shown[name]} ^ {*page[name]} for name in page if sorted(shown[name]) != page[name]
    }
    assert differing == {}, "make a name private, or run python -m scripts.names"


def test_documented_names_say_what_they_are() -> None:
    bare = [
        f"{owner}.{name}"
        for owner, value, found in owners()
        for name in found
        if (callable(member := inspect.getattr_static(value, name, None)))
        and not names.summary(member)
    ]
    assert bare == []


def test_dir_shows_nothing_of_other_packages() -> None:
    """Such as `Any`, `import_module` and `np`."""
    alien = []
    for owner, module in names.namespaces().items():
        for name in names.public(module):
            value = getattr(module, name)
            is_module = isinstance(value, types.ModuleType)
            home = value.__name__ if is_module else getattr(value, "__module__", None)
            if isinstance(home, str) and home.partition(".")[0] != "te_sched":
                alien.append(f"{owner}.{name}")
    assert alien == []


def test_dir_shows_modules_that_are_loaded_late() -> None:
    parts = {"op", "transform", "frontend", "analysis", "backend", "dpl", "vm"}
    assert parts < {*dir(relax)}
    assert {"script", "relax", "meta_schedule", "tir", "config"} < {*dir(te_sched)}
    assert {"database", "runner", "relax_integration"} < {*dir(ms)}
    program = "import sys; from te_sched import relax; dir(relax); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT)
    assert "te_sched.relax.backend" not in done.stdout.split()


def test_dir_hides_internal_members() -> None:
    A = te.placeholder((4,), name="A")
    B = te.compute((4,), lambda i: A[i] + 1, name="B")
    s = te.create_schedule(B.op)
    sch = tir.Schedule(te.create_prim_func([A, B]))
    for shown in (s, s[B], sch, tir.Schedule, te.Stage, ms, T):
        hidden = {"draft", "fates", "keys", "nodes", "copy_from", "Any", "import_module"}
        assert hidden & {*dir(shown)} == set()
    assert sch.keys, "they are still there"


def test_internal_members_of_bases_are_hidden() -> None:
    class Base(PublicClass):
        _internal_members = ("a",)
        a = b = 1

    class Derived(Base):
        _internal_members = ("c",)
        c = d = 1

    assert public_members(Derived) == ["b", "d"]
    assert [name for name in dir(Derived()) if name[0] != "_"] == ["b", "d"]
