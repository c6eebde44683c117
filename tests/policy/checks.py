"""The rules that a compiler does not check. Each check takes the root of a source tree and its
files (relative paths) and returns a list of problems, one line each: PATH:LINE: what; remedy."""

import fnmatch
import os
import re
import subprocess

SOURCE_ENDINGS = (".cpp", ".h", ".hpp", ".cu", ".cuh", ".c")


def tracked_files(root):
    """What is committed or staged and still there; without git, every file outside build/."""
    listing = subprocess.run(["git", "-C", root, "ls-files", "-z"], capture_output=True)
    if listing.returncode == 0:
        names = [name for name in listing.stdout.decode().split("\0") if name]
    else:
        names = []
        for folder, folders, files in os.walk(root):
            folders[:] = [f for f in folders if f not in ("build", ".git", "__pycache__")]
            names += [os.path.relpath(os.path.join(folder, f), root) for f in files]
    return sorted(n for n in names if os.path.isfile(os.path.join(root, n)))


def read(root, path):
    """The text of a file, or None when it is not text."""
    with open(os.path.join(root, path), "rb") as file:
        content = file.read()
    if b"\0" in content[:8192]:
        return None
    return content.decode("utf-8", errors="replace")


def table(root, name):
    """The lines `key: value` of a table in tests/policy, as (line number, key, value)."""
    path = os.path.join("tests", "policy", name)
    rows = []
    for number, line in enumerate(read(root, path).splitlines(), 1):
        line = line.split("#", 1)[0].strip()
        if not line:
            continue
        if ":" not in line:
            raise ValueError(f"{path}:{number}: found {line!r}; expected `key: values`")
        key, value = line.split(":", 1)
        rows.append((number, key.strip(), value.strip()))
    return rows


def without_comments_and_strings(text):
    """The code alone, with the same line breaks."""
    pattern = re.compile(
        r'//[^\n]*|/\*.*?\*/|R"(?P<mark>[^()\s\\]*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"'
        r"|(?<![0-9A-Za-z_])'(?:\\.|[^'\\\n])*'", re.DOTALL)
    return pattern.sub(lambda m: " " + "\n" * m.group().count("\n"), text)


def includes_of(text):
    """(line, header, is_quoted) of every include; those in comments do not count."""
    # Strings must stay, since the names of headers are strings.
    text = re.sub(r"/\*.*?\*/", lambda m: "\n" * m.group().count("\n"), text, flags=re.DOTALL)
    for number, line in enumerate(text.splitlines(), 1):
        match = re.match(r'\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)', line)
        if match:
            yield number, match.group(1) or match.group(2), match.group(1) is not None


def folder_of(path):
    """The folder of the table that a source file belongs to, or None."""
    parts = path.split("/")
    if parts[:2] == ["lib", "ddl"] and len(parts) > 3:
        return parts[2]
    return parts[0] if parts[0] in ("kernels", "tools") else None


def check_includes(root, files):
    allowed = {}
    problems = []
    for number, folder, value in table(root, "includes.txt"):
        if folder in allowed:
            problems.append(f"tests/policy/includes.txt:{number}: {folder} is listed twice")
        allowed[folder] = set(value.split()) | {folder}
    for folder, others in allowed.items():
        for other in sorted(others - set(allowed)):
            problems.append(f"tests/policy/includes.txt: {folder}: unknown folder {other}")
    third_party = [(headers.split(), paths.split())
                   for _, headers, paths in table(root, "third_party.txt")]

    for path in files:
        folder = folder_of(path)
        if folder is None or not path.endswith(SOURCE_ENDINGS):
            continue
        if folder not in allowed:
            problems.append(f"{path}: the folder {folder} is unknown; "
                            "add it to tests/policy/includes.txt")
            continue
        for number, header, quoted in includes_of(read(root, path) or ""):
            where = f"{path}:{number}"
            parts = header.split("/")
            if ".." in parts:
                problems.append(f"{where}: includes {header}; write the path from lib or the root")
            elif parts[0] == "ddl" and len(parts) > 2:
                if parts[1] not in allowed[folder]:
                    problems.append(f"{where}: {folder} may not include {header}; "
                                    "see tests/policy/includes.txt")
            elif parts[0] in ("kernels", "tools") and len(parts) > 1:
                if parts[0] not in allowed[folder]:
                    problems.append(f"{where}: {folder} may not include {header}; "
                                    "see tests/policy/includes.txt")
            elif parts[0] in ("tests", "lib"):
                problems.append(f"{where}: includes {header}; nothing of that folder is to be "
                                "included by its path")
            elif "." in header and not is_neighbour(root, path, header, quoted):
                problems += third_party_problems(where, path, header, third_party)
    return problems


