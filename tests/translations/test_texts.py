"""What texts must be, in every language: whole, in the right script, said once, and honest about their origin."""

from __future__ import annotations

import unicodedata
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from refusalatlas.files import read_yaml
from refusalatlas.languages import get_language, load_languages
from refusalatlas.tracks import get_track, languages_of, load_items, load_seeds, load_tracks, strings

LANGUAGES = list(load_languages())
PAIRS = [(track, code) for track in load_tracks() for code in languages_of(track)]
each_language = pytest.mark.parametrize("code", LANGUAGES)
each_file = pytest.mark.parametrize(("track", "code"), PAIRS)

NAMES_OF_SCRIPTS = {
    "Latn": ("LATIN",), "Cyrl": ("CYRILLIC",), "Arab": ("ARABIC",), "Deva": ("DEVANAGARI",), "Hebr": ("HEBREW",),
    "Hans": ("CJK",), "Hant": ("CJK",), "Jpan": ("CJK", "HIRAGANA", "KATAKANA"), "Kore": ("HANGUL", "CJK"),
    "Hang": ("HANGUL",),
    "Ethi": ("ETHIOPIC",), "Beng": ("BENGALI",), "Grek": ("GREEK",), "Thai": ("THAI",), "Taml": ("TAMIL",),
    "Telu": ("TELUGU",), "Gujr": ("GUJARATI",), "Guru": ("GURMUKHI",), "Knda": ("KANNADA",), "Mlym": ("MALAYALAM",),
    "Geor": ("GEORGIAN",), "Armn": ("ARMENIAN",), "Mymr": ("MYANMAR",), "Khmr": ("KHMER",), "Sinh": ("SINHALA",),
}  # fmt: skip


def share_of_script(text: str, script: str) -> float:
    """Return which share of the letters are of a script."""
    letters = [c for c in text if c.isalpha()]
    ours = [c for c in letters if unicodedata.name(c, "").startswith(NAMES_OF_SCRIPTS[script])]
    return len(ours) / len(letters) if letters else 0.0


@each_file
def test_every_seed_has_a_text(track: str, code: str) -> None:
    seeds = load_seeds(track)
    found = {(item.seed_id, item.locale) for item in load_items(track, code)}
    placed = {
        name: [p for p in seed.locales if p.rpartition("-")[0] == code] for name, seed in seeds.items() if seed.locales
    }
    assert {(name, place) for name, place in found if name in placed} == {
        (name, place) for name, places in placed.items() for place in places
    }
    wanted = {name for name, seed in seeds.items() if seed.languages is None or code in seed.languages}
    assert {name for name, _ in found} - placed.keys() == wanted - placed.keys()


@each_file
def test_texts_are_in_the_script_of_the_language(track: str, code: str) -> None:
    language = get_language(code)
    scripts = (language.script, *language.also_in)  # a locale may write in another one

    def share(text: str) -> float:
        return max(share_of_script(text, script) for script in scripts)

    assert share(" ".join(item.prompt for item in load_items(track, code))) > 0.9
    assert [i.id for i in load_items(track, code) if share(i.prompt) < 0.5] == []


@each_file
def test_no_text_stands_there_twice(track: str, code: str) -> None:
    """Where a picture tells a request from its control, each text stands there once with either, in one locale."""
    times = 2 if get_track(track).pictures_of else 1
    counts = Counter((item.locale, " ".join(item.prompt.casefold().split())) for item in load_items(track, code))
    assert [text for text, n in counts.items() if n != times] == []


@each_file
def test_texts_are_composed_and_trimmed(track: str, code: str) -> None:
    for item in load_items(track, code):
        assert item.prompt == unicodedata.normalize("NFC", item.prompt).strip(), item.id
        odd = [c for c in item.prompt if unicodedata.category(c) in ("Cc", "Co", "Cs", "Cn") and c != "\n"]
        assert odd == [], item.id
        assert "\ufffd" not in item.prompt, item.id


@each_file
def test_texts_are_short(track: str, code: str) -> None:
    """One or two sentences: more would be a method, and costs every model that is asked."""
    assert [item.id for item in load_items(track, code) if len(item.prompt) > 400] == []


@each_file
def test_texts_made_by_machine_claim_no_reader(track: str, code: str) -> None:
    for item in load_items(track, code):
        if item.reviewer is not None:
            assert item.reviewer != item.author, item.id


@each_file
def test_texts_differ_from_the_english_ones(track: str, code: str) -> None:
    if code == "en":
        return
    english = {item.seed_id: item.prompt for item in load_items(track, "en")}
    same = [item.id for item in load_items(track, code) if item.prompt == english.get(item.seed_id)]
    assert same == []


GROUPS = ("refusal", "partial_refusal", "compliance", "capability_limitation", "clarification", "evasion")


@each_language
def test_strings_have_every_group_that_a_policy_says(code: str) -> None:
    found = strings(code)
    assert set(GROUPS) <= set(found)
    assert min(len(found[group]) for group in ("refusal", "compliance")) >= 3
    assert len(found["guard_keywords"]) >= 5


@each_language
def test_no_sentence_means_two_things(code: str) -> None:
    counts = Counter(sentence for group in GROUPS for sentence in strings(code)[group])
    assert [sentence for sentence, n in counts.items() if n > 1] == []


@each_language
def test_strings_are_in_the_script_of_the_language(code: str) -> None:
    script = get_language(code).script
    odd = [s for group in GROUPS for s in strings(code)[group] if share_of_script(s, script) < 0.6]
    assert odd == []


def _phrases(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [phrase for each in inner for phrase in _phrases(each)]


@each_language
def test_lexicon_has_phrases_of_refusal_and_no_regular_expressions(code: str) -> None:
    lexicon = read_yaml(get_language(code).lexicon)
    assert "refusal" in lexicon
    assert len(_phrases(lexicon["refusal"])) >= 5
    for phrase in _phrases(lexicon):
        assert not set(phrase) & set("\\^$|{}[]"), phrase
        assert phrase.strip(" *"), "a gap alone matches everything"


@each_language
def test_folder_holds_only_what_belongs_there(code: str) -> None:
    known = {"language.yaml", "strings.yaml", "lexicon.yaml", "README.md", *(f"{t}.jsonl" for t in load_tracks())}
    assert {path.name for path in Path(get_language(code).folder).iterdir()} <= known


@each_language
def test_direction_is_that_of_the_script(code: str) -> None:
    language = get_language(code)
    assert language.direction == ("rtl" if language.script in ("Arab", "Hebr", "Thaa", "Nkoo", "Syrc") else "ltr")


@each_language
def test_codes_are_those_of_the_standards(code: str) -> None:
    from langcodes import Language

    language, known = get_language(code), Language.get(code)
    assert known.is_valid()
    assert known.to_alpha3() in (language.iso639_3, {"aka": "twi", "fas": "pes", "msa": "zsm"}.get(language.iso639_3))
    assert Language.get(language.default_locale).maximize().script == known.maximize().script
    assert known.maximize().script == {"Hang": "Kore"}.get(language.script, language.script)


@each_language
def test_language_is_not_confused_with_itself(code: str) -> None:
    assert code not in get_language(code).confused_with
