"""The completion script of zsh: pressing Tab starts no Python."""

import shlex
from collections.abc import Iterator, Sequence

from mlx_gpt.commands.completion_syntax import Expected, Option, Syntax, setting_values

SCRIPT = r"""#compdef mlx-gpt
# zsh completion of mlx-gpt; to load it: eval "$(mlx-gpt completion zsh)"

_mlx_gpt_setting() {
  if compset -P 1 '*='; then
    case ${IPREFIX%%=} in
%(values)s
    esac
  else
    compadd -S '' -- %(keys)s
  fi
}

_mlx_gpt_offer() {
  local kind
  local -a plain names
  for kind; do
    case $kind in
      @runs) names=(runs/*/config.(toml|json)(N:h:t)); compadd -- ${(u)names} ;;
      @files) _files ;;
      @settings) _mlx_gpt_setting ;;
      @anything) _message value ;;
      *) plain+=($kind) ;;
    esac
  done
  compadd -- $plain
}

_mlx_gpt() {
  local curcontext=$curcontext state line
  typeset -A opt_args
  _arguments -C \
%(root)s
    '1:command:->command' '*::argument:->argument'
  case $state in
    command)
      local -a commands=(
%(commands)s
      )
      _describe command commands ;;
    argument)
      case $words[1] in
%(cases)s
      esac ;;
  esac
}

if [[ $funcstack[1] == _mlx_gpt || $funcstack[1] == _mlx-gpt ]]; then
  _mlx_gpt "$@"
else
  compdef _mlx_gpt mlx-gpt
fi
"""


def zsh(root: Syntax, commands: Sequence[Syntax]) -> str:
    """The script for zsh."""
    values = setting_values()
    indent = " " * 10
    return SCRIPT % {
        "values": "\n".join(
            f"      {key}) compadd -- {shlex.join(words)} ;;"
            for key, words in values.items()
            if words
        ),
        "keys": " ".join(f"{key}=" for key in values),
        "root": "\n".join(f"    {spec} \\" for option in root.options for spec in specs_of(option)),
        "commands": "\n".join(f"        {quoted(f'{each.name}:{each.help}')}" for each in commands),
        "cases": "\n".join(f"        {each.name})\n{case(each, indent)}" for each in commands),
    }


def case(command: Syntax, indent: str) -> str:
    """The call that completes one command."""
    specs = [spec for option in command.options for spec in specs_of(option)]
    places = enumerate(command.places, 1)
    specs += [quoted(f"{place}:word:{action(words)}") for place, words in places]
    if command.rest:
        specs.append(quoted(f"*:word:{action(command.rest)}"))
    lines = [f"{indent}_arguments", *(f"{indent}  {spec}" for spec in specs)]
    return " \\\n".join(lines) + " ;;"


def specs_of(option: Option) -> Iterator[str]:
    """What `_arguments` is told of an option, once for each of its spellings."""
    text = option.help
    for sign in "\\[]:":
        text = text.replace(sign, f"\\{sign}")
    for flag in option.flags:
        others = "" if option.repeats else f"({' '.join(option.flags)})"
        value = f":value:{action(option.value)}" if option.value else ""
        spec = f"{others}{'*' * option.repeats}{flag}[{text}]"
        yield quoted(f"{spec}{':' * option.optional}{value}")


def action(words: Expected) -> str:
    """The call that lists them; the space keeps zsh from adding arguments."""
    return f" _mlx_gpt_offer {shlex.join(words)}"


def quoted(text: str) -> str:
    """A text between single quotes."""
    return "'" + text.replace("\\", "\\\\").replace("'", "'\\''") + "'"
