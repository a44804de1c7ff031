"""`mlx-gpt completion`: Tab completes commands, options, presets, runs and settings."""

import argparse
import importlib

from mlx_gpt.cli import Command, command_parser, root_parser
from mlx_gpt.commands.completion_bash import bash
from mlx_gpt.commands.completion_fish import fish
from mlx_gpt.commands.completion_syntax import Syntax, syntax
from mlx_gpt.commands.completion_zsh import zsh
from mlx_gpt.language import say
from mlx_gpt.terminal import emit

EXAMPLE = "mlx-gpt completion bash > ~/.local/share/bash-completion/completions/mlx-gpt"
SHELLS = {"bash": bash, "zsh": zsh, "fish": fish}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The shell."""
    parser.add_argument(
        "shell", choices=tuple(SHELLS), help=say("for which shell", "para qué shell")
    )


def described(name: str, command: Command) -> Syntax:
    """What a command takes."""
    parser = command_parser(name, command, importlib.import_module(command.module))
    return syntax(name, say(command.en, command.es), parser)


def run(args: argparse.Namespace) -> int:
    """Print the script."""
    root = syntax("", "", root_parser(args.commands))
    root = root._replace(places=(tuple(args.commands),))
    commands = [described(name, command) for name, command in args.commands.items()]
    script = SHELLS[args.shell](root, commands)
    if args.json:
        emit({"shell": args.shell, "script": script})
    else:
        print(script, end="")
    return 0
