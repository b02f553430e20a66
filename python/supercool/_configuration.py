"""Configurations as users give them: a path, TOML text, or a dictionary."""

from __future__ import annotations

import json
import os
from typing import Any, Union

from . import _native

Configuration = Union[str, os.PathLike, dict]

#: How messages call a configuration that is no file. Results go to results/NAME where it gives no output.directory.
TEXT = "configuration.toml"


def split(config: Configuration) -> tuple[str, str | None]:
    """Name of the file, and the text where there is none."""
    if isinstance(config, os.PathLike):
        return os.path.expanduser(config), None
    if isinstance(config, str):
        return (TEXT, config) if "\n" in config else (os.path.expanduser(config), None)
    if isinstance(config, dict):
        return TEXT, _native.toml_of(json.dumps(config, default=_plain))
    raise TypeError(f"a configuration is a path, TOML text (of several lines) or a dict, not {type(config).__name__}")


def _plain(value: Any) -> Any:
    """Paths, and numbers and arrays of numpy."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"a configuration holds no {type(value).__name__}")
