"""How shells complete te-sched's arguments."""

import shutil
import subprocess

import pytest
from click.testing import CliRunner

from te_sched.cli.main import main


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(te_sched_command, shell):
    done = te_sched_command("completion", shell)
    assert done.exit_code == 0
    assert "_TE_SCHED_COMPLETE" in done.stdout
    if shutil.which(shell):
        checked = subprocess.run([shell, "-n"], input=done.stdout, text=True, check=False)
        assert checked.returncode == 0


def test_completion_of_an_unknown_shell(te_sched_command):
    assert te_sched_command("completion", "tcsh").exit_code == 2


def test_completion_of_commands_and_options():
    def complete(words, position):
        variables = {"COMP_WORDS": words, "COMP_CWORD": str(position)}
        done = CliRunner().invoke(
            main, env={"_TE_SCHED_COMPLETE": "bash_complete", **variables}, prog_name="te-sched"
        )
        return done.stdout.split()

    assert complete("te-sched lo", 1) == ["plain,lower"]
    assert "plain,--passes" in complete("te-sched lower --p", 2)
    assert complete("te-sched lower --after flat", 3) == ["plain,flatten_storage"]
