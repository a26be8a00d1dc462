"""A bundle's modules: laid out in the private folder and imported from there."""
import hashlib
import importlib
import importlib.util
import json
import os
import sys

from ako_worker import FORMAT
from ako_worker.abi import Refusal

FOLDER = "ako-modules"


def read_bundle(path):
    with open(path, "rb") as file:
        bundle = json.loads(file.read())
    if bundle.get("format") != FORMAT:
        raise Refusal("load_failed", f"a bundle of format {bundle.get('format')}; this worker reads {FORMAT}")
    return bundle


def lay_out(bundle):
    root = os.path.join(os.getcwd(), FOLDER)
    for file in bundle["files"]:
        path = os.path.join(root, file["path"])
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as out:
            out.write(file["text"])
    return root


def dotted_name(bundle):
    """The entry's module as its packages name it, and the folder that they lie in."""
    files = {file["path"] for file in bundle["files"]}
    folder, file = os.path.split(bundle["entry"]["file"])
    parts = [os.path.splitext(file)[0]]
    while folder and f"{folder}/__init__.py" in files:
        folder, name = os.path.split(folder)
        parts.insert(0, name)
    return ".".join(parts), folder


class Loaded:
    def __init__(self, bundle):
        self.bundle = bundle
        self.root = lay_out(bundle)
        self.before = set(sys.modules)
        name, folder = dotted_name(bundle)
        roots = [folder, *bundle["roots"]]
        sys.path[0:0] = [os.path.normpath(os.path.join(self.root, each)) for each in dict.fromkeys(roots)]
        importlib.invalidate_caches()
        self.module = self.imported(name)

    def imported(self, name):
        if "." in name:
            return importlib.import_module(name)
        # By its file: a name that the library has too must not hide it.
        name = f"ako_entry_{name}" if name in sys.modules else name
        path = os.path.join(self.root, self.bundle["entry"]["file"])
        spec = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
        return module

    def function(self, symbol):
        value = self.module
        for part in symbol.split("."):
            value = getattr(value, part, None)
        if value is None:
            raise Refusal("load_failed", f"{self.bundle['entry']['file']} defines no {symbol}", symbol=symbol)
        if not callable(value):
            raise Refusal("load_failed", f"{symbol} of {self.bundle['entry']['file']} is no function: "
                          f"{type(value).__name__}; a kernel needs a function that launches it", symbol=symbol)
        return value

    def modules(self):
        """The bundle's modules that were imported."""
        return [module for module in list(sys.modules.values()) if self.path_of(module)]

    def path_of(self, module):
        file = getattr(module, "__file__", None)
        if not isinstance(file, str) or not file.startswith(self.root + os.sep):
            return None
        return file[len(self.root) + 1:]

    def listed(self):
        """{name, file, sha256} of each of the bundle's; of others that came along, where they are from."""
        ours, others = [], {}
        for name, module in list(sys.modules.items()):
            path = self.path_of(module)
            if path:
                with open(os.path.join(self.root, path), "rb") as file:
                    ours.append({"name": name, "file": path, "sha256": hashlib.sha256(file.read()).hexdigest()})
            elif name not in self.before and "." not in name and isinstance(getattr(module, "__file__", None), str):
                others[name] = module.__file__
        return ours, others
