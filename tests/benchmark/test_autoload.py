"""The start-up line, in interpreters of its own: what it costs, when it steps aside, and that it breaks nobody."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from refusalatlas.packs import builtin_root

AUTOLOAD = Path(__file__).parents[2] / "benchmark" / "autoload"
MODULE = AUTOLOAD / "_refusalatlas_autoload.py"

MANAGER = """\
class TaskManager:
    def __init__(self, verbosity=None, include_path=None, include_defaults=True, metadata=None):
        self.include_path = include_path
        self._index = {}
"""


def python(code: str, *folders: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run code in a bare interpreter (no site-packages), with the autoload module and `folders` on its path."""
    path = os.pathsep.join(map(str, [*folders, AUTOLOAD]))
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": path, **environment}
    return subprocess.run([sys.executable, "-S", "-c", code], check=False, capture_output=True, text=True, env=env)


@pytest.fixture
def small_lm_eval(tmp_path: Path) -> Path:
    """An `lm_eval` whose task manager takes no time, to try the hook with refusalatlas sound, broken or gone."""
    folder = tmp_path / "lm_eval" / "tasks"
    folder.mkdir(parents=True)
    (tmp_path / "lm_eval" / "__init__.py").write_text("", encoding="utf-8")
    (folder / "__init__.py").write_text("from lm_eval.tasks.manager import TaskManager\n", encoding="utf-8")
    (folder / "manager.py").write_text(MANAGER, encoding="utf-8")
    return tmp_path


def hooked(source: str, folder: Path) -> Path:
    """Put a `refusalatlas` into a folder whose hook is as given."""
    (folder / "refusalatlas").mkdir()
    (folder / "refusalatlas" / "__init__.py").write_text("", encoding="utf-8")
    (folder / "refusalatlas" / "hook.py").write_text(source, encoding="utf-8")
    return folder


USE = "import _refusalatlas_autoload as a; a.install(); from lm_eval.tasks import TaskManager; print(TaskManager())"


def test_start_up_imports_nothing_that_python_has_not_imported_itself() -> None:
    code = "import sys; before = set(sys.modules); import _refusalatlas_autoload as a; a.install(); "
    done = python(code + "print(sorted(set(sys.modules) - before - {'os', 'sys'}))")
    # without site, even `os` is not there yet; with it, it always is
    allowed = {"_refusalatlas_autoload", "os", "stat", "_stat", "posixpath", "genericpath", "os.path", "abc", "_abc"}
    assert set(ast.literal_eval(done.stdout)) <= allowed | {"_collections_abc", "ntpath", "codecs", "_codecs"}


def test_module_names_only_the_standard_library() -> None:
    tree = ast.parse(MODULE.read_text(encoding="utf-8"))
    outer = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
    assert {alias.name for node in outer for alias in node.names} == {"os", "sys"}


def test_start_line_and_start_file_do_the_same() -> None:
    line = (AUTOLOAD / "refusalatlas_autoload.pth").read_text(encoding="utf-8")
    assert line == "import _refusalatlas_autoload; _refusalatlas_autoload.install()\n"
    assert (AUTOLOAD / "refusalatlas_autoload.start").read_text(encoding="utf-8") == "_refusalatlas_autoload:install\n"


def test_hook_is_called_once_with_the_task_manager(small_lm_eval: Path) -> None:
    hooked("def patch(module): print('patched', module.__name__)\n", small_lm_eval)
    done = python(USE, small_lm_eval)
    assert done.stdout.splitlines()[0] == "patched lm_eval.tasks.manager"
    assert done.stdout.count("patched") == 1


def test_finder_steps_aside_when_it_has_done_its_work(small_lm_eval: Path) -> None:
    hooked("def patch(module): pass\n", small_lm_eval)
    done = python(USE + "; import sys; print(a._Finder in sys.meta_path)", small_lm_eval)
    assert done.stdout.splitlines()[-1] == "False"


def test_being_installed_twice_changes_nothing(small_lm_eval: Path) -> None:
    hooked("def patch(module): print('patched')\n", small_lm_eval)
    done = python("import _refusalatlas_autoload as a; a.install(); a.install(); " + USE, small_lm_eval)
    assert done.stdout.count("patched") == 1


