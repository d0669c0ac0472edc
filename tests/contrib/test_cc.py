"""Linking with the C compiler."""

import subprocess

import numpy as np
import pytest

from te_sched import build, te
from te_sched.contrib import cc, utils
from te_sched.errors import BuildError, CallError, DeclarationError
from te_sched.runtime import load_module


def test_create_shared_links_an_exported_object():
    a = te.placeholder((4,), name="a")
    b = te.compute((4,), lambda i: a[i] + 1.0, name="b")
    folder = utils.tempdir()
    build(te.create_schedule(b.op), [a, b]).save(folder.relpath("f.o"))
    cc.create_shared(folder.relpath("f.so"), folder.relpath("f.o"))
    out = np.zeros(4, "float32")
    load_module(folder.relpath("f.so"))(np.ones(4, "float32"), out)
    assert out.tolist() == [2, 2, 2, 2]


def test_create_shared_links_no_damaged_object(tmp_path):
    a = te.placeholder((4,), name="a")
    b = te.compute((4,), lambda i: a[i] + 1.0, name="b")
    place = tmp_path / "f.o"
    build(te.create_schedule(b.op), [a, b]).save(str(place))
    data = bytearray(place.read_bytes())
    data[data.index(b".text")] ^= 1
    place.write_bytes(data)
    with pytest.raises((CallError, BuildError), match=r"digest does not fit|says"):
        cc.create_shared(str(tmp_path / "f.so"), str(place))


def test_create_shared_says_what_the_compiler_says(tmp_path):
    (tmp_path / "bad.c").write_text("int f( {\n")
    with pytest.raises(BuildError, match=r"bad\.c.*error"):
        cc.create_shared(str(tmp_path / "bad.so"), str(tmp_path / "bad.c"))


def test_create_shared_rejects_a_compiler_that_is_not_there(tmp_path):
    with pytest.raises(BuildError, match="no_such_compiler cannot be run"):
        cc.create_shared(str(tmp_path / "f.so"), [], cc="no_such_compiler")


def test_create_executable_leaves_the_old_file_where_it_fails(tmp_path):
    (tmp_path / "main.c").write_text("int main( {\n")
    (tmp_path / "main").write_bytes(b"\0old")
    with pytest.raises(BuildError, match=r"main\.c.*error"):
        cc.create_executable(str(tmp_path / "main"), str(tmp_path / "main.c"))
    assert (tmp_path / "main").read_bytes() == b"\0old"
    (tmp_path / "main.c").write_text("int main(void) { return 7; }\n")
    cc.create_executable(str(tmp_path / "main"), str(tmp_path / "main.c"))
    assert subprocess.run([tmp_path / "main"], check=False).returncode == 7


@pytest.mark.parametrize(
    ("output", "error", "match"),
    [
        ("", BuildError, "cannot write '': it is not a path"),
        (None, DeclarationError, "expected a str or a path"),
        ("none/there.so", CallError, "No such file"),
        ("a\0b.so", BuildError, "cannot contain null characters"),
    ],
)
def test_create_shared_rejects_an_output_that_cannot_be(output, error, match, tmp_path):
    (tmp_path / "f.c").write_text("int f;\n")
    with pytest.raises(error, match=match):
        cc.create_shared(output, str(tmp_path / "f.c"))


def test_run_compiler_rejects_words_that_no_process_has(tmp_path):
    with pytest.raises(BuildError, match=r"cannot be run: embedded null byte"):
        cc.create_shared(str(tmp_path / "f.so"), [], options=["-D\0"], cc="true")
