"""`mlx-gpt train`: from a text to a trained model, and on from where a run stopped."""

import argparse
import contextlib
import dataclasses
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from mlx_gpt import checkpoint, device, terminal
from mlx_gpt.commands.models import model_names
from mlx_gpt.commands.start import find_start, fitted, keep_start, read_start, start_config
from mlx_gpt.commands.watch import Watcher, called
from mlx_gpt.config import (
    Config,
    DataConfig,
    dump,
    encodable,
    load,
    load_preset,
    nearest,
    preset_names,
    setting_docs,
    settings_of,
    shown,
)
from mlx_gpt.data import Tokens, cache_folder, prepare, prepare_tokenizer
from mlx_gpt.errors import UserError
from mlx_gpt.interop.folder import keeps_bpe, tokenizer_in, tokenizer_named
from mlx_gpt.inventory import training_flops
from mlx_gpt.language import say
from mlx_gpt.power import Battery, read_battery
from mlx_gpt.run import (
    Record,
    Run,
    Tail,
    check_name,
    find_run,
    hold_lock,
    list_runs,
    new_run_name,
    updated,
)
from mlx_gpt.session import Finished, Progress, Session, lay_out, record, write_whole
from mlx_gpt.tensorboard import EventFile, open_event_file
from mlx_gpt.tokenizer import ByteTokenizer, Tokenizer

EXAMPLE = "mlx-gpt train stories book.txt train.steps=2000 model.n_layers=6"
DEFAULT_PRESET = "stories"
POLL_SECONDS = 0.02


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to train, on what, and how."""
    parser.add_argument(
        "words",
        nargs="*",
        metavar="[PRESET|MODEL] [FILE…] [key=value…]",
        help=say(
            "a preset or .toml file, or a model to train further; texts (files or folders); "
            "settings; nothing: the stories preset on the built-in corpus",
            "un preajuste o archivo .toml, o un modelo que se sigue entrenando; textos (archivos "
            "o carpetas); ajustes; nada: el preajuste stories con el corpus incluido",
        ),
    )
    parser.add_argument("--out", default="runs", help=say("folder of the runs", "carpeta base"))
    parser.add_argument("--name", help=say("name of this run", "nombre de esta ejecución"))
    parser.add_argument("--steps", type=int, help="train.steps")
    parser.add_argument("--encoding", help="data.encoding (utf-8, latin-1 …)")
    parser.add_argument(
        "--resume",
        nargs="?",
        const="",
        metavar="RUN",
        help=say(
            "go on with a run, by default the newest; its config.toml holds",
            "continúa una ejecución, por defecto la última; vale su config.toml",
        ),
    )
    parser.add_argument(
        "--curve",
        choices=("keep", "stretch"),
        help=say(
            "with --resume and more steps: keep the learning-rate curve and stay at its minimum, "
            "or stretch it over all steps",
            "con --resume y más pasos: mantener la curva de lr y quedarse en su mínimo, o "
            "estirarla sobre todos los pasos",
        ),
    )
    parser.add_argument(
        "--detach",
        action="store_true",
        help=say("train in the background", "entrena en segundo plano"),
    )
    parser.add_argument(
        "--eco",
        action="store_true",
        help=say(
            "rest after each step for as long as it took: a cooler, quieter machine, the same "
            "weights, twice the time; mlx-gpt ctl RUN eco on|off switches it meanwhile",
            "descansa tras cada paso lo que este duró: una máquina más fresca y silenciosa, los "
            "mismos pesos, el doble de tiempo; mlx-gpt ctl RUN eco on|off lo cambia en marcha",
        ),
    )
    parser.add_argument(
        "--tensorboard",
        action="store_true",
        help=say(
            "also write event files for TensorBoard, into the run's folder tensorboard",
            "escribe también archivos para TensorBoard, en la carpeta tensorboard de la ejecución",
        ),
    )
    parser.add_argument(
        "--settings",
        action="store_true",
        help=say("list every setting and its value, then stop", "muestra los ajustes y termina"),
    )


class Request(NamedTuple):
    """The words of the command line, sorted."""

    preset: str
    files: tuple[str, ...]
    overrides: tuple[str, ...]
    start: Path | None = None  # the folder of a model to train further


def is_override(word: str) -> bool:
    """Whether a word sets something; a file whose name holds "=" is a file."""
    return "=" in word and not os.path.lexists(word)


def sort_words(words: Iterable[str], root: Path = Path("runs")) -> Request:
    """The preset or the model to train further, if any, the files and the settings, in any order.

    Texts are not looked for in `root`, models are.
    """
    overrides = tuple(word for word in words if is_override(word))
    names = [word for word in words if not is_override(word)]
    presets = [name for name in names if name in preset_names() or name.endswith(".toml")]
    starts = {
        name: folder
        for name in names
        if name not in presets and (folder := find_start(name, root)) is not None
    }
    if len(presets) + len(starts) > 1:
        raise UserError(
            f"{' and '.join([*presets, *starts])} are presets or models, and a run has one; "
            "a text of that name is given as ./NAME"
        )
    files = tuple(name for name in names if name not in presets and name not in starts)
    for name in files:
        if not os.path.lexists(name):
            known = [*preset_names(), *model_names(root)]
            raise UserError(f"no preset and no file {name}{nearest(name, known)}")
    start = next(iter(starts.values()), None)
    return Request(presets[0] if presets else DEFAULT_PRESET, files, overrides, start)


def common_overrides(args: argparse.Namespace) -> list[str]:
    """The options that are short for a setting."""
    values = {"train.steps": args.steps, "train.seed": args.seed, "data.encoding": args.encoding}
    return [f"{key} = {json.dumps(value)}" for key, value in values.items() if value is not None]


def choose_config(request: Request, args: argparse.Namespace) -> Config:
    """The configuration that the command line asks for, its files by absolute path."""
    overrides = [*request.overrides, *common_overrides(args)]
    if request.start:
        config = start_config(request.start, overrides)
    elif request.preset in preset_names():
        config = load_preset(request.preset, overrides)
    else:
        config = load(Path(request.preset), overrides)
    files = request.files or config.data.files
    absolute = tuple(str(Path(name).absolute()) for name in files)
    tokenizer = config.data.tokenizer
    if tokenizer not in ("bytes", "sentencepiece"):
        tokenizer = str(Path(tokenizer).expanduser().absolute())
    data = dataclasses.replace(config.data, files=absolute, tokenizer=tokenizer)
    return dataclasses.replace(config, data=data)


def fit_vocabulary(config: Config, tokenizer: Tokenizer) -> Config:
    """The model's vocabulary is what the tokenizer really has."""
    wanted, real = config.model.vocab_size, tokenizer.vocab_size
    if wanted != real:
        terminal.note(
            say(
                f"vocab_size is {real}, as the tokenizer has it (the preset says {wanted})",
                f"vocab_size es {real}, el del tokenizador (el preajuste dice {wanted})",
            )
        )
    model = dataclasses.replace(config.model, vocab_size=real)
    return dataclasses.replace(config, model=model)


