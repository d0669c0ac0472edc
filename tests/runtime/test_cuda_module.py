"""Kernels as source and machine code, and modules for GPUs in files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from te_sched import nd
from te_sched.codegen.cuda import nvrtc
from te_sched.errors import CallError
from te_sched.runtime import csource, libraries, load_module
from te_sched.runtime.cuda_module import CudaModule, KernelFile
from tests.runtime.fake_cuda import FakeDriver
from tests.runtime.fake_cuda import driver as driver
from tests.runtime.test_cuda_launch import N, arrays, plus_one

needs_compiler = pytest.mark.skipif(csource.find_compiler() is None, reason="no C compiler")


KINDS = [".o", ".tar", pytest.param(".so", marks=needs_compiler)]


def run_emulated(module: CudaModule) -> None:
    a = nd.array(np.ones((5, N), "float32"), nd.emulated_cuda(0))
    b = nd.empty((5, N), "float32", nd.emulated_cuda(0))
    module(a, b)
    np.testing.assert_array_equal(b.numpy(), 2)


@pytest.mark.parametrize("suffix", KINDS)
@pytest.mark.parametrize("vector", [1, 4])
def test_loaded_module_is_as_it_was(suffix: str, vector: int, tmp_path: Path) -> None:
    module = plus_one(vector)
    module.export_library(tmp_path / f"module{suffix}")
    loaded = load_module(tmp_path / f"module{suffix}")
    assert isinstance(loaded, CudaModule)
    assert loaded.source == module.source
    assert loaded.get_source() == module.get_source()
    run_emulated(loaded)
    with pytest.raises(CallError, match="expected 64 along axis 1"):
        loaded(*[nd.empty((5, 1), "float32", nd.emulated_cuda(0))] * 2)


def test_loaded_module_launches(driver: FakeDriver, tmp_path: Path) -> None:
    plus_one().export_library(tmp_path / "module.o")
    loaded = load_module(tmp_path / "module.o")
    loaded(*arrays())
    assert len(driver.named("cuLaunchKernel")) == 1


def test_another_process_loads_it(tmp_path: Path) -> None:
    path = tmp_path / "module.o"
    plus_one().save(path)
    program = (
        f"from tests.runtime.test_cuda_module import *\nrun_emulated(load_module({str(path)!r}))"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_damaged_programs_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "module.o"
    plus_one().export_library(path)
    data = libraries.unseal(path.read_bytes(), "")
    path.write_bytes(libraries.sealed(data.replace(b"te_sched.ir.expr", b"te_sched.ir.wxyz")))
    with pytest.raises(CallError, match="export it again"):
        load_module(path)
    path.write_bytes(libraries.sealed(data.replace(b"te_sched.ir.expr", b"os.path.ir.wxyzz")))
    with pytest.raises(CallError, match="not part of a program"):
        load_module(path)
    with pytest.raises(CallError, match="is not a kind of library"):
        plus_one().export_library(tmp_path / "module.ptx")


def test_forms_of_the_kernels(driver: FakeDriver, tmp_path: Path) -> None:
    code = plus_one().imported_modules[0]
    assert code.get_source() == code.get_source("cu") == code.get_source("cuda")
    assert "__global__" in code.get_source()
    assert code.get_source("ptx").startswith(".version")
    assert code.get_source("cubin") == b"\x7fELF"
    code.save(tmp_path / "kernels.cubin")
    assert (tmp_path / "kernels.cubin").read_bytes() == b"\x7fELF"
    with pytest.raises(CallError, match="unknown format of kernels: 'spirv'"):
        code.get_source("spirv")


@pytest.mark.parametrize("suffix", KernelFile.suffixes)
def test_kernels_in_a_file_of_their_own_are_imported(
    driver: FakeDriver, suffix: str, tmp_path: Path
) -> None:
    module = plus_one()
    assert isinstance(module, CudaModule)
    module.save(tmp_path / "host.o")
    (tmp_path / f"kernels{suffix}").write_text(module.source)
    host, kernels = load_module(tmp_path / "host.o"), load_module(tmp_path / f"kernels{suffix}")
    assert (kernels.type_key, kernels.get_source()) == ("cuda", module.source)
    host.import_module(kernels)
    run_emulated(host)


def test_import_module_rejects_other_kernels(tmp_path: Path) -> None:
    module = plus_one()
    assert isinstance(module, CudaModule)
    (tmp_path / "other.ptx").write_text(".visible .entry other_kernel()")
    with pytest.raises(CallError, match=r"other\.ptx has no kernel main_kernel"):
        module.import_module(load_module(tmp_path / "other.ptx"))
    with pytest.raises(CallError, match="cannot import <te_sched module for cuda: main"):
        module.import_module(module)  # type: ignore[arg-type]


@pytest.mark.skipif(not nvrtc.is_available(), reason="no NVRTC")
def test_real_machine_code() -> None:
    module = plus_one()
    assert isinstance(module, CudaModule)
    code = module.imported_modules[0]
    assert ".entry main_kernel" in code.get_source("ptx")
    assert code.get_source("cubin").startswith(b"\x7fELF")
