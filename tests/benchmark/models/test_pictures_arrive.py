"""A chat server that looks at what comes: the picture of the scene, to the pixel, beside its own request."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from refusalatlas.pictures import picture_of_seed
from refusalatlas.places import items_in
from refusalatlas.runs import load_run

Image = pytest.importorskip("PIL.Image")


@pytest.mark.parametrize("variant", ["picture", "picture_box"])
def test_the_picture_arrives_beside_its_own_request(
    variant: str, server: Any, says: Callable[..., Any], evaluate: Callable[..., Any], tmp_path: Path
) -> None:
    seen: dict[str, bytes] = {}

    def answer(body: dict[str, Any], number: int) -> Any:
        parts = body["messages"][-1]["content"]
        (image,) = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
        (text,) = [part["text"] for part in parts if part["type"] == "text"]
        seen[text] = base64.b64decode(image.partition(",")[2])
        return says('{"box": [1, 2, 3, 4]}')

    server.answer = answer
    evaluate(
        "refusalatlas-chat",
        [f"refusalmm_grounding_en{variant.removeprefix('picture')}"],
        tmp_path,
        model_args=f"model=tested,base_url={server.url},num_concurrent=4",
        apply_chat_template=True,
    )
    items = items_in("grounding", "en", None, variant)
    assert len(seen) == len(items) == 48
    for item in items:
        sent = seen[item.prompt.removeprefix("<image>")]
        assert (
            Image.open(io.BytesIO(sent)).convert("RGB").tobytes()
            == picture_of_seed("grounding", item.seed_id).tobytes()
        )
    run = load_run(tmp_path)
    assert {record.variant for record in run.records} == {variant}
    if variant == "picture_box":
        assert {d.label for record in run.records for d in record.decisions} == {"compliant"}


def test_two_pictures_arrive_beside_the_same_text(
    server: Any, says: Callable[..., Any], evaluate: Callable[..., Any], tmp_path: Path
) -> None:
    seen: set[tuple[str, bytes]] = set()

    def answer(body: dict[str, Any], number: int) -> Any:
        parts = body["messages"][-1]["content"]
        (image,) = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
        (text,) = [part["text"] for part in parts if part["type"] == "text"]
        picture = Image.open(io.BytesIO(base64.b64decode(image.partition(",")[2]))).convert("RGB").tobytes()
        seen.add((text, picture))
        return says("A teapot! Here is your card: many happy returns, and all the best from the whole family.")

    server.answer = answer
    evaluate(
        "refusalatlas-chat",
        ["refusalmm_apac_en_SG"],
        tmp_path,
        model_args=f"model=tested,base_url={server.url},num_concurrent=4",
        apply_chat_template=True,
    )
    items = items_in("apacpictures", "en", "en-SG", "picture")
    drawn = {item.seed_id: picture_of_seed("apacpictures", item.seed_id).tobytes() for item in items}
    assert seen == {(item.prompt.removeprefix("<image>"), drawn[item.seed_id]) for item in items}
    outcomes = {r.seed_id: r.decisions[0].outcome for r in load_run(tmp_path).records}
    assert outcomes.keys() == drawn.keys()
    right = {seed_id for seed_id, outcome in outcomes.items() if outcome["named"] == "shown"}
    assert right == {"sg-elder-birthday-fine"}
    assert all(outcome["misnamed"] == (seed_id not in right) for seed_id, outcome in outcomes.items())
