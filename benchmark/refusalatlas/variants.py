"""Format variants: the same request, its answer demanded in another form, in words of a language's ``strings.yaml``."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from .fields import form_schema
from .scenes import listed, scene_of, sentences

if TYPE_CHECKING:
    from .tracks import Item

BASE = "base"
PICTURE = "picture"
"""What the names of the variants begin with whose items are shown a picture."""

SCENE = "grounding_scene"
"""Group of ``strings.yaml``: what stands above the list of the things in a scene."""


def below(item: Item, sentence: str) -> str:
    """Return an item's prompt with a sentence below it."""
    return f"{item.prompt}\n\n{sentence}"


def beside_list(item: Item, sentence: str) -> str:
    """Return a request about a scene that is told in words: its things, the request, a sentence.

    Raises:
        DataError: where the language lacks the words.
    """
    scene = scene_of(item)
    if scene is None:
        return below(item, sentence)
    head = _chosen(sentences(item.language, SCENE), item.cluster_id)
    return f"{head}\n{listed(scene, item.language)}\n\n{item.prompt}\n{sentence}"


def beside_picture(item: Item, sentence: str) -> str:
    """Return a request about a scene that is shown: what the picture measures, the request, a sentence.

    The mark is where lm_eval's Hugging Face models put the picture; our chat model takes it away.

    Raises:
        DataError: where the language lacks the words.
    """
    head = _chosen(sentences(item.language, "grounding_picture"), item.cluster_id)
    return f"<image>{head}\n\n{item.prompt}\n{sentence}"


def about_picture(item: Item) -> Item:
    """Return an item whose text speaks of a picture as one that is shown it; nothing else is said."""
    item_id = f"{item.id.rpartition('/')[0]}/{PICTURE}"
    return replace(item, id=item_id, variant=PICTURE, prompt=f"<image>{item.prompt}")


def _chosen(choices: Sequence[str], key: str) -> str:
    digest = hashlib.sha256(key.encode()).digest()
    return choices[int.from_bytes(digest[:8], "big") % len(choices)]


@dataclass(frozen=True, slots=True)
class Variant:
    """A form that answers are demanded in.

    Attributes:
        name: Last part of item ids and task names.
        group: Group of sentences in ``strings.yaml`` that ask for it.
        form: Returns what stands for ``{form}`` in a sentence, by the item and the variant's name; None where the
            sentences have no such place.
        judged_as: The form that judges are told of.
        compose: Returns the whole prompt, by the item and the sentence.
    """

    name: str
    group: str
    form: Callable[[Item, str], str] | None
    judged_as: str | None
    compose: Callable[[Item, str], str] = below

    @property
    def pictured(self) -> bool:
        """Whether its items are shown a picture."""
        return self.name.startswith(PICTURE)

    def item(self, item: Item, sentences: Sequence[str]) -> Item:
        """Return an item of the base variant as this one asks it; the same item always gets the same sentence.

        A harmful request about a scene and its lookalike get the same one, and in all variants the one at the same
        place in its group, so that nothing else tells them apart.
        """
        sentence = _chosen(sentences, f"{self.name}\n{item.id}" if self.compose is below else item.cluster_id)
        if self.form is not None:
            sentence = sentence.replace("{form}", self.form(item, self.name))
        prompt = self.compose(item, sentence)
        return replace(item, id=f"{item.id.rpartition('/')[0]}/{self.name}", variant=self.name, prompt=prompt)


def _answer_object(item: Item, variant: str) -> str:
    return '{"answer": "…", "complete": true}'


def _point(item: Item, variant: str) -> str:
    return '{"point": [x, y]}'


def _box(item: Item, variant: str) -> str:
    return '{"box": [left, top, right, bottom]}'


QUESTION = Variant(BASE, "grounding_question", None, None, beside_list)
"""How an item about a scene is asked where nothing but words is wanted of it: the base variant of such tracks."""

VARIANTS = {
    variant.name: variant
    for variant in (
        Variant("json", "json_request", _answer_object, "json"),
        Variant("required", "phantom_request", form_schema, "field"),
        Variant("escape", "phantom_escape", form_schema, "field"),
        Variant("instruction", "phantom_instruction", form_schema, "field"),
        Variant("point", "grounding_point", _point, "point", beside_list),
        Variant("box", "grounding_box", _box, "box", beside_list),
        Variant(PICTURE, "grounding_question", None, None, beside_picture),
        Variant(f"{PICTURE}_point", "grounding_point", _point, "point", beside_picture),
        Variant(f"{PICTURE}_box", "grounding_box", _box, "box", beside_picture),
    )
}
"""All variants but the plain one, by name."""

GROUNDED = {"point": BASE, "box": BASE, f"{PICTURE}_point": PICTURE, f"{PICTURE}_box": PICTURE}
"""The variants that ask for a place, and the one that asks the same as a question."""


def form_of(variant: str) -> str | None:
    """Return the form that judges are told of; None for text."""
    return VARIANTS[variant].judged_as if variant in VARIANTS else None


def is_pictured(variant: str) -> bool:
    """Whether items of a variant are shown a picture."""
    return variant in VARIANTS and VARIANTS[variant].pictured
