"""Programs and data on a terminal."""

import os
import subprocess
import sys

import pytest

from te_sched.cli.showing import show_title


def test_no_colors_where_no_person_reads(te_sched_command, program):
    done = te_sched_command("lower", "--diff", program("gemm"))
    assert "\x1b[" not in done.stdout + done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="needs a terminal")
@pytest.mark.parametrize("wanted", [True, False])
def test_colors_on_a_terminal(program, wanted):
    import pty

    environment = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "te_sched", "lower", "-q", program("old")],
        stdout=theirs,
        env=environment if wanted else {**environment, "NO_COLOR": "1"},
    )
    os.close(theirs)
    text = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # the terminal is gone
            break
        text += part
    assert process.wait() == 0
    assert (b"\x1b[" in text) is wanted


def test_titles_are_comments_of_the_language(capsys):
    for language in ("python", "llvm", "cuda", "unknown"):
        show_title("main", language)
    assert capsys.readouterr().out == "# main\n; main\n// main\n# main\n"