def begin(args: argparse.Namespace) -> tuple[Run, Config, Tokens, Tokenizer]:
    """Prepare tokenizer and tokens of a new run; its folder appears only when they are there."""
    encodable("--out", args.out)  # MLX could save nothing there
    request = sort_words(args.words, Path(args.out))
    config = choose_config(request, args)
    if args.name is not None and os.path.lexists(Path(args.out) / check_name(args.name)):
        raise name_taken(args)
    if request.start and device.kind() == "cpu" and not config.train.grad_checkpoint:
        device.widen_layers()  # before MLX's first evaluation, which reads the weights
    start = read_start(request.start, config.model) if request.start else None
    if start:
        config, tokenizer, notes = fitted(config, start), start.tokenizer, ()
    else:
        tokenizer, notes = new_tokenizer(config.data)
        config = fit_vocabulary(config, tokenizer)
    config = decide_arithmetic(config)
    tokens = tokenise(config, tokenizer)
    for line in (*notes, *tokens.facts.notes):
        terminal.note(line)
    run = make_folder(args, request.start.name if request.start else Path(request.preset).stem)
    with hold_lock(run):
        lay_out(run, config, tokens.facts, tokenizer)
        if start:
            keep_start(run, config, tokens, start)
    return run, config, tokens, tokenizer


def new_tokenizer(config: DataConfig) -> tuple[Tokenizer, tuple[str, ...]]:
    """The tokenizer of a new run, learned or read, also from somebody else's model; and notes."""
    if keeps_bpe(Path(config.tokenizer)):
        return tokenizer_named(config.tokenizer), ()
    return prepare_tokenizer(config, report=terminal.progress.bar)


