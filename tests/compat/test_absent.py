"""A name of TVM that te_sched does not have: the error says what there is instead."""

import importlib
import re
from functools import reduce
from types import ModuleType, NoneType

import pytest

import te_sched as tvm
from te_sched.compat.absent import ABSENT, message
from te_sched.compat.aliases import AliasModule
from te_sched.compat.names import FIRST_GENERATION, TREE, Alias
from te_sched.errors import AbsentNameError


@pytest.mark.parametrize(
    ("module", "name", "advice"),
    [
        (tvm, "auto_scheduler", r"(?s)te_sched has no te_sched.auto_scheduler\n.*te_sched.tune"),
        (
            tvm.te,
            "extern_primfunc",
            r"(?s)te_sched has no te_sched.te.extern_primfunc\n.* use te.extern",
        ),
        (
            tvm.tir,
            "ScheduleState",
            r"(?s)te_sched has no te_sched.tir.ScheduleState\n.*tir.Schedule",
        ),
        (tvm.te, "nothing", r"^te_sched has no te_sched\.te\.nothing\n"),
        (tvm.nd, "__nothing__", "module 'te_sched.nd' has no attribute '__nothing__'"),
    ],
)
def test_modules_advise(module, name, advice):
    with pytest.raises(AttributeError, match=advice):
        getattr(module, name)


def test_names_that_are_loaded_late_are_there():
    assert callable(tvm.te.create_schedule)
    assert callable(tvm.te.hybrid.script)
    assert callable(tvm.runtime.load_module)


OF_TVM = (
    *("ir.Range", "ir.Array", "ir.transform", "tir.Any", "tir.stmt_seq", "tir.stmt_list"),
    *("arith.ConstIntBound", "arith.ModularSet", "arith.IntervalSet", "runtime.ShapeTuple"),
    *("transform.Pass", "target.target", "script.ir_builder", "relax.dataflow", "topi.math"),
    *("meta_schedule.tune_te", "te.schedule", "container", "build_module"),
)


@pytest.mark.parametrize("name", [*OF_TVM, *sorted(FIRST_GENERATION)])
def test_names_that_programs_of_tvm_have_lead_to_them(name):
    *modules, last = name.split(".")
    module = tvm
    for one in modules:
        module = getattr(module, one)
    if hasattr(module, last):
        return
    with pytest.raises(AttributeError, match=rf"^te_sched has no te_sched\.{name}\n") as caught:
        getattr(module, last)
    assert re.search(r"(use|its names are in) \S+|te_sched\.compat\.install\(\)", caught.value.help)


def _of_compat() -> dict[str, list[str]]:
    """The names of each module that `compat.install` gives programs, below it, too."""
    found = {}
    for place, alias in TREE.items():
        names = dir(AliasModule(f"tvm.{place}" if place else "tvm"))
        below = {name for name in names if TREE.get(f"{place}.{name}", Alias()).is_absent}
        found[place] = [] if alias.is_absent else [one for one in names if one not in below]
    return found


def _said_of(path: str) -> str | None:
    """The help for a name below te_sched, or None if it is there."""
    try:
        reduce(getattr, path.split("."), tvm)
    except AbsentNameError as error:
        return error.help
    return None


_REPLACEMENT = r"(?:use|its names are in) (te_sched[\w.]*(?:, te_sched[\w.]*)*)"
_OTHER = (
    r"te_sched\.compat\.install\(\)|use a tuple, a dict or a str|te_sched\.(relax|tune|lower)\b"
)


def _leads_astray(help: str) -> bool:
    """Whether a help names nothing that is there."""
    replacement = re.match(_REPLACEMENT, help)
    if replacement is None:
        return re.search(_OTHER, help) is None
    return any(_said_of(name[9:]) for name in replacement[1].split(", ") if name != "te_sched")


def test_all_names_of_compat_are_there_or_lead_to_it():
    paths = [
        f"{place}.{name}".lstrip(".")
        for place, names in _of_compat().items()
        for name in names
        if not name.startswith("__")
    ]
    assert len(paths) > 4500
    said = {path: text for path in paths if (text := _said_of(path)) is not None}
    assert len(said) > 700
    assert {path: text for path, text in said.items() if _leads_astray(text)} == {}


