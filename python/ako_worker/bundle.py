"""python3 -B bundle.py ORDER: the build step of a Python lane. Reads ORDER (JSON), checks the sources without running them
and writes one file with all that a worker loads, and a make rule with every file that was read.

Messages go to stderr as compilers write them: FILE:LINE:COLUMN: error|warning: TEXT. Exit 1 when there is an error."""
import ast
import importlib.util
import json
import os
import sys

FORMAT = 1
FRAMEWORKS = ("numpy", "torch", "triton", "cutlass")  # cutlass: the module of nvidia-cutlass-dsl
GUARDS = {"ImportError", "ModuleNotFoundError", "Exception", "BaseException"}


class Said:
    """What was found, in the order of the files."""

    def __init__(self):
        self.lines, self.errors = [], 0

    def add(self, path, line, column, severity, text):
        self.errors += severity == "error"
        self.lines.append(f"{path}:{line}:{column}: {severity}: {text}")


class Imports(ast.NodeVisitor):
    """(module, level, names, line, needed) of every import; needed: at the top, behind no try."""

    def __init__(self):
        self.found, self.depth = [], 0

    def note(self, module, level, names, node):
        self.found.append((module, level, names, node.lineno, node.col_offset + 1, self.depth == 0))

    def visit_Import(self, node):
        for name in node.names:
            self.note(name.name, 0, [], node)

    def visit_ImportFrom(self, node):
        self.note(node.module or "", node.level, [name.name for name in node.names], node)

    def inside(self, node):
        self.depth += 1
        self.generic_visit(node)
        self.depth -= 1

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = inside

    def visit_If(self, node):
        self.inside(node)

    def visit_Try(self, node):
        caught = {getattr(name, "id", "") for handler in node.handlers for name in
                  (handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type])}
        guarded = any(h.type is None for h in node.handlers) or caught & GUARDS
        if guarded:
            return self.inside(node)
        return self.generic_visit(node)

    visit_TryStar = visit_Try


def parsed(path, text, said):
    try:
        return ast.parse(text, path)
    except SyntaxError as error:
        line = (error.text or "").rstrip("\n")
        said.add(path, error.lineno or 1, error.offset or 1, "error", f"{error.msg}" + (f" | {line.strip()}" if line else ""))
    except ValueError as error:
        said.add(path, 1, 1, "error", str(error))
    return None


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8 at byte {error.start}") from None


def installed(name):
    """Where the interpreter finds a top-level module; None when nowhere."""
    if name in sys.builtin_module_names:
        return "built in"
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError, AttributeError):
        return None
    if spec is None:
        return None
    return spec.origin or (list(spec.submodule_search_locations or []) or ["namespace"])[0]


