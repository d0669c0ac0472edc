"""The names of TVMScript for modules: `from te_sched.script import ir as I`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from te_sched.errors import ScriptError
from te_sched.ir.struct_info import DummyGlobalInfo, VDevice
from te_sched.script import frames
from te_sched.script.frames import ModuleFrame
from te_sched.script.parser import decorate_module
from te_sched.script.words import Range as Range


def ir_module(mod: Any = None, check_well_formed: bool = True) -> Any:
    """A module, written as a class of functions: a decorator, or the frame of one."""
    if mod is not None:
        return decorate_module(mod, check_well_formed)
    frame = ModuleFrame()
    frame.decorate = lambda cls: decorate_module(cls, check_well_formed)
    return frame


def module_attrs(attrs: Mapping[str, Any]) -> None:
    """Give the module attributes. Python executes it too, with the class: there it does nothing."""
    if not frames.ScriptBuilder.is_in_scope():
        return
    module = frames.around(ModuleFrame, "I.module_attrs")
    if module.attrs is not None:
        raise ScriptError("I.module_attrs is used twice", "", "give one dictionary")
    module.attrs = dict(attrs)


def module_global_infos(global_infos: Mapping[str, Any]) -> None:
    """Set what is known of the module: its devices ("vdevice"), ..."""
    if frames.ScriptBuilder.is_in_scope():
        module = frames.around(ModuleFrame, "I.module_global_infos")
        module.global_infos = {name: tuple(infos) for name, infos in global_infos.items()}


def vdevice(target: Any = None, vdevice_id: int = 0, memory_scope: str = "global") -> VDevice:
    """A device of the module.

    >>> vdevice("cuda", 1).kind
    'cuda'
    """
    return VDevice(target, vdevice_id, memory_scope)


def dummy_global_info() -> DummyGlobalInfo:
    """Something that is known of the module, for tests."""
    return DummyGlobalInfo()
