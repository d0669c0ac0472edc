"""Operators on images: topi.image."""

import sys

from te_sched import public_names
from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.topi import utils as _utils
from te_sched.topi.image.resize import resize1d as resize1d
from te_sched.topi.image.resize import resize2d as resize2d
from te_sched.topi.image.resize import resize3d as resize3d

_SELF = sys.modules[__name__]
public_names.list_names(_SELF)
_utils.check_functions(_SELF)
_tell_of_absent_names(__name__)
