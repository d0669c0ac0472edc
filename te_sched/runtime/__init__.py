"""Running compiled code: devices, arrays, modules, threads, timing, registered functions.

Modules that need LLVM are loaded at their first use.
"""

import sys
import typing

from te_sched import lazy_loading, public_names
from te_sched.ir.ops import const as const
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
from te_sched.runtime.ndarray import NDArray as NDArray
from te_sched.runtime.registry import get_global_func as get_global_func
from te_sched.runtime.registry import register_extern as register_extern
from te_sched.runtime.registry import register_func as register_func
from te_sched.runtime.registry import remove_extern as remove_extern
from te_sched.runtime.registry import remove_global_func as remove_global_func
from te_sched.runtime.types import DataType as DataType
from te_sched.runtime.types import convert as convert
from te_sched.runtime.types import enabled as enabled

if typing.TYPE_CHECKING:
    from te_sched.runtime.loading import load_module as load_module
    from te_sched.runtime.module import Function as Function
    from te_sched.runtime.module import Module as Module
    from te_sched.runtime.param_dicts import load_param_dict as load_param_dict
    from te_sched.runtime.param_dicts import (
        load_param_dict_from_file as load_param_dict_from_file,
    )
    from te_sched.runtime.param_dicts import save_param_dict as save_param_dict
    from te_sched.runtime.param_dicts import (
        save_param_dict_to_file as save_param_dict_to_file,
    )
    from te_sched.runtime.threads import get_num_threads as get_num_threads
    from te_sched.runtime.threads import set_num_threads as set_num_threads

    PackedFunc = Function
    num_threads = get_num_threads

# Names of modules that load LLVM.
_LATE = {
    "Function": "te_sched.runtime.module:Function",
    "Module": "te_sched.runtime.module:Module",
    "PackedFunc": "te_sched.runtime.module:Function",
    "load_module": "te_sched.runtime.loading:load_module",
    "load_param_dict": "te_sched.runtime.param_dicts:load_param_dict",
    "load_param_dict_from_file": "te_sched.runtime.param_dicts:load_param_dict_from_file",
    "save_param_dict": "te_sched.runtime.param_dicts:save_param_dict",
    "save_param_dict_to_file": "te_sched.runtime.param_dicts:save_param_dict_to_file",
    "get_num_threads": "te_sched.runtime.threads:get_num_threads",
    "num_threads": "te_sched.runtime.threads:get_num_threads",
    "set_num_threads": "te_sched.runtime.threads:set_num_threads",
}
lazy_loading.set_lazy_names(sys.modules[__name__], _LATE)
public_names.list_names(sys.modules[__name__], *_LATE)
