"""Linking of compiled code in processes whose memory is fragmented, forked or used by threads."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from te_sched.codegen.llvm.machine import compile_object, machine_of
from te_sched.codegen.target import Target
from te_sched.errors import BuildError
from te_sched.runtime import jit

TEXT = """
@numbers = constant [4 x i32] [i32 2, i32 3, i32 5, i32 7]
@count = global i32 0
define i32 @f(i32 %k) {
  %at = getelementptr i32, ptr @numbers, i32 %k
  %prime = load i32, ptr %at
  store i32 %prime, ptr @count
  ret i32 %prime
}
"""

_FRAGMENTED = f"""
import ctypes, mmap, random, sys
from te_sched.codegen.llvm.machine import compile_object, machine_of
from te_sched.codegen.target import Target
from te_sched.runtime import jit

data = compile_object('''{TEXT}''', (), machine_of(Target("llvm")))
choose, kept = random.Random(int(sys.argv[1])), []
for number in range(60):
    holes = [mmap.mmap(-1, 4096 * choose.choice([1, 1, 2, 3, 4, 6, 8])) for _ in range(100)]
    kept.append(mmap.mmap(-1, 3 << 30))
    choose.shuffle(holes)
    for hole in holes[:50]:
        hole.close()
    kept += holes[50:]
    kept.append(jit.link_objects((data,), ("f",)))
    function = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int32)(kept[-1].address("f"))
    assert [function(k) for k in range(4)] == [2, 3, 5, 7]
print("fine")
"""


def linked() -> jit.Linked:
    return jit.link_objects((compile_object(TEXT, (), machine_of(Target("llvm"))),), ("f",))


def primes(code: jit.Linked) -> list[int]:
    function = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int32)(code.address("f"))
    return [function(k) for k in range(4)]


@pytest.mark.skipif(sys.platform != "linux", reason="memory is mapped as Linux does it")
def test_code_and_constants_lie_together_in_fragmented_memory() -> None:
    """Sections of an object that were mapped more than 2 GiB apart ended the process."""
    command = [sys.executable, "-c", _FRAGMENTED, "1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout == "fine\n", done.stderr


def test_threads_link_at_the_same_time() -> None:
    data = compile_object(TEXT, (), machine_of(Target("llvm")))
    with ThreadPoolExecutor(8) as pool:
        codes = list(pool.map(lambda _: jit.link_objects((data,), ("f",)), range(200)))
    assert all(primes(code) == [2, 3, 5, 7] for code in codes)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_children_run_and_link_code() -> None:
    code = linked()
    child = os.fork()
    if not child:
        works = primes(code) == primes(linked()) == [2, 3, 5, 7]
        os._exit(0 if works else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert primes(code) == [2, 3, 5, 7]


def test_symbols_of_other_objects_are_found() -> None:
    text = "declare i32 @f(i32)\ndefine i32 @g(i32 %k) {\n %r = call i32 @f(i32 %k)\n ret i32 %r\n}"
    machine = machine_of(Target("llvm"))
    objects = tuple(compile_object(part, (), machine) for part in (TEXT, text))
    code = jit.link_objects(objects, ("g",))
    assert ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int32)(code.address("g"))(3) == 7


def test_link_rejects_what_is_out_of_reach() -> None:
    """Code that is not position independent reads a variable of this process directly."""
    text = "@far = external dso_local global i32\ndefine i32 @f() {\n %v = load i32, ptr @far\n"
    data = compile_object(text + " ret i32 %v\n}", (), machine_of(Target("llvm")))
    with pytest.raises(BuildError, match="cannot link the compiled code: LLVM says"):
        jit.link_objects((data,), ("f",), {"far": 1 << 46})
