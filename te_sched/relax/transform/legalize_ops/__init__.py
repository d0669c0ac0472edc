"""`LegalizeOps`: calls of operators become calls of functions of blocks.

The rule of an operator is its attribute "FLegalize", a function (builder, call) -> expression; what
it returns may have calls of operators again. The modules of this folder have the rules by area.
Must not know the inference of struct infos.
"""

from te_sched.relax.transform.legalize_ops import binary as binary
from te_sched.relax.transform.legalize_ops import common as common
from te_sched.relax.transform.legalize_ops import create as create
from te_sched.relax.transform.legalize_ops import elementwise as elementwise
from te_sched.relax.transform.legalize_ops import exact as exact
from te_sched.relax.transform.legalize_ops import grad as grad
from te_sched.relax.transform.legalize_ops import image as image
from te_sched.relax.transform.legalize_ops import index as index
from te_sched.relax.transform.legalize_ops import linear_algebra as linear_algebra
from te_sched.relax.transform.legalize_ops import manipulate as manipulate
from te_sched.relax.transform.legalize_ops import nn as nn
from te_sched.relax.transform.legalize_ops import qdq as qdq
from te_sched.relax.transform.legalize_ops import statistical as statistical
from te_sched.relax.transform.legalize_ops.common import register_legalize as register_legalize
from te_sched.relax.transform.legalize_ops.common import rule_of as rule_of
from te_sched.relax.transform.legalize_ops.exact import exact_builder as exact_builder
from te_sched.relax.transform.legalize_ops.exact import exact_rule_of as exact_rule_of
from te_sched.relax.transform.legalize_ops.legalizer import LegalizeOps as LegalizeOps
