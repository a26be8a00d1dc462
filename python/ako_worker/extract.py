"""python3 -B extract.py REPOSITORY PATH SYMBOL KERNEL: takes a function out of a Python repository with all that it needs of
it, as modules that lie beside each other, and drafts a contract. Nothing is imported or run. Prints one JSON object."""
import ast
import json
import os
import sys

INTERPRETED = ("torch", "triton", "numpy")


class Refused(Exception):
    def __init__(self, message, found, following):
        super().__init__(message)
        self.words = {"message": message, "found": found, "next": following}


def names_of(target):
    return {node.id for node in ast.walk(target) if isinstance(node, ast.Name)}


def defined_by(statement):
    """Top-level names that a statement makes."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return {statement.name}
    if isinstance(statement, ast.Assign):
        return set().union(*(names_of(target) for target in statement.targets))
    if isinstance(statement, (ast.AnnAssign, ast.AugAssign)):
        return names_of(statement.target)
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return {(name.asname or name.name).split(".")[0] for name in statement.names}
    if isinstance(statement, (ast.If, ast.Try, ast.With, ast.For, ast.While)):
        return set().union(set(), *(defined_by(inner) for inner in ast.walk(statement)
                                    if isinstance(inner, ast.stmt) and inner is not statement))
    return set()


def used_by(statement):
    used = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    for node in ast.walk(statement):  # names in annotations that are text
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier():
            used.add(node.value)
    return used


class Module:
    """A file of the repository, and which of its statements are needed."""

    def __init__(self, path, text, flat):
        self.path, self.text, self.flat = path, text, flat
        self.lines = text.splitlines()
        self.tree = ast.parse(text, path)
        self.kept, self.imports, self.whole = set(), {}, False

    def providers(self, name):
        return [index for index, statement in enumerate(self.tree.body) if name in defined_by(statement)]

    def first_line(self, statement):
        line = min([statement.lineno, *(d.lineno for d in getattr(statement, "decorator_list", []))])
        while line > 1 and self.lines[line - 2].lstrip().startswith("#"):
            line -= 1
        return line

    def rendered(self):
        parts = []
        for index, statement in enumerate(self.tree.body):
            if index in self.imports:
                parts += self.imports[index]
            elif index in self.kept or self.whole or self.is_future(statement):
                parts.append("\n".join(self.lines[self.first_line(statement) - 1:statement.end_lineno]))
        spaced = []
        for part in parts:
            block = part.lstrip("# \n").startswith(("def ", "class ", "@", "async ")) or "\ndef " in part
            spaced.append(("\n\n" if block and spaced else "") + part)
        return "\n".join(spaced) + "\n"

    @staticmethod
    def is_future(statement):
        return isinstance(statement, ast.ImportFrom) and statement.module == "__future__"


class Extraction:
    def __init__(self, repository, path):
        self.repository = repository
        self.modules, self.flat, self.external, self.left = {}, set(), {}, []
        self.roots = self.roots_of(path)

    def roots_of(self, path):
        """Folders that imports may start from: above the file's packages, beside it, and the usual ones."""
        folder = os.path.dirname(path)
        top = folder
        while top and os.path.isfile(os.path.join(self.repository, top, "__init__.py")):
            top = os.path.dirname(top)
        return list(dict.fromkeys([top, folder, "", "src", "python"]))

    def module(self, path):
        if path not in self.modules:
            with open(os.path.join(self.repository, path), encoding="utf-8-sig") as file:
                text = file.read()
            stem = os.path.splitext(os.path.basename(path))[0]
            if stem == "__init__":
                stem = os.path.basename(os.path.dirname(path)) or "package"
            flat, number = stem, 1
            while flat in self.flat:
                number += 1
                flat = f"{stem}_{number}"
            self.flat.add(flat)
            self.modules[path] = Module(path, text, flat)
        return self.modules[path]

    def located(self, module, level, at):
        """The file of an imported module inside the repository."""
        parts = module.split(".") if module else []
        if level:
            base = os.path.dirname(at)
            for _ in range(level - 1):
                base = os.path.dirname(base)
            roots = [base]
        else:
            roots = self.roots
        for root in roots:
            for candidate in (os.path.join(root, *parts) + ".py", os.path.join(root, *parts, "__init__.py")):
                candidate = os.path.normpath(candidate)
                if parts + [level] and not candidate.startswith("..") and \
                        os.path.isfile(os.path.join(self.repository, candidate)):
                    return candidate
        return None

    def need(self, path, names):
        """Keeps what defines these names, and what that needs."""
        module = self.module(path)
        todo = list(names)
        while todo:
            name = todo.pop()
            for index in module.providers(name):
                statement = module.tree.body[index]
                if isinstance(statement, (ast.Import, ast.ImportFrom)):
                    self.follow(module, index, name)
                elif index not in module.kept:
                    module.kept.add(index)
                    todo += used_by(statement)

    def follow(self, module, index, name):
        statement = module.tree.body[index]
        lines = module.imports.setdefault(index, [])
        for alias in statement.names:
            if (alias.asname or alias.name).split(".")[0] != name:
                continue
            line = self.import_line(module, statement, alias)
            if line not in lines:
                lines.append(line)

    def import_line(self, module, statement, alias):
        renamed = f" as {alias.asname}" if alias.asname else ""
        if isinstance(statement, ast.Import):
            path = self.located(alias.name, 0, module.path)
            if path is None:
                self.note_external(alias.name, module, statement)
                return f"import {alias.name}{renamed}"
            other = self.module(path)
            self.need_attributes(module, alias.asname or alias.name, path)
            return f"import {other.flat} as {alias.asname or alias.name.split('.')[0]}"
        source = "." * statement.level + (statement.module or "")
        inner = self.located(f"{statement.module}.{alias.name}" if statement.module else alias.name, statement.level,
                             module.path)
        path = self.located(statement.module or "", statement.level, module.path)
        if path is not None and self.module(path).providers(alias.name):
            self.need(path, [alias.name])
            return f"from {self.module(path).flat} import {alias.name}{renamed}"
        if inner is not None:
            self.need_attributes(module, alias.asname or alias.name, inner)
            return f"import {self.module(inner).flat} as {alias.asname or alias.name}"
        if path is not None:
            self.left.append(f"{alias.name} of {source} ({module.path}:{statement.lineno})")
        self.note_external(statement.module or source, module, statement)
        return f"from {source} import {alias.name}{renamed}"

    def need_attributes(self, module, name, path):
        """Of a module that is used by its name: the attributes that the file asks for."""
        wanted = {node.attr for node in ast.walk(module.tree) if isinstance(node, ast.Attribute)
                  and ast.unparse(node.value) == name}
        self.need(path, wanted)

    def note_external(self, name, module, statement):
        top = name.split(".")[0]
        if top and top not in sys.stdlib_module_names:
            self.external.setdefault(top, f"{top} ({module.path}:{statement.lineno})")


