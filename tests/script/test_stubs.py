"""The stubs that type checkers and editors read have the names that Python finds."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from types import ModuleType

import pytest

from scripts import stubs
from te_sched import tir
from te_sched.script import relax as R
from te_sched.script import tir as T

FACES = [T, R, tir]


def stub_of(module: ModuleType) -> ast.Module:
    return ast.parse(Path(str(module.__file__)).with_suffix(".pyi").read_text())


def exported(tree: ast.Module) -> set[str]:
    """The public names of a stub, as type checkers find them."""
    names: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            names |= {one.name for one in node.names if one.asname == one.name}
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            names.add(target.id)  # type: ignore[union-attr]
    return {name for name in names if name[0] != "_"}


@pytest.mark.parametrize("path", stubs.pages(), ids=lambda path: path.parent.name + path.stem)
def test_stub_is_what_the_script_writes(path: Path) -> None:
    assert path.read_text() == stubs.pages()[path], "run python -m scripts.stubs"


@pytest.mark.parametrize("module", FACES, ids=lambda module: module.__name__)
def test_stub_has_the_names_of_the_module(module: ModuleType) -> None:
    names = {name for name in dir(module) if name[0] != "_"}
    assert exported(stub_of(module)) == names == {*module.__all__}  # type: ignore[attr-defined]


def test_stub_has_the_operators_of_groups() -> None:
    groups = {one.name: one for one in stub_of(R).body if isinstance(one, ast.ClassDef)}
    assert {"nn", "image", "memory"} < {*groups}
    for name, group in groups.items():
        functions = {one.name for one in group.body if isinstance(one, ast.FunctionDef)}
        assert functions == {*getattr(R, name).__all__}


@pytest.mark.parametrize("module", FACES, ids=lambda module: module.__name__)
def test_stub_has_the_parameters_of_functions(module: ModuleType) -> None:
    """All that Python accepts, without a bound of their number."""
    for node in stub_of(module).body:
        if not isinstance(node, ast.FunctionDef):
            continue
        parameters = inspect.signature(getattr(module, node.name)).parameters.values()
        named = [one.name for one in parameters if one.kind is one.POSITIONAL_OR_KEYWORD]
        if node.args.vararg is None:
            assert [one.arg for one in node.args.args] == named, node.name


def test_a_stub_tells_of_one_that_is_out_of_date(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stubs, "ROOT", tmp_path)
    monkeypatch.setattr("sys.argv", ["stubs", "--check"])
    with pytest.raises(SystemExit, match=r"out of date: te_sched/script/tir\.pyi"):
        stubs.main()
    for path in stubs.pages():
        path.parent.mkdir(parents=True, exist_ok=True)
    monkeypatch.setattr("sys.argv", ["stubs"])
    stubs.main()
    monkeypatch.setattr("sys.argv", ["stubs", "--check"])
    stubs.main()
