"""The completion script of bash: pressing Tab starts no Python."""

import shlex
from collections.abc import Iterator, Sequence

from mlx_gpt.commands.completion_syntax import Expected, Syntax, merged, setting_values

SCRIPT = r"""# bash completion of mlx-gpt; to load it: eval "$(mlx-gpt completion bash)"

# Sets `expected` to what may stand there: "COMMAND PLACE", "COMMAND OPTION", "COMMAND -" for the
# options themselves, "= KEY" for the values of a setting.
_mlx_gpt_expect() {
  case $1 in
%(table)s
    *) expected= ;;
  esac
}

_mlx_gpt_add() {  # LIST WORD…: keeps what begins as the word at the cursor
  local list=$1 word
  shift
  for word; do
    [[ $word == "$cur"* ]] && eval "$list+=(\"\$word\")"
  done
}

_mlx_gpt_offer() {
  local word path kind plain=() names=() paths=()
  for kind in $expected; do
    case $kind in
      @runs)
        for path in runs/*/; do
          [[ -f $path/config.toml || -f $path/config.json ]] || continue
          path=${path%%/}
          _mlx_gpt_add names "${path##*/}"
        done ;;
      @files)
        while IFS= read -r path; do paths+=("$path"); done < <(compgen -f -- "$cur") ;;
      @settings)
        local key=${cur%%%%=*}
        _mlx_gpt_expect "= $key"
        if [[ $cur == *=* ]]; then
          for word in $expected; do _mlx_gpt_add plain "$key=$word"; done
        else
          _mlx_gpt_expect '='
          for word in $expected; do _mlx_gpt_add plain "$word="; done
        fi ;;
      @anything) ;;
      *) _mlx_gpt_add plain "$kind" ;;
    esac
  done
  if [[ ${plain[*]} == *= ]]; then
    compopt -o nospace 2>/dev/null
  elif ((${#paths[@]})) && compopt -o filenames 2>/dev/null; then
    COMPREPLY=(${plain[@]+"${plain[@]}"} ${names[@]+"${names[@]}"} "${paths[@]}")
    return
  fi
  COMPREPLY=(${plain[@]+"${plain[@]}"})
  for word in ${names[@]+"${names[@]}"} ${paths[@]+"${paths[@]}"}; do
    printf -v word %%q "$word"
    COMPREPLY+=("$word")
  done
}

_mlx_gpt() {
  local words=() n=0 i word cur before= flag= command= place=0 expected=
  COMPREPLY=()
  for ((i = 1; i <= COMP_CWORD; i++)); do  # KEY=VALUE comes in three where "=" breaks words
    word=${COMP_WORDS[i]}
    if ((n)) && [[ $word == '='* || ${words[n-1]} == *= ]]; then
      words[n-1]+=$word
    else
      words[n]=$word
      n=$((n + 1))
    fi
  done
  cur=${words[n-1]}
  for ((i = 0; i < n - 1; i++)); do
    word=${words[i]}
    if [[ $word == -* ]]; then
      _mlx_gpt_expect "$command $word"
      flag=${expected:+$word}
    elif [[ -n $flag ]]; then
      flag=
    elif [[ -z $command ]]; then
      command=$word
    else
      place=$((place + 1))
    fi
  done
  [[ $cur == *=* && $COMP_WORDBREAKS == *=* ]] && before=${cur%%"${cur#*=}"}
  if [[ $cur == --*=* ]]; then
    _mlx_gpt_expect "$command ${cur%%%%=*}"
    [[ -z $before ]] && return
    cur=${cur#*=} before=
  elif [[ $cur == -* ]]; then
    _mlx_gpt_expect "$command -"
  else
    _mlx_gpt_expect "$command ${flag:-$place}"
  fi
  cur=${cur//\\/}  # as typed, a name with a space has a backslash before it
  _mlx_gpt_offer
  COMPREPLY=(${COMPREPLY[@]+"${COMPREPLY[@]#"$before"}"})
}

complete -F _mlx_gpt mlx-gpt
"""


def bash(root: Syntax, commands: Sequence[Syntax]) -> str:
    """The script for bash, 3.2 and later."""
    rows = [row for each in (root, *commands) for row in rows_of(each)]
    values = setting_values()
    rows += [("=", tuple(values)), *((f"= {key}", tuple(words)) for key, words in values.items())]
    table = "\n".join(
        f"    {pattern(key)}) expected={shlex.quote(' '.join(words))} ;;"
        for key, words in rows
        if words
    )
    return SCRIPT % {"table": table}


def pattern(key: str) -> str:
    """A key of the table as a pattern: quoted, except for the star of "any place"."""
    return f"'{key[:-1]}'[0-9]*" if key.endswith("*") else f"'{key}'"


def rows_of(command: Syntax) -> Iterator[tuple[str, Expected]]:
    """What is expected at each place of a command."""
    name = command.name
    yield f"{name} -", tuple(flag for option in command.options for flag in option.flags)
    for option in command.options:
        for flag in option.flags:
            beside = command.rest if option.optional else ()  # where the value is left out
            yield f"{name} {flag}", merged((option.value, beside))
    for place, words in enumerate(command.places):
        yield f"{name} {place}", words
    yield f"{name} *", command.rest