def find_function(extraction, path, symbol):
    module = extraction.module(path)
    functions = [s for s in module.tree.body if isinstance(s, ast.FunctionDef)]
    listed = "; ".join(f"{f.name} (line {f.lineno})" for f in functions[:12]) or "no function is defined in this file"
    same = [f for f in functions if f.name == symbol]
    if not same:
        raise Refused("the file defines no such function", listed, "name one of these, or the file that defines it")
    return same[-1], listed


def is_kernel(function):
    return any(getattr(d.func if isinstance(d, ast.Call) else d, "attr", getattr(d, "id", "")) == "jit"
               for d in function.decorator_list)


def launchers(module, name):
    """Functions of the same file that launch a kernel: kernel[grid](...)."""
    found = []
    for function in module.tree.body:
        if isinstance(function, ast.FunctionDef) and not is_kernel(function):
            for node in ast.walk(function):
                if isinstance(node, ast.Subscript) and getattr(node.value, "id", "") == name:
                    found.append(function)
                    break
    return found


def kind_of(argument, default):
    words = ast.unparse(argument.annotation) if argument.annotation is not None else ""
    if "Tensor" in words or "ndarray" in words:
        return "tensor"
    if words in ("int", "Optional[int]", "int | None"):
        return "axis"
    if words in ("float", "Optional[float]", "float | None"):
        return "scalar"
    if words == "bool":
        return "bool"
    if words:
        return "other"
    if isinstance(default, ast.Constant):
        return {bool: "bool", int: "axis", float: "scalar"}.get(type(default.value), "other")
    return "tensor"


