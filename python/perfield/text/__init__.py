# SPDX-License-Identifier: BSD-3-Clause
"""Text that people read: numbers with units, names, lists and tables, and what they are printed on.

Command line, report, plots, pictures and the page of `perfield serve` take their words from here.
"""

from perfield.text.names import (
    begin_of_list,
    did_you_mean,
    first_of,
    first_sentence,
    in_list,
    in_ranks,
    printable,
    shortened,
    start,
)
from perfield.text.numbers import (
    UNKNOWN,
    counted,
    in_bytes,
    in_change,
    in_number,
    in_percent,
    in_periods,
    in_seconds,
    in_whole_percent,
    part_of,
    unit_of_time,
)
from perfield.text.table import Table, format_table, print_table

__all__ = [
    "UNKNOWN",
    "Table",
    "begin_of_list",
    "counted",
    "did_you_mean",
    "first_of",
    "first_sentence",
    "format_table",
    "in_bytes",
    "in_change",
    "in_list",
    "in_number",
    "in_percent",
    "in_periods",
    "in_ranks",
    "in_seconds",
    "in_whole_percent",
    "part_of",
    "print_table",
    "printable",
    "shortened",
    "start",
    "unit_of_time",
]
