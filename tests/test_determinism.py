"""The same program gives the same texts in every process."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
_SCRIPT = """
import hashlib, sys
import te_sched
from te_sched.views.dataflow import dataflow_svg
from te_sched.views.loop_tree import tree_html, loop_tree
from tests.golden.corpus import programs

def told(name, text):
    print(name, hashlib.sha256(text.encode()).hexdigest()[:16])

for program in programs("primitives", "gemm_gpu", "programs"):
    if program.name not in sys.argv[2:]:
        continue
    for step, (s, args) in enumerate(program.steps(te_sched), 1):
        name = f"{program.name} {step}"
        module = te_sched.lower(s, args)
        told(f"{name} script", str(module))
        told(f"{name} primfn", module.astext())
        told(f"{name} trace", str(s.trace))
        told(f"{name} tree", tree_html(loop_tree(s)))
        told(f"{name} dataflow", dataflow_svg(s))
        if step < program.step_count:
            continue
        if sys.argv[1] == "cuda":
            code = te_sched.build(s, args, target="cuda").imported_modules
            told(f"{name} cuda", code[0].get_source() if code else "")
        else:
            built = te_sched.build(s, args)
            told(f"{name} llvm", built.get_source("ll"))
            told(f"{name} assembly", built.get_source("asm"))
"""


@pytest.mark.parametrize(
    ("target", "names"),
    [
        ("llvm", ["softmax", "uneven_split", "argmax_tuple"]),
        ("cuda", ["gemm_gpu", "depthwise_conv_gpu"]),
    ],
)
def test_texts_do_not_depend_on_the_order_of_sets(target, names):
    texts = []
    for seed in ("1", "2"):
        environment = {
            **os.environ,
            "PYTHONHASHSEED": seed,
            "PYTHONPATH": str(ROOT),
            "TE_SCHED_CACHE": "0",
        }
        command = [sys.executable, "-c", _SCRIPT, target, *names]
        done = subprocess.run(
            command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        texts.append(done.stdout.splitlines())
    assert len(texts[0]) >= 6 * len(names)
    assert texts[0] == texts[1]
