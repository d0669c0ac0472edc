"""Files, devices, switches."""

from pathlib import Path

import te_sched
from te_sched import config, te
from te_sched.errors import CallError, LoweringError, TeSchedError
from te_sched.runtime import load_module, set_num_threads
from te_sched.transform import PassContext
from tests.mistakes.table import mistake

A = te.placeholder((64,), name="A")
B = te.compute((64,), lambda i: A[i] * 2.0, name="B")
double = te_sched.build(te.create_schedule(B.op), [A, B])


@mistake("A file that is not there", CallError, r"cannot be read(.|\n)*check the path")
def missing_file(folder: Path):
    load_module(folder / "double.o")


@missing_file.cure
def _(folder: Path):
    double.export_library(folder / "double.o")
    load_module(folder / "double.o")


@mistake("A file of something else", CallError, r"not made by te_sched(.|\n)*export_library")
def file_of_something_else(folder: Path):
    (folder / "double.o").write_bytes(b"something else")
    load_module(folder / "double.o")


@file_of_something_else.cure
def _(folder: Path):
    double.export_library(folder / "double.o")
    load_module(folder / "double.o")


@mistake("A damaged file", CallError, r"load .*double\.o")
def damaged_file(folder: Path):
    double.export_library(folder / "double.o")
    content = bytearray((folder / "double.o").read_bytes())
    content[len(content) // 2 :] = b""
    (folder / "double.o").write_bytes(content)
    load_module(folder / "double.o")


@damaged_file.cure
def _(folder: Path):
    double.export_library(folder / "double.o")
    load_module(folder / "double.o")


@mistake("A damaged archive", CallError, r"double\.tar(.|\n)*export_library")
def damaged_archive(folder: Path):
    double.export_library(folder / "double.tar")
    content = (folder / "double.tar").read_bytes()
    (folder / "double.tar").write_bytes(content[:700])
    load_module(folder / "double.tar")


@damaged_archive.cure
def _(folder: Path):
    double.export_library(folder / "double.tar")
    load_module(folder / "double.tar")


@mistake("Exporting to a kind of file that there is not", CallError, r"use \.so, \.o or \.tar")
def unknown_kind_of_file(folder: Path):
    double.export_library(folder / "double.xyz")


@unknown_kind_of_file.cure
def _(folder: Path):
    double.export_library(folder / "double.o")


@mistake("Exporting into a folder that is not there", CallError, r"folder does not exist")
def missing_folder(folder: Path):
    double.export_library(folder / "programs" / "double.o")


@missing_folder.cure
def _(folder: Path):
    (folder / "programs").mkdir()
    double.export_library(folder / "programs" / "double.o")


@mistake("A form of source that there is not", CallError, r"no such form(.|\n)*\"ll\" or \"asm\"")
def unknown_source():
    double.get_source("c")


@unknown_source.cure
def _():
    double.get_source("asm")


@mistake("The source of a loaded module", CallError, r"machine code alone(.|\n)*build it again")
def source_of_a_file(folder: Path):
    double.export_library(folder / "double.o")
    load_module(folder / "double.o").get_source()


@source_of_a_file.cure
def _():
    double.get_source()


@mistake("A device that does not exist", CallError, r"no such kind of device(.|\n)*mean 'cuda'")
def unknown_device():
    te_sched.device("cudda")


@unknown_device.cure
def _():
    te_sched.device("cuda")


@mistake("A device that te_sched does not use", CallError, r"does not use devices such as")
def unused_device():
    te_sched.nd.empty((4,), device=te_sched.opencl(0))


@unused_device.cure
def _():
    te_sched.nd.empty((4,), device=te_sched.cpu(0))


@mistake("A switch that does not exist", TeSchedError, r"no such switch(.|\n)*mean 'cache'")
def unknown_switch():
    with config.scoped(cashe=False):
        pass


@unknown_switch.cure
def _():
    with config.scoped(cache=False):
        pass


@mistake(
    "An option of lowering that does not exist",
    LoweringError,
    r"no such option(.|\n)*mean 'tir\.UnrollLoop'",
)
def unknown_option():
    PassContext(config={"tir.UnrolLoop": {"auto_max_step": 16}})


@unknown_option.cure
def _():
    PassContext(config={"tir.UnrollLoop": {"auto_max_step": 16}})


@mistake("A negative number of threads", CallError, r"less than none(.|\n)*0 for the default")
def negative_threads():
    set_num_threads(-1)


@negative_threads.cure
def _():
    set_num_threads(0)


@mistake("A name that is taken", CallError, r"registered already(.|\n)*override=True")
def name_that_is_taken():
    te_sched.register_func("my_function", lambda: 1, override=True)
    te_sched.register_func("my_function", lambda: 2)


@name_that_is_taken.cure
def _():
    te_sched.register_func("my_function", lambda: 1, override=True)
    te_sched.register_func("my_function", lambda: 2, override=True)