def is_neighbour(root, path, header, quoted):
    return quoted and os.path.isfile(os.path.join(root, os.path.dirname(path), header))


def third_party_problems(where, path, header, third_party):
    places = [p for headers, paths in third_party
              if any(fnmatch.fnmatchcase(header, h) for h in headers) for p in paths]
    if not places:
        return [f"{where}: <{header}> is in no table; "
                "add it to tests/policy/third_party.txt with the folder that wraps it"]
    if any(fnmatch.fnmatchcase(path, p) for p in places):
        return []
    return [f"{where}: <{header}> may be included by {' '.join(places)} only; "
            "see tests/policy/third_party.txt"]


# Ends the process or prints behind the caller's back. A method of that name (communicator.abort) or
# its declaration (void abort) is another function.
CALL = re.compile(
    r"(?P<before>[A-Za-z_0-9]+\s+|\.\s*|->\s*|::)?(?<![A-Za-z_0-9])"
    r"(?P<name>exit|_exit|_Exit|quick_exit|abort|terminate|MPI_Abort|printf|fprintf|vprintf"
    r"|vfprintf|puts|fputs|putchar|perror)\s*\(")


def check_calls(root, files):
    allowed, used, problems = {}, set(), []
    for number, path, rest in table(root, "allowed_calls.txt"):
        name, _, reason = rest.partition(":")
        if not reason.strip():
            problems.append(f"tests/policy/allowed_calls.txt:{number}: gives no reason; "
                            "write `path: function: reason`")
        allowed[(path, name.strip())] = number
    for path in files:
        if not path.startswith("lib/") or not path.endswith(SOURCE_ENDINGS):
            continue
        code = without_comments_and_strings(read(root, path) or "")
        for match in CALL.finditer(code):
            before = (match.group("before") or "").strip()
            if before == "::":
                scope = re.search(r"([A-Za-z_0-9]*)\s*::$", code[:match.start("name")])
                if scope and scope.group(1) not in ("", "std"):
                    continue
            elif before and before not in ("return", "else", "do", "case", "throw"):
                continue
            name = match.group("name")
            if (path, name) in allowed:
                used.add((path, name))
                continue
            number = code.count("\n", 0, match.start("name")) + 1
            problems.append(f"{path}:{number}: calls {name}(); throw a ddl::Error, or return, or "
                            "give a reason in tests/policy/allowed_calls.txt")
    for entry, number in allowed.items():
        if entry not in used and entry[0] in files:
            problems.append(f"tests/policy/allowed_calls.txt:{number}: {entry[0]} does not call "
                            f"{entry[1]}(); remove the line")
    return problems


# Written so that this file does not contain what it looks for.
MACHINE_PATH = re.compile(r"(?<![\w.$}~/-])/(?:" + "wor" + "k|ro" + "ot|ho" + r"me/\w+)/")
LEFT_OVER = re.compile(r"\b(?:TO" + "DO|FIX" + r"ME)\b")


def check_words(root, files):
    problems = []
    for path in files:
        text = read(root, path)
        for number, line in enumerate((text or "").splitlines(), 1):
            match = MACHINE_PATH.search(line)
            if match:
                problems.append(f"{path}:{number}: names {match.group()}, a path of one machine; "
                                "use a path relative to the source tree")
            match = LEFT_OVER.search(line)
            if match:
                problems.append(f"{path}:{number}: says {match.group()}; do it or open an issue")
    return problems


def check_shell_scripts(root, files):
    problems = []
    for path in files:
        if not path.startswith(("tests/", "examples/", ".ci/")):
            continue
        if not path.endswith(".sh") and not re.match(
                r"#!\s*(/usr)?/bin/(env +)?(ba)?sh\b", read(root, path) or ""):
            continue
        result = subprocess.run(["bash", "-n", os.path.join(root, path)], capture_output=True,
                                text=True)
        if result.returncode != 0:
            message = " ".join(result.stderr.split()).replace(root + "/", "")
            problems.append(f"{path}: bash -n says: {message}")
    return problems


def public_headers(files):
    return [path for path in files
            if path.endswith(".h") and not path.endswith("_internal.h")
            and path.startswith(("lib/ddl/", "kernels/"))]


ALL = (check_includes, check_calls, check_words, check_shell_scripts)
