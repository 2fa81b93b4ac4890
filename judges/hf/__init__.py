"""Other people's classifiers as judges: any text-classification model that transformers can load.

`settings` says what a model reads and what its labels mean, `loading` finds and checks it, `encoding` makes its input
in as many tokens as it reads, and `judge` turns its probabilities into verdicts. `presets/` holds published models.
"""

from .judge import HfJudge
from .settings import HfSettings, preset_names

__all__ = ["HfJudge", "HfSettings", "preset_names"]
