"""te-sched completion: the script with which a shell completes te-sched's arguments."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

_SHELLS = ("bash", "zsh", "fish")


@click.command("completion")
@click.argument("shell", type=click.Choice(_SHELLS))
@click.pass_context
def command(context: click.Context, shell: str) -> int:
    """Print a script that lets SHELL complete commands, options and files.

    \b
    bash:  eval "$(te-sched completion bash)"            in ~/.bashrc
    zsh:   eval "$(te-sched completion zsh)"             in ~/.zshrc
    fish:  te-sched completion fish > ~/.config/fish/completions/te-sched.fish
    """
    kind = get_completion_class(shell)
    root = context.find_root()
    assert kind is not None
    click.echo(kind(root.command, {}, "te-sched", "_TE_SCHED_COMPLETE").source())
    return 0
