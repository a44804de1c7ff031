"""Text that tokenizers stumble over: spaces, marks, numbers that are no digits, emoji, code."""

import random

PARTS = (
    *("Once upon a time", "Había una vez", " ", "  ", "    ", "\n", "\n\n", "\t", "\r\n", "\u00a0"),
    *(
        "¿ñandú?",
        "¡Olé!",
        "e\u0301",
        "ﬁ",
        "x²",
        "½",
        "H₂O",
        "Ⅷ",
        "①",
        "٣",
        "漢字",
        "ひらがな",
        "한국",
    ),
    *("🙂", "👩‍👩‍👧", "🇪🇸", "a\x00b", "\x1c", "\u2028", "\u3000", "don't", "I'LL", "we've", "'s"),
    *("0", "12345", "3.14", "1,000", "def f(x):\n    return x", "</div>", "_", "__init__", "!!!"),
    *("--", "…", "“quoted”", "a_b", "CamelCase", "https://x.org/?q=1", "\\n", "ß", "İ", "ǅ", "ª"),
)


def snippets(count: int, seed: int = 0) -> list[str]:
    """Strings put together from difficult parts, always the same."""
    chance = random.Random(seed)
    return ["".join(chance.choices(PARTS, k=chance.randint(1, 8))) for _ in range(count)]
