"""The names of TVMScript for modules: `from te_sched.script import ir as I`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, overload

from te_sched import errors, public_names
from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.ir import stmt as _stmt
from te_sched.ir import struct_info as _struct_info
from te_sched.script import frames as _frames
from te_sched.script.parser import decorate_module as _decorate_module
from te_sched.script.words import Range as Range

if TYPE_CHECKING:

    class ScriptModule(_stmt.IRModule):
        """A module that is written as a class: in it, its functions are attributes."""

        def __getattr__(self, name: str) -> _stmt.GlobalVar: ...


@overload
def ir_module(mod: type[Any], check_well_formed: bool = True) -> ScriptModule: ...


@overload
def ir_module(mod: None = None, check_well_formed: bool = True) -> _frames.ModuleFrame: ...


def ir_module(mod: Any = None, check_well_formed: bool = True) -> Any:
    """A module, written as a class of functions: a decorator, or the frame of one."""
    if mod is not None:
        return _decorate_module(mod, check_well_formed)
    frame = _frames.ModuleFrame()
    frame.decorate = lambda cls: _decorate_module(cls, check_well_formed)
    return frame


def module_attrs(attrs: Mapping[str, Any]) -> None:
    """Give the module attributes. Python executes it too, with the class: there it does nothing."""
    if not _frames.ScriptBuilder.is_in_scope():
        return
    module = _frames.around(_frames.ModuleFrame, "I.module_attrs")
    if module.attrs is not None:
        raise errors.ScriptError("I.module_attrs is used twice", "", "give one dictionary")
    module.attrs = dict(attrs)


def module_global_infos(global_infos: Mapping[str, Any]) -> None:
    """Set what is known of the module: its devices ("vdevice"), ..."""
    if _frames.ScriptBuilder.is_in_scope():
        module = _frames.around(_frames.ModuleFrame, "I.module_global_infos")
        module.global_infos = {name: tuple(infos) for name, infos in global_infos.items()}


def vdevice(
    target: Any = None, vdevice_id: int = 0, memory_scope: str = "global"
) -> _struct_info.VDevice:
    """A device of the module.

    >>> vdevice("cuda", 1).kind
    'cuda'
    """
    return _struct_info.VDevice(target, vdevice_id, memory_scope)


def dummy_global_info() -> _struct_info.DummyGlobalInfo:
    """Something that is known of the module, for tests."""
    return _struct_info.DummyGlobalInfo()


public_names.list_names(sys.modules[__name__])

_tell_of_absent_names(__name__)
