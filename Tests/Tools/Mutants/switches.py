"""Makes faults switchable, so that one build of the package contains all of them.

The body of a function becomes a choice between the body with a fault and the body of the package. The environment
variable of a process selects its fault.
"""

import re

VARIABLE = "SWITCHED_FAULT"
DECLARATION = f"""\
import Glibc

@usableFromInline let switchedFault = getenv("{VARIABLE}").flatMap {{ Int(String(cString: $0)) }} ?? 0
"""

# A declaration that can have a body: the part before its parameters or its type.
HEADER = re.compile(
    r"\bfunc\s+[^\s(<]+|\binit[?!]?(?=[(<])|\bdeinit\b|\bsubscript(?=[(<])|\bvar\s+\w+\s*:"
    r"|(?<![.\w])(?:get|set|didSet|willSet|_read|_modify)\b(?=[^{}\n]*\{)")
ACCESSOR = re.compile(r"\s*(?:(?:non)?mutating\s+)?(?:get|set|didSet|willSet|_read|_modify)\b")
OTHER_DECLARATION = re.compile(r"(?<=\s)(?:func|var|let|init|case|subscript)\b")
ASSIGNMENT = re.compile(r"(?<![=!<>])=(?!=)")
QUOTE = re.compile(r'(#*)("""|")')


def switched(text, faults):
    """Returns the text with a switch for each fault, and the numbers of the faults that no switch can select.

    A fault is its number, the text to replace, and the replacement.
    """
    bodies = list(function_bodies(text))
    switches = {}
    impossible = []
    for number, old, new in faults:
        start, end, replacement = difference(text, old, new)
        around = [body for body in bodies if body[0] <= start and end <= body[1]]
        if around:
            body = min(around, key=lambda body: body[1] - body[0])
            switches.setdefault(body, []).append((number, text[body[0]:start] + replacement + text[end:body[1]]))
        else:
            impossible.append(number)
    # The text is changed from its end, so that the offsets stay valid. A body inside another one would have copies.
    for body in sorted(switches, reverse=True):
        if any(other[0] < body[0] and body[1] < other[1] for other in switches):
            impossible += [number for number, _ in switches.pop(body)]
    for start, end, returns in sorted(switches, reverse=True):
        choices = [f"if switchedFault == {number} {{ {branch(body, returns)} }} else "
                   for number, body in switches[start, end, returns]]
        choices.append(f"{{ {branch(text[start:end], returns)} }}")
        text = f"{text[:start]} {''.join(choices)} {text[end:]}"
    return text, impossible


def difference(text, old, new):
    """Returns the start and the end of the range that differs, and its replacement."""
    start = text.index(old)
    prefix = 0
    while prefix < min(len(old), len(new)) and old[prefix] == new[prefix]:
        prefix += 1
    suffix = 0
    while suffix < min(len(old), len(new)) - prefix and old[-1 - suffix] == new[-1 - suffix]:
        suffix += 1
    return start + prefix, start + len(old) - suffix, new[prefix:len(new) - suffix]


def branch(body, returns):
    """Returns a body that can be a branch. A body of one expression needs `return` there."""
    code = without_literals(body).strip()
    outer = without_nested("{}", without_nested("[]", without_nested("()", code)))
    # A choice with `return` in its branches consists of statements.
    inspected = code if re.match(r"(?:if|switch)\b", code) else outer
    keyword = re.search(r"\b(?:return|let|var|guard|defer|throw|for|while|repeat)\b", inspected)
    is_expression = code and not keyword and not re.search(r"\n\s*\w", outer.strip())
    return f"return {body.strip()}" if returns and is_expression else body


def function_bodies(text):
    """Yields the start and the end of each body, without braces, and whether the body returns a value."""
    code = without_literals(text)
    for match in HEADER.finditer(code):
        is_variable = match[0].startswith("var")
        start = opening_brace(code, match.end(), is_variable)
        if start is None:
            continue
        end = closing_brace(code, start)
        if not (is_variable and ACCESSOR.match(code, start + 1)):
            yield start + 1, end, is_variable or match[0] == "get" or "->" in without_nested("()", code[match.end():start])


def opening_brace(code, at, is_variable):
    """Returns the offset of a declaration's opening brace, or None if the declaration has no body."""
    depth = 0
    while at < len(code):
        if depth == 0:
            if code[at] == "{":
                return at
            if code[at] == "}" or OTHER_DECLARATION.match(code, at) or ASSIGNMENT.match(code, at):
                return None
            # The type of a variable ends with its line.
            if is_variable and code[at] == "\n" and not re.match(r"\s*\{", code[at:]):
                return None
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(code[at], 0)
        at += 1
    return None


def closing_brace(code, start):
    depth = 0
    for at in range(start, len(code)):
        depth += {"{": 1, "}": -1}.get(code[at], 0)
        if depth == 0:
            return at
    raise ValueError("A brace is not closed.")


def without_nested(braces, code):
    """Returns the code without the parts between braces of one kind."""
    opening, closing = map(re.escape, braces)
    count = 1
    while count:
        code, count = re.subn(f"{opening}[^{opening}{closing}]*{closing}", "", code)
    return code


def without_literals(text):
    """Returns Swift code in which spaces replace comments and string literals. The offsets stay the same."""
    code = []
    at = 0
    while at < len(text):
        end = end_of_literal(text, at)
        code.append(re.sub(r"[^\n]", " ", text[at:end]) if end else text[at])
        at = end or at + 1
    return "".join(code)


def end_of_literal(text, at):
    """Returns the end of the comment or string literal that begins at an offset, or None if there is none."""
    if text.startswith("//", at):
        return (text + "\n").index("\n", at)
    if text.startswith("/*", at):
        return text.index("*/", at) + 2
    opening = QUOTE.match(text, at)
    if not opening:
        return None
    hashes, quote = opening.groups()
    at = opening.end()
    while not text.startswith(quote + hashes, at):
        escapes = text.startswith("\\" + hashes, at)
        at += 1 + len(hashes) if escapes else 1
        if escapes:
            at = end_of_interpolation(text, at) if text[at] == "(" else at + 1
    return at + len(quote + hashes)


def end_of_interpolation(text, at):
    depth = 0
    while True:
        end = end_of_literal(text, at)
        depth += 0 if end else {"(": 1, ")": -1}.get(text[at], 0)
        at = end or at + 1
        if depth == 0:
            return at
