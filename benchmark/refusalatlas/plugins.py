"""Entry points: how the benchmark finds judges, packs, commands and services, ours and other people's.

Each entry is loaded alone, so that a broken plug-in is named and skipped and never hides the others.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from .errors import AtlasError, UnknownNameError

OURS = "refusalatlas"


@dataclass(frozen=True, slots=True)
class Plugin:
    """One entry point.

    Attributes:
        name: Its name within the group.
        value: What it names (``module:object``, or an importable package for packs).
        distribution: The installed distribution that it comes from.
        version: Version of that distribution.
    """

    name: str
    value: str
    distribution: str
    version: str
    entry: EntryPoint

    @property
    def ours(self) -> bool:
        """Whether it comes with Refusal Atlas itself."""
        return self.distribution == OURS

    def load(self) -> Any:
        """Import what the entry names."""
        return self.entry.load()


def enabled() -> bool:
    """Whether third-party plug-ins are loaded (``REFUSALATLAS_PLUGINS=0`` turns them off)."""
    return os.environ.get("REFUSALATLAS_PLUGINS", "1") != "0"


def plugins(group: str) -> list[Plugin]:
    """Return the entries of ``refusalatlas.<group>``, ours first, then by distribution and name.

    A name that a built-in has already is not replaced: the later one is reported and left out.
    """
    found = []
    for entry in entry_points(group=f"{OURS}.{group}"):
        name, version = _distribution(entry)
        found.append(Plugin(entry.name, entry.value, name.lower().replace("_", "-"), version, entry))
    found.sort(key=lambda p: (not p.ours, p.distribution, p.name))
    kept: dict[str, Plugin] = {}
    for plugin in found:
        if not plugin.ours and not enabled():
            continue
        first = kept.setdefault(plugin.name, plugin)
        if first is not plugin and first.entry != plugin.entry:
            warn(plugin, f"its {group[:-1]} {plugin.name!r} is skipped: {first.distribution} has that name already")
    return list(kept.values())


def _distribution(entry: EntryPoint) -> tuple[str, str]:
    """Return name and version of the distribution that an entry comes from; a torn installation says neither."""
    try:
        dist = entry.dist
        return (dist.name or "unknown", dist.version or "0") if dist else ("unknown", "0")
    except Exception:  # what a torn METADATA raises differs from one Python to the next
        return "unknown", "0"


def warn(plugin: Plugin, message: str) -> None:
    """Say on stderr, once a process, what is wrong with a plug-in."""
    line = f"refusalatlas: plug-in {plugin.distribution} {plugin.version}: {' '.join(message.split())}"
    if line not in _warned:
        _warned.add(line)
        sys.stderr.write(line + "\n")


_warned: set[str] = set()  # what was said already; saying a thing twice is the only state here


def load_all(group: str) -> dict[str, Any]:
    """Return the loaded objects of a group by name; one that fails is named on stderr and left out.

    Raises:
        Exception: whatever one of our own entries raises, since that is a fault of the installation.
    """
    loaded = {}
    for plugin in plugins(group):
        try:
            loaded[plugin.name] = plugin.load()
        except Exception as error:
            if plugin.ours:
                raise
            warn(plugin, f"{group[:-1]} {plugin.name!r} is skipped: {error!r}")
    return loaded


def load_judge_classes() -> dict[str, Any]:
    """Return the judge classes or factories by name."""
    return load_all("judges")


def load_service(name: str) -> Callable[..., Any]:
    """Return a service of another room of the house (``load_panel``, ``gate``).

    Raises:
        AtlasError: where the installation lacks it.
    """
    known = {plugin.name: plugin for plugin in plugins("services")}
    if not known:
        raise AtlasError("refusalatlas is not installed properly", mend="run `pip install .` in its checkout")
    if name not in known:
        raise UnknownNameError("service", name, sorted(known))
    service: Callable[..., Any] = known[name].load()
    return service