class Bundle:
    def __init__(self, order):
        self.order, self.said = order, Said()
        self.files, self.trees, self.read_too = {}, {}, []
        self.frameworks, self.missing = set(), []
        entry = order["entry"]["file"]
        top = os.path.dirname(entry)
        while top and os.path.isfile(f"{top}/__init__.py"):
            top = os.path.dirname(top)
        self.roots = [top or ".", *order["roots"]]

    def add(self, path, staged):
        """A source and, by its imports, those of the task that it needs."""
        if path in self.files:
            return
        try:
            text = read(path)
        except (OSError, ValueError) as error:
            self.said.add(path, 1, 1, "error", f"cannot be read: {error}")
            return
        self.files[path] = text
        if not staged:
            self.read_too.append(path)
        tree = parsed(path, text, self.said) if path.endswith(".py") else None
        if tree is None:
            return
        self.trees[path] = tree
        imports = Imports()
        imports.visit(tree)
        for found in imports.found:
            self.follow(path, *found)

    def follow(self, path, module, level, names, line, column, needed):
        if level:
            base = os.path.dirname(path)
            for _ in range(level - 1):
                base = os.path.dirname(base)
            self.local(base, module, names)
            return
        found = any(self.local("" if root == "." else root, module, names) for root in self.roots)
        top = module.split(".")[0]
        if found:
            return
        if top in FRAMEWORKS:
            self.frameworks.add(top)
        if top in ("triton", "cutlass"):
            self.frameworks.add("torch")
        if needed and installed(top) is None:
            self.missing.append(top)
            self.said.add(path, line, column, "error", f"no module named '{top}' in {sys.executable} (Python "
                          f"{sys.version.split()[0]}), and none in the task")

    def local(self, root, module, names):
        """Adds what of `module` lies below root; whether anything does."""
        base = os.path.normpath(os.path.join(root, *module.split("."))) if module else os.path.normpath(root or ".")
        if base.startswith(".."):
            return False
        hit = False
        parts = module.split(".") if module else []
        for count in range(1, len(parts) + 1):  # the packages on the way
            init = os.path.normpath(os.path.join(root, *parts[:count], "__init__.py"))
            if os.path.isfile(init):
                self.add(init, init in self.order["staged"])
                hit = True
        for candidate in (base + ".py", *(os.path.join(base, name + ".py") for name in names),
                          *(os.path.join(base, name, "__init__.py") for name in names)):
            candidate = os.path.normpath(candidate)
            if os.path.isfile(candidate):
                self.add(candidate, candidate in self.order["staged"])
                hit = True
        return hit

    # --- checks --------------------------------------------------------------------------------------------------

    def check_shadows(self):
        """Names that hide what is installed: who imports numpy is to get numpy."""
        for root in dict.fromkeys(self.roots):
            depth = 0 if root == "." else root.count("/") + 1
            for path in self.files:
                parts = path.split("/")
                if (root != "." and not path.startswith(root + "/")) or len(parts) <= depth:
                    continue
                name = parts[depth] if len(parts) > depth + 1 else os.path.splitext(parts[depth])[0]
                origin = installed(name) if name.isidentifier() and path != self.order["entry"]["file"] else None
                if origin and name not in ("__init__",):
                    self.said.add(path, 1, 1, "warning", f"'{name}' hides the installed module of that name ({origin})")

    def check_symbol(self, symbol, arguments):
        path = self.order["entry"]["file"]
        tree = self.trees.get(path)
        if tree is None:
            return
        top = symbol.split(".")[0]
        names, functions = set(), {}
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                names.add(node.name)
            elif isinstance(node, (ast.Import, ast.ImportFrom)):
                names.update((name.asname or name.name).split(".")[0] for name in node.names)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names.add(node.id)
        for node in tree.body:
            if isinstance(node, ast.FunctionDef):
                functions[node.name] = node
        star = any(isinstance(n, ast.ImportFrom) and any(a.name == "*" for a in n.names) for n in ast.walk(tree))
        if top not in names and not star:
            defined = ", ".join(functions) or "no function"
            self.said.add(path, 1, 1, "error", f"the file defines no '{top}'; it defines {defined}")
        elif symbol in functions:
            self.check_count(path, functions[symbol], arguments)

    def check_count(self, path, function, arguments):
        around = [d.func if isinstance(d, ast.Call) else d for d in function.decorator_list]
        # A jitted function of the CuTe DSL is one of the host; only its kernels run on the device.
        device = "kernel" if "cutlass" in self.frameworks else "jit"
        if any(device == getattr(d, "attr", getattr(d, "id", "")) for d in around):
            self.said.add(path, function.lineno, 1, "error", f"'{function.name}' is a kernel: the entry is a function that "
                          "launches it on the tensors it is given")
            return
        named = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
        least = len(named) - len(function.args.defaults)
        count = len(arguments)
        wants_keywords = [a.arg for a, d in zip(function.args.kwonlyargs, function.args.kw_defaults) if d is None]
        if (count < least or count > len(named)) and not function.args.vararg or wants_keywords:
            self.said.add(path, function.lineno, 1, "error",
                          f"'{function.name}' takes ({', '.join(named + wants_keywords)}) and is given "
                          f"({', '.join(a['name'] for a in arguments)}): kernel.args gives their order")

    def arrays(self):
        if "torch" in self.frameworks and installed("torch"):
            return "torch"
        if "numpy" in self.frameworks and installed("numpy"):
            return "numpy"
        return "plain"

    def build(self):
        order = self.order
        for path in order["staged"]:
            if path.endswith(".py"):
                self.add(path, True)
            elif os.path.isfile(path):
                try:
                    self.files[path] = read(path)
                except ValueError:
                    self.said.add(path, 1, 1, "warning", "is not text and was left out")
        self.check_shadows()
        for name in ("prepare", "plan"):
            if order.get(name):
                self.check_symbol(order[name], order["arguments"])
        self.check_symbol(order["entry"]["symbol"], order["arguments"])
        if "cutlass" in self.frameworks and order.get("slow_down"):
            self.frameworks.add("triton")  # the planted slow-down is written in it
        imports = [name for name in FRAMEWORKS if name in self.frameworks and installed(name)]
        if "numpy" in imports and "torch" not in imports and installed("ml_dtypes"):
            imports.append("ml_dtypes")
        return {"format": FORMAT, "entry": order["entry"], "prepare": order.get("prepare", ""),
                "plan": order.get("plan", ""), "role": order["role"], "arguments": order["arguments"],
                "roots": order["roots"], "slow_down": order.get("slow_down", 0), "arrays": self.arrays(),
                "imports": imports, "files": [{"path": path, "text": self.files[path]} for path in sorted(self.files)]}


def escaped(path):
    return path.replace("\\", "\\\\").replace(" ", "\\ ").replace("#", "\\#").replace("$", "$$")


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        order = json.load(file)
    sys.path[:] = [path for path in sys.path if os.path.abspath(path) != os.path.dirname(os.path.abspath(__file__))]
    bundle = Bundle(order)
    made = bundle.build()
    for line in bundle.said.lines:
        print(line, file=sys.stderr)
    if bundle.said.errors:
        return 1
    print(json.dumps({"arrays": made["arrays"], "imports": made["imports"],
                      "files": [file["path"] for file in made["files"]]}))
    with open(order["depfile"], "w", encoding="utf-8") as out:
        out.write(f"{order['output']}: {' '.join(escaped(path) for path in bundle.read_too)}\n")
    with open(order["output"], "w", encoding="utf-8") as out:
        json.dump(made, out, sort_keys=True, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
