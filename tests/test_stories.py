import re
from functools import cache
from itertools import islice
from typing import Literal

import pytest

from mlx_gpt.stories import Dice, parse, polish, rows, stories, tell
from mlx_gpt.story_words import ENGLISH, SPANISH, Tongue

GOLDEN_EN = (
    "Ella was a little duck who lived in a white cottage at the end of the village. One "
    "evening, she heard a strange cry in the trees. Ella was very afraid of the night. Her "
    'friend Nora saw this and asked, "What is wrong?" "Everyone is afraid sometimes," said '
    'Nora. "That is only an owl." Then Nora pointed to a little owl on a branch. Little by '
    'little, Ella felt better. "Thank you, Nora," said Ella. "With a friend, I can be '
    'brave."'
)
GOLDEN_ES = (
    "Clara era una rana pequeña que vivía en una casa azul al final del pueblo. Una tarde, "
    "Clara oyó un grito extraño entre los árboles. Clara tenía mucho miedo de los ruidos "
    "del bosque. Su amiga Elena se dio cuenta y preguntó: «¿Qué te pasa?». «Yo también tuve "
    "miedo una vez», dijo Elena. «Solo es un búho». Entonces Elena señaló un pequeño búho "
    "en una rama. Poco a poco, Clara se sintió mejor. «Gracias, Elena», dijo Clara. «A tu "
    "lado soy valiente»."
)
NAMES = {"en": [*ENGLISH.female[0], *ENGLISH.male[0]], "es": [*SPANISH.female[0], *SPANISH.male[0]]}
EN_TEXT = re.compile(r"[A-Za-z ,.!?'\"]+")
ES_TEXT = re.compile(r"[A-Za-zÁÉÍÓÚÑáéíóúñü ,.:!?¡¿«»]+")

Language = Literal["en", "es"]
both_languages = pytest.mark.parametrize("language", ["en", "es"])


@cache
def told(language: Language, seed: int = 1, count: int = 3000) -> list[str]:
    return list(islice(stories(seed, language), count))


def found(pattern: str, language: Language) -> list[str]:
    return [hit for story in told(language) for hit in re.findall(pattern, story)]


def test_a_seed_tells_the_same_stories_for_ever():
    assert next(stories(7, "en")) == GOLDEN_EN
    assert next(stories(7, "es")) == GOLDEN_ES
    assert list(islice(stories(7), 300)) == list(islice(stories(7), 300))


@both_languages
def test_there_are_far_more_sentences_than_a_model_can_memorise(language: Language):
    ends = re.compile(r'(?<=[.!?"»]) (?=["«¿¡]*[A-ZÁÉÍÓÚ])')
    sentences = {text for story in told(language, count=8000) for text in ends.split(story)}
    assert len(sentences) >= 20_000


@both_languages
def test_two_seeds_share_almost_no_story(language: Language):
    first, second = told(language, 1), told(language, 2)
    assert len(set(first) & set(second)) < 0.001 * len(first)
    assert len(set(first)) > 0.999 * len(first)


@both_languages
def test_the_vocabulary_stays_small(language: Language):
    words = {word.lower() for story in told(language) for word in re.findall(r"[^\W\d_]+", story)}
    assert 600 < len(words) < 1200


@both_languages
def test_a_story_is_one_short_paragraph(language: Language):
    allowed = EN_TEXT if language == "en" else ES_TEXT
    for story in told(language):
        assert allowed.fullmatch(story), story
        assert story.endswith((".", "!", "?", '"')), story
        assert "  " not in story, story
        assert not re.search(r"[ «¿¡][,.!?»]|[,.!?][,.]|[.,][A-Za-z]", story.replace("?», ", "")), (
            story
        )
        speech_hidden = re.sub(r'"[^"]*"|«[^»]*»', "Q", story)
        ends = re.findall(r"[.!?](?: |$)|Q(?= [A-Z]|$)", speech_hidden)
        assert 5 <= len(ends) <= 14, story


@both_languages
def test_every_sentence_begins_with_a_capital(language: Language):
    assert not found(r'(?:^|\. )["«¿¡]*[a-záéíóúñ][^ ]*', language)
    assert not found(r'[^,?!]" [a-z]\w*', language)


@both_languages
def test_the_hero_of_the_beginning_is_the_hero_of_the_end(language: Language):
    name = re.compile(rf"\b(?:{'|'.join(NAMES[language])})\b")
    for story in told(language):
        named = name.findall(story)
        hero = named[0]
        assert story.index(hero) < 150, story
        assert hero in story[150:], story
        assert named.count(hero) >= 2, story
        assert len(set(named)) <= 2, story
        assert not re.search(rf"(?:friend|amig[oa]) (?:(?:el|la) \w+ )?{hero}\b", story), story


@pytest.mark.parametrize("tongue", [ENGLISH, SPANISH], ids=["en", "es"])
def test_a_thing_that_is_lost_is_found_where_it_was_left(tongue: Tongue):
    lost = tongue._replace(plots=tongue.plots[:1])
    spots = {spot for place in rows(tongue.places) for spot in place[2].split(", ")}
    dice = Dice(3)
    for _ in range(500):
        story = tell(dice, lost)
        assert any(story.count(spot) >= 2 for spot in spots), story


