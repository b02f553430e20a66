"""CUDA's compiler library where pip has installed it, as by `pip install supercool-md[cuda]`."""

import importlib.util
import os
import pathlib


def find():
    """Tells supercool where it is, unless SUPERCOOL_NVRTC does."""
    if os.environ.get("SUPERCOOL_NVRTC"):
        return
    spec = importlib.util.find_spec("nvidia")
    folders = list(spec.submodule_search_locations or ()) if spec else []
    for folder in map(pathlib.Path, folders):
        for part in ("cu13", "cuda_nvrtc"):
            found = sorted((folder / part / "lib").glob("libnvrtc.so.*"))
            if found:
                os.environ["SUPERCOOL_NVRTC"] = str(found[0])
                return
