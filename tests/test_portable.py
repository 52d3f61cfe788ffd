"""The native code is standard C++, but for one header, and for files whose subject is not standard."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

NATIVE = Path(__file__).parents[1] / "src" / "native"
FILES = {
    path.relative_to(NATIVE).as_posix(): path.read_text("utf-8")
    for path in sorted(NATIVE.rglob("*"))
    if path.suffix in (".cpp", ".hpp")
}

# What one compiler or one system has, by the name that the exceptions below give it.
SPECIAL = {
    "threads of POSIX": r"\bpthread\w*|\bsem_\w+",
    "signals of POSIX": r"\bsigaction\b|\bsiginfo_t\b|\bSA_\w+",
    "memory of POSIX": r"\bmmap\b|\bmunmap\b|\bmprotect\b|\bposix_memalign\b|\balloca\b|\bMAP_\w+",
    "types of POSIX": r"\bssize_t\b|\boff_t\b|\bpid_t\b|\bu_int\w*",
    "processes of POSIX": r"\bfork\s*\(|\bgetpid\b|\bsysconf\b|\bdlopen\b",
    "wide numbers": r"\b_*u?int128(_t)?\b|\b_umul128\b|\b__umulh\b",
    "built-in functions": r"\b__builtin_\w+|\b_BitScan\w+|\b__popcnt\w*",
    "attributes": r"\b__attribute(__)?\b|\b(gnu|clang|msvc)\s*::|\b__declspec\b|\b__forceinline\b",
    "assembly": r"\b(__)?asm(__)?\b",
    "extensions": r"\b__extension__\b|\b(__)?typeof(__)?\b|\?\s*:|\bcase\b[^:;]*\.\.\.",
    "pragmas": r"#\s*pragma\s+(?!once\b)\w+|\b_Pragma\b",
    "compilers": r"\b_MSC_VER\b|\b__GNUC__\b|\b__clang__\b|\b__MINGW\w+",
    "systems": r"\b_WIN(32|64)\b|\b__linux__\b|\b__APPLE__\b|\b__unix__\b",
    # Standard C++ headers have neither an ending nor a folder.
    "headers": r"#\s*include\s*<(?!nanobind/)[^>]*[./][^>]*>",
}
EXCEPTIONS = {
    # What this header is for.
    "core/portable.hpp": {
        "threads of POSIX",
        "wide numbers",
        "built-in functions",
        "attributes",
        "extensions",
        "compilers",
        "systems",
        "headers",
    },
    # Vectors of GCC and Clang are its subject. Only their source files include it; CMakeLists.txt leaves them
    # out for other compilers, and it shares no function with other files, not even those of the header.
    "edit/levenshtein/vector.hpp": {"attributes", "built-in functions", "assembly", "headers"},
    # A kernel for AVX-512 alone, which avx512.cpp includes: its instructions are its subject.
    "edit/levenshtein/superblocks.hpp": {"built-in functions", "assembly"},
    # Handlers of signals are its subject; Windows has none that could be stood before.
    "core/signals.hpp": {"signals of POSIX", "systems"},
    # What it does at Ctrl-C: Windows has no handler of ours.
    "module.cpp": {"systems"},
    # Symbols that a library exports, which every compiler says in its own way; and how many processors this
    # process may use: only Linux says it so.
    "plugin/exports.cpp": {"attributes", "systems", "headers"},
    # The instructions that every x86-64 has, where the compiler says that it has them.
    "unicode/padded.hpp": {"headers"},
}


def without_comments(code: str) -> str:
    """Leave out comments and the content of texts."""
    either = r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/'
    return re.sub(either, lambda found: '""' if found[0][0] == '"' else " ", code, flags=re.DOTALL)


def special_in(code: str) -> dict[str, list[str]]:
    """Find what is not standard, by kind."""
    plain = without_comments(code)
    found = {kind: [one[0] for one in re.finditer(pattern, plain)] for kind, pattern in SPECIAL.items()}
    return {kind: words for kind, words in found.items() if words}


@pytest.mark.parametrize("name", FILES)
def test_only_the_header_is_not_standard(name: str) -> None:
    allowed = EXCEPTIONS.get(name, set())
    assert {kind: words for kind, words in special_in(FILES[name]).items() if kind not in allowed} == {}


@pytest.mark.parametrize("name", EXCEPTIONS)
def test_an_exception_is_still_needed(name: str) -> None:
    assert special_in(FILES[name]).keys() >= EXCEPTIONS[name]


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("pthread_t thread;", "threads of POSIX"),
        ("struct sigaction action;", "signals of POSIX"),
        ("void* at = mmap(nullptr, 1, 0, 0, 0, 0);", "memory of POSIX"),
        ("ssize_t size = -1;", "types of POSIX"),
        ("if (fork() == 0) {}", "processes of POSIX"),
        ("unsigned __int128 wide;", "wide numbers"),
        ("return __builtin_expect(x, 1);", "built-in functions"),
        ("[[gnu::noinline]] void f();", "attributes"),
        ("int x __attribute__((aligned(64)));", "attributes"),
        ('__asm__ volatile("nop");', "assembly"),
        ("const auto y = x ?: 1;", "extensions"),
        ("case 1 ... 5: break;", "extensions"),
        ("#pragma GCC optimize 3", "pragmas"),
        ("#if defined(__GNUC__)", "compilers"),
        ("#ifdef __linux__", "systems"),
        ("#include <unistd.h>", "headers"),
        ("#include <sys/mman.h>", "headers"),
        ("#include <bits/stdc++.h>", "headers"),
    ],
)
def test_what_is_special_is_found(code: str, kind: str) -> None:
    assert kind in special_in(code)


@pytest.mark.parametrize(
    "code",
    [
        "#pragma once\n#include <cstdint>\n#include <nanobind/stl/vector.h>\n",
        "// Like mmap and pthread_create.\n/* __attribute__ */ std::uint64_t x = 1;",
        'throw Error("fork() of __int128");',
        "template <class... T> void f(T&&... x) { const int y = sizeof...(x) ? 1 : 2; }",
    ],
)
def test_what_is_standard_is_let_through(code: str) -> None:
    assert special_in(code) == {}
