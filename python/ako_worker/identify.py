"""python3 -B identify.py: what this interpreter is, as one JSON object. Imports no framework."""
import importlib.metadata
import importlib.util
import json
import os
import platform
import sys
import sysconfig

WATCHED = ("torch", "triton", "numpy", "ml_dtypes", "nvidia-cutlass-dsl", "nvidia-cutlass-dsl-libs-cu12",
           "nvidia-cutlass-dsl-libs-cu13", "cupy")


def version_of(name):
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        pass
    try:
        spec = importlib.util.find_spec(name.replace("-", "_"))
    except (ImportError, ValueError):
        return None
    return "unknown" if spec is not None and spec.origin else None


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    paths = [path for path in sys.path if path and os.path.abspath(path) != here]
    versions = {name: version for name in WATCHED if (version := version_of(name))}
    folders = {sys.prefix, sys.base_prefix, sys.exec_prefix, os.path.dirname(os.path.realpath(sys.executable)),
               *paths, sysconfig.get_path("include") or ""}
    print(json.dumps({
        "version": platform.python_version(), "implementation": platform.python_implementation(),
        "executable": sys.executable, "prefix": sys.prefix, "paths": paths, "versions": versions,
        "folders": sorted(folder for folder in folders if folder and os.path.isdir(folder)),
        "supported": (3, 10) <= sys.version_info[:2] and platform.python_implementation() == "CPython"}))


if __name__ == "__main__":
    main()
