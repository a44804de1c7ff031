"""The form of a new run: a preset, every setting, and what it would cost."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Input

from mlx_gpt.config import SECTIONS, Config, all_keys, preset_names
from mlx_gpt.errors import UserError
from mlx_gpt.run import check_name, list_runs, new_run_name
from mlx_gpt.terminal import duration, size, spaced, visible
from tui.cards import Card, word_card
from tui.draft import Draft, Estimate, estimate, field_of, meaning
from tui.i18n import t
from tui.keymap import bind
from tui.launch import at_root, shell
from tui.pace import Pace, paces_of, speed_for, with_vocabulary
from tui.page import WIDE, Page
from tui.screens.dialogs import Confirm
from tui.screens.files import Files
from tui.setting import setting_card
from tui.widgets.form import Form, Row
from tui.widgets.line import Line
from tui.widgets.words import Words

DEFAULT_PRESET = "stories"
LONG_SECONDS = 3600.0  # a run that takes longer is asked about before it starts


class NewRun(Page):
    """A run before it begins."""

    NAME = "new"
    topic = "help.new"
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("new.start", "s", "start"),
        bind("new.files", "f", "files"),
        bind("new.only_changed", "c", "only_changed"),
        bind("new.clear", "x", "clear"),
        bind("new.cancel", "escape", "cancel"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self.draft = Draft(DEFAULT_PRESET)
        self.faults: dict[str, str] = {}
        self.editing = self.before = ""
        self.only_changed = False
        self.paces: list[Pace] = []

    def body(self) -> ComposeResult:
        """The form, what it costs, the line that is typed."""
        with Horizontal(id="plan"):
            yield Form()
            yield Words("cost")
        with Horizontal(id="line"):
            yield Words("setting")
            yield Line("edit")
        yield Words("about")

    def on_mount(self) -> None:
        """The preset as it is."""
        self.learn_paces()
        self.renew()
        self.query_one(Form).focus()

    def come_back(self) -> None:
        """Check again: runs may have come and gone meanwhile."""
        super().come_back()
        if self.begun:
            self.learn_paces()
            self.renew()

    def learn_paces(self) -> None:
        """Learn how fast the newest runs were here."""
        self.paces = paces_of(list_runs(self.ours.root))

    # What is shown

    def renew(self) -> None:
        """Check the draft and show it."""
        config, self.faults = self.draft.check()
        name_fault = self.name_fault()
        if name_fault:
            self.faults["name"] = name_fault
        self.query_one(Form).show(self.rows())
        self.show_cost(config)
        self.say_about()

    def rows(self) -> list[Row]:
        """The form line by line."""
        free = new_run_name(self.ours.root, self.draft.preset)
        rows = [
            Row("", t("new.run")),
            Row("preset", t("new.preset"), self.draft.preset, t("new.preset.note")),
            self.row("name", self.draft.name or free, t("new.name.note"), bool(self.draft.name)),
        ]
        for section in SECTIONS:
            settings = [key for key in all_keys() if key.startswith(f"{section}.")]
            lines = [self.setting_row(key) for key in settings]
            if self.only_changed:
                lines = [row for row in lines if row.changed or row.fault]
            rows += [Row("", t(f"new.{section}")), *lines] if lines else []
        return [*rows, Row("", t("new.hidden"))] if self.only_changed else rows

    def setting_row(self, key: str) -> Row:
        """One setting."""
        text = self.draft.text(key)
        if key == "data.files":
            text = ", ".join(Path(name).name for name in self.draft.files) or t("new.built_in")
        changed = key in self.draft.typed or (key == "data.files" and bool(self.draft.files))
        return self.row(key, text, meaning(key), changed)

    def row(self, key: str, text: str, note: str, changed: bool) -> Row:
        """A row with its meaning, or with what is wrong."""
        fault = self.faults.get(key)
        label = t("new.name") if key == "name" else key.partition(".")[2]
        words = visible(reason(fault) if fault else note)
        return Row(key, label, text, words, fault is not None, changed)

    def name_fault(self) -> str:
        """What is wrong with the name, if anything."""
        if not self.draft.name:
            return ""
        try:
            check_name(self.draft.name)
        except UserError as error:
            return str(error)
        taken = os.path.lexists(self.ours.root / self.draft.name)
        return t("runs.taken", name=self.draft.name) if taken else ""

    def show_cost(self, config: Config) -> None:
        """Parameters, memory and time, of nothing but what would start."""
        if self.faults.keys() - {"name"}:
            self.query_one("#cost", Words).update(t("new.no_cost"))
            return
        cost = estimate(config, speed_for(with_vocabulary(config), self.paces))
        wide = self.app.size.width >= WIDE
        self.query_one("#cost", Words).update(cost_text(cost, wide=wide))

    def say_about(self) -> None:
        """The full text of the row under the cursor: its fault, or its meaning and choices."""
        row = self.query_one(Form).chosen
        fault = self.faults.get(row.key)
        words = visible(fault) if fault else f"{full_name(row)}: {row.note}"
        if choices := choices_of(row.key):
            words = f"{words}\n{' · '.join(choices)}"
        self.query_one("#about", Words).update(Content(words))

    def tick(self) -> bool:
        """The line below follows the cursor."""
        if not self.editing:
            self.say_about()
        return False

    def on_resize(self) -> None:
        """Another size, another arrangement of the figures."""
        super().on_resize()
        if self.begun:
            self.renew()

    def retranslate(self) -> None:
        """All rows again."""
        self.renew()

    # Editing

    def on_form_edited(self, message: Form.Edited) -> None:
        """Type a value, or take the next one where there is a choice."""
        key = message.key
        if key == "data.files":
            self.action_files()
        elif choices_of(key):
            self.turn(key, 1)
        elif key:
            self.editing = key
            self.query_one("#setting", Words).update(full_name(self.query_one(Form).chosen))
            line = self.query_one("#edit", Line)
            self.before = self.draft.name if key == "name" else self.draft.text(key)
            line.value = self.before
            self.add_class("-editing")
            line.focus()

    def on_form_turned(self, message: Form.Turned) -> None:
        """Another choice."""
        if choices_of(message.key):
            self.turn(message.key, message.move)
        else:
            self.on_form_edited(Form.Edited(message.key))

    def on_form_restored(self, message: Form.Restored) -> None:
        """What the preset says."""
        if message.key == "name":
            self.draft.name = ""
        elif message.key == "data.files":
            self.draft.files = ()
        self.draft.typed.pop(message.key, None)
        self.renew()

    def turn(self, key: str, move: int) -> None:
        """The next of the values there are."""
        choices = choices_of(key)
        if key == "preset":
            self.draft.choose_preset(turned(choices, self.draft.preset, move))
        else:
            self.draft.type(key, turned(choices, self.draft.text(key), move))
        self.renew()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Check as one types."""
        if self.editing:
            self.put(self.editing, event.value)

    def put(self, key: str, text: str) -> None:
        """Set a row to a text."""
        if key == "name":
            self.draft.name = text
        else:
            self.draft.type(key, text)
        self.renew()

    def on_input_submitted(self) -> None:
        """Back to the form; what is wrong stays marked."""
        self.leave_line()

    def leave_line(self) -> None:
        """Close the line that is typed in."""
        self.editing = ""
        self.remove_class("-editing")
        self.query_one(Form).focus()

    def action_cancel(self) -> None:
        """Leave the line; the row is again what it was."""
        if self.editing:
            self.put(self.editing, self.before)
            self.leave_line()

    def action_files(self) -> None:
        """Choose files from a tree."""
        self.app.push_screen(Files(self.draft.files), self.take_files)

    def take_files(self, files: tuple[str, ...] | None) -> None:
        """The files that were chosen."""
        if files is not None:
            self.draft.files = files
            self.renew()

    def action_only_changed(self) -> None:
        """Only what differs from the preset, or everything."""
        self.only_changed = not self.only_changed
        self.query_one(Form).at = 1
        self.renew()

    def action_clear(self) -> None:
        """Begin again from the preset."""
        self.draft = Draft(self.draft.preset)
        self.renew()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """A line can be left while one is typed in."""
        return action != "cancel" or bool(self.editing) or None

    def action_start(self) -> None:
        """Start the run in the background, unless something is wrong; ask first where it is big."""
        if self.faults:
            self.refuse(next(iter(self.faults.values())))
            return
        config, _ = self.draft.check()
        cost = estimate(config, speed_for(with_vocabulary(config), self.paces))
        if cost.too_large or cost.seconds > LONG_SECONDS:
            self.app.push_screen(Confirm(question(cost)), self.start)
        else:
            self.start(True)

    def start(self, agreed: bool | None) -> None:
        """Start the run in the background."""
        if agreed:
            self.ours.launch(at_root(self.ours.root, self.draft.words()))

    def own_words(self) -> list[str]:
        """The rows of the form."""
        return [row.key for row in self.query_one(Form).rows if row.key]

    def word_in_hand(self) -> str:
        """The setting under the cursor."""
        return self.query_one(Form).chosen.key

    def card(self, word: str) -> Card:
        """The card of a setting, of the preset or the name, or of a word."""
        if "." in word:
            return setting_card(self.draft, word)
        rows = {row.key: row for row in self.query_one(Form).rows}
        return row_card(rows[word]) if word in rows else word_card(word)

    def shows_recorded(self) -> bool:
        """A run before it begins is none that was recorded."""
        return False

    def command_line(self) -> str:
        """The command that starts this run."""
        return shell(at_root(self.ours.root, self.draft.words()))


