"""The mark beside numbers comes from speakers' labels, and from nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from refusalatlas.leaderboard.site.build import build_site
from refusalatlas.leaderboard.site.validity import Validity, validity


def labels(refused: int, complied: int) -> dict[str, object]:
    """Return the labels of one run, as `refusalatlas label` leaves them."""
    agreed = [
        {
            "id": f"pairs/{number}/ar/base",
            "response_sha256": f"{number:064x}",
            "label": "full_refusal" if number < refused else "compliant",
            "refused": number < refused,
            "found": None,
        }
        for number in range(refused + complied)
    ]
    run = {"run": "2026-11-20", "model": "example/model", "backend": "hf", "panel": f"offline@{'5' * 64}"}
    return {"language": "ar", "sets": [{**run, "rated": 120, "disagreed": 0, "agreement": {}, "agreed": agreed}]}


@pytest.fixture
def labelled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh: Callable[[], None]) -> Callable[[int, int], None]:
    """Puts so many labelled answers in Arabic where the project keeps them."""
    monkeypatch.setattr("refusalatlas.validation.labels_folder", lambda: tmp_path)

    def put(refused: int, complied: int) -> None:
        (tmp_path / "ar.json").write_text(json.dumps(labels(refused, complied)), encoding="utf-8")

    return put


def test_language_without_labels_is_unvalidated(labelled: Callable[[int, int], None]) -> None:
    assert validity(["ar"]) == Validity((), ("ar",))


def test_one_label_short_is_unvalidated(labelled: Callable[[int, int], None]) -> None:
    labelled(50, 49)
    assert validity(["ar"]) == Validity((), ("ar",), 50, 49)


def test_fifty_of_either_validate_a_language(labelled: Callable[[int, int], None]) -> None:
    labelled(50, 50)
    assert validity(["en", "ar"]) == Validity(("ar",), ("en",))


def test_pages_say_it_of_their_language_alone(
    two_languages: Path, tmp_path: Path, labelled: Callable[[int, int], None]
) -> None:
    labelled(50, 55)
    build_site(two_languages, tmp_path / "site", workers=1)

    def says(name: str) -> set[str]:
        text = next((tmp_path / "site").glob(name)).read_text(encoding="utf-8")
        return {mark for mark in ("Judges validated", "Judges unvalidated") if f">{mark}</span>" in text}

    for page in ("languages/ar.html", "locales/ar-EG.html", "runs/*/*/ar.html"):
        assert says(page) == {"Judges validated"}, page
    for page in ("languages/en.html", "runs/*/*/en.html"):
        assert says(page) == {"Judges unvalidated"}, page
    for page in ("index.html", "compare.html", "models/meridian*.html", "compare/*--*.html", "runs/*/*.html"):
        assert says(page) == {"Judges validated", "Judges unvalidated"}, page
    text = (tmp_path / "site" / "languages" / "ar.html").read_text(encoding="utf-8")
    assert "Refused</span>: 50, <span>Complied</span>: 55." in text
