"""The lines of the pages that ask a model: one for prompts, one for answers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual.binding import BindingType
from textual.message import Message
from textual.widgets import Input

from tui.keymap import bind


class PageLine(Input):
    """A line that is written over a page, and left to go back to it."""

    class Left(Message):
        """The line was left without an answer."""

    def __init__(self, name: str) -> None:
        super().__init__(id=name, compact=True, select_on_focus=False)

    def action_leave(self) -> None:
        """Back to the page."""
        self.post_message(self.Left())


class Prompt(PageLine):
    """A line of text; up and down walk through what was written before."""

    topic = "help.prompt"
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("line.take", "enter", "submit"),
        bind("prompt.older", "up", "older"),
        bind("prompt.newer", "down", "newer"),
        bind("prompt.leave", "escape", "leave"),
    ]

    class Left(PageLine.Left):
        """No prompt is given."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.past: Sequence[str] = ()
        self.back = 0  # how far in the past: 0 is what is being written now
        self.draft = ""

    def offer(self, past: Sequence[str], placeholder: str) -> None:
        """Other prompts to walk through, or the same ones still."""
        if list(past) != list(self.past):
            self.past, self.back = tuple(past), 0
        self.placeholder = placeholder

    def recall(self, back: int) -> None:
        """Show a prompt of the past, or what was being written."""
        if self.back == 0:
            self.draft = self.value
        self.back = min(max(back, 0), len(self.past))
        self.value = self.past[-self.back] if self.back else self.draft
        self.cursor_position = len(self.value)

    def action_older(self) -> None:
        """The prompt before."""
        self.recall(self.back + 1)

    def action_newer(self) -> None:
        """The prompt after."""
        self.recall(self.back - 1)


class Answer(PageLine):
    """A line in which a question is answered; up and down go to other questions."""

    topic = "help.answer"
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("answer.check", "enter", "submit"),
        bind("answer.next", "down", "step(1)"),
        bind("answer.back", "up", "step(-1)"),
        bind("answer.leave", "escape", "leave"),
    ]

    @dataclass
    class Stepped(Message):
        """Another question is wanted."""

        move: int

    class Left(PageLine.Left):
        """No more questions are wanted."""

    def action_step(self, move: int) -> None:
        """The next question, or the one before."""
        self.post_message(self.Stepped(move))
