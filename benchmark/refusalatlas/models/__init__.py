"""Models for lm_eval: a chat API and a command that record blocks instead of dying, classifiers, reference policies."""

from __future__ import annotations

MODELS = {
    "refusalatlas-chat": "refusalatlas.models.chat:RefusalChat",
    "refusalatlas-classifier": "refusalatlas.models.classifier:ClassifierModel",
    "refusalatlas-command": "refusalatlas.models.command:RefusalCommand",
    "refusalatlas-reference": "refusalatlas.models.reference:ReferenceModel",
}
"""lm_eval names of our models, and where their classes are."""


def register() -> None:
    """Make our models known to lm_eval, without importing them.

    Names that are there already, for instance from entry points, stay as they are.
    """
    # lm_eval fills its registry only while that is empty: had we come first, all its own models would be gone.
    import lm_eval.models  # noqa: F401
    from lm_eval.api.registry import model_registry

    for name, target in MODELS.items():
        if name not in model_registry:
            model_registry.register(name, target=target)
