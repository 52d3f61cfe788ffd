"""The generators need the tools, which no test has."""

collect_ignore_glob = ["*/generate.py", "make.py"]
