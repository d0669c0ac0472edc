"""The tags of machines, as target strings name them, and their options: facts of data sheets, with
TVM's names. Must not know how target strings are read.
"""

from __future__ import annotations

CUDA_TAG = "nvidia/"
# The GPUs of each compute capability, from 5.0 on.
_GPUS = {
    "sm_50": (
        "geforce-830m geforce-840m geforce-930m geforce-940m geforce-gtx-750 geforce-gtx-750-ti "
        "geforce-gtx-850m geforce-gtx-860m-sm-50 geforce-gtx-950m geforce-gtx-960m "
        "nvidia-nvs-810 quadro-k1200 quadro-k2200 quadro-k620 quadro-k620m quadro-m1000m "
        "quadro-m1200 quadro-m2000m quadro-m3000m quadro-m4000m quadro-m5000m quadro-m500m "
        "quadro-m520 quadro-m600m"
    ),
    "sm_52": (
        "geforce-910m geforce-gtx-950 geforce-gtx-960 geforce-gtx-965m geforce-gtx-970 "
        "geforce-gtx-970m geforce-gtx-980 geforce-gtx-980-ti geforce-gtx-980m "
        "geforce-gtx-titan-x quadro-m2000 quadro-m2200 quadro-m4000 quadro-m5000 quadro-m5500m "
        "quadro-m6000 quadro-m6000-24gb quadro-m620 tesla-m40 tesla-m60"
    ),
    "sm_53": "jetson-nano jetson-tx1 tegra-x1",
    "sm_60": "quadro-gp100 tesla-p100",
    "sm_61": (
        "geforce-gtx-1050 geforce-gtx-1060 geforce-gtx-1070 geforce-gtx-1070-ti "
        "geforce-gtx-1080 geforce-gtx-1080-ti gtx1080ti nvidia-titan-x nvidia-titan-xp p520 "
        "p620 quadro-p1000 quadro-p2000 quadro-p2200 quadro-p3000 quadro-p3200 quadro-p400 "
        "quadro-p4000 quadro-p4200 quadro-p500 quadro-p5000 quadro-p5200 quadro-p600 "
        "quadro-p6000 quadro-p620 tesla-p4 tesla-p40"
    ),
    "sm_62": "jetson-tx2",
    "sm_70": "nvidia-titan-v nvidia-v100 quadro-gv100",
    "sm_72": "jetson-agx-xavier",
    "sm_75": (
        "geforce-rtx-2060 geforce-rtx-2070 geforce-rtx-2080 geforce-rtx-2080-ti nvidia-t4 "
        "nvidia-titan-rtx quadro-rtx-4000 quadro-rtx-5000 quadro-rtx-6000 quadro-rtx-8000 "
        "rtx-3000 rtx-4000 rtx-5000 t1000 t2000"
    ),
    "sm_80": "nvidia-a100 nvidia-a30",
    "sm_86": (
        "geforce-rtx-3060 geforce-rtx-3070 geforce-rtx-3070-ti geforce-rtx-3080 "
        "geforce-rtx-3080-ti geforce-rtx-3090 geforce-rtx-3090-ti nvidia-a10 nvidia-a10g "
        "nvidia-a16 nvidia-a2 nvidia-a40 rtx-a6000"
    ),
    "sm_87": "jetson-agx-orin-32gb jetson-agx-orin-64gb jetson-orin-nano",
    "sm_89": "geforce-rtx-4090",
    "sm_90a": "nvidia-h100",
}
_ARCHITECTURES = {name: arch for arch, names in _GPUS.items() for name in names.split()}
_SKYLAKE, _CASCADELAKE = "skylake-avx512", "cascadelake"
# The processors and cores of virtual machines.
_C5 = {
    "large": (_SKYLAKE, 1),
    "xlarge": (_SKYLAKE, 2),
    "2xlarge": (_SKYLAKE, 4),
    "4xlarge": (_SKYLAKE, 8),
    "9xlarge": (_SKYLAKE, 18),
    "12xlarge": (_CASCADELAKE, 24),
    "18xlarge": (_SKYLAKE, 36),
    "24xlarge": (_CASCADELAKE, 48),
}
_PROCESSORS = {
    **{
        f"aws/cpu/c5.{size}": {"keys": "x86,cpu", "mcpu": cpu, "num-cores": str(cores)}
        for size, (cpu, cores) in _C5.items()
    },
    "raspberry-pi/4b-aarch64": {
        "keys": "arm_cpu,cpu",
        "mattr": "+neon",
        "mcpu": "cortex-a72",
        "mtriple": "aarch64-linux-gnu",
        "num-cores": "4",
    },
}
# The graphics units of Apple's computers: the most threads of a block.
_APPLE = {"apple/m1-gpu": "1024", "apple/m1-gpu-restricted": "256", "apple/m2-gpu": "1024"}


def tags() -> list[str]:
    """All tags."""
    return [*_PROCESSORS, *_APPLE, *(CUDA_TAG + name for name in _ARCHITECTURES)]


def kind_and_options(tag: str) -> tuple[str, dict[str, str]] | None:
    """The kind of target that a tag means, and its options; None for other words.

    >>> kind_and_options("nvidia/nvidia-a100")
    ('cuda', {'max_threads_per_block': '1024', 'arch': 'sm_80'})
    """
    if tag in _PROCESSORS:
        return "llvm", dict(_PROCESSORS[tag])
    if tag in _APPLE:
        return "metal", {
            "max_threads_per_block": _APPLE[tag],
            "max_shared_memory_per_block": "32768",
            "thread_warp_size": "32",
        }
    if not tag.startswith(CUDA_TAG):
        return None
    arch = _ARCHITECTURES.get(tag.removeprefix(CUDA_TAG))
    return "cuda", {"max_threads_per_block": "1024"} | ({} if arch is None else {"arch": arch})
