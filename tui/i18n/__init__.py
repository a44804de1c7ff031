"""The words of the app in English and Spanish, switched while it runs.

A text names a key by its binding, as `{press[train.stop]}`, and so tells it as it is now.
"""

from collections.abc import Callable

from mlx_gpt.language import Language, say
from tui.i18n import models_en, models_es, words_en, words_es
from tui.i18n.en import EN
from tui.i18n.es import ES

CATALOGUES: dict[Language, dict[str, str]] = {
    "en": EN | models_en.EN | words_en.EN,
    "es": ES | models_es.ES | words_es.ES,
}


class Keys:
    """The keys that texts name, by binding; whoever knows how they are now puts in `shown`."""

    def __init__(self) -> None:
        self.shown: Callable[[str], str] = str

    def __getitem__(self, binding_id: str) -> str:
        return self.shown(binding_id)


KEYS = Keys()


def t(key: str, **values: object) -> str:
    """The words of that key in the language of the moment, with values in their places."""
    return CATALOGUES[say.language][key].format(press=KEYS, **values)


def known(key: str) -> bool:
    """Whether the catalogue has such a key."""
    return key in CATALOGUES["en"]
