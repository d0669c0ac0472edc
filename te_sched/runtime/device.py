"""Devices: where arrays live and functions run. This version has the processor alone."""

from __future__ import annotations

from dataclasses import dataclass

from te_sched.errors import CallError

# DLPack's numbers of device types.
DEVICE_TYPES = {"cpu": 1, "cuda": 2}
_ALIASES = {"llvm": "cpu", "c": "cpu", "gpu": "cuda", "nvptx": "cuda"}
_NAMES = {number: name for name, number in DEVICE_TYPES.items()}


@dataclass(frozen=True, slots=True)
class Device:
    """A device by its DLPack type and number."""

    device_type: int
    device_id: int = 0

    @property
    def exist(self) -> bool:
        """Whether this process can use the device."""
        return self.device_type == DEVICE_TYPES["cpu"] and self.device_id == 0

    def sync(self, stream: object = None) -> None:
        """Wait until the device has finished; a processor always has."""
        del stream

    def __str__(self) -> str:
        return (
            f"{_NAMES.get(self.device_type, f'device_type_{self.device_type}')}({self.device_id})"
        )

    def __repr__(self) -> str:
        return str(self)


def cpu(device_id: int = 0) -> Device:
    """The processor."""
    return Device(DEVICE_TYPES["cpu"], device_id)


def device(name: str, device_id: int = 0) -> Device:
    """A device by the name of its kind or of a target ("cpu", "llvm", "cuda"), or as "cpu:0"."""
    kind, _, number = name.partition(":")
    kind = _ALIASES.get(kind, kind)
    if kind not in DEVICE_TYPES or (number and not number.isdigit()):
        legal = ", ".join([*DEVICE_TYPES, *_ALIASES])
        raise CallError(
            f"find device {name!r}", "there is no such kind of device", f"use one of {legal}"
        )
    return Device(DEVICE_TYPES[kind], int(number) if number else device_id)


def check_usable(where: Device, what: str) -> None:
    """Refuse a device that is not there."""
    if not where.exist:
        raise CallError(
            what,
            f"the device {where} is not available in this version of te_sched or on this computer",
            "use cpu(0)",
        )
