"""Files of this machine and objects of object stores, with one interface: all that Polars does not scan.

`paths` finds the files that a path stands for, `objects` reads and writes them, `atomic` makes a write happen
as a whole and last, `secrets` keeps credentials out of what is shown.
"""