def make_folder(args: argparse.Namespace, base: str) -> Run:
    """The empty folder of a new run; of two trainings that want a name, one gets the next."""
    root = Path(args.out)
    try:
        root.mkdir(parents=True, exist_ok=True)
        while True:
            run = Run(root / (args.name or new_run_name(root, base)))
            with contextlib.suppress(FileExistsError):
                run.path.mkdir()
                return run
            if args.name:
                raise name_taken(args)
    except OSError as error:
        raise UserError(
            f"cannot make a run folder in {root}: {error.strerror}; choose another --out"
        ) from error


def name_taken(args: argparse.Namespace) -> UserError:
    """The refusal of a name that another run has."""
    return UserError(
        f"{Path(args.out) / args.name} exists; choose another --name, or go on with it: "
        f"mlx-gpt train --resume {args.name}"
    )


def tokenise(config: Config, tokenizer: Tokenizer) -> Tokens:
    """The tokens of a run, from the cache where the text has not changed."""
    return prepare(
        config.data,
        tokenizer,
        config.model.context_length,
        cache=cache_folder(),
        report=terminal.progress.bar,
    )


def decide_arithmetic(config: Config) -> Config:
    """Settle precision and compile=auto, so that a resumed run computes as the first part did."""
    train = dataclasses.replace(config.train, precision=settled_precision(config))
    step = training_flops(config.model, train.batch_size, config.model.context_length)
    flops = train.steps * train.grad_accumulation * step
    compiled = device.compiles_step(train.compile, flops)
    train = dataclasses.replace(train, compile="on" if compiled else "off")
    return dataclasses.replace(config, train=train)


def settled_precision(config: Config) -> Literal["float32", "bfloat16"]:
    """The precision of a new run on this device, with a word where it is not the one asked for."""
    asked = config.train.precision
    settled = device.fast_precision(asked)
    if settled != asked:
        terminal.note(
            say(
                f"! train.precision={asked} is for GPUs: on this CPU the run computes in {settled}",
                f"! train.precision={asked} es para GPU: en esta CPU el cálculo va en {settled}",
            )
        )
    return settled


def kernel_name(config: Config) -> str:
    """A name for the kernels of a compiled step, which depend on these settings, not on sizes."""
    model, train = config.model, config.train
    parts = (model.activation, model.norm, model.norm_order, model.position, model.tied_head)
    constants = (train.beta1, train.beta2, train.weight_decay, train.grad_clip, train.precision)
    text = repr((parts, model.attn_bias, model.ffn_bias, constants, train.grad_accumulation > 1))
    return f"train_{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def announce_compiling(config: Config) -> None:
    """Say what the first step of a compiled run waits for, where it is not done yet."""
    waits = config.train.compile == "on" and device.kind() == "cpu"
    if waits and not device.kernel_mark(kernel_name(config)).exists():
        terminal.note(
            say(
                "compiling the training step for this CPU, once: some ten seconds, after which "
                "every step takes half as long",
                "compilando el paso de entrenamiento para esta CPU, una sola vez: unos diez "
                "segundos, tras los cuales cada paso tarda la mitad",
            )
        )


def resumed_run(args: argparse.Namespace) -> tuple[Run, list[str]]:
    """The run that --resume means, and the settings given beside it."""
    words = [word for word in (args.resume, *args.words) if word]
    names = [word for word in words if not is_override(word)]
    if len(names) > 1:
        raise UserError(f"--resume goes on with one run, but {', '.join(names)} are named")
    root = Path(args.out)
    if names:
        run = find_run(names[0], root)
    else:
        runs = list_runs(root)
        if not runs:
            raise UserError(f"{root} holds no run to resume; start one with mlx-gpt train")
        run = max(runs, key=updated)
    return run, [word for word in words if is_override(word)]


def check_changes(before: Config, after: Config) -> None:
    """A resumed run may learn differently, but model and data stay what they are."""
    for (key, old), (_, new) in zip(settings_of(before), settings_of(after), strict=True):
        if old != new and (key == "train.seed" or not key.startswith(("train.", "sample."))):
            raise UserError(
                f"{key} = {shown(new)}: a resumed run keeps its {shown(old)}; "
                f"start a new run to change it"
            )


def lengthen(before: Config, after: Config, curve: str | None) -> Config:
    """Another number of steps than planned needs a decision about the learning rate."""
    planned = before.train.steps, before.train.decay_steps
    if after.train.steps == planned[0]:
        if curve is not None:
            raise UserError(f"--curve {curve} goes with another number of steps: add --steps N")
        return after
    if after.train.schedule == "constant" or after.train.decay_steps != planned[1]:
        return after
    old = before.train.decay_steps or before.train.steps
    if curve is None:
        raise UserError(
            f"the learning rate was planned for {old} steps, not {after.train.steps}: add "
            "--curve keep (it stays at train.min_lr after the planned end) or "
            "--curve stretch (a new cosine over all steps)"
        )
    length = old if curve == "keep" else after.train.steps
    train = dataclasses.replace(after.train, decay_steps=length)
    return dataclasses.replace(after, train=train)


