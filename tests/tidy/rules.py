"""The house rules as functions: each takes a file's path and text and returns complaints.

test_rules.py shows for each rule what it finds and what it lets pass; test_tree.py applies them to
the project.
"""
import ast
import fnmatch
import re

COLUMNS_MAX = 100
FILE_LINES_MAX = 700
FUNCTION_LINES_MAX = 90

TOP_LEVEL = {
    ".ci", ".clang-format", ".dockerignore", ".editorconfig", ".gitignore", "Dockerfile", "LICENSE",
    "Makefile", "README.md", "deploy", "engine", "models", "server", "tests",
}

# Who may include whom: the first pattern that fits a file decides; a pattern's right side lists
# what that file may include.
LAYERS = (
    ("engine/base/*", ["engine/base/*"]),
    ("engine/text/*", ["engine/base/*", "engine/text/*"]),
    ("engine/model/*", ["engine/base/*", "engine/model/*"]),
    ("engine/compute/*", ["engine/base/*", "engine/model/*", "engine/compute/*"]),
    ("engine/flow/*", ["engine/base/*", "engine/flow/*", "engine/text/encoding.h"]),
    # The facades that the server sees show nothing of what lies behind them.
    ("engine/engine.h", ["engine/base/*", "engine/tasks.h"]),
    ("engine/tasks.h", ["engine/base/*"]),
    ("engine/inspect.h", ["engine/base/*", "engine/engine.h"]),
    ("engine/budget.h", ["engine/base/*", "engine/engine.h"]),
    ("engine/nodes*", ["engine/base/*", "engine/model/*", "engine/compute/*",
                        "engine/flow/microbatch.h", "engine/flow/plan.h",
                        "engine/flow/request.h", "engine/flow/team_run.h", "engine/nodes.h",
                        "engine/nodes_internal.h", "engine/nodes_budget.h",
                        "engine/budget.h"]),
    # Tells what the products run on.
    ("engine/inspect_machine.c", ["engine/base/*", "engine/inspect.h", "engine/compute/gemm.h"]),
    ("engine/engine_classify.c", ["engine/base/*", "engine/engine_internal.h",
                                  "engine/compute/activation.h"]),
    # Of compute, the rest of the engine knows the nodes only.
    ("engine/*", ["engine/base/*", "engine/text/*", "engine/model/*", "engine/flow/*",
                  "engine/*.h"]),
    ("server/*", ["engine/base/*", "engine/engine.h", "engine/inspect.h",
                  "engine/tokenize.h", "engine/budget.h", "server/*"]),
    ("tests/*", ["*"]),
)

# Headers of other projects, by the files that may see them.
THIRD_PARTY = (
    (r"dnnl", ["engine/compute/gemm_onednn.h"]),
    (r"cblas|f77blas|openblas", ["engine/compute/gemm_cblas.c"]),
    (r"omp\.h", ["engine/compute/gemm_onednn.h"]),
    (r"numa", ["engine/base/memory_node.c"]),
    (r"microhttpd", ["server/http_mhd.c"]),
    (r"jansson", ["engine/model/model_json.h", "engine/text/json_field.h",
                  "engine/text/tokenizer_*.c", "server/json_*", "server/call_read.h",
                  "server/expect_parse.c", "server/text_input.c",
                  "server/tokenize_input.h", "server/tokenize_*.c", "tests/*"]),
    (r"cmocka", ["tests/unit/*", "tests/golden/*"]),
    (r"curl/", ["server/pull*.c"]),
    (r"pcre2", ["engine/text/*.c"]),
)

BANNED = {
    "": ["strcpy", "strcat", "strncpy", "strncat", "sprintf", "vsprintf", "gets", "strtok", "atoi",
         "atol", "atoll", "atof", "alloca", "mktemp", "tmpnam"],
    "server/": ["system", "popen"],
    # Library code returns a status; it ends nobody's process and prints on nobody's output.
    "engine/": ["exit", "_exit", "abort", "printf", "puts", "putchar", "perror", "system",
                "popen", "signal"],
}

UNFINISHED = re.compile(
    r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK|stu" r"b|place" r"holder|"
    r"not (yet )?imple" r"mented)\b",
    re.IGNORECASE)
MACHINE_PATH = re.compile(r"(^|[^A-Za-z0-9_.])/(work|farm|home|root|Users)/")


def strip_c(text):
    """Returns C text with comments blanked and literals emptied; the lines stay the same."""
    literals = r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''
    pattern = re.compile(r"/\*.*?\*/|//[^\n]*|" + literals, re.S)

    def blank(match):
        piece = match.group()
        return piece[0] * 2 if piece[0] in "\"'" else "\n" * piece.count("\n") or " "
    return pattern.sub(blank, text)


def fits(path, patterns):
    """Whether the path fits one of the patterns; `*` does not cross a folder unless it is last."""
    for pattern in patterns:
        if fnmatch.fnmatchcase(path, pattern):
            if pattern.endswith("/*") or path.count("/") == pattern.count("/") or pattern == "*":
                return True
    return False


def check_layers(path, text):
    """Includes of the project's own headers go along the layering table only."""
    allowed = next((allowed for layer, allowed in LAYERS if fits(path, [layer])), None)
    found = []
    for match in re.finditer(r'^\s*#\s*include\s*"([^"]+)"', text, re.M):
        name = match.group(1)
        if allowed is None or "/" not in name:
            found.append(f"{path}: includes \"{name}\"; write the path from the top")
        elif not fits(name, allowed):
            found.append(f"{path}: may not include {name}")
    return found


