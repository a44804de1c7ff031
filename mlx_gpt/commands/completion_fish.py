"""The completion script of fish: pressing Tab starts no Python."""

from collections.abc import Iterator, Sequence

from mlx_gpt.commands.completion_syntax import FILES, Expected, Syntax, setting_values

SCRIPT = r"""# fish completion of mlx-gpt; to load it: mlx-gpt completion fish | source

function __mlx_gpt_takes_value  # COMMAND OPTION
    switch "$argv"
        case %(valued)s
            return 0
    end
    return 1
end

function __mlx_gpt_place  # prints the command and how many words follow it
    set -l name
    set -l place 0
    set -l flag 0
    set -l line (commandline -opc)
    for word in $line[2..-1]
        if string match -q -- '-*' $word
            set flag 0
            __mlx_gpt_takes_value "$name" $word; and set flag 1
        else if test $flag = 1
            set flag 0
        else if test -z "$name"
            set name $word
        else
            set place (math $place + 1)
        end
    end
    echo "$name $place"
end

function __mlx_gpt_at  # COMMAND [PLACE…]
    set -l here (string split ' ' -- (__mlx_gpt_place))
    test "$here[1]" = "$argv[1]"; or return 1
    test (count $argv) = 1; or contains -- $here[2] $argv[2..-1]
end

function __mlx_gpt_beyond  # COMMAND PLACE
    set -l here (string split ' ' -- (__mlx_gpt_place))
    test "$here[1]" = "$argv[1]" -a "$here[2]" -ge $argv[2]
end

function __mlx_gpt_offer
    for kind in $argv
        switch $kind
            case @runs
                for path in runs/*/config.toml runs/*/config.json
                    path dirname $path | path basename
                end
            case @settings
                if string match -q -- '*=*' (commandline -ct)
                    printf '%%s\n' %(values)s
                else
                    printf '%%s\n' %(keys)s
                end
            case @files @anything
            case '*'
                echo $kind
        end
    end
end

complete -c mlx-gpt -f
%(lines)s
"""


def fish(root: Syntax, commands: Sequence[Syntax]) -> str:
    """The script for fish, 3.5 and later."""
    valued = [
        quoted(f"{each.name} {flag}")
        for each in (root, *commands)
        for option in each.options
        if option.value
        for flag in option.flags
    ]
    settings = setting_values()
    pairs = [f"{key}={value}" for key, values in settings.items() for value in values]
    lines = [
        f"complete -c mlx-gpt -n '__mlx_gpt_at \"\"' -a {each.name} -d {quoted(each.help)}"
        for each in commands
    ]
    lines += [line for each in (root, *commands) for line in completions(each)]
    return SCRIPT % {
        "valued": " ".join(valued),
        "keys": " ".join(f"{key}=" for key in settings),
        "values": " ".join(pairs),
        "lines": "\n".join(lines),
    }


def quoted(text: str) -> str:
    """A text between single quotes, as fish escapes it."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def completions(command: Syntax) -> Iterator[str]:
    """The options and the words of one command."""
    name = command.name or '""'
    for option in command.options:
        flags = " ".join(
            f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}" for flag in option.flags
        )
        value = value_of(option.value) if option.value and not option.optional else ""
        help_text = quoted(option.help)
        yield f"complete -c mlx-gpt -n '__mlx_gpt_at {name}' {flags} -d {help_text}{value}"
    if not command.name:
        return
    for place, words in enumerate(command.places):
        yield f"complete -c mlx-gpt -n '__mlx_gpt_at {name} {place}'{listed(words)}"
    if command.rest:
        place = len(command.places)
        yield f"complete -c mlx-gpt -n '__mlx_gpt_beyond {name} {place}'{listed(command.rest)}"


def value_of(words: Expected) -> str:
    """How fish is told of the value of an option."""
    return f"{' -r' if FILES in words else ' -x'}{listed(words)}"


def listed(words: Expected) -> str:
    """How fish is told which words may stand at a place."""
    return f"{' -F' if FILES in words else ''} -a '(__mlx_gpt_offer {' '.join(words)})'"
