"""Small programs, queries and commands."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from corpus.item import Item, Parts

if TYPE_CHECKING:
    from random import Random


class Function(NamedTuple):
    """A Python function: what it does in three languages, its body, and a mistaken body."""

    signature: str
    english: str
    german: str
    chinese: str
    body: str
    mistaken: str


FUNCTIONS = (
    Function(
        "chunks(items, size)",
        "splits a list into pieces of a given size",
        "eine Liste in Stücke fester Größe teilt",
        "把列表切成固定大小的块",
        "return [items[i : i + size] for i in range(0, len(items), size)]",
        "return [items[i] for i in range(size)]",
    ),
    Function(
        "is_palindrome(text)",
        "tells whether a text reads the same backwards",
        "prüft, ob ein Text rückwärts gleich lautet",
        "判断文本是否为回文",
        "letters = [c.lower() for c in text if c.isalnum()]\n    return letters == letters[::-1]",
        "return text[0] == text[-1]",
    ),
    Function(
        "gcd(a, b)",
        "computes the greatest common divisor",
        "den größten gemeinsamen Teiler berechnet",
        "计算最大公约数",
        "while b:\n        a, b = b, a % b\n    return a",
        "return min(a, b) if a % b else max(a, b)",
    ),
    Function(
        "flatten(nested)",
        "flattens nested lists",
        "verschachtelte Listen flach macht",
        "展开嵌套列表",
        "for item in nested:\n        if isinstance(item, list):\n            yield from flatten(item)\n"
        "        else:\n            yield item",
        "return sum(nested, [])",
    ),
    Function(
        "count_words(path)",
        "counts the words of a file",
        "die Wörter einer Datei zählt",
        "统计文件中的单词",
        "with open(path, encoding='utf-8') as file:\n        return Counter(file.read().lower().split())",
        "return len(path.split())",
    ),
    Function(
        "retry(call, times)",
        "calls a function again when it fails",
        "eine Funktion bei Fehlern erneut aufruft",
        "在失败时重试函数",
        "for attempt in range(times):\n        try:\n            return call()\n        except OSError:\n"
        "            if attempt == times - 1:\n                raise\n            time.sleep(2**attempt)",
        "while True:\n        call()",
    ),
    Function(
        "median(values)",
        "returns the median of numbers",
        "den Median von Zahlen bestimmt",
        "求一组数的中位数",
        "ordered = sorted(values)\n    middle = len(ordered) // 2\n    if len(ordered) % 2:\n"
        "        return ordered[middle]\n    return (ordered[middle - 1] + ordered[middle]) / 2",
        "return sum(values) / len(values)",
    ),
    Function(
        "slugify(title)",
        "turns a title into a URL slug",
        "aus einem Titel eine URL macht",
        "把标题转换成网址片段",
        "words = re.findall(r'[a-z0-9]+', title.lower())\n    return '-'.join(words)",
        "return title.replace(' ', '')",
    ),
    Function(
        "read_rows(path)",
        "reads a CSV file into dictionaries",
        "eine CSV-Datei in Wörterbücher liest",
        "把 CSV 文件读成字典",
        "with open(path, newline='', encoding='utf-8') as file:\n        return list(csv.DictReader(file))",
        "return open(path).read().split(',')",
    ),
    Function(
        "unique(items)",
        "removes duplicates and keeps the order",
        "Duplikate entfernt und die Reihenfolge behält",
        "去除重复并保持顺序",
        "return list(dict.fromkeys(items))",
        "return sorted(set(items))",
    ),
)

TABLES = (
    ("orders", "customer_id", "amount"),
    ("visits", "user_id", "duration"),
    ("payments", "merchant_id", "value"),
    ("readings", "sensor_id", "celsius"),
    ("tickets", "agent_id", "minutes"),
    ("deliveries", "driver_id", "distance"),
)

COMMANDS = (
    ("list all files, hidden ones too", "ls -la", "ls"),
    ("show the last 50 lines of app.log", "tail -n 50 app.log", "head -n 50 app.log"),
    ("count the lines of data.csv", "wc -l data.csv", "cat data.csv"),
    ("find all Python files below this folder", "find . -name '*.py'", "ls *.py"),
    ("show free disk space in readable units", "df -h", "du -a"),
    ("make script.sh executable", "chmod +x script.sh", "chown +x script.sh"),
    ("unpack logs.tar.gz", "tar -xzf logs.tar.gz", "gzip logs.tar.gz"),
    ("see which process listens on port 8080", "lsof -i :8080", "ps 8080"),
    ("undo the last commit but keep the changes", "git reset --soft HEAD~1", "git reset --hard HEAD~1"),
    ("create a branch named fix and switch to it", "git switch -c fix", "git branch -d fix"),
    ("print the current folder", "pwd", "cd"),
    ("search for TODO in all files", "grep -rn TODO .", "find TODO"),
    ("copy the folder a to b", "cp -r a b", "mv a b"),
    ("show the size of each folder here", "du -sh */", "ls -s"),
)


def _fenced(kind: str, code: str) -> tuple[str, ...]:
    return (f"```{kind}\n{code}\n```", f"```{kind}\n{code}\n```\n", code)


def _query(table: str, key: str, value: str) -> list[tuple[str, str, str, str]]:
    return [
        (
            f"the ten {key}s with the highest total {value} in {table}",
            f"SELECT {key}, SUM({value}) AS total\nFROM {table}\nGROUP BY {key}\nORDER BY total DESC\nLIMIT "
            "10;",
            f"SELECT TOP 10 {key}\nFROM {table}\nWHERE {value} = MAX({value});",
            "The rows are grouped, summed and cut to the ten largest.",
        ),
        (
            f"every {key} that occurs more than once in {table}",
            f"SELECT {key}, COUNT(*) AS n\nFROM {table}\nGROUP BY {key}\nHAVING COUNT(*) > 1;",
            f"SELECT DISTINCT {key}\nFROM {table};",
            "`HAVING` filters after the grouping, which `WHERE` cannot do.",
        ),
        (
            f"the average {value} of {table} per month of created_at",
            f"SELECT date_trunc('month', created_at) AS month, AVG({value}) AS average\nFROM {table}\n"
            "GROUP BY month\nORDER BY month;",
            f"SELECT AVG({value})\nFROM {table}\nORDER BY created_at;",
            "`date_trunc` maps every timestamp to the first of its month.",
        ),
        (
            f"the running total of {value} in {table} by created_at",
            f"SELECT created_at, SUM({value}) OVER (ORDER BY created_at) AS running\nFROM {table};",
            f"SELECT created_at, COUNT({value})\nFROM {table}\nGROUP BY {key};",
            "A window function adds up all rows so far.",
        ),
    ]


def _function(function: Function, *, right: bool) -> str:
    return f"def {function.signature}:\n    {function.body if right else function.mistaken}"


def _ask(language: str, function: Function) -> str:
    return {
        "English": f"Write a Python function `{function.signature}` that {function.english}.",
        "German": f"Schreibe eine Python-Funktion `{function.signature}`, die {function.german}.",
        "Chinese": f"写一个 Python 函数 `{function.signature}`，{function.chinese}。",
    }[language]


def _explained(language: str, function: Function, *, right: bool) -> Parts:
    code = _function(function, right=right)
    name = function.signature.split("(")[0]
    before, after = {
        "English": (
            (
                f"Here is a function that {function.english}:\n\n",
                f"This {function.english}:\n\n",
                "Sure:\n\n",
            ),
            (
                f"\n\nCall `{name}` with your own values.",
                f"\n\n`{name}` needs nothing beyond Python itself.",
                "",
            ),
        ),
        "German": (
            (
                f"Diese Funktion ist es, die {function.german}:\n\n",
                f"Eine Funktion, die {function.german}:\n\n",
            ),
            (f"\n\nRufe `{name}` mit eigenen Werten auf.", f"\n\n`{name}` braucht nur Python selbst."),
        ),
        "Chinese": (
            (f"这个函数可以{function.chinese}：\n\n", f"下面的代码{function.chinese}：\n\n"),
            (f"\n\n用自己的数据调用 `{name}` 即可。", f"\n\n`{name}` 不需要其他库。"),
        ),
    }[language]
    return (before, _fenced("python", code), after)


def _module(rng: Random) -> Item:
    """Write a whole module with notes: the longest texts of this topic."""
    chosen = rng.sample(FUNCTIONS, 8)
    names = [function.signature.split("(")[0] for function in chosen]
    question = "Write a Python module with " + ", ".join(names) + ", and explain every function."
    answer: list[tuple[str, ...]] = [
        ("Below is the module, one function at a time.\n\n", "I wrote the functions one by one.\n\n")
    ]
    wrong: list[tuple[str, ...]] = [answer[0]]
    for name, function in zip(names, chosen, strict=True):
        heading = (f"### `{name}`\n\n", f"**{name}**\n\n")
        notes = (
            f"\n\n`{name}` {function.english}. It raises what Python raises for bad input, so the caller "
            "decides "
            "what to do about it; it keeps no state, so it is safe to call from several threads.\n\n",
            f"\n\nThis one {function.english}. Errors are left to the caller, and as nothing is kept between "
            "calls it can be used from several threads.\n\n",
        )
        answer += [heading, _fenced("python", _function(function, right=True))[:1], notes]
        wrong += [heading, _fenced("python", _function(function, right=False))[:1]]
    answer.append(
        ("Put all of it into one file and import what you need.", "Save it as one file; that is all.")
    )
    return Item("English", question, tuple(answer), tuple(wrong))


def items(rng: Random) -> list[Item]:
    """Write every item of this topic."""
    result: list[Item] = []
    for language in ("English", "German", "Chinese"):
        result += [
            Item(
                language,
                _ask(language, function),
                _explained(language, function, right=True),
                _explained(language, function, right=False),
            )
            for function in FUNCTIONS
        ]
    for table in TABLES:
        for wanted, query, mistaken, note in _query(*table):
            after = (f"\n\n{note}", "")
            result.append(
                Item(
                    "English",
                    f"SQL, please: {wanted}.",
                    (_fenced("sql", query), after),
                    (_fenced("sql", mistaken), after),
                )
            )
    for wanted, command, mistaken in COMMANDS:
        for shell in ("bash", "zsh", "a container"):
            result.append(
                Item(
                    "English",
                    f"Which command do I type in {shell} to {wanted}? Only the command.",
                    ((command, f"`{command}`", f"$ {command}"),),
                    ((mistaken, f"`{mistaken}`"),),
                )
            )
    result += [_module(rng) for _ in range(24)]
    return result
