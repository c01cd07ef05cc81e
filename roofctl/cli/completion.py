"""``roofctl completion``: the script that makes a shell complete roofctl's words."""

from __future__ import annotations

import click

from roofctl.cli.common import put


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the script that completes commands, options, GPU names, captures, kernels and levels in a shell.

    \b
    Example:
      eval "$(roofctl completion bash)"    in ~/.bashrc
      eval "$(roofctl completion zsh)"     in ~/.zshrc, after compinit
      roofctl completion fish > ~/.config/fish/completions/roofctl.fish
    """
    from click.shell_completion import get_completion_class

    root = click.get_current_context().find_root()
    name = root.info_name or "roofctl"
    script = get_completion_class(shell)
    if script is None:
        raise click.UsageError(f"this version of click completes nothing in {shell}")
    put(script(root.command, {}, name, f"_{name.upper()}_COMPLETE").source())
