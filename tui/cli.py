"""`mlx-gpt`: the command line of `mlx_gpt`, and `tui` beside its commands."""

import sys

from mlx_gpt.cli import Command
from mlx_gpt.cli import main as run_command

COMMANDS = {"tui": Command("tui.command", "the terminal app", "la aplicación de terminal")}


def main() -> int:
    """The `mlx-gpt` command."""
    return run_command(extra=COMMANDS)


if __name__ == "__main__":
    sys.exit(main())
