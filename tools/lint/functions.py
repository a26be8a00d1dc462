"""Where functions begin and how long they are, without a compiler.

Each reader yields (title, first line, lines). A C++ function's length runs from the line of its name to the line of its
closing brace. The reader blanks comments and literals, then follows braces: a block is a function's when a parameter
list stands before it and it opens in a namespace, a class or a file. Lambdas inside count towards the function they
stand in.
"""
import ast
import re

BLANKS = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<d>[^(\s]*)\(.*?\)(?P=d)"|"(?:\\.|[^"\\\n])*"|(?<![0-9A-Fa-f])\'(?:\\.|[^\'\\\n])*\'', re.S)
SCOPE = re.compile(r"\b(?:namespace|class|struct|union|enum|extern)\b")
NAME = re.compile(r"([A-Za-z_~][\w:~]*|operator\s*\S{1,3})\s*\($")
NOT_FUNCTIONS = {"if", "for", "while", "switch", "catch", "return", "sizeof", "alignof", "decltype"}


def blank(text):
    """Comments, literals and preprocessor lines replaced by spaces; line breaks stay."""
    def spaces(match):
        return re.sub(r"[^\n]", " ", match.group(0))
    text = BLANKS.sub(spaces, text)
    return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", spaces, text, flags=re.M)


def title_of(head):
    """The function's name when `head`, the text before a brace, declares one; else None."""
    head = head.strip()
    if "(" not in head:
        return None
    first = SCOPE.search(head)
    if first and "(" not in head[:first.start()] and not re.search(r"\)\s*(const|noexcept|override|final|\s|:|->.*)*$", head):
        return None
    opening = head.index("(")
    match = NAME.search(head[:opening + 1])
    if not match or match.group(1) in NOT_FUNCTIONS:
        return None
    return match.group(1)


def cpp(text):
    text = blank(text)
    stack = []  # True for a block inside a function
    begin, line, head_line, found = 0, 1, 1, []
    for at, char in enumerate(text):
        if char == "\n":
            line += 1
        elif char == "{":
            head = text[begin:at]
            title = None if any(kind for kind, _, _ in stack) else title_of(head)
            inside = bool(title) or any(kind for kind, _, _ in stack)
            start = line - head.lstrip().count("\n")
            stack.append((inside, title, start))
            begin = at + 1
        elif char == "}":
            if stack:
                _, title, start = stack.pop()
                if title:
                    found.append((title, start, line - start + 1))
            begin = at + 1
        elif char == ";":
            begin = at + 1
    return found


def python(text):
    try:
        module = ast.parse(text)
    except SyntaxError as error:
        return [(f"a file that does not parse ({error.msg})", error.lineno or 1, 10 ** 6)]
    return [(node.name, node.lineno, node.end_lineno - node.lineno + 1) for node in ast.walk(module)
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
