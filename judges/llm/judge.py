"""The judge `llm`: a language model that reads an answer by a pinned rubric, and whose failures are abstentions."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from refusalatlas.errors import AtlasError
from refusalatlas.models.patience import read_key
from refusalatlas.records import Exchange, Limits, Verdict

from ..reading import read
from .asking import Question, Server, ask_all
from .cache import VerdictCache, key_of
from .fence import fenced, load_rubric
from .limits import Budget, Health, check_any, stopped
from .progress import progress
from .reply import Cause, Opinion
from .settings import limited, read_settings

_log = logging.getLogger("refusalatlas.judges")


class LlmJudge:
    """Judges by asking a model; `languages` is None, since nobody knows which ones it does not know.

    Deterministic as far as the server is: temperature 0, the same request for the same texts, verdicts kept on disk.

    Args:
        name: What verdicts and panels call it.
        family: Judges that fail alike (by one model) belong in one.
        params: See `settings.LlmSettings`.

    Raises:
        AtlasError: where the parameters or the rubric are wrong.
    """

    languages: frozenset[str] | None = None

    def __init__(self, name: str = "llm", family: str = "llm", **params: Any) -> None:
        self.name, self.family = name, family
        self._settings = read_settings({"name": name, **params})
        self._rubric = load_rubric(self._settings.rubric)
        self.version = f"1.{self._rubric.sha256[:12]} {self._settings.model}"
        self._server = Server(Budget(self._settings), Health(self._settings.where))
        self._counts: Counter[Cause] = Counter()
        self._asked: Counter[Cause | None] = Counter()
        self._found = 0

    @staticmethod
    def rooted(params: Mapping[str, Any], folder: Path) -> dict[str, Any]:
        """Return parameters of which relative paths are from a folder, that of the panel's file."""
        paths = {key: params[key] for key in ("rubric", "cache") if params.get(key) and isinstance(params[key], str)}
        return {**params, **{key: str(folder / Path(path).expanduser()) for key, path in paths.items()}}

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
        cache = VerdictCache(folder, self._settings.where) if folder is not None and texts else None
        try:
            return self._ask_missing(texts, cache)
        finally:
            if cache is not None:
                cache.close()

    def _ask_missing(self, texts: Mapping[str, str], cache: VerdictCache | None) -> dict[str, Opinion]:
        known = {key: found for key in texts if cache is not None and (found := cache.find(key)) is not None}
        missing = [Question(key, text) for key, text in texts.items() if key not in known]
        asked: dict[str, Opinion] = {}
        with progress(self.name, len(missing)) as advance:

            def done(question: Question, opinion: Opinion) -> None:
                asked[question.key] = opinion
                self._asked[opinion.cause] += 1
                if cache is not None:
                    cache.keep(question.key, opinion)
                advance()

            if missing:
                key = read_key(self._settings.api_key_env)
                try:
                    ask_all(self._settings, key, self._rubric.text, missing, self._server, done)
                except AtlasError as error:
                    raise stopped(error, self._asked, kept=cache is not None) from None
        self._found += len(known)
        self._tell(known | asked)
        if asked and not self._found:
            check_any(self._asked, [opinion.detail for opinion in asked.values()][-1], self._settings.where)
        return known | asked

    def _tell(self, opinions: Mapping[str, Opinion]) -> None:
        """Count what was no verdict, and say so in one line a batch."""
        causes = Counter(opinion.cause for opinion in opinions.values() if opinion.cause is not None)
        self._counts.update(causes)
        failed = [o.detail for o in opinions.values() if o.cause not in (None, "unsure") and o.detail]
        if causes:
            parts = ", ".join(f"{count} {cause}" for cause, count in sorted(causes.items()))
            last = f" (the last: {failed[-1]})" if failed else ""
            _log.warning("judge %s abstains on %d of %d: %s%s", self.name, causes.total(), len(opinions), parts, last)

    def _verdict(self, opinion: Opinion | None) -> Verdict:
        if opinion is None or opinion.label is None:
            return Verdict(self.name, self.version, None, 0.0)
        return Verdict(self.name, self.version, opinion.label, round(opinion.confidence, 4))


def _message(exchange: Exchange) -> str:
    """Return the user message about an exchange; empty where there is nothing to read."""
    text = read(exchange).answer.text.strip()
    return fenced(exchange.prompt, text) if any(c.isalnum() for c in text) else ""
