"""What a language says besides its texts: the groups of sentences in its ``strings.yaml``."""

from __future__ import annotations

from collections.abc import Iterable

from .errors import DataError
from .files import read_yaml
from .languages import get_language


def strings(language: str) -> dict[str, list[str]]:
    """Return the groups of sentences in a language's ``strings.yaml``, without those that are still to be written.

    Raises:
        UnknownNameError: where the language is unknown.
        DataError: where a group is not a list of sentences.
    """
    path = get_language(language).strings
    data = read_yaml(path)
    if not isinstance(data, dict):
        raise DataError("is not a mapping of groups", where=path)
    found = {}
    for group, sentences in data.items():
        if not isinstance(sentences, (list, type(None))):
            raise DataError(f"{group} is not a list of sentences", where=path, mend="write one a line, after a hyphen")
        listed = [sentence for sentence in sentences or () if sentence is not None]
        if not all(isinstance(sentence, str) and sentence.strip() for sentence in listed):
            raise DataError(f"{group} is not a list of sentences", where=path, mend="quote each of them")
        found[group] = listed
    return found


SHOWN_OBJECTS = "apac_objects"
"""Group of ``strings.yaml``: what things in pictures of `apac` are called, ``key = name|another name``."""

_GROUPS_OF_PICTURES = {SHOWN_OBJECTS: "apacpictures"}


def track_of(group: str, tracks: Iterable[str]) -> str | None:
    """Return the track that a group is for, whose name it then begins with, or None where it is for all.

    The group of the things in pictures bears the name of the track that those are of. Such a group is wanted only of
    languages that have the track's texts.
    """
    first = _GROUPS_OF_PICTURES.get(group) or group.partition("_")[0]
    return first if first in tracks else None