class Draft:
    def __init__(self, kernel, path, flat, function, origin):
        self.kernel, self.path, self.flat, self.function, self.origin = kernel, path, flat, function, origin
        self.tensors, self.scalars, self.axes, self.args, self.questions = "", "", [], [], []

    def ask(self, key, question):
        self.questions.append(f"{key}: {question}")
        return f"# QUESTION {question}\n"

    def write(self):
        arguments = [*self.function.args.posonlyargs, *self.function.args.args, *self.function.args.kwonlyargs]
        defaults = [None] * (len(self.function.args.posonlyargs) + len(self.function.args.args) -
                             len(self.function.args.defaults)) + list(self.function.args.defaults) + \
            list(self.function.args.kw_defaults)
        for argument, default in zip(arguments, defaults):
            self.add(argument, default)
        entry = f'{{ file = "solution/{self.flat}.py", symbol = "{self.function.name}" }}'
        returns = [n for n in ast.walk(self.function) if isinstance(n, ast.Return) and n.value is not None
                   and not (isinstance(n.value, ast.Constant) and n.value.value is None)]
        if returns:
            self.ask("kernel.entry", f"the function returns its answer (line {returns[0].lineno}): an entry writes into "
                     "tensors that it is given. Add a function that takes the output as well, and name that one")
        text = (f"# Drafted from {self.path} of {self.origin}.\n# Lines with QUESTION are for you: `ako check` stops at each "
                f"until it is answered.\nformat = 1\n\n[kernel]\nname = \"{self.kernel}\"\nlane = \"triton\"\n"
                f"entry = {entry}\nargs = [{', '.join(json.dumps(name) for name in self.args)}]\n")
        if returns:
            text += self.ask("tensor out", "where does the answer go? Name the output that your entry takes")
            self.questions.pop()
            self.tensors += '\n[[tensor]]\nname = "?"\nrole = "out"\ndtype = "?"\nshape = ["?"]\n'
        if self.axes:
            text += "\n[axes]\n" + "".join(f"{name} = {{ var = true, min = 1 }}\n" for name in self.axes)
        else:
            text += "\n" + self.ask("axes", "which extents vary between calls?") + \
                '[axes]\nM = { var = true, min = 1, max = "?" }\n'
        text += self.tensors + self.scalars
        text += "\n" + self.ask("shape", "which shapes are called in production, how often?") + "[[shape]]\n" + \
            "".join(f'{name} = "?"\n' for name in self.axes or ["M"]) + "weight = 1\n"
        same = entry.replace("solution/", "input/")
        return text + ("\n# The kernel as it was found judges correctness; a plain one in float64 judges better.\n"
                       f"[reference]\nentry = {same}\n\n[[baseline]]\nname = \"found\"\nentry = {same}\n")

    def add(self, argument, default):
        name, kind = argument.arg, kind_of(argument, default)
        if kind == "other" or (kind == "axis" and name.isupper() and len(name) > 1):
            if default is not None:
                return  # its default serves
            if kind == "other":
                self.ask("kernel.args", f"'{name}' can be given by no contract: add a function that makes it, and name that "
                         "one as the entry")
                return
        self.args.append(name)
        if kind == "axis":
            self.axes.append(name)
        elif kind == "tensor":
            out = any(word in name.lower() for word in ("out", "dst", "result", "_o"))
            self.tensors += (f'\n[[tensor]]\nname = "{name}"\nrole = "{"out" if out else "in"}"\n' +
                             self.ask(f"tensor {name}.dtype", "which elements?") + 'dtype = "?"\n' +
                             self.ask(f"tensor {name}.shape", "which shape, as expressions over the axes?") +
                             'shape = ["?"]\n')
        else:
            value = json.dumps(default.value) if isinstance(default, ast.Constant) else None
            self.scalars += f'\n[[scalar]]\nname = "{name}"\ndtype = "{"bool" if kind == "bool" else "float32"}"\n'
            if value is None:
                self.scalars += self.ask(f"scalar {name}.value", "which value does production use?") + 'value = "?"\n'
            else:
                self.scalars += f"value = {value}\n"


def extracted(repository, path, symbol, kernel, origin):
    extraction = Extraction(repository, path)
    function, listed = find_function(extraction, path, symbol)
    module = extraction.module(path)
    if is_kernel(function):
        found = launchers(module, symbol)
        if len(found) != 1:
            raise Refused("the function is a kernel, and " + ("no function" if not found else "several functions") +
                          " of its file launch it", ", ".join(f.name for f in found) or listed,
                          "name the function that launches it")
        function = found[0]
    extraction.need(path, [function.name])
    draft = Draft(kernel, path, module.flat, function, origin)
    toml = draft.write()
    files = [{"path": f"{each.flat}.py", "text": each.rendered()} for each in extraction.modules.values()
             if each.kept or each.imports or each.whole]
    needs = [words for top, words in extraction.external.items() if top not in INTERPRETED]
    return {"files": files, "toml": toml, "questions": draft.questions, "needs": needs, "left_out": extraction.left,
            "function": function.name, "line": function.lineno,
            "signature": f"{function.name}({ast.unparse(function.args)})"}


def main():
    repository, path, symbol, kernel, origin = sys.argv[1:6]
    try:
        out = extracted(repository, path, symbol, kernel, origin)
    except Refused as refused:
        out = {"error": refused.words}
    except SyntaxError as error:
        out = {"error": {"message": "a file of the repository is not Python",
                         "found": f"{error.filename}:{error.lineno}: {error.msg}", "next": "name another file"}}
    except (OSError, UnicodeDecodeError) as error:
        out = {"error": {"message": "a file of the repository cannot be read", "found": str(error), "next": ""}}
    print(json.dumps(out))
    return 0


if __name__ == "__main__":
    sys.exit(main())
