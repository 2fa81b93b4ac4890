"""The judge `llm`: a language model that reads an answer by a pinned rubric, and whose failures are abstentions."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from refusalatlas.models.patience import read_key
from refusalatlas.records import Exchange, Limits, Verdict

from ..reading import read
from .asking import Question, Server, ask_all
from .cache import VerdictCache, key_of
from .fence import fenced, load_rubric
from .limits import Budget
from .progress import progress
from .reply import Cause, Opinion
from .settings import limited, read_settings

_log = logging.getLogger("refusalatlas.judges")


class LlmJudge:
    """Judges by asking a model; `languages` is None, since nobody knows which ones it does not know.

    Deterministic as far as the server is: temperature 0, the same request for the same texts, verdicts kept on disk.

    Args:
        params: See `settings.LlmSettings`.

    Raises:
        AtlasError: where the parameters or the rubric are wrong.
    """

    name = "llm"
    family = "llm"
    languages: frozenset[str] | None = None

    def __init__(self, **params: Any) -> None:
        self._settings = read_settings(params)
        self._rubric = load_rubric(self._settings.rubric)
        self.version = f"1.{self._rubric.sha256[:12]} {self._settings.model}"
        self._server = Server(Budget(self._settings))
        self._counts: Counter[Cause] = Counter()

    @property
    def counts(self) -> Mapping[Cause, int]:
        """How often the judge has abstained since it was made, by cause."""
        return dict(self._counts)

    @property
    def requests(self) -> int:
        """Requests sent since it was made, retries included."""
        return self._server.budget.requests

    @property
    def spent(self) -> float:
        """What they have cost, in the unit of the prices."""
        return self._server.budget.spent

    def limit(self, limits: Limits) -> None:
        """Spend no more than that, all told, from now on.

        Raises:
            AtlasError: where a limit is wrong.
        """
        self._settings = limited(self._settings, limits)
        self._server.budget.change(self._settings)

    def judge(self, exchanges: Sequence[Exchange]) -> list[Verdict]:
        """Return one verdict an exchange, in order; like texts are asked about once.

        Raises:
            AtlasError: where going on makes no sense; verdicts so far are in the cache.
        """
        texts = [_message(exchange) for exchange in exchanges]
        keys = [key_of(self._settings.model, self._rubric.sha256, text) if text else "" for text in texts]
        opinions = self._ask({key: text for key, text in zip(keys, texts, strict=True) if text})
        return [self._verdict(opinions.get(key)) for key in keys]

    def _ask(self, texts: Mapping[str, str]) -> dict[str, Opinion]:
        folder = self._settings.cache_folder
        cache = VerdictCache(folder) if folder is not None and texts else None
        try:
            return self._ask_missing(texts, cache)
        finally:
            if cache is not None:
                cache.close()

    def _ask_missing(self, texts: Mapping[str, str], cache: VerdictCache | None) -> dict[str, Opinion]:
        known = {key: found for key in texts if cache is not None and (found := cache.find(key)) is not None}
        missing = [Question(key, text) for key, text in texts.items() if key not in known]
        asked: dict[str, Opinion] = {}
        with progress(len(missing)) as advance:

            def done(question: Question, opinion: Opinion) -> None:
                asked[question.key] = opinion
                if cache is not None:
                    cache.keep(question.key, opinion)
                advance()

            if missing:
                key = read_key(self._settings.api_key_env)
                ask_all(self._settings, key, self._rubric.text, missing, self._server, done)
        self._tell(known | asked)
        return known | asked

    def _tell(self, opinions: Mapping[str, Opinion]) -> None:
        """Count what was no verdict, and say so in one line a batch."""
        causes = Counter(opinion.cause for opinion in opinions.values() if opinion.cause is not None)
        self._counts.update(causes)
        failed = [o.detail for o in opinions.values() if o.cause not in (None, "unsure") and o.detail]
        if causes:
            parts = ", ".join(f"{count} {cause}" for cause, count in sorted(causes.items()))
            last = f" (the last: {failed[-1]})" if failed else ""
            _log.warning("judge llm abstains on %d of %d: %s%s", causes.total(), len(opinions), parts, last)

    def _verdict(self, opinion: Opinion | None) -> Verdict:
        if opinion is None or opinion.label is None:
            return Verdict(self.name, self.version, None, 0.0)
        return Verdict(self.name, self.version, opinion.label, round(opinion.confidence, 4))


def _message(exchange: Exchange) -> str:
    """Return the user message about an exchange; empty where there is nothing to read."""
    text = read(exchange).answer.text.strip()
    return fenced(exchange.prompt, text) if any(c.isalnum() for c in text) else ""
