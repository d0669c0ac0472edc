"""Files, devices, switches."""

import os
import pickle
from pathlib import Path

import numpy as np

import te_sched
from te_sched import config, te
from te_sched.errors import BuildError, CallError, DeclarationError, LoweringError, TeSchedError
from te_sched.runtime import load_module, set_num_threads
from te_sched.transform import PassContext
from tests.refusals.table import mistake

A = te.placeholder((64,), name="A")
B = te.compute((64,), lambda i: A[i] * 2.0, name="B")
double = te_sched.build(te.create_schedule(B.op), [A, B])


@mistake(
    "A file that is not there",
    CallError,
    r"cannot load .*: No such file(.|\n)*check the path",
)
def missing_file(folder: Path):
    load_module(folder / "double.o")


@missing_file.help
def _(folder: Path):
    double.export_library(folder / "double.o")
    load_module(folder / "double.o")


@mistake("A file of something else", CallError, r"not made by te_sched(.|\n)*export_library")
def file_of_something_else(folder: Path):
    (folder / "double.o").write_bytes(b"something else")
    load_module(folder / "double.o")


@file_of_something_else.help
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


@damaged_file.help
def _(folder: Path):
    double.export_library(folder / "double.o")
    load_module(folder / "double.o")


@mistake("A damaged archive", CallError, r"double\.tar(.|\n)*export_library")
def damaged_archive(folder: Path):
    double.export_library(folder / "double.tar")
    content = (folder / "double.tar").read_bytes()
    (folder / "double.tar").write_bytes(content[:700])
    load_module(folder / "double.tar")


@damaged_archive.help
def _(folder: Path):
    double.export_library(folder / "double.tar")
    load_module(folder / "double.tar")


@mistake("Exporting to a kind of file that there is not", CallError, r"use \.so, \.o or \.tar")
def unknown_kind_of_file(folder: Path):
    double.export_library(folder / "double.xyz")


@unknown_kind_of_file.help
def _(folder: Path):
    double.export_library(folder / "double.o")


@mistake("Exporting into a folder that is not there", CallError, r"folder does not exist")
def missing_folder(folder: Path):
    double.export_library(folder / "programs" / "double.o")


@missing_folder.help
def _(folder: Path):
    (folder / "programs").mkdir()
    double.export_library(folder / "programs" / "double.o")


@mistake(
    "A form of source that there is not",
    CallError,
    r"""unknown format of source: 'c'(.|\n)*\"ll\" or \"asm\"""",
)
def unknown_source():
    double.get_source("c")


@unknown_source.help
def _():
    double.get_source("asm")


@mistake(
    "The source of a loaded module",
    CallError,
    r"cannot show the source of a loaded module: files contain machine(.|\n)*build it again",
)
def source_of_a_file(folder: Path):
    double.export_library(folder / "double.o")
    load_module(folder / "double.o").get_source()


@source_of_a_file.help
def _():
    double.get_source()


@mistake("A device that does not exist", CallError, r"unknown device 'cudda'(.|\n)*mean 'cuda'")
def unknown_device():
    te_sched.device("cudda")


@unknown_device.help
def _():
    te_sched.device("cuda")


@mistake("A device that te_sched does not use", CallError, r"^device opencl\(0\) is not supported")
def unused_device():
    te_sched.nd.empty((4,), device=te_sched.opencl(0))


@unused_device.help
def _():
    te_sched.nd.empty((4,), device=te_sched.cpu(0))


@mistake(
    "A switch that does not exist",
    TeSchedError,
    r"unknown switch of te_sched.config(.|\n)*mean 'cache'",
)
def unknown_switch():
    with config.scoped(cashe=False):
        pass


@unknown_switch.help
def _():
    with config.scoped(cache=False):
        pass


@mistake(
    "An option of lowering that does not exist",
    LoweringError,
    r"unknown option of PassContext(.|\n)*mean 'tir\.UnrollLoop'",
)
def unknown_option():
    PassContext(config={"tir.UnrolLoop": {"auto_max_step": 16}})


@unknown_option.help
def _():
    PassContext(config={"tir.UnrollLoop": {"auto_max_step": 16}})


