"""One file that breaks it for each rule on strings and lexicon."""

from __future__ import annotations

from typing import Any

import pytest

from refusalatlas.languages import get_language
from refusalatlas.linting.sheets import Line, groups
from refusalatlas.linting.words import check_rules


def test_group_that_is_missing_is_unfinished(copy: Any) -> None:
    copy.replace("strings.yaml", "evasion:", "evasions:")
    assert {rule for rule, name, _ in copy.found() if name == "strings.yaml"} == {"unfinished", "strings"}


def test_group_with_too_few_sentences_is_unfinished(copy: Any) -> None:
    path = copy.folder / "strings.yaml"
    text = path.read_text(encoding="utf-8")
    start, end = text.index("guard_keywords:"), text.index("json_request:")
    path.write_text(text[:start] + "guard_keywords: [siri, wizi]\n" + text[end:], encoding="utf-8")
    [finding] = copy.findings()
    assert (finding.rule, finding.line) == ("unfinished", text[:start].count("\n") + 1)


def test_sentence_of_another_script_is_found_by_its_line(copy: Any) -> None:
    copy.replace("strings.yaml", "evasion:\n", "evasion:\n  - 这个问题很复杂\n")
    lines = (copy.folder / "strings.yaml").read_text(encoding="utf-8").split("\n")
    found = [f for f in copy.findings() if f.rule == "script"]
    assert [f.line for f in found] == [lines.index("evasion:") + 2]


@pytest.mark.parametrize("form", ["", "{form} {form}"])
def test_request_for_a_form_names_it_once(copy: Any, form: str) -> None:
    path = copy.folder / "strings.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace("{form}", form, 1), encoding="utf-8")
    assert {rule for rule, _, _ in copy.found()} == {"strings"}


def test_request_for_a_form_in_english_is_found(copy: Any) -> None:
    path = copy.folder / "strings.yaml"
    asked = "Answer with nothing but a JSON object of this form: {form}"
    text = path.read_text(encoding="utf-8")
    path.write_text(text[: text.index("json_request:")] + f'json_request:\n  - "{asked}"\n', encoding="utf-8")
    assert "english" in {finding.rule for finding in copy.findings()}


def test_english_sentence_is_found(copy: Any) -> None:
    path = copy.folder / "strings.yaml"
    text = path.read_text(encoding="utf-8").replace("refusal:\n", "refusal:\n  - I can't help with that, sorry.\n", 1)
    path.write_text(text.replace("I can't help with that, sorry.", "I'm sorry, but I can't help with that."), "utf-8")
    assert "english" in {finding.rule for finding in copy.findings()}


def test_sentence_that_means_two_things_is_found(copy: Any) -> None:
    found, _ = groups(copy.folder / "strings.yaml")
    same = found["refusal"][0]
    path = copy.folder / "strings.yaml"
    text = path.read_text(encoding="utf-8").replace("evasion:\n", f"evasion:\n  - {same!r}\n", 1)
    path.write_text(text, encoding="utf-8")
    assert {rule for rule, _, _ in copy.found()} == {"strings"}


@pytest.mark.parametrize("text", ["refusal: [no]\n", "refusal: siwezi\n", "- siwezi\n", "refusal: [\n"])
@pytest.mark.parametrize("name", ["strings.yaml", "lexicon.yaml"])
def test_file_that_is_no_groups_of_texts_is_found(copy: Any, name: str, text: str) -> None:
    (copy.folder / name).write_text(text, encoding="utf-8")
    assert "unreadable" in {rule for rule, file, _ in copy.found() if file == name}


def test_lexicon_with_few_refusals_is_unfinished(copy: Any) -> None:
    path = copy.folder / "lexicon.yaml"
    text = path.read_text(encoding="utf-8")
    end = text.index("\napology:")
    path.write_text("refusal:\n  - siwezi kukusaidia\n  - samahani siwezi" + text[end:], encoding="utf-8")
    assert copy.found() == [("unfinished", "lexicon.yaml", 1)]


@pytest.mark.parametrize("phrase", ["siwezi (kabisa)?", "^siwezi", "sitaki|sipendi", "siwezi [a-z]"])
def test_regular_expression_is_found(copy: Any, phrase: str) -> None:
    copy.replace("lexicon.yaml", "refusal:\n", f"refusal:\n  - '{phrase}'\n")
    assert copy.found()[0][:2] == ("lexicon", "lexicon.yaml")


@pytest.mark.parametrize("phrase", ["*", "a * b * c * d * e", "* siwezi"])
def test_phrase_that_does_not_compile_is_found(copy: Any, phrase: str) -> None:
    copy.replace("lexicon.yaml", "refusal:\n", f"refusal:\n  - '{phrase}'\n")
    assert "lexicon" in {rule for rule, _, _ in copy.found()}


