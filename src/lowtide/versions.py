"""What is installed and what this machine runs: for bug reports."""

from __future__ import annotations

import platform
from importlib import metadata

__all__ = ["show_versions"]

_PACKAGES = ("numpy", "scipy", "scikit-learn", "safetensors", "click", "rich", "matplotlib", "jinja2")


def show_versions() -> None:
    """Print lowtide's version, instruction set and threads, the BLAS libraries in use and the packages it stands on."""
    from threadpoolctl import threadpool_info

    import lowtide
    from lowtide import _core

    print(f"lowtide      {lowtide.__version__}")
    print(f"instructions {_core.isa()} ({_core.isa_complaint() or f'processor has {_core.detected_isa()}'})")
    print(f"threads      {_core.thread_count()}")
    print(f"python       {platform.python_version()} on {platform.machine()} {platform.system()}")
    for pool in threadpool_info():
        if pool["user_api"] == "blas":
            print(f"BLAS         {pool['internal_api']} {pool['version']}, {pool['num_threads']} threads")
    for package in _PACKAGES:
        try:
            print(f"{package:12} {metadata.version(package)}")
        except metadata.PackageNotFoundError:
            print(f"{package:12} not installed")
