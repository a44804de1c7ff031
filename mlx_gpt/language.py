"""The language in which the command line speaks: English or Spanish.

Refusals, JSON and log files stay English, so that they can be searched for.
"""

import os
from typing import Literal

Language = Literal["en", "es"]


def from_environment() -> Language:
    """Spanish when the locale says so, else English."""
    locale = os.environ.get("LC_ALL") or os.environ.get("LC_MESSAGES") or os.environ.get("LANG")
    return "es" if (locale or "").startswith("es") else "en"


class Speaker:
    """Picks between the two wordings of one sentence."""

    language: Language = "en"

    def __call__(self, en: str, es: str) -> str:
        return es if self.language == "es" else en


say = Speaker()
