"""Analyses of graphs, with TVM's names: variables, uses, purity, well-formedness, memory, ..."""

import sys

from te_sched import public_names, signatures
from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.errors import GraphTypeError as _GraphTypeError
from te_sched.relax.analysis.compile_time import (
    computable_at_compile_time as computable_at_compile_time,
)
from te_sched.relax.analysis.erasing import erase_to_well_defined as erase_to_well_defined
from te_sched.relax.analysis.layout_transforms import (
    suggest_layout_transforms as suggest_layout_transforms,
)
from te_sched.relax.analysis.memory_usage import estimate_memory_usage as estimate_memory_usage
from te_sched.relax.analysis.purity import contains_impure_call as contains_impure_call
from te_sched.relax.analysis.recursion import detect_recursion as detect_recursion
from te_sched.relax.analysis.reshape_pattern import has_reshape_pattern as has_reshape_pattern
from te_sched.relax.analysis.static_type import get_static_type as get_static_type
from te_sched.relax.analysis.symbolic import (
    collect_non_negative_expressions as collect_non_negative_expressions,
)
from te_sched.relax.analysis.symbolic import (
    definable_tir_vars_in_struct_info as definable_tir_vars_in_struct_info,
)
from te_sched.relax.analysis.symbolic import defined_symbolic_vars as defined_symbolic_vars
from te_sched.relax.analysis.symbolic import free_symbolic_vars as free_symbolic_vars
from te_sched.relax.analysis.symbolic import tir_vars_in_struct_info as tir_vars_in_struct_info
from te_sched.relax.analysis.unused import remove_all_unused as remove_all_unused
from te_sched.relax.analysis.variables import all_global_vars as all_global_vars
from te_sched.relax.analysis.variables import all_vars as all_vars
from te_sched.relax.analysis.variables import bound_vars as bound_vars
from te_sched.relax.analysis.variables import called_global_vars as called_global_vars
from te_sched.relax.analysis.variables import free_vars as free_vars
from te_sched.relax.analysis.variables import get_var2val as get_var2val
from te_sched.relax.analysis.variables import name_to_binding as name_to_binding
from te_sched.relax.analysis.variables import post_order_visit as post_order_visit
from te_sched.relax.analysis.variables import udchain as udchain
from te_sched.relax.analysis.well_formed import check_well_formed as check_well_formed
from te_sched.relax.analysis.well_formed import well_formed as well_formed
from te_sched.relax.struct_info import BaseCheckResult as BaseCheckResult
from te_sched.relax.struct_info import (
    derive_call_ret_struct_info as derive_call_ret_struct_info,
)
from te_sched.relax.struct_info import struct_info_base_check as struct_info_base_check
from te_sched.relax.struct_info import struct_info_lca as struct_info_lca

public_names.list_names(sys.modules[__name__])
_SELF = sys.modules[__name__]
signatures.check_arguments(_SELF, _SELF.__all__, _GraphTypeError)
_tell_of_absent_names(__name__)