def check_third_party(path, text):
    """Headers of other projects are seen by the files of the table only."""
    found = []
    for match in re.finditer(r"^\s*#\s*include\s*<([^>]+)>", text, re.M):
        for header, files in THIRD_PARTY:
            if re.search(header, match.group(1)) and not fits(path, files):
                found.append(f"{path}: may not include <{match.group(1)}>")
    return found


def check_banned_calls(path, text):
    """Calls that are never right here; library code has a longer list."""
    names = [name for prefix, group in BANNED.items() if path.startswith(prefix) for name in group]
    calls = re.compile(r"(?<![\w.>])(%s)\s*\(" % "|".join(map(re.escape, names)))
    return [f"{path}:{number}: calls {match.group(1)}()"
            for number, line in enumerate(strip_c(text).splitlines(), 1)
            for match in calls.finditer(line)]


def check_role(path, text):
    """A C file opens with a comment that names it and says its role; a Python file with a text."""
    if path.endswith(".py"):
        has_role = bool(ast.get_docstring(ast.parse(text)))
    else:
        name = path.rsplit("/", 1)[-1]
        has_role = re.match(r"/\* %s: \S" % re.escape(name), text) is not None
    return [] if has_role else [f"{path}: does not open with its name and role"]


def check_guard(path, text):
    """A header is guarded by a name that ends in its own."""
    name = re.sub(r"\W", "_", path.rsplit("/", 1)[-1].removesuffix(".h")).upper()
    match = re.search(r"^#ifndef (\w+)\n#define (\w+)$", text, re.M)
    if match and match.group(1) == match.group(2):
        if re.fullmatch(rf"BERTD_(\w+_)?{name}_H", match.group(1)):
            return []
    return [f"{path}: is not guarded by BERTD_…_{name}_H"]


def check_white_space(path, text):
    """No tabs but in Makefile, no blanks at line ends, one line end at the end of the file."""
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        if line != line.rstrip():
            found.append(f"{path}:{number}: blanks at the end of the line")
        if "\t" in line and not path.endswith("Makefile"):
            found.append(f"{path}:{number}: a tab")
    if text and (not text.endswith("\n") or text.endswith("\n\n")):
        found.append(f"{path}: does not end with one line end")
    return found


def check_columns(path, text):
    """Lines have at most COLUMNS_MAX characters."""
    return [f"{path}:{number}: {len(line)} characters"
            for number, line in enumerate(text.splitlines(), 1)
            if len(line.expandtabs(4)) > COLUMNS_MAX]


def check_length(path, text):
    """Files that people write have one role, and so few lines."""
    name = path.rsplit("/", 1)[-1]
    lines = text.count("\n")
    if lines > FILE_LINES_MAX and "tables" not in name and "generated" not in name:
        return [f"{path}: {lines} lines"]
    return []


def check_functions(path, text):
    """A C function fits a screen or two."""
    found, start = [], None
    for number, line in enumerate(strip_c(text).splitlines(), 1):
        if re.match(r"[A-Za-z].*\)\s*{$|\s+.*\)\s*{$", line) and start is None:
            start = number
        elif line.startswith("}"):
            if start is not None and number - start > FUNCTION_LINES_MAX:
                found.append(f"{path}:{start}: a function of {number - start} lines")
            start = None
    return found


def check_documented(path, text):
    """Each group of functions in a header (no empty line within it) has a comment.

    Without one may be: what only makes or frees the struct above it, and functions whose body
    stands there.
    """
    found = []
    body = re.sub(r"\\\n[^\n]*", "", text)
    for group in re.split(r"\n\s*\n", body):
        if "/*" in group or "*/" in group:
            continue
        for match in re.finditer(r"^(?!typedef|static)[A-Za-z_][^;{}=#]*?\b(\w+)\([^;{]*\)\s*;",
                                 group, re.M):
            if not match.group(1).endswith(("_init", "_free", "_close")):
                found.append(f"{path}: {match.group(1)}() has no comment")
    return found


def check_unfinished(path, text):
    """Nothing in the tree sounds unfinished."""
    return [f"{path}:{number}: sounds unfinished: {match.group()}"
            for number, line in enumerate(text.splitlines(), 1)
            for match in UNFINISHED.finditer(line)]


def check_machine_paths(path, text):
    """No path of the machine where a file was written."""
    return [f"{path}:{number}: a path of one machine"
            for number, line in enumerate(text.splitlines(), 1) if MACHINE_PATH.search(line)]


def check_top_level(names):
    """Only what the design lists lies at the top."""
    return [f"{name}: does not belong at the top level" for name in sorted(set(names) - TOP_LEVEL)]


C_RULES = (check_layers, check_third_party, check_banned_calls, check_role, check_functions)
HEADER_RULES = (check_guard,)
PUBLIC_HEADER_RULES = (check_documented,)
TEXT_RULES = (check_white_space, check_columns, check_length, check_unfinished,
              check_machine_paths)


def rules_for(path):
    """The rules that a file has to keep, by its name. Data of tests and models keep none."""
    data = ("tests/golden/*.json*", "tests/golden/*/*", "tests/parity/fixtures/*",
            "models/goemotions-minilm/*", "tests/fuzz/corpus/*", "tests/http/fixtures/*")
    if any(fnmatch.fnmatchcase(path, pattern) for pattern in data) or path == "LICENSE":
        return ()
    if path.endswith(".md"):
        return (check_machine_paths, check_unfinished)
    if path.endswith(".c"):
        return C_RULES + TEXT_RULES
    if path.endswith(".h"):
        public = () if path.startswith("tests/") else PUBLIC_HEADER_RULES
        return C_RULES + TEXT_RULES + HEADER_RULES + public
    if path.endswith(".py"):
        return TEXT_RULES + (check_role,)
    return TEXT_RULES
