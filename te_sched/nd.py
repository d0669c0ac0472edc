"""te_sched.nd: arrays on devices, with TVM's names."""

import sys

from te_sched import public_names
from te_sched import signatures as _signatures
from te_sched.ir import graph as _graph
from te_sched.runtime.device import Device as Device
from te_sched.runtime.device import cl as cl
from te_sched.runtime.device import cpu as cpu
from te_sched.runtime.device import cuda as cuda
from te_sched.runtime.device import device as device
from te_sched.runtime.device import emulated_cuda as emulated_cuda
from te_sched.runtime.device import ext_dev as ext_dev
from te_sched.runtime.device import gpu as gpu
from te_sched.runtime.device import hexagon as hexagon
from te_sched.runtime.device import metal as metal
from te_sched.runtime.device import mtl as mtl
from te_sched.runtime.device import opencl as opencl
from te_sched.runtime.device import rocm as rocm
from te_sched.runtime.device import vpi as vpi
from te_sched.runtime.device import vulkan as vulkan
from te_sched.runtime.device import webgpu as webgpu
from te_sched.runtime.ndarray import NDArray as NDArray
from te_sched.runtime.ndarray import array as array
from te_sched.runtime.ndarray import empty as empty
from te_sched.runtime.ndarray import from_dlpack as from_dlpack
from te_sched.runtime.ndarray import zeros as zeros

_graph.ARRAY_CONVERSIONS.append(array)
public_names.list_names(sys.modules[__name__])
_signatures.bind_functions(sys.modules[__name__])