def choices_of(key: str) -> Sequence[str]:
    """The values that a row can take, where they are few."""
    if key == "preset":
        return preset_names()
    return field_of(key).choices if "." in key else ()


def full_name(row: Row) -> str:
    """A setting with its section; a row that is none, by its label."""
    return row.key if "." in row.key else row.label


def row_card(row: Row) -> Card:
    """The card of a row that is no setting."""
    choices = " · ".join(choices_of(row.key))
    return Card(row.label, "", row.note, [t("card.allowed", choices=choices)] if choices else ())


def reason(fault: str) -> str:
    """A fault without the setting and the value that its row shows anyway."""
    head, colon, rest = fault.partition(": ")
    return rest if colon and " = " in head else fault


def question(cost: Estimate) -> str:
    """What is asked before a run that is long or large."""
    return t(
        "new.sure",
        parameters=spaced(cost.parameters),
        memory=size(cost.memory),
        machine=size(cost.machine),
        time=time_text(cost),
    )


def time_text(cost: Estimate) -> str:
    """The time a run would take, and where it would, if that was not measured here."""
    time = f"≈ {duration(cost.seconds)}"
    return time if cost.measured else t("new.typical", time=time)


def turned(choices: Sequence[str], now: str, move: int) -> str:
    """The choice after or before."""
    at = choices.index(now) if now in choices else -1
    return choices[(at + move) % len(choices)]


def cost_text(cost: Estimate, *, wide: bool) -> Content:
    """What the run would cost; with room, a figure a line and the parts of the memory."""
    verdict = (" ✗", "bold $text-error") if cost.too_large else (" ✓", "$text-success")
    gap, parts = ("\n", memory_parts(cost)) if wide else ("  ·  ", "")
    return Content.assemble(
        f"{t('new.parameters')} {spaced(cost.parameters)}{gap}",
        f"{t('new.memory')} {size(cost.memory)}{t('new.of')}{size(cost.machine)}",
        verdict,
        (parts, "$text-muted"),
        f"\n{t('new.tokens')} {spaced(cost.tokens)}{gap}{t('new.time')} {time_text(cost)}",
    )


def memory_parts(cost: Estimate) -> str:
    """What the memory is for, a line each."""
    parts = cost.parts._asdict().items()
    return "".join(f"\n  {t(f'memory.{name}'):<18}{size(count):>9}" for name, count in parts)
