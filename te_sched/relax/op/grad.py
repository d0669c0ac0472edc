"""Operators of gradients, and marks of what is differentiated."""

from te_sched.relax.operators.gradients import avg_pool2d_backward as avg_pool2d_backward
from te_sched.relax.operators.gradients import end_checkpoint as end_checkpoint
from te_sched.relax.operators.gradients import max_pool2d_backward as max_pool2d_backward
from te_sched.relax.operators.gradients import nll_loss_backward as nll_loss_backward
from te_sched.relax.operators.gradients import no_grad as no_grad
from te_sched.relax.operators.gradients import start_checkpoint as start_checkpoint
from te_sched.relax.operators.gradients import take_backward as take_backward