def test_it_can_be_turned_off(small_lm_eval: Path) -> None:
    hooked("def patch(module): print('patched')\n", small_lm_eval)
    done = python(USE, small_lm_eval, REFUSALATLAS_AUTOLOAD="0")
    assert done.returncode == 0
    assert "patched" not in done.stdout


FAULTS = {
    "raises": "raise RuntimeError('boom')\n",
    "lacks patch": "",
    "is no Python": "def patch(:\n",
    "fails in patch": "def patch(module): module.NotThere\n",
    "needs what is not installed": "import not_installed_at_all\n",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_fault_of_ours_does_not_break_lm_eval(small_lm_eval: Path, fault: str) -> None:
    hooked(FAULTS[fault], small_lm_eval)
    done = python(USE, small_lm_eval)
    assert done.returncode == 0
    assert "TaskManager object" in done.stdout
    assert done.stderr.startswith("refusalatlas: its tasks are not available: ")
    assert done.stderr.count("\n") == 1


def test_lm_eval_works_where_refusalatlas_is_gone(small_lm_eval: Path) -> None:
    done = python(USE, small_lm_eval)
    assert done.returncode == 0
    assert "No module named 'refusalatlas'" in done.stderr


def test_without_lm_eval_nothing_happens() -> None:
    done = python("import _refusalatlas_autoload as a; a.install(); import json, email; print('fine')")
    assert (done.stdout, done.stderr) == ("fine\n", "")


def test_old_lm_eval_without_a_task_manager_module_fails_as_it_would_alone(tmp_path: Path) -> None:
    (tmp_path / "lm_eval").mkdir()
    (tmp_path / "lm_eval" / "__init__.py").write_text("", encoding="utf-8")
    done = python("import _refusalatlas_autoload as a; a.install(); import lm_eval.tasks.manager", tmp_path)
    assert "ModuleNotFoundError: No module named 'lm_eval.tasks'" in done.stderr
    assert "refusalatlas:" not in done.stderr


def test_fault_of_lm_eval_is_not_swallowed(small_lm_eval: Path) -> None:
    (small_lm_eval / "lm_eval/tasks/manager.py").write_text("raise RuntimeError('theirs')\n", encoding="utf-8")
    done = python(USE, small_lm_eval)
    assert done.returncode == 1
    assert done.stderr.rstrip().endswith("RuntimeError: theirs")


# The hook itself, with the real lm_eval.


@pytest.fixture
def manager(fresh: Callable[[], None]) -> type:
    """A task manager class of its own, patched; lm_eval's stays as it was found."""
    import types

    import lm_eval.tasks.manager as real

    from refusalatlas.hook import patch

    module = types.ModuleType("patched")
    init = real.TaskManager.__init__
    module.TaskManager = type("TaskManager", (real.TaskManager,), {"__init__": getattr(init, "__wrapped__", init)})  # type: ignore[attr-defined]
    before = sys.excepthook
    patch(module)
    sys.excepthook = before
    return module.TaskManager  # type: ignore[attr-defined, no-any-return]


@pytest.fixture
def quick_defaults(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Keep lm_eval from reading its own 14,000 task files (six seconds); give a folder for tasks of one's own."""
    from lm_eval.tasks._index import TaskIndex

    real = TaskIndex._iter_yaml_files

    def few(root: Path) -> object:
        return iter(()) if root.name == "tasks" and root.parent.name == "lm_eval" else real(root)

    monkeypatch.setattr(TaskIndex, "_iter_yaml_files", staticmethod(few))
    return tmp_path


TASK = """\
task: {name}
tag: [{tag}]
output_type: generate_until
custom_dataset: !function refusalatlas.adapter.load
test_split: test
doc_to_text: prompt
doc_to_target: expected
metadata: {{version: "theirs"}}
"""


def test_tasks_are_found_without_being_asked_for(manager: type, quick_defaults: Path) -> None:
    found = manager().all_tasks
    assert {"refusal", "refusal_pairs_sw", "refusal_minos_zh_Hans", "refusal-lang-sw", "refusal-quick"} <= set(found)


def test_the_shell_glob_matches_tasks_alone(manager: type, quick_defaults: Path) -> None:
    """A group or tag that matched would name each task twice, and lm_eval fails on that."""
    made = manager()
    matched = made.match_tasks(["refusal_*"])
    assert len(matched) == len(set(matched)) >= 24
    assert all(made._index[name].kind.name == "TASK" for name in matched)


def test_folder_of_the_user_wins(manager: type, quick_defaults: Path) -> None:
    (quick_defaults / "mine.yaml").write_text(TASK.format(name="refusal_pairs_sw", tag="mine"), encoding="utf-8")
    made = manager(include_path=str(quick_defaults))
    assert made._index["refusal_pairs_sw"].yaml_path == quick_defaults / "mine.yaml"
    assert made._index["refusal_pairs_en"].yaml_path.is_relative_to(builtin_root())


@pytest.mark.parametrize("kind", [str, Path, lambda p: [str(p)], lambda p: (p,)])
def test_folder_of_the_user_may_come_in_any_form(
    manager: type, quick_defaults: Path, kind: Callable[[Path], object]
) -> None:
    (quick_defaults / "mine.yaml").write_text(TASK.format(name="mine", tag="x"), encoding="utf-8")
    assert {"mine", "refusal_pairs_sw"} <= set(manager(include_path=kind(quick_defaults)).all_tasks)


def test_tags_are_shared_with_folders_of_others(manager: type, quick_defaults: Path) -> None:
    (quick_defaults / "mine.yaml").write_text(TASK.format(name="mine", tag="refusal-lang-sw"), encoding="utf-8")
    tagged = manager(include_path=str(quick_defaults))._index["refusal-lang-sw"].tags
    assert {"mine", "refusal_minos_sw", "refusal_pairs_sw"} <= tagged


def test_our_own_folder_named_by_the_user_is_read_once(
    manager: type, quick_defaults: Path, caplog: pytest.LogCaptureFixture
) -> None:
    manager(include_path=str(builtin_root() / "tasks"))
    assert "overrides existing task" not in caplog.text


def test_without_defaults_there_are_only_the_users_tasks(manager: type, quick_defaults: Path) -> None:
    (quick_defaults / "mine.yaml").write_text(TASK.format(name="mine", tag="x"), encoding="utf-8")
    assert set(manager(include_path=str(quick_defaults), include_defaults=False).all_tasks) == {"mine", "x"}


@pytest.mark.parametrize("place", ["task_folders", "_unite_tags"])
def test_fault_of_ours_while_tasks_are_listed_costs_only_us(
    manager: type,
    quick_defaults: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    place: str,
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("boom")

    monkeypatch.setattr(f"refusalatlas.hook.{place}", fail)
    (quick_defaults / "mine.yaml").write_text(TASK.format(name="mine", tag="x"), encoding="utf-8")
    assert "mine" in manager(include_path=str(quick_defaults)).all_tasks
    assert "boom" in capsys.readouterr().err


def test_patching_twice_wraps_once(manager: type) -> None:
    import types

    from refusalatlas.hook import patch

    module = types.ModuleType("again")
    module.TaskManager = manager  # type: ignore[attr-defined]
    before, hook = manager.__init__, sys.excepthook  # type: ignore[misc]
    patch(module)
    assert manager.__init__ is before  # type: ignore[misc]
    assert sys.excepthook is hook


def test_our_errors_are_one_line_in_lm_eval_and_others_are_not(capsys: pytest.CaptureFixture[str]) -> None:
    code = (
        "import lm_eval.tasks.manager as m; from refusalatlas.hook import patch; patch(m)\n"
        "from refusalatlas.errors import AtlasError\nraise {}"
    )
    ours, missing, theirs = (
        subprocess.run([sys.executable, "-c", code.format(error)], check=False, capture_output=True, text=True).stderr
        for error in (
            "AtlasError('no panel', mend='name one')",
            "ValueError('Tasks not found: mmlu, refusal_pairs_br')",
            "ValueError('Tasks not found: mmlu')",
        )
    )
    assert ours.splitlines()[-1] == "Error: no panel; name one"
    assert missing.splitlines()[-1] == "Error: Tasks not found: mmlu, refusal_pairs_br; see `refusalatlas tasks list`"
    assert "Traceback" not in ours + missing
    assert "Traceback" in theirs
