"""How a training looks on the command line: plan, progress line, samples, end; or JSON lines."""

import math
import shlex
import shutil
import sys
import time
from pathlib import Path

from mlx_gpt import terminal
from mlx_gpt.language import say
from mlx_gpt.session import (
    Eco,
    Evaluation,
    Event,
    Finished,
    Plan,
    Probe,
    Progress,
    Saved,
    Warned,
    record,
)

TIMED_STEPS = 10  # before the length of the run is told
QUIET_SECONDS = 15.0  # between progress lines where no terminal watches


class Watcher:
    """Tells a person, or a program, what a training does."""

    def __init__(self, *, as_json: bool):
        self.as_json = as_json
        self.plan: Plan | None = None
        self.val_loss = math.nan
        self.timed = self.eco = False
        self.first: tuple[int, float] | None = None  # step and time of a line
        self.told_at = time.monotonic()

    def show(self, event: Event) -> None:
        """One event."""
        if self.as_json:
            terminal.emit(record(event))
            return
        match event:
            case Plan():
                self.plan = event
                terminal.note(plan_text(event))
            case Progress():
                self.progress(event)
            case Evaluation():
                self.evaluation(event)
            case Probe():
                terminal.note(probe_text(event, self.mark()))
            case Warned():
                terminal.note(f"! {event.message}")
            case Eco():
                self.switch_eco(event)
            case Saved():
                pass
            case Finished():
                terminal.note(finished_text(event, self.name()))

    def mark(self) -> str:
        """What stands before a sample: a cross where the model is broken on purpose."""
        return "✗" if self.plan and self.plan.breaks else " "

    def name(self) -> str:
        """What to call the run by."""
        return called(Path(self.plan.path)) if self.plan else ""

    def progress(self, event: Progress) -> None:
        """The line that is rewritten; where nobody watches, a line now and then."""
        if self.plan is None:
            return
        left = self.seconds_left(event.step, self.plan.steps)
        line = progress_text(event, self.plan.steps, self.val_loss, left, eco=self.eco)
        taken = event.step - self.plan.done
        if not self.timed and taken >= TIMED_STEPS and math.isfinite(left):
            self.timed = True
            terminal.note(
                say("about ", "unos ") + terminal.duration(left) + say(" to go", " por delante")
            )
        if sys.stderr.isatty():
            terminal.progress.show(line)
        elif time.monotonic() - self.told_at > QUIET_SECONDS:
            self.told_at = time.monotonic()
            terminal.note(line)

    def seconds_left(self, step: int, steps: int) -> float:
        """By the pace since the first line, or the first since eco was switched.

        The first step may have waited for a compiler.
        """
        now = time.monotonic()
        if self.first is None:
            self.first = step, now
            return math.nan
        first_step, began = self.first
        return (now - began) / (step - first_step) * (steps - step)

    def switch_eco(self, event: Eco) -> None:
        """Another pace from here on."""
        self.eco, self.first = event.on, None
        terminal.note(
            say(
                f"eco on from step {event.step}: rests as long as it works",
                f"eco activado desde el paso {event.step}: descansa tanto como trabaja",
            )
            if event.on
            else say(
                f"eco off from step {event.step}",
                f"eco desactivado desde el paso {event.step}",
            )
        )

    def evaluation(self, event: Evaluation) -> None:
        """The losses side by side."""
        self.val_loss = event.val_loss
        parts = [say(f"step {event.step}", f"paso {event.step}")]
        if math.isfinite(event.train_loss):
            parts.append(say("loss ", "pérdida ") + f"{event.train_loss:.3f}")
        if math.isfinite(event.val_loss):
            parts.append(say("validation ", "validación ") + f"{event.val_loss:.3f}")
        if event.best and event.step:
            parts.append(say("best so far", "la mejor hasta ahora"))
        terminal.note(" · ".join(parts))


def plan_text(plan: Plan) -> str:
    """What is about to happen, in four lines."""
    spaced = terminal.spaced
    validation = spaced(plan.val_tokens) if plan.val_tokens else say("none", "ninguna")
    lines = [
        f"{plan.run}: {spaced(plan.parameters)} "
        + say("parameters, vocabulary ", "parámetros, vocabulario ")
        + spaced(plan.vocab_size),
        say("text ", "texto ")
        + f"{spaced(plan.train_tokens)} tokens, "
        + say("validation ", "validación ")
        + validation,
        f"{spaced(plan.steps)} "
        + say("steps of ", "pasos de ")
        + f"{spaced(plan.tokens_per_step)} tokens = {plan.epochs:.2f} "
        + say("epochs", "épocas")
        + (say(f", {plan.done} done", f", {plan.done} hechos") if plan.done else ""),
        say("memory about ", "memoria unos ")
        + f"{terminal.size(plan.memory_bytes)} / {terminal.size(plan.memory_limit)}"
        + (say(", compiled", ", compilado") if plan.compiled else ""),
    ]
    if plan.breaks:
        lines.append(say("BROKEN ON PURPOSE: ", "ROTO A PROPÓSITO: ") + ", ".join(plan.breaks))
    return "\n".join(lines)


def progress_text(event: Progress, steps: int, val_loss: float, left: float, *, eco: bool) -> str:
    """Step, losses, rate, speed, time to go, memory: the line of a training."""
    parts = [
        f"{event.step}/{steps}",
        say("loss ", "pérdida ") + f"{event.loss:.3f}",
        f"val {val_loss:.3f}" if math.isfinite(val_loss) else "",
        f"lr {event.lr:.1e}".replace("e-0", "e-"),
        f"{event.tokens_per_second:,.0f} tok/s".replace(",", " "),
        terminal.duration(left) if math.isfinite(left) else "",
        "eco" if eco else "",
        terminal.size(event.peak_memory),
    ]
    given = [part for part in parts if part]
    line = "  ".join(given)
    return line if len(line) < shutil.get_terminal_size().columns else " ".join(given)


def probe_text(event: Probe, mark: str) -> str:
    """A sample on one line after a mark, its prompt apart."""
    text = terminal.visible(event.text).replace("\n", "⏎")
    return f"{mark} {terminal.visible(event.prompt)}│{text}"


def called(path: Path) -> str:
    """What to call a run by: its name will do where runs lie by default."""
    return shlex.quote(path.name if path == Path("runs") / path.name else str(path))


def finished_text(event: Finished, name: str) -> str:
    """How it ended, and what to do next."""
    reasons = {
        "done": say("finished", "terminado"),
        "stopped": say("stopped", "detenido"),
        "diverged": say("diverged", "divergió"),
    }
    parts = [f"{event.run} {reasons[event.reason]} " + say("at step ", "en el paso ")]
    parts[0] += str(event.step)
    if event.early:
        parts.append(say("validation no longer improved", "la validación ya no mejoraba"))
    if math.isfinite(event.train_loss):
        parts.append(say("loss ", "pérdida ") + f"{event.train_loss:.3f}")
    if math.isfinite(event.best_val_loss):
        parts.append(say("best validation ", "mejor validación ") + f"{event.best_val_loss:.3f}")
    parts.append(f"{event.tokens_per_second:,.0f} tok/s".replace(",", " "))
    then = {
        "done": f"mlx-gpt sample {name}",
        "stopped": f"mlx-gpt train --resume {name}",
        "diverged": f"mlx-gpt train --resume {name} train.lr=…",
    }
    return " · ".join(parts) + "\n" + say("next: ", "ahora: ") + then[event.reason]
