"""Compilers, BLAS and folders."""

import subprocess
from pathlib import Path

import numpy as np
import pytest

from te_sched import build, te, tir
from te_sched.compat import rpc
from te_sched.contrib import cblas, cc, clang, utils
from te_sched.errors import BuildError, CallError, DeclarationError
from te_sched.runtime import get_global_func, load_module


def test_tempdir_goes_with_its_object():
    folder = utils.tempdir()
    (folder / "a.txt").write_text("a")
    assert folder.listdir() == ["a.txt"]
    path = folder.path
    del folder
    assert not path.exists()


def test_a_path_keeps_its_temporary_folder():
    path = utils.tempdir().relpath("a.txt")
    Path(path).write_text("a")
    folder = Path(path).parent
    del path
    assert not folder.exists()


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


def test_clang_missing_says_what_else_there_is(monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(BuildError, match="import_c"):
        clang.create_llvm("int f(void) { return 1; }\n")


def test_clang_gives_llvm_ir():
    if not clang.find_clang(required=False):
        pytest.skip("clang is not installed")
    assert "@f" in clang.create_llvm('extern "C" int f() { return 1; }\n')


SCALE = """static int twice(int x) { return 2 * x; }
extern "C" int scale(float *a, int n) {
  for (int i = 0; i < n; ++i) { a[i] *= twice(i) + FACTOR; }
  return 0;
}
"""


def _scaling(*texts):
    a = te.placeholder((4,), name="a")
    b = te.extern(
        (4,), [a], lambda ins, outs: tir.call_extern("int32", "scale", outs[0].access_ptr("rw"), 4)
    )
    c = te.compute((4,), lambda i: b[i] + 1.0, name="c")
    s = te.create_schedule(c.op)
    for text in texts:
        s[c].pragma(c.op.axis[0], "import_llvm", text)
    return build(s, [a, b, c])


@pytest.fixture
def no_clang(monkeypatch):
    if cc.get_cc() is None:
        pytest.skip("no C compiler is installed")
    monkeypatch.setattr(clang, "find_clang", lambda required=True: [])


def test_create_llvm_without_clang_carries_assembly(no_clang):
    text = clang.create_llvm(SCALE.replace("FACTOR", "3"))
    out = np.ones(4, "float32")
    _scaling(text)(np.zeros(4, "float32"), out, np.zeros(4, "float32"))
    assert out.tolist() == [3, 5, 7, 9]


def test_the_later_of_two_definitions_counts(no_clang):
    texts = [clang.create_llvm(SCALE.replace("FACTOR", factor)) for factor in "35"]
    out = np.ones(4, "float32")
    _scaling(*texts)(np.zeros(4, "float32"), out, np.zeros(4, "float32"))
    assert out.tolist() == [5, 7, 9, 11]


def test_assembly_of_two_sources_keeps_its_own_labels(no_clang):
    other = SCALE.replace("scale", "other").replace("FACTOR", "5")
    texts = [clang.create_llvm(text) for text in (other, SCALE.replace("FACTOR", "3"))]
    out = np.ones(4, "float32")
    _scaling(*texts)(np.zeros(4, "float32"), out, np.zeros(4, "float32"))
    assert out.tolist() == [3, 5, 7, 9]


def test_assembly_that_defines_a_function_again_is_refused(no_clang):
    first = SCALE.replace("FACTOR", "3") + 'extern "C" int more() { return 1; }\n'
    texts = [clang.create_llvm(text) for text in (first, SCALE.replace("FACTOR", "5"))]
    with pytest.raises(BuildError, match=r"(?s)defines scale.*define each function once"):
        _scaling(*texts)


@pytest.mark.parametrize("transa", [False, True])
@pytest.mark.parametrize("transb", [False, True])
def test_cblas_matmul(transa, transb):
    shapes = [(4, 3) if transa else (3, 4), (5, 4) if transb else (4, 5)]
    a, b = (te.placeholder(shape, name=name) for shape, name in zip(shapes, "ab", strict=True))
    c = cblas.matmul(a, b, transa, transb)
    assert [extent.value for extent in c.shape] == [3, 5]
    x, y = (np.random.rand(*shape).astype("float32") for shape in shapes)
    out = np.zeros((3, 5), "float32")
    build(te.create_schedule(c.op), [a, b, c])(x, y, out)
    np.testing.assert_allclose(out, (x.T if transa else x) @ (y.T if transb else y), rtol=1e-5)


def test_cblas_batch_matmul():
    a, b = te.placeholder((2, 3, 4), name="a"), te.placeholder((2, 5, 4), name="b")
    c = cblas.batch_matmul(a, b, False, True)
    x, y = np.random.rand(2, 3, 4).astype("float32"), np.random.rand(2, 5, 4).astype("float32")
    out = np.zeros((2, 3, 5), "float32")
    build(te.create_schedule(c.op), [a, b, c])(x, y, out)
    np.testing.assert_allclose(out, x @ y.transpose(0, 2, 1), rtol=1e-5)


def test_blas_is_a_registered_function():
    assert get_global_func("tvm.contrib.cblas.matmul") is not None


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


def test_create_llvm_takes_one_long_line_for_source():
    text = clang.create_llvm("int long_name_" + "x" * 10_000 + "(void) { return 1; }")
    assert "long_name_x" in text


def test_tempdir_rejects_a_folder_that_cannot_be(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(CallError, match=r"cannot create the folder .*: File exists"):
        utils.tempdir(str(tmp_path / "file"))
    folder = utils.tempdir()
    folder.remove()
    with pytest.raises(CallError, match=r"cannot list the folder .*: No such file"):
        folder.listdir()


def test_a_session_rejects_files_that_are_not_there():
    session = rpc.LocalSession()
    session.upload(b"content", "file")
    assert session.download("file") == b"content"
    with pytest.raises(CallError, match=r"upload nothing(.|\n)*No such file"):
        session.upload("nothing")
    with pytest.raises(CallError, match=r"download .*nothing(.|\n)*No such file"):
        session.download("nothing")
