"""The judge that asks a language model at any OpenAI-compatible endpoint; for what the other judges contest."""

from .judge import LlmJudge

__all__ = ["LlmJudge"]
