#!/usr/bin/env python3
"""Type-checks the Swift examples of README, Docs, the DocC articles and the doc comments.

    snippets.py             after `swift build --build-tests`; exits with 1 if an example does not compile
    snippets.py NAME…       only pages whose path contains a name
    snippets.py --list      lists all examples and marks the skipped ones, without compiling

Each page becomes a class on the main actor, and each example becomes a method of this class. Examples may use
declarations such as `pusher` or `show(_:)`, which are in Context/. `<Group>.swift` declares them at file level, and
`<Group>.<Page>.swift` declares them as members of the page's class.

A Swift file that shell commands write (`cat > main.swift <<'END'`) is an example too.

A comment on the line before the fence can change how the script treats an example:

    <!-- snippet: skip, because … -->      skips an example that is not a program, such as a part of a manifest
    <!-- snippet: continues -->            continues the method of the previous example
"""

from __future__ import annotations

import concurrent.futures
import dataclasses
import functools
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
CONTEXT = pathlib.Path(__file__).resolve().parent / "Context"
HEREDOC = re.compile(r"cat > \S+\.swift <<'(\w+)'$")
MARK = re.compile(r"<!-- snippet: (skip|continues)\b(.*?)-->")
# Programs for PusherSwift are in Swift 5 mode. The first page gives the group its name.
SWIFT_5 = ("MigratingFromPusherSwift", "PusherSwiftDifferences")
# If an example contains one of these patterns, the script imports the module.
IMPORTS = {
    r"\bPusher(ClientOptions)?\(": "PusherClient",
    r"\bPusherServerAPI\b": "PusherServerAPI",
    r"\bPusherTest(Server|Relay)\b": "PusherTestServer",
    r"\bEventStream\w*\(|\bEventSource\(": "ServerSentEvents",
    r"\bEventSourceTestServer\b": "EventSourceTestServer",
    r"\bHubConnection\w*\(": "SignalRClient",
    r"\bSignalRTestServer\b": "SignalRTestServer",
    r"\b(Reconnecting)?WebSocket\(": "WebSocketClient",
    r"\bLogger\(": "Logging",
    r"#expect\(": "Testing",
}
# Internal modules, and the modules that re-export them. Readers see the doc comments of an internal module there.
EXPORTED = {
    "PusherCore": "PusherClient",
    "PusherProtocol": "PusherClient",
    "RealtimeNetworking": "PusherClient",
    "RealtimePrimitives": "PusherClient",
    "SignalRCore": "SignalRClient",
}


@dataclasses.dataclass
class Snippet:
    path: str
    line: int
    text: str
    mark: str = ""
    reason: str = ""


def main(arguments: list[str]) -> int:
    os.chdir(ROOT)
    names = [argument for argument in arguments if not argument.startswith("-")]
    pages: dict[tuple[str, str], list[Snippet]] = {}
    for path in sources():
        if names and not any(name in path for name in names):
            continue
        found = list(snippets(path))
        if found:
            pages.setdefault((group(path), page(path)), []).extend(found)
    every = [snippet for page_snippets in pages.values() for snippet in page_snippets]
    skipped = [snippet for snippet in every if snippet.mark == "skip"]
    if "--list" in arguments:
        for snippet in every:
            print(f"{snippet.path}:{snippet.line}" + (f": skipped{snippet.reason}" if snippet.mark == "skip" else ""))
        return 0
    groups: dict[str, dict[str, list[Snippet]]] = {}
    for (group_name, page_name), page_snippets in pages.items():
        groups.setdefault(group_name, {})[page_name] = page_snippets
    compiler()
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda item: check(pathlib.Path(folder), *item), groups.items()))
    output = "".join(results)
    print(output, end="")
    print(f"{len(every) - len(skipped)} examples of {len(pages)} pages; {len(skipped)} are skipped.")
    if not every:
        print("No example was found.")
    return 1 if output or not every else 0


def sources() -> list[str]:
    articles = [*ROOT.glob("*.md"), *ROOT.glob("Docs/*.md"), *ROOT.glob("Sources/*/*.docc/*.md")]
    code = [path for path in ROOT.glob("Sources/**/*.swift")]
    return sorted(str(path.relative_to(ROOT)) for path in articles + code)


def group(path: str) -> str:
    parts = pathlib.PurePath(path).parts
    if parts[0] == "Sources":
        return EXPORTED.get(parts[1], parts[1])
    stem = pathlib.PurePath(path).stem
    return SWIFT_5[0] if stem in SWIFT_5 else "Docs"


def page(path: str) -> str:
    """Returns the name of the page. All doc comments of a module are one page."""
    return "DocComments" if path.endswith(".swift") else pathlib.PurePath(path).stem