@both_languages
def test_every_plot_and_every_wording_is_told(language: Language):
    tongue = ENGLISH if language == "en" else SPANISH
    text = " ".join(told(language)).lower()
    assert len(tongue.plots) >= 10
    for plot in tongue.plots:
        for wording in (words for step in parse(plot.story) for words in step.wordings):
            fixed = max(re.split(r"[\[\]|]|\{[^}]*\}", wording), key=len).strip().lower()
            assert polish(fixed, tongue).lower() in text, wording


def test_english_articles_go_with_the_next_word():
    assert not found(r"\b[Aa] [aeiou]\w*", "en")
    assert not found(r"\b[Aa]n [^aeio]\w*", "en") or set(found(r"\b[Aa]n [^aeio]\w*", "en")) <= {
        "an hour",
        "an uncle",
    }


def test_english_pronouns_agree_with_the_hero():
    for story in told("en"):
        hero = re.search(r"\b(?:" + "|".join(NAMES["en"]) + r")\b", story)
        assert hero is not None
        wrong = "his" if hero[0] in ENGLISH.female[0] else "her"
        assert f"{wrong} friend" not in story.lower(), story
        assert f"{wrong} mother" not in story.lower(), story


def test_english_has_no_spanish_signs():
    assert not found(r"[áéíóúñü¿¡«»]", "en")


def test_spanish_contracts_a_el_and_de_el():
    assert not found(r"\b(?:[Aa]|[Dd]e) el\b[^.]", "es")
    assert found(r"\bal río\b", "es")
    assert found(r"\bdel \w+", "es")


def test_spanish_says_e_before_i():
    assert not found(r"\by (?:[IiÍí]|hi)\w*", "es")
    assert not found(r"\be [^iIíÍh]\w*", "es")
    assert found(r"\be (?:Inés|Irene|Iván)\b", "es")


def test_spanish_articles_and_adjectives_agree_with_their_noun():
    nouns = [thing.split() for thing in SPANISH.things] + [
        place[0].split() for place in rows(SPANISH.places)
    ]
    feminine = "|".join([noun for article, noun in nouns if article == "la"])
    masculine = "|".join([noun for article, noun in nouns if article == "el"])
    he, she = "|".join(SPANISH.male[1]), "|".join(SPANISH.female[1])
    assert not found(rf"\b(?:[Uu]n|[Ee]l|[Aa]l|[Dd]el) (?:{feminine}|{she})\b", "es")
    assert not found(rf"\b(?:[Uu]na|[Ll]a) (?:{masculine}|{he})\b", "es")
    endings = (
        r"(?:roj|amarill|blanc|viej|nuev|pequeñ|bonit|curios|tímid|list|tranquil|travies|buen)"
    )
    assert not found(rf"\b(?:{feminine}|{she}) {endings}o\b", "es")
    assert not found(rf"\b(?:{masculine}|{he}) {endings}a\b", "es")
    assert found(rf"\b(?:{feminine}) {endings}a\b", "es")


def test_spanish_participles_and_friends_agree_with_the_name():
    women, men = "|".join(SPANISH.female[0]), "|".join(SPANISH.male[0])
    assert not found(rf"\b(?:amigo|llamado) (?:la \w+ )?(?:{women})\b", "es")
    assert not found(rf"\b(?:amiga|llamada) (?:el \w+ )?(?:{men})\b", "es")
    state = r"(?:estaba|se puso|volvió a casa|se quedó)"
    assert not found(rf"\b(?:{women}) {state} (?:content|roj|cansad|orgullos|dormid)o\b", "es")
    assert not found(rf"\b(?:{men}) {state} (?:content|roj|cansad|orgullos|dormid)a\b", "es")


def test_spanish_opens_what_it_closes():
    for story in told("es"):
        for opening, closing in ("¿?", "¡!", "«»"):
            signs = re.sub(rf"[^{opening}{closing}]", "", story)
            assert signs.replace(opening + closing, "") == "", story


def test_english_quotes_come_in_pairs():
    assert all(story.count('"') % 2 == 0 for story in told("en"))


def test_both_languages_come_about_half_and_half_and_never_mixed():
    mixed = list(islice(stories(5), 4000))
    spanish = [story for story in mixed if re.search(r"[áéíóúñ¿¡«»]", story)]
    assert 0.46 < len(spanish) / len(mixed) < 0.54
    english_words = re.compile(r"\b(?:the|was|and|said|with)\b")
    assert not any(english_words.search(story) for story in spanish)
    assert all(english_words.search(story) for story in mixed if story not in spanish)


def test_many_stories_begin_as_the_probe_prompts_do():
    assert sum(story.startswith("Once") for story in told("en")) > 1000
    assert sum(story.startswith("Un día") for story in told("es")) > 300
    assert sum(story.startswith("Había una vez") for story in told("es")) > 700
