"""Properties are tested without a deadline: the first example loads models, and machines differ."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("judges", deadline=None)
settings.load_profile("judges")
