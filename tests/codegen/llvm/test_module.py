"""The text of a module: what it declares, imports and says of itself."""

from __future__ import annotations

import json

import llvmlite.binding as llvm

from te_sched.codegen.llvm.machine import host_machine
from te_sched.codegen.llvm.module import METADATA_MAGIC, Locations, ModuleText
from te_sched.codegen.signature import Signature
from te_sched.ir import expr as E
from te_sched.ir import stmt as S


def test_names_are_declared_once() -> None:
    module = ModuleText()
    for attributes in ("nounwind", "cold"):
        assert module.declare("a b", "i32", ("ptr", "i64"), attributes) == '@"a b"'
    module.define("f", "define void @f() {\n  ret void\n}")
    module.declare("f", "void", ())
    assert module.render(b"").count("@f()") == 1
    assert 'declare i32 @"a b"(ptr, i64) nounwind' in module.render(b"")
    assert module.string("x") == module.string("x") != module.string("y")
    assert module.shared_metadata("!{}") == module.shared_metadata("!{}") != module.metadata("!{}")
    assert len({module.fresh() for _ in range(3)}) == 3


def test_imports_are_numbered_by_what_they_are() -> None:
    module = ModuleText()
    slots = [module.slot(kind="packed", name=name, args=[]) for name in "xyx"]
    assert slots == [0, 1, 0]
    assert [one["name"] for one in module.imports] == ["x", "y"]


def test_text_is_read_by_llvm_and_describes_itself() -> None:
    module, machine = ModuleText(), host_machine()
    for name in ("f", 'g"'):
        symbol = "@" + ('"g\\22"' if name != "f" else "f")
        module.functions.append(f"define i32 {symbol}() {{\n  ret i32 0\n}}")
        module.signatures.append(Signature(name, name, [], []))
    module.string('"\n')
    module.slot(kind="thread", name="size")
    metadata = module.describe(machine.describe())
    with llvm.parse_assembly(module.render(metadata, machine.header)) as parsed:
        parsed.verify()
        table = str(parsed.get_global_variable("te_sched_functions"))
    assert '[2 x ptr] [ptr @f, ptr @"g\\22"]' in table
    data = json.loads(metadata.decode().removeprefix(METADATA_MAGIC))
    assert data["imports"] == [{"kind": "thread", "name": "size"}]
    assert [Signature.from_json(one).name for one in data["functions"]] == ["f", 'g"']


def test_locations_are_lines_of_functions() -> None:
    module, statement = ModuleText(), S.Evaluate(E.IntImm(0))
    module.locations = Locations({id(statement): 7}, module)
    assert module.locations.line_of(statement) == 7
    assert module.locations.line_of(S.Evaluate(E.IntImm(0))) == 0
    first, second = (module.locations.function(name) for name in "fg")
    assert module.locations.function("f") == first != second
    assert module.locations.suffix(first, 7) == module.locations.suffix(first, 7)
    assert module.locations.suffix(first, 7) != module.locations.suffix(second, 7)
    suffix = module.locations.suffix(first, 7)
    module.functions.append(
        f"define void @f() !dbg !{first} {{\n  ret void{suffix}\n}}\n"
        f"define void @g() !dbg !{second} {{\n  ret void\n}}"
    )
    with llvm.parse_assembly(module.render(b"")) as parsed:
        parsed.verify()
        assert 'DIFile(filename: "program"' in str(parsed)