@mistake(
    "A negative number of threads",
    CallError,
    r"the number of threads must not be negative, got -1(.|\n)*0 for the default",
)
def negative_threads():
    set_num_threads(-1)


@negative_threads.help
def _():
    set_num_threads(0)


@mistake("A hundred thousand threads", CallError, r"expected at most 1024(.|\n)*0 for one thread")
def too_many_threads():
    set_num_threads(100_000)


@too_many_threads.help
def _():
    set_num_threads(0)


@mistake("A module is pickled", CallError, r"cannot pickle or copy a module(.|\n)*export_library")
def pickled_module():
    pickle.dumps(double)


@pickled_module.help
def _(folder: Path):
    double.export_library(folder / "double.so")
    load_module(folder / "double.so")


@mistake("A packed function keeps a view", CallError, r"keeps a view(.|\n)*keep a copy")
def kept_view():
    kept = []
    te_sched.register_func("keep", lambda x: kept.append(np.from_dlpack(x)), override=True)
    C = te.extern((64,), [A], lambda ins, outs: te_sched.tir.call_packed("keep", ins[0]), name="C")
    x = np.ones(64, "float32")
    te_sched.build(te.create_schedule(C.op), [A, C])(x, x.copy())


@kept_view.help
def _():
    kept = []
    te_sched.register_func("keep", lambda x: kept.append(x.numpy()), override=True)
    C = te.extern((64,), [A], lambda ins, outs: te_sched.tir.call_packed("keep", ins[0]), name="C")
    x = np.ones(64, "float32")
    te_sched.build(te.create_schedule(C.op), [A, C])(x, x.copy())


@mistake("A name that is taken", CallError, r"registered already(.|\n)*override=True")
def name_that_is_taken():
    te_sched.register_func("my_function", lambda: 1, override=True)
    te_sched.register_func("my_function", lambda: 2)


@name_that_is_taken.help
def _():
    te_sched.register_func("my_function", lambda: 1, override=True)
    te_sched.register_func("my_function", lambda: 2, override=True)


@mistake("A pipe in the place of a file", CallError, r"it is a pipe(.|\n)*check the path")
def pipe_for_a_file(folder: Path):
    os.mkfifo(folder / "double.o")
    load_module(folder / "double.o")


@pipe_for_a_file.help
def _(folder: Path):
    double.export_library(folder / "double.o")
    load_module(folder / "double.o")


@mistake("Saving to a folder", CallError, r"Is a directory(.|\n)*name a file")
def saving_to_a_folder(folder: Path):
    (folder / "double.ll").mkdir()
    double.save(folder / "double.ll")


@saving_to_a_folder.help
def _(folder: Path):
    double.save(folder / "double.ll")


@mistake(
    "A path with a zero character",
    CallError,
    r"cannot contain null characters(.|\n)*path of a file",
)
def path_with_a_zero(folder: Path):
    double.export_library(f"{folder}/double\0.o")


@path_with_a_zero.help
def _(folder: Path):
    double.export_library(f"{folder}/double.o")


@mistake(
    "A cache in a folder that no system has",
    TeSchedError,
    r"cache_dir of te_sched.config must be a path",
)
def cache_in_no_folder():
    with config.scoped(cache_dir="a\0b"):
        pass


@cache_in_no_folder.help
def _(folder: Path):
    with config.scoped(cache_dir=str(folder)):
        pass


@mistake("An array of more than 64 dimensions", CallError, r"at most 64(.|\n)*join dimensions")
def too_many_dimensions():
    te_sched.nd.empty((1,) * 65)


@too_many_dimensions.help
def _():
    te_sched.nd.empty((1,) * 64)


@mistake("A name with half of a character", DeclarationError, r"a lone surrogate(.|\n)*give a str")
def half_of_a_character():
    te.placeholder((64,), name="A\ud800")


@half_of_a_character.help
def _():
    te.placeholder((64,), name="A")


@mistake("A target with a zero character", BuildError, r"a null character or a lone surrogate")
def target_with_a_zero():
    te_sched.target.Target("llvm -keys=cpu\0")


@target_with_a_zero.help
def _():
    te_sched.target.Target("llvm -keys=cpu")
