"""The words of the app in English and Spanish, switched while it runs."""

from mlx_gpt.language import Language, say
from tui.i18n import models_en, models_es, words_en, words_es
from tui.i18n.en import EN
from tui.i18n.es import ES

CATALOGUES: dict[Language, dict[str, str]] = {
    "en": EN | models_en.EN | words_en.EN,
    "es": ES | models_es.ES | words_es.ES,
}


def t(key: str, **values: object) -> str:
    """The words of that key in the language of the moment, with values in their places."""
    text = CATALOGUES[say.language][key]
    return text.format(**values) if values else text


def known(key: str) -> bool:
    """Whether the catalogue has such a key."""
    return key in CATALOGUES["en"]
