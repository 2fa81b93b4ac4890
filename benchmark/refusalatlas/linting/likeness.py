"""Rules on texts beside each other: no two the same, and the two of a pair made of the same words."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from ..languages import Language
from ..tracks import load_tracks
from .findings import Finding
from .letters import DENSE, containment, grams, jaccard
from .sheets import Line, Sheet

MOST_ALIKE = 0.5
"""Jaccard similarity from which two texts of different clusters count as the same; at most 0.35 in 52 languages."""

MOST_ALIKE_PAIR = 0.92
"""Likewise for the two of a pair, which are meant to differ by a word or two; at most 0.85 in 52 languages."""

LEAST_SHARED = 0.15
"""Least share of a text's character runs that its lookalike has, where there are too few pairs to compare with."""

MANY_PAIRS = 10
CLOSER = 0.05
"""Share of the other lookalikes that may be more like a text than its own is; one may in any case."""


def sizes(language: Language) -> tuple[int, int]:
    """Return how long the runs of characters are by which texts, and pairs, are compared in a language."""
    return (2, 2) if language.script in DENSE else (4, 3)


def check_duplicates(
    lines: Sequence[Line], texts: Sequence[str], clusters: Sequence[str], size: int, *, most: float = MOST_ALIKE
) -> Iterator[Finding]:
    """Yield a finding for each text that is the same as an earlier one, or nearly so."""
    runs = [grams(text, size) for text in texts]
    for later in range(len(lines)):
        for earlier in range(later):
            limit = MOST_ALIKE_PAIR if clusters[later] == clusters[earlier] else most
            short, long = sorted((len(runs[later]), len(runs[earlier])))
            if short <= limit * long:
                continue  # even if all of the one were in the other
            alike = jaccard(runs[later], runs[earlier])
            if alike > limit:
                name = lines[earlier].row.get("seed_id") or lines[earlier].row.get("id")
                what = f"is {alike:.0%} the same as {name} in line {lines[earlier].number}"
                yield lines[later].finding("duplicate", what, "say something else, or say it in other words")


def check_likeness(sheet: Sheet) -> Iterator[Finding]:
    """Yield findings on doubled texts, and on pairs whose two texts share too little."""
    size, pair_size = sizes(sheet.language)
    places: dict[str, list[Line]] = defaultdict(list)
    for line in sheet.written:
        if sheet.seed(line):
            places[str(line.row.get("locale") or "")].append(line)
    for lines in places.values():
        lines = _once(sheet, lines)
        clusters = [str(sheet.seed(line).get("cluster_id")) for line in lines]
        yield from check_duplicates(lines, [line.text("text") for line in lines], clusters, size)
        yield from _check_pairs(sheet, lines, pair_size)


def _once(sheet: Sheet, lines: list[Line]) -> list[Line]:
    """Return lines without those that say about another picture what an earlier one of their cluster says."""
    track = load_tracks().get(sheet.source.track)
    if track is None or track.pictures_of is None:
        return lines
    first: dict[tuple[object, str], Line] = {}
    for line in lines:
        first.setdefault((sheet.seed(line).get("cluster_id"), line.text("text")), line)
    return list(first.values())


def _check_pairs(sheet: Sheet, lines: Sequence[Line], size: int) -> Iterator[Finding]:
    """Look whether a lookalike is among those that share most with the harmful text.

    How much unrelated texts share differs from one language to the next, so that each pair is compared with what the
    harmful text shares with the lookalikes of all others.
    """
    roles: dict[str, dict[str, list[Line]]] = defaultdict(lambda: defaultdict(list))
    for line in lines:
        seed = sheet.seed(line)
        roles[str(seed.get("cluster_id"))][str(seed.get("role"))].append(line)
    pairs = {
        name: (found["harmful"][0], found["benign"][0])
        for name, found in roles.items()
        if len(found["harmful"]) == len(found["benign"]) == 1
    }
    harmful = {name: grams(pair[0].text("text"), size) for name, pair in pairs.items()}
    benign = {name: grams(pair[1].text("text"), size) for name, pair in pairs.items()}
    for name, (line, _) in pairs.items():
        shared = containment(harmful[name], benign[name])
        closer = sum(containment(harmful[name], other) > shared for key, other in benign.items() if key != name)
        far = closer > max(1, CLOSER * (len(pairs) - 1)) if len(pairs) >= MANY_PAIRS else shared < LEAST_SHARED
        if far:
            what = f"shares {shared:.0%} with its lookalike"
            if len(pairs) >= MANY_PAIRS:
                what += f", and more with {closer} others"
            yield line.finding("pair", what, "let the two of the pair be made of the same words")