def test_phrase_that_stands_there_twice_is_found(copy: Any) -> None:
    copy.replace("lexicon.yaml", "apology:\n", "apology:\n  - pole pole\n  - Pole  pole\n")
    assert [rule for rule, _, _ in copy.found()] == ["lexicon"]


def test_group_that_nobody_knows_is_found(copy: Any) -> None:
    path = copy.folder / "lexicon.yaml"
    path.write_text(path.read_text(encoding="utf-8") + "greeting:\n  - habari\n", encoding="utf-8")
    assert [rule for rule, _, _ in copy.found()] == ["lexicon"]


def test_group_whose_phrases_are_never_said_is_found(copy: Any) -> None:
    path = copy.folder / "lexicon.yaml"
    text = path.read_text(encoding="utf-8")
    start, end = text.index("apology:"), text.index("\ndisclaimer:")
    path.write_text(text[:start] + "apology:\n  - zzz zzz" + text[end:], encoding="utf-8")
    [finding] = copy.findings()
    assert finding.what == "no phrase of apology is found in any example or sentence"


def _compliant(*responses: str) -> list[Line]:
    path = get_language("sw").folder / "x.jsonl"
    return [Line(path, n, {"id": f"sw-{n:03d}", "prompt": "", "response": text}) for n, text in enumerate(responses, 1)]


REFUSING = "Samahani, siwezi kukusaidia na jambo hili."


def test_lexicon_that_takes_compliant_answers_for_refusals_is_found() -> None:
    """The answers are refusals here; a lexicon whose phrases were found in real help would look the same."""
    [finding] = check_rules(get_language("sw"), _compliant(REFUSING, REFUSING, REFUSING))
    assert (finding.rule, finding.severity) == ("rules", "finding")
    assert "sw-001 by “" in finding.what


def test_a_few_compliant_answers_taken_for_refusals_are_a_note() -> None:
    helping = ["Bila shaka. Andika orodha ya vitu, kisha upange kwa tarehe."] * 20
    [finding] = check_rules(get_language("sw"), _compliant(REFUSING, *helping))
    assert (finding.rule, finding.severity) == ("rules", "info")


def test_phrase_of_two_groups_that_exclude_each_other_is_found(copy: Any) -> None:
    copy.replace("lexicon.yaml", "compliance:\n", "compliance:\n  - Siwezi kukusaidia\n")
    found = [finding for finding in copy.findings() if finding.rule == "lexicon"]
    assert [finding.what for finding in found] == ["'Siwezi kukusaidia' stands in refusal and in compliance"]


def test_english_phrase_is_found(copy: Any) -> None:
    copy.replace("lexicon.yaml", "refusal:\n", "refusal:\n  - I can't help\n")
    assert [finding.what for finding in copy.findings()] == ['refusal: "I can\'t help" is English']


def test_phrase_of_two_letters_is_found(copy: Any) -> None:
    copy.replace("lexicon.yaml", "refusal:\n", "refusal:\n  - si\n")
    assert "refusal: 'si' is too short, and found in answers of any kind" in {f.what for f in copy.findings()}


def test_yes_may_be_short(copy: Any) -> None:
    copy.replace("lexicon.yaml", "compliance:\n", "compliance:\n  - ee\n")
    assert copy.found() == []


@pytest.mark.parametrize("name", ["strings.yaml", "lexicon.yaml"])
def test_group_that_stands_twice_is_said_to(copy: Any, name: str) -> None:
    path = copy.folder / name
    text = path.read_text(encoding="utf-8") + "refusal:\n  - siwezi\n"
    path.write_text(text, encoding="utf-8")
    [finding] = [finding for finding in copy.findings() if finding.rule == "unreadable"]
    assert (finding.line, finding.path.name) == (text.count("\n") - 1, name)
    assert finding.what.startswith("'refusal' stands twice, in line ")


def test_tab_is_said_to_be_one(copy: Any) -> None:
    path = copy.folder / "lexicon.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace("  - ", "\t- ", 1), encoding="utf-8")
    [finding] = copy.findings()
    assert finding.what.startswith("a tab stands at the beginning of the line")
    assert path.read_text(encoding="utf-8").split("\n")[finding.line - 1].startswith("\t")


def test_phrase_of_compliance_with_which_refusals_begin_is_found(copy: Any) -> None:
    copy.replace("lexicon.yaml", "compliance:\n", "compliance:\n  - siwezi\n")
    [finding] = copy.findings()
    assert finding.what.endswith("phrases of refusal begin with 'siwezi'")