def resumed_config(run: Run, overrides: Iterable[str], args: argparse.Namespace) -> Config:
    """The settings of a run, with the changes that a resumed run allows."""
    before = load(run.config_toml)
    after = load(run.config_toml, [*overrides, *common_overrides(args)])
    check_changes(before, after)
    return decide_arithmetic(lengthen(before, after, args.curve))


def resume(args: argparse.Namespace) -> tuple[Run, Config, Tokens, Tokenizer]:
    """Open a run as it was, with the settings that may change."""
    run, overrides = resumed_run(args)
    config = resumed_config(run, overrides, args)
    bytewise = config.data.tokenizer == "bytes"
    tokenizer = ByteTokenizer() if bytewise else tokenizer_in(run.path)
    with resumable(run):
        tokens = tokenise(config, tokenizer)
    recorded = recorded_facts(run)
    if recorded.get("tokenizer_sha256") != tokenizer.fingerprint:
        raise UserError(
            f"the tokenizer in {run.path} is not the one that the run began with; "
            "bring the old one back, or start a new run"
        )
    if recorded.get("sha256") != tokens.facts.sha256:
        raise UserError(
            f"the text of run {run.name} has changed since it began; "
            "bring the old text back, or start a new run"
        )
    return run, config, tokens, tokenizer


@contextlib.contextmanager
def resumable(run: Run) -> Iterator[None]:
    """Interrupted before its training answers to signals, a run says how to go on with it."""
    try:
        yield
    except KeyboardInterrupt:
        terminal.note(say("next: ", "ahora: ") + f"mlx-gpt train --resume {called(run.path)}")
        raise


def recorded_facts(run: Run) -> Record:
    """What the run knows of the text it began with."""
    facts = None
    with contextlib.suppress(OSError, ValueError):
        facts = json.loads(run.data_json.read_text(encoding="utf-8"))
    if not isinstance(facts, dict):
        raise UserError(f"{run.data_json} is missing or damaged; start a new run")
    return facts


def detach(run: Run, args: argparse.Namespace) -> int:
    """Start a process of its own that trains the run, and leave it once it does."""
    command = [sys.executable, "-m", "mlx_gpt", "train", "--resume", str(run.path)]
    command += ["--device", args.device, "--lang", say.language]
    command += ["--eco"] * args.eco + ["--tensorboard"] * args.tensorboard
    if args.resume is not None:
        command += [word for word in (args.resume, *args.words) if is_override(word)]
        command += [*common_overrides(args), *(["--curve", args.curve] if args.curve else [])]
    events = Tail(run.events, from_end=True)
    with run.log.open("ab") as log:
        process = subprocess.Popen(
            command, start_new_session=True, stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
    while process.poll() is None and not has_started(events):
        time.sleep(POLL_SECONDS)
    if process.poll() not in (None, 0):
        last = run.log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-1:]
        reason = "".join(last).removeprefix("mlx-gpt: ")
        raise UserError(f"the training of {run.name} ended at once: {reason} (see {run.log})")
    if args.json:
        terminal.emit({"run": run.name, "path": str(run.path), "pid": process.pid})
    else:
        terminal.note(
            say(
                f"{run.name} trains in the background (process {process.pid}); "
                f"mlx-gpt runs shows it, mlx-gpt ctl {run.name} stop ends it",
                f"{run.name} se entrena en segundo plano (proceso {process.pid}); "
                f"mlx-gpt runs lo muestra, mlx-gpt ctl {run.name} stop lo termina",
            )
        )
    return 0


def has_started(events: Tail) -> bool:
    """Whether a trainer has said that it trains."""
    return any(event.get("kind") == "started" for event in events.read())


def open_session(
    run: Run, config: Config, tokens: Tokens, tokenizer: Tokenizer, *, eco: bool
) -> tuple[Session, tuple[str, ...]]:
    """The run ready to train, from its newest whole checkpoint if it has any, and notes."""
    session = Session(run, config, tokens, tokenizer, eco=eco)
    if not checkpoint.any_saved(run):
        return session, ()
    path, notes = checkpoint.newest(run)
    session.restore(checkpoint.load(path))
    return session, (*notes, say(f"going on from {path.name}", f"se continúa desde {path.name}"))


