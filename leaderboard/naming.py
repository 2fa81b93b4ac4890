"""Names that are safe as folders, files and addresses."""

from __future__ import annotations

import hashlib
import re


def model_slug(name: str) -> str:
    """Return a model's slug: lower-case ``[a-z0-9._-]``, ``org/model`` as ``org__model``.

    A name that loses letters on the way gets a piece of its hash, so that no two such names meet. A slug never
    starts with a dot, and is never longer than 120 characters.
    """
    lowered = name.strip().lower()
    slug = re.sub(r"[^a-z0-9._-]+", "-", lowered.replace("/", "__")).strip(".-")
    lost = bool(re.search(r"[^a-z0-9._/ :+@-]", lowered)) or len(slug) > 100 or not slug
    if not lost:
        return slug
    digest = hashlib.sha256(name.encode("utf-8", "backslashreplace")).hexdigest()[:8]
    return f"{slug[:100].strip('.-') or 'model'}-{digest}"


def run_id(date: str, *parts: str) -> str:
    """Return ``<date>-<ten hex digits>``, the digits derived from what the run holds."""
    return f"{date}-{hashlib.sha256(chr(10).join(parts).encode('utf-8', 'backslashreplace')).hexdigest()[:10]}"
