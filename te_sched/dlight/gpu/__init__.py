"""Rules for GPUs, by kinds of functions; `Fallback` knows all functions of blocks.

with te_sched.target.Target("cuda"):
    module = dlight.ApplyDefaultSchedule(dlight.gpu.Matmul(), dlight.gpu.Fallback())(module)
"""

import sys

from te_sched import public_names, signatures
from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.dlight.gpu.fallback import GPUFallback as GPUFallback
from te_sched.dlight.gpu.gemv import GEMV as GEMV
from te_sched.dlight.gpu.general_reduction import GeneralReduction as GeneralReduction
from te_sched.dlight.gpu.low_batch_gemv import LowBatchGEMV as LowBatchGEMV
from te_sched.dlight.gpu.matmul import Matmul as Matmul
from te_sched.dlight.gpu.reduction import Reduction as Reduction
from te_sched.dlight.gpu.rms_norm import GPURMSNorm as GPURMSNorm
from te_sched.dlight.gpu.single_thread import SingleThread as SingleThread
from te_sched.dlight.gpu.transpose import Transpose as Transpose

Fallback = GPUFallback
RMSNorm = GPURMSNorm

public_names.list_names(sys.modules[__name__])
signatures.check_arguments(sys.modules[__name__])
_tell_of_absent_names(__name__)
