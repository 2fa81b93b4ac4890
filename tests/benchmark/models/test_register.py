from __future__ import annotations

import subprocess
import sys


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


def test_registering_first_leaves_the_models_of_lm_eval_alone() -> None:
    out = run(
        "from refusalatlas.models import register; register(); register()\n"
        "from lm_eval.api.registry import get_model\n"
        "print(*(get_model(n).__name__ for n in ('dummy', 'refusalatlas-chat', 'refusalatlas-reference')))"
    )
    assert out.split() == ["DummyLM", "RefusalChat", "ReferenceModel"]


def test_names_that_are_there_already_stay() -> None:
    out = run(
        "import lm_eval.models\n"
        "from lm_eval.api.registry import get_model, model_registry\n"
        "from lm_eval.models.dummy import DummyLM\n"
        "model_registry.register('refusalatlas-chat', target=DummyLM)\n"
        "from refusalatlas.models import register; register()\n"
        "print(get_model('refusalatlas-chat').__name__)"
    )
    assert out.strip() == "DummyLM"


def test_registering_imports_nothing_heavy() -> None:
    out = run(
        "import sys\nfrom refusalatlas.models import register; register()\n"
        "print([m for m in ('torch', 'aiohttp', 'pydantic', 'datasets') if m in sys.modules])"
    )
    assert out.strip() == "[]"