def check_unfinished(session: Session) -> None:
    """Refuse to go on where nothing is left to do."""
    train = session.config.train
    if session.step >= train.steps:
        raise UserError(
            f"run {session.run.name} has come to step {session.step}, and train.steps = "
            f"{train.steps}: nothing is left to do; give more with --steps N "
            "and --curve keep or stretch"
        )
    if session.early():
        raise UserError(
            f"run {session.run.name} stopped at step {session.step}, because validation had not "
            f"improved for train.patience = {train.patience} evaluations; "
            "go on with train.patience=0, or with more"
        )


def warn_of_memory(session: Session) -> None:
    """Say before the start that a model may not fit."""
    plan = session.plan()
    if plan.memory_bytes > plan.memory_limit:
        needed, limit = terminal.size(plan.memory_bytes), terminal.size(plan.memory_limit)
        terminal.note(
            say(
                f"! about {needed} of memory needed, {limit} there are: lower train.batch_size "
                "(with train.grad_accumulation to make up for it), model.context_length, or set "
                "train.grad_checkpoint=true",
                f"! hacen falta unos {needed} de memoria y hay {limit}: baja train.batch_size "
                "(y compensa con train.grad_accumulation) o model.context_length, o pon "
                "train.grad_checkpoint=true",
            )
        )


def battery_warning(battery: Battery | None, *, eco: bool) -> str:
    """What to do about a battery that the training would empty; nothing where there is none."""
    if battery is None or not battery.discharging:
        return ""
    warning = say(
        f"on battery ({battery.percent} %): plug the machine in",
        f"con batería ({battery.percent} %): enchufa la máquina",
    )
    return warning if eco else warning + say(", or train with --eco", ", o entrena con --eco")


def watch(session: Session, event_file: EventFile | None, *, as_json: bool) -> int:
    """Train to the end and tell what happens; the exit code says how it ended."""
    watcher = Watcher(as_json=as_json)
    watcher.show(session.plan())
    reason, received = "done", None
    for event in session.train():
        try:
            watcher.show(event)
        except BrokenPipeError:  # the program that read has gone
            session.stop_asked, received = True, signal.SIGPIPE
        except OSError:  # the terminal has gone, which is no reason to stop
            pass
        if event_file:
            event_file.add(record(event))
        if isinstance(event, Progress) and session.config.train.compile == "on":
            device.remember_kernels(kernel_name(session.config))
        if isinstance(event, Finished):
            reason = event.reason
    if received := session.signals.received or received:
        return 128 + received
    return 1 if reason == "diverged" else 0


def show_settings(args: argparse.Namespace) -> int:
    """Every setting as the command line would take it, with its meaning."""
    if args.resume is None:
        config = choose_config(sort_words(args.words, Path(args.out)), args)
    else:
        config = resumed_config(*resumed_run(args), args)
    if args.json:
        terminal.emit(dict(settings_of(config)))
        return 0
    docs = setting_docs()
    values = [(key, shown(value)) for key, value in settings_of(config)]
    print(terminal.table([[f"{key}={value}", docs[key]] for key, value in values]))
    return 0


def check_options(args: argparse.Namespace) -> None:
    """Refuse options that would do nothing."""
    if args.resume is None and args.curve:
        raise UserError(f"--curve {args.curve} goes with --resume; a new run has its own curve")
    if args.resume is not None and args.name:
        raise UserError(f"--name {args.name} is for a new run; a resumed one keeps its name")


def run(args: argparse.Namespace) -> int:
    """Train."""
    check_options(args)
    device.choose(args.device)
    for line in device.advice():
        terminal.note(f"! {line}")
    if args.settings:
        return show_settings(args)
    if warning := battery_warning(read_battery(), eco=args.eco):
        terminal.note(f"! {warning}")
    terminal.progress.in_lines = args.detach and args.json
    run, config, tokens, tokenizer = begin(args) if args.resume is None else resume(args)
    if args.detach:
        return detach(run, args)
    with resumable(run), hold_lock(run):
        session, notes = open_session(run, config, tokens, tokenizer, eco=args.eco)
        for line in notes:
            terminal.note(line)
        check_unfinished(session)
        write_whole(run.config_toml, dump(config))  # --resume may have changed it
        warn_of_memory(session)
        announce_compiling(config)
        event_file = open_event_file(run, session.step, asked=args.tensorboard)
        return watch(session, event_file, as_json=args.json)
