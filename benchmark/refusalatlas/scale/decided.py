"""A folder of decisions in the place of the panel that made them, so that a run can be written with them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..errors import AtlasError
from ..records import Decision, Exchange
from .manifest import Manifest, read_decisions


class DecidedPanel:
    """A panel that knows the answers of one input, in their order, and no others.

    Attributes:
        name: Of the panel that decided.
        sha256: Its hash.
    """

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.name, _, self.sha256 = manifest.panel.partition("@")
        self._folder = folder

    def judge(self, exchanges: Sequence[Exchange]) -> list[Decision]:
        """Return the decision of each exchange; they must be the folder's, all of them and in its order.

        Raises:
            AtlasError: where they are not, or the folder is not complete.
        """
        found = list(read_decisions(self._folder))
        if [item for item, _ in found] != [exchange.id for exchange in exchanges]:
            raise AtlasError("holds decisions on other answers than this run's", where=self._folder)
        return [decision for _, decision in found]