@pytest.mark.parametrize(
    ("path", "help"),
    [
        ("var", "use te_sched.te.var"),
        ("max", "use te_sched.te.max"),
        ("compile", "use te_sched.build, or te_sched.relax.build for a module with graphs"),
        ("context", "use te_sched.device(kind, index)"),
        ("runtime.tensor", "use te_sched.nd.array"),
        ("tir.build", "use te_sched.build"),
        ("tensor", "its names are in te_sched.te"),
        ("generic", "dir(te_sched) lists the names that exist"),
        (
            "ir_pass",
            "keep `import tvm`, which has it as tvm.ir_pass: run the program with `te-sched run "
            "PROGRAM.py`, or call te_sched.compat.install() first",
        ),
    ],
)
def test_the_help_names_the_replacement(path, help):
    assert (
        _said_of(path).removesuffix("; te_sched.compat.install() gives it to `import tvm`") == help
    )


@pytest.mark.parametrize("path", ["var", "ir.Range", "runtime.ShapeTuple", "script.ir_builder"])
def test_the_help_names_the_way_to_keep_tvms_name(path):
    assert "te_sched.compat.install()" in _said_of(path)


@pytest.mark.parametrize("path", ["runtime.ShapeTuple", "script.ir_builder"])
def test_modules_that_are_not_shown_are_no_replacement(path):
    assert "te_sched.relax" not in _said_of(path)
    assert "te_sched.script" not in _said_of(path)


@pytest.mark.parametrize("name", ["relay", "auto_scheduler"])
def test_absent_modules_are_not_said_to_be_there(name):
    assert "install()" not in _said_of(name)


@pytest.mark.parametrize(
    ("path", "nearest"),
    [
        ("te.placeholdr", "placeholder"),
        ("relax.op.ad", "add"),
        ("relax.transform.LegalizeOp", "LegalizeOps"),
        ("error.ScheduleEror", "ScheduleError"),
        ("buid", "build"),
    ],
)
def test_the_nearest_name_is_asked_for_once(path, nearest):
    assert _said_of(path).count(f"did you mean {nearest!r}?") == 1


@pytest.mark.parametrize(
    ("module", "name", "advice"),
    [
        ("tvm.relay.frontend", "from_pytorch", "relax.frontend.torch (from_exported_program"),
        ("tvm.relay", "build", "te_sched.relax.build(module, target)"),
        ("tvm.relay", "nn", "its graphs are te_sched.relax"),
    ],
)
def test_names_of_relay_lead_to_graphs(module, name, advice):
    assert advice in message(module, name)


@pytest.mark.parametrize("module", ["ir.expr", "relax.op", "meta_schedule.database"])
def test_names_below_a_module_of_te_sched_lead_to_its_own(module):
    """What is said of the names of a module of TVM is not said of all modules in it."""
    owner = importlib.import_module(f"te_sched.{module}")
    with pytest.raises(AttributeError, match=rf"dir\(te_sched\.{module}\) lists the names"):
        owner.zzzzzz  # noqa: B018


def test_names_of_tvm_are_not_taken_for_misspelled_ones():
    assert "did you mean" not in _said_of("ir.Range")


@pytest.mark.parametrize("name", ["nothing", "script.nothing", "tir.nothing", "topi.nothing"])
def test_other_names_do_not(name):
    *modules, last = name.split(".")
    module = tvm
    for one in modules:
        module = getattr(module, one)
    with pytest.raises(AttributeError, match=last) as caught:
        getattr(module, last)
    assert "install" not in str(caught.value)


def test_no_row_is_about_a_name_that_exists():
    """Rows of modules and classes are about what they do not have."""
    rows = {path: reduce(lambda o, n: getattr(o, n, None), path.split("."), tvm) for path in ABSENT}
    kinds = (type, ModuleType, type(tvm.runtime.Module))
    assert [path for path, value in rows.items() if not isinstance(value, (*kinds, NoneType))] == []