def snippets(path: str):
    code = path.endswith(".swift")
    prefix = re.compile(r"^\s*/// ?") if code else None
    lines = (ROOT / path).read_text(encoding="utf-8").split("\n")
    start, end, mark, reason, indent, text = 0, "", "", "", "", []
    for number, line in enumerate(lines, 1):
        if prefix:
            match = prefix.match(line)
            line = line[match.end():] if match else ""
        if start:
            if line.strip().startswith(end):
                yield Snippet(path, start, "\n".join(text), mark, reason)
                start, mark, reason, text = 0, "", "", []
            else:
                text.append(line.removeprefix(indent))
        elif match := MARK.search(line):
            mark, reason = match[1], match[2].rstrip()
        elif line.strip().startswith("```swift"):
            start, end, indent = number + 1, "```", line[: len(line) - len(line.lstrip())]
        elif match := HEREDOC.match(line):
            start, end, indent = number + 1, match[1], ""
        elif line.strip():
            mark, reason = "", ""


def check(folder: pathlib.Path, item_group: str, item_pages: dict[str, list[Snippet]]) -> str:
    """Returns the compiler's errors, with the lines of the documents."""
    place = folder / item_group
    place.mkdir()
    files = [CONTEXT / "Common.swift"]
    if (CONTEXT / f"{item_group}.swift").exists():
        files.append(CONTEXT / f"{item_group}.swift")
    for name, page_snippets in item_pages.items():
        file = place / f"{name}Page.swift"
        file.write_text(program(item_group, name, page_snippets), encoding="utf-8")
        files.append(file)
    mode = "5" if item_group in SWIFT_5 else "6"
    command = [*compiler(), "-typecheck", "-swift-version", mode, "-module-name", f"Snippets{item_group}", *map(str, files)]
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if result.returncode == 0:
        return ""
    errors = [line for line in result.stdout.split("\n") if ": error:" in line]
    return "\n".join(errors or [result.stdout]) + "\n"


def program(item_group: str, name: str, page_snippets: list[Snippet]) -> str:
    modules, top, methods = {"Foundation"}, [], []
    if item_group not in ("Docs", *SWIFT_5):
        modules.add(item_group)
    if item_group in SWIFT_5:
        modules.add("PusherClient")
    for snippet in page_snippets:
        if snippet.mark == "skip":
            continue
        imports, outside, inside = parts(snippet)
        modules |= imports
        modules |= {module for pattern, module in IMPORTS.items() if re.search(pattern, snippet.text)}
        top.append(outside)
        if snippet.mark == "continues" and methods:
            methods[-1] = methods[-1].removesuffix("}\n") + inside + "}\n"
        else:
            methods.append(f"func snippet{len(methods) + 1}() async throws {{\n{inside}}}\n")
    context = CONTEXT / f"{item_group}.{name}.swift"
    members = context.read_text(encoding="utf-8") if context.exists() else ""
    return (
        "".join(f"import {module}\n" for module in sorted(modules))
        + "".join(top)
        + f"@MainActor final class Page{name.replace('-', '')} {{\n{members}\n{''.join(methods)}}}\n"
    )


def parts(snippet: Snippet) -> tuple[set[str], str, str]:
    """Returns the imports, the declarations that are only allowed at file level, and the rest."""
    imports = set()
    regions: dict[bool, list[str]] = {True: [], False: []}
    is_outside, current = False, None
    for offset, line in enumerate(snippet.text.split("\n")):
        if line.startswith("import "):
            imports.add(line.split()[1])
            line = ""
        if re.match(r"extension |@Test|final class \w+: XCTestCase", line):
            is_outside = True
        if is_outside != current:
            regions[is_outside].append(f'#sourceLocation(file: "{snippet.path}", line: {snippet.line + offset})')
            current = is_outside
        # Two pages may declare the same extension.
        line = re.sub(r"^(extension [^:]*\{)", r"fileprivate \1", line)
        line = re.sub(r"^\s*…\s*$", "", line)
        regions[is_outside].append(re.sub(r"(\{|\bin) … \}", r"\1 }", line))
        if is_outside and line.startswith("}"):
            is_outside = False
    outside, inside = ("".join(f"{line}\n" for line in lines + ["#sourceLocation()"] if lines) for lines in (regions[True], regions[False]))
    return imports, outside, inside


@functools.cache
def compiler() -> list[str]:
    """Returns the compiler's command, with the modules of the last build. See .ci/symbol-graphs."""
    swift = os.environ.get("SWIFT", "swift")
    flags = os.environ.get("FLAGS", "").split()
    build = [swift, "build", *flags, "--show-bin-path"]
    binaries = pathlib.Path(subprocess.run(build, stdout=subprocess.PIPE, text=True, check=True).stdout.strip())
    checkouts = binaries.parent.parent / "checkouts"
    maps = [*binaries.glob("*.build/module.modulemap"), *checkouts.glob("*/Sources/*/include/module.modulemap"),
            *ROOT.glob("Sources/*/module.modulemap")]
    options = [f"-fmodule-map-file={path}" for path in sorted(maps)]
    toolchain = pathlib.Path(swift).parent if "/" in swift else pathlib.Path(os.path.realpath(which(swift))).parent
    command = [str(toolchain / "swiftc"), "-I", str(binaries / "Modules"), "-suppress-warnings",
               "-module-cache-path", str(binaries / "ModuleCache")]
    return command + [part for option in options for part in ("-Xcc", option)]


def which(program_name: str) -> str:
    result = subprocess.run(["sh", "-c", f"command -v {program_name}"], stdout=subprocess.PIPE, text=True, check=True)
    return result.stdout.strip()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
