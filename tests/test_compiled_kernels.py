"""Kernels that do not compile are found in the tests that build them."""

import pytest

from te_sched.codegen.cuda import nvrtc
from te_sched.codegen.target import as_target
from te_sched.errors import BuildError
from te_sched.ir import expr as E
from te_sched.runtime.cuda_module import CudaModule
from tests.codegen.checker import kernels as k
from tests.compiled_kernels import compiled_kernels


@pytest.mark.skipif(not nvrtc.is_available(), reason="NVRTC is not installed")
def test_kernel_that_does_not_compile_is_an_error():
    def build(ib, C, tx):
        C[tx] = E.Call("float32", "tir.call_extern", (E.StringImm("nobody_has_it"), tx))

    program = k.program(build, [k.array("C", 32)], tx=32)
    with pytest.raises(BuildError, match="nobody_has_it"), compiled_kernels():
        CudaModule(program, as_target("cuda"))
