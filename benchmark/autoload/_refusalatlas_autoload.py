"""Lets a bare `lm_eval` find the Refusal Atlas tasks; runs at interpreter start and must cost next to nothing.

lm_eval 0.4.13 has no door for installed tasks. This waits, on the import path, for `lm_eval.tasks.manager` and for
nothing else; when that module is imported it lets `refusalatlas.hook` add our folders, then steps aside. Without
lm_eval it never does anything. `REFUSALATLAS_AUTOLOAD=0` turns it off.
"""

import os
import sys

TARGET = "lm_eval.tasks.manager"


class _Finder:
    """A meta-path finder that answers for one module, once."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        """Return the module's own spec, with our step after its loading."""
        if name != TARGET:
            return None
        sys.meta_path[:] = [finder for finder in sys.meta_path if finder is not _Finder]
        from importlib.util import find_spec

        spec = find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        load = spec.loader.exec_module

        def exec_module(module):
            load(module)
            try:
                from refusalatlas.hook import patch

                patch(module)
            except Exception as error:  # whatever is wrong with us, lm_eval goes on for everybody else
                print(f"refusalatlas: its tasks are not available: {error!r}", file=sys.stderr)

        spec.loader.exec_module = exec_module
        return spec


def install():
    """Put the finder in place, unless it is turned off, there already, or too late."""
    wanted = os.environ.get("REFUSALATLAS_AUTOLOAD", "1") != "0"
    if wanted and TARGET not in sys.modules and _Finder not in sys.meta_path:
        sys.meta_path.insert(0, _Finder)
