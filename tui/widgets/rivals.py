"""What could have come in the place of a token: bars that follow the dials."""

import math
from typing import NamedTuple

from rich.cells import cell_len
from textual import events
from textual.content import Content
from textual.widget import Widget

from mlx_gpt.terminal import visible
from tui.columns import fitted, shortened
from tui.i18n import t
from tui.messages import chosen, clickable
from tui.strand import Odds, Piece

NAME_WIDTH = 12
RANK_WIDTH = 5
SHARE_WIDTH = 7
EIGHTHS = " ▏▎▍▌▋▊▉"


class Choice(NamedTuple):
    """A token, the odds as the dials shape them, and the rival under the cursor."""

    piece: Piece
    odds: Odds
    rival: int


def name_text(name: str) -> str:
    """A token in a fixed number of columns, its spaces visible."""
    signs = visible(name.replace("\n", "⏎").replace("\t", "⇥").replace(" ", "·"))
    return shortened(signs, NAME_WIDTH)


def bar(share: float, width: int) -> str:
    """A bar of eighths of a character."""
    eighths = round(min(max(share, 0.0), 1.0) * width * 8)
    full, rest = divmod(eighths, 8)
    return ("█" * full + (EIGHTHS[rest] if rest else ""))[:width]


def ranks(count: int, lines: int, own: int, rival: int) -> list[int]:
    """The rivals that are seen: always the likeliest, the token that came, and the cursor's."""
    head = lines if rival < lines else (lines + 1) // 2
    shown = [*range(min(head, count)), *range(max(rival - lines + head + 1, head), rival + 1)]
    if own not in shown and own < count:
        given_up = max((number for number in shown if number != rival), default=None)
        shown = sorted({*shown, own} - {given_up})
    return shown


class Rivals(Widget):
    """The rivals of the token under the cursor, the likeliest first."""

    topic = "help.rivals"

    def __init__(self) -> None:
        super().__init__(id="rivals")
        self.choice: Choice | None = None

    def show(self, choice: Choice | None) -> None:
        """Another token, other odds, or another rival."""
        self.choice = choice
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        """Choose a rival."""
        if message := chosen(event):
            self.post_message(message)

    def render(self) -> Content:
        """Two lines for the token and the columns, then one for each rival."""
        if self.choice is None:
            return Content.styled(t("sample.no_token"), "$text-muted")
        piece, odds, rival = self.choice
        own = next((i for i, token in enumerate(piece.ids) if token == piece.id), 0)
        shown = ranks(len(piece.names), max(self.size.height - 2, 1), own, rival)
        lines = [self.heading(piece), self.columns(odds)]
        lines += [self.row(piece, odds, number, number == rival) for number in shown]
        return Content("\n").join(lines)

    def heading(self, piece: Piece) -> Content:
        """The token, and how surprising it was."""
        nats = -math.log(piece.p) if piece.p > 0 else math.inf
        words = t("sample.surprise", p=f"{piece.p:.4f}", nats=f"{nats:.2f}")
        return Content.styled(f"{name_text(piece.name)}  {words}", "bold")

    def columns(self, odds: Odds) -> Content:
        """How many rivals there are, and what the two shares of each are."""
        left = int(odds.kept.sum()) if len(odds.kept) else 0
        count = t("sample.rivals", left=f"{'' if odds.exact else '≈ '}{left}")
        heads = f"{'p':>{SHARE_WIDTH}} {t('sample.now'):>{SHARE_WIDTH}}"
        return Content.styled(f"{fitted(count, RANK_WIDTH + NAME_WIDTH)} {heads}", "$text-muted")

    def row(self, piece: Piece, odds: Odds, number: int, chosen: bool) -> Content:
        """A rival: its own odds, those after filtering, and a bar of these."""
        ours = int(piece.ids[number]) == piece.id
        name = name_text(piece.names[number])
        pad = " " * (NAME_WIDTH - cell_len(name))
        now, kept = float(odds.ps[number]), bool(odds.kept[number])
        after = f"{now:{SHARE_WIDTH}.2%}" if kept else f"{'×':>{SHARE_WIDTH}}"
        rank = f"{'▶' if ours else ' '}{number + 1:>3} "
        text = f"{rank}{name}{pad} {float(piece.ps[number]):{SHARE_WIDTH}.2%} {after} "
        room = max(self.size.width - cell_len(text) - 1, 4)
        style = "reverse" if chosen else "" if kept else "$text-muted"
        filled = Content.styled(bar(now, room), "$accent")
        return Content.styled(text, style).stylize(clickable("rival", number)) + filled
