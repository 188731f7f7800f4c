# SPDX-License-Identifier: BSD-3-Clause
"""The sections of a report below its findings, in words and tables; the page and the text print them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from perfield.analysis.findings import Answer, Finding, explains
from perfield.analysis.waits.words import path_sentences
from perfield.derived.by_region import names_of_regions
from perfield.extras import remedy
from perfield.report.contents import Report, Setting
from perfield.studies import given, loaded
from perfield.text import (
    Table,
    begin_of_list,
    counted,
    in_bytes,
    in_list,
    in_number,
    in_percent,
    in_seconds,
    printable,
    shortened,
    start,
)
from perfield.topology import ranges

MOST_HOSTS, MOST_REGIONS, MOST_FILES = 16, 14, 10  # rows of tables
WIDEST = 60  # characters of a name in a table
UNKNOWN = "-"
BY_RUN = ("summary",)  # settings that `perfield run` makes, whatever the user chose
KINDS_OF_TIME = {  # of Report.shares -> words
    "computing": "computing",
    "waiting for a PU": "waiting for a PU, outside of MPI",
    "waiting": "MPI calls that may wait for other ranks",
    "other MPI": "other MPI",
    "files": "files",
    "other": "not divided",
}


@dataclass(frozen=True)
class Section:
    """A section. name : for links. words : paragraphs before the images and tables. images : beginnings of
    the names of images that are here."""

    name: str
    title: str
    words: tuple[str, ...] = ()
    images: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()


def sections(report: Report, pictures: Sequence[str] = ()) -> list[Section]:
    """The sections in their order. pictures : what is said about the pictures of mesh and machine."""
    of_studies = [loaded(place).section(read) for place, read in report.studied.items() if read is not None]
    found = [*(make(report) for make in FIRST), *of_studies, *(make(report) for make in THEN)]
    return [section for section in found if section is not None] + [
        *([Section("pictures", "On the mesh and on the machine", tuple(pictures), ("mesh", "machine"))]),
        _settings(report),
        _how(report),
    ]


def short(text: str) -> str:
    """Printable text, shortened in the middle if it is long."""
    return shortened(text, WIDEST)


def percent(share: float) -> str:
    """ "12 %", "0.4 %"; "-" if unknown."""
    return _known(share, in_percent)


def cost(finding: Finding, report: Report) -> str:
    """What a finding costs, in words; "" if the run does not show it."""
    if finding.saved_s is None:
        return ""
    share = finding.saved_s / report.elapsed_s if report.elapsed_s > 0 else math.nan
    of_what = "the run" if report.is_whole else "all windows" if report.run.has_windows else "all steps"
    of = f", {percent(share)} of {of_what}" if math.isfinite(share) else ""
    return f"up to {in_seconds(finding.saved_s)}{of}"


def chance(finding: Finding) -> str:
    """How likely chance alone gives a finding, as a sentence; "" where nothing random plays a part."""
    if finding.unproven:
        return f"Not proven: {finding.unproven}."
    if finding.chance is None:
        return ""
    if finding.chance < 1e-6:
        return "Chance alone gives this less than once in a million runs."
    return f"Chance alone gives this about once in {in_number(_one_digit(1 / finding.chance))} runs."


def _one_digit(number: float) -> float:
    """A number with one significant digit: the order of a probability is all that a test knows."""
    return float(f"{number:.0e}")


def lacking(missing: Sequence[str]) -> str:
    """What a run lacks, for a question that could not be asked: names of fields, a mesh, or steps."""
    said = {
        "neighbours": "a mesh that gives neighbours",
        "steps": "steps that could be compared",
        "time steps": "time steps that could be compared",
        "messages": "messages between ranks",
        "explanations": "an explanation of half of its time in MPI",
        "wait_states": "stamps that say for whom ranks waited",
        "<region>_thread_count": "regions of several threads",
        "<region>_time_s": "regions",
        "<region>_count": "regions",
    }
    return in_list(list(dict.fromkeys(said.get(name, name) for name in missing)), len(missing))


def not_asked(report: Report) -> list[str]:
    """Why questions could not be asked, as sentences; those that lack the same share one."""
    together: dict[tuple[str, ...], list[str]] = {}
    for question, missing in report.questions_not_asked:
        together.setdefault(missing, []).append(question)
    return [
        f"Not checked: {' '.join(questions)} The run lacks {lacking(missing)}."
        for missing, questions in together.items()
    ] + [
        f"Not checked: {' '.join(questions)} This Python lacks {package}: {remedy(package)}."
        for package, questions in report.packages_missing.items()
    ]


def asked(report: Report) -> list[str]:
    """Answers to questions without findings, as sentences: what another finding answers; no and not proven,
    and what would have been found. Questions with the same answer share one."""
    elsewhere = [
        f"{answer.question} Explained by finding {number}."
        for answer in report.answers
        if (number := _explained_by(answer, report.findings))
    ]
    together: dict[tuple[bool, str], list[str]] = {}
    for answer in report.answers_without_findings if report.observed.n_steps else ():
        assert answer.sight is not None
        together.setdefault((answer.is_no, answer.sight.words), []).append(answer.question)
    order = sorted(together, key=lambda key: not key[0])
    return elsewhere + [
        f"{' '.join(together[key])} {'No' if key[0] else 'Not proven'}. {key[1]}" for key in order
    ]


def _explained_by(answer: Answer, findings: Sequence[Finding]) -> int:
    """The number of the first finding of another question that answers this one, or of which all findings of
    this one are consequences; 0 without such."""
    for number, finding in enumerate(findings, 1):
        if finding.kind in answer.elsewhere:
            return number
        if answer.findings and any(explains(finding, own) for own in answer.findings):
            return number
    return 0


def nothing_found(report: Report) -> str:
    """What is said in place of findings."""
    if not report.observed.n_steps:
        return "perfield could not check anything, because no step was finished by all ranks."
    if report.observed.n_steps == 1:
        return "perfield found nothing, but most costs show only where several steps can be compared."
    nothing = "Nothing that perfield checks for costs this run time."
    if not all(answer.is_no for answer in report.answers_without_findings):
        nothing = "perfield found nothing that costs this run time. Some answers are not proven."
    remarks = (loaded(place).remark(found) for place, found in report.studied.items() if found is not None)
    return " ".join(filter(None, (nothing, *remarks)))


def list_of_ranks(ranks: Sequence[int]) -> str:
    """ "0-3,8", cut where it is long."""
    return begin_of_list(ranges(ranks))


def _known(value: float | None, text: Callable[[float], str]) -> str:
    return text(value) if value is not None and math.isfinite(value) else UNKNOWN


def _where(report: Report) -> Section:
    hosts = report.hosts
    switched = any(host.switch for host in hosts)
    rows = tuple(
        (
            short(host.host),
            *([short(host.switch) or UNKNOWN] if switched else []),
            host.machine or "not described",
            f"{len(host.ranks):,}",
            list_of_ranks(host.ranks),
        )
        for host in hosts
    )
    headings = ("host", *(["switch"] if switched else []), "machine", ">ranks", "which")
    counts = sorted({len(host.ranks) for host in hosts})
    per_node = (
        f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}" if counts else "no"
    )
    words = [f"{counted(len(hosts), 'host')} with {per_node} ranks each." if len(hosts) > 1 else ""]
    groups = report.run.groups
    if len(groups) > 1:
        each = (f"{printable(name)}: ranks {list_of_ranks(ranks)}" for name, ranks in groups.items())
        words.append(f"Groups of ranks that step together: {'; '.join(each)}.")
    note = f"{len(rows) - MOST_HOSTS:,} more hosts are not shown" if len(rows) > MOST_HOSTS else ""
    said = tuple(filter(None, words))
    return Section("where", "What ran where", said, tables=(Table(headings, rows[:MOST_HOSTS], note),))


def _parts(report: Report) -> Section | None:
    if not report.parts:
        return None
    rows = tuple(
        (part.name, in_seconds(part.time_s), in_percent(part.share), part.who_waits or UNKNOWN)
        for part in report.parts
        if part.time_s > 0
    )
    learned = max((body.get("found_in_setup", 0) for body in report.run.sites.values()), default=0)
    first = f", with {counted(learned, 'step')} that showed where steps end" if learned else ""
    note = (
        f"setup: from the start of measuring to the first step{first}; teardown: after the last step; times: "
        "means of the ranks; who waits: ranks that wait for half of it or more"
    )
    table = Table(("part", ">time", ">of the run", "who waits"), rows, note)
    return Section("parts", "Setup, steps and teardown", tables=(table,))


def _efficiency(report: Report) -> Section:
    found = report.efficiency
    if not math.isfinite(found.parallel):
        shown = "one rank has nobody to wait for" if report.run.n_ranks < 2 else "MPI was not measured"
        return Section("efficiency", "Efficiency", (f"Parallel efficiency is not known: {shown}.",))
    rows = [
        ("parallel efficiency", percent(found.parallel), "of the time, ranks work outside MPI, on average"),
        ("load balance", percent(found.load_balance), "mean work of the ranks, divided by the largest"),
        ("communication", percent(found.communication), "largest work of a rank, divided by elapsed time"),
    ]
    headings = ("", ">share", "meaning")
    note = "parallel efficiency = load balance x communication, as the POP project defines them"
    logged = report.path.efficiency
    if logged is not None:
        of_logged = (logged.parallel, logged.load_balance, logged.communication)
        rows = [(name, share, percent(own), what) for (name, share, what), own in zip(rows, of_logged)]
        rows += [
            (
                "serialisation",
                "",
                percent(logged.serialisation),
                "largest work, divided by the time without delays of the network",
            ),
            ("transfer", "", percent(logged.transfer), "that time, divided by elapsed time"),
        ]
        headings = ("", ">all steps", f">{counted(report.path.n_steps, 'logged step')}", "meaning")
        note += "; communication = serialisation x transfer, which only logged steps show"
    if math.isfinite(report.imbalance) and not report.is_whole:
        note += (
            ". Load balance adds up each rank's work over all steps; the imbalance of the run "
            f"({report.imbalance:.3g}) compares ranks in each step: one that moves from rank to rank counts "
            "there, and here as communication"
        )
    words = tuple(path_sentences(report.path, names_of_regions(report.run))[:-1])
    return Section("efficiency", "Efficiency", words, tables=(Table(headings, tuple(rows), note),))


def _regions(report: Report) -> Section:
    rows = tuple(
        (
            short(row["name"]),
            _known(row["compute_time_s"], in_seconds),
            *(_known(row[name], in_percent) for name in ("step_share", "mpi_share")),
            _known(row["imbalance"], "{:.2f}".format),
            _known(row["balancing_saves_s"], in_seconds),
            f"{row['ranks']:,}",
        )
        for row in report.regions
    )
    headings = (
        "region",
        ">computing",
        ">of all time",
        ">of it MPI",
        ">imbalance",
        ">balancing saves",
        ">ranks",
    )
    frames = report.region_sums.n_frames
    newest = f"the newest {frames:,} steps" if frames < len(report.run) else counted(frames, "step")
    note = (
        "computing: mean per step and rank that entered it; imbalance: slowest rank over mean; saves: at "
        f"most, in {newest}"
    )
    if len(rows) > MOST_REGIONS:
        note += f"; {len(rows) - MOST_REGIONS:,} more regions are not shown"
    words = () if rows else ("The program marks no regions, and no functions were chosen as regions.",)
    table = (Table(headings, rows[:MOST_REGIONS], note),) if rows else ()
    return Section("regions", "Imbalance of each region", words, ("region_bars", "imbalance"), table)


def _heat_maps(report: Report) -> Section:
    images = ("heat_map", "idle_wave", *given("FINDING_IMAGES"))
    return Section("ranks", "Each rank in each step", images=images)


def _slowest(report: Report) -> Section | None:
    steps = report.slowest_steps
    if not steps:
        return None
    first = int(report.observed.index[0])
    rows = tuple(
        (
            "whole run" if report.is_whole else f"{step.label:,}",
            in_seconds(step.longest_s),
            in_seconds(step.mean_s),
            _known(step.imbalance, "{:.2f}".format),
            str(step.rank) if step.rank >= 0 else UNKNOWN,
            ", ".join(
                [f"writes {in_bytes(step.written_bytes)}"] * step.is_output
                + ["the first step"] * (step.index == first and not report.is_whole)
            ),
        )
        for step in steps
    )
    headings = (">step", ">slowest rank", ">mean", ">imbalance", ">computes longest", "what else")
    median = float(sorted(report.observed.largest["step_time_s"])[report.observed.n_steps // 2])
    words = (f"A typical step takes {in_seconds(median)}.",) if len(rows) > 1 else ()
    note = "step: the program's own number; imbalance: of compute time, largest over mean"
    return Section("steps", "Slowest steps", words, tables=(Table(headings, rows, note),))


def _messages(report: Report) -> Section:
    sums = report.traffic
    if not sums.n_messages:
        return Section("messages", "Messages", ("No rank sent a message to another in these steps.",))
    n_steps = max(report.observed.n_steps, 1)
    per_step = "" if report.is_whole else f"; {sums.n_messages / n_steps:,.0f} per step"
    words = [f"{sums.n_messages:,} messages between {sums.n_pairs:,} pairs of ranks{per_step}."]
    parts = [
        f"{in_bytes(count)} {what}"
        for count, what in (
            (sums.inside_bytes, "inside a node"),
            (sums.between_bytes, "between nodes"),
            (sums.unknown_bytes, "with ranks that are not known"),
        )
        if count
    ]
    words += [f"They carried {', '.join(parts)}."] if parts else ["None of them carried a byte."]
    words += [f"{sums.n_empty:,} of them were empty."] if sums.n_empty else []
    rows = tuple(
        (
            *(str(pair.source), str(pair.target), in_bytes(pair.bytes), f"{pair.count:,}"),
            in_bytes(pair.bytes / pair.count) if pair.count else UNKNOWN,
            short(pair.where) or UNKNOWN,
        )
        for pair in report.heaviest_pairs
    )
    headings = (">from rank", ">to rank", ">bytes", ">messages", ">mean size", "where")
    note = f"the heaviest of {sums.n_pairs:,} pairs" if sums.n_pairs > len(rows) else ""
    tables = (Table(headings, rows, note),) if rows else ()
    return Section("messages", "Messages", (" ".join(words),), ("message_matrix",), tables)


def _files(report: Report) -> Section:
    used = report.files
    if not used:
        seen = report.observed.has("io_write_bytes") or report.observed.has("io_time_s")
        said = (
            "No rank read or wrote a file in these steps." if seen else "Files were not watched in this run."
        )
        return Section("files", "Files", (said,))
    total = (
        sum(f.read_bytes for f in used if f.read_bytes > 0),
        sum(f.write_bytes for f in used if f.write_bytes > 0),
    )
    words = (
        f"{counted(len(used), 'rank')} of {report.run.n_ranks:,} used files: {in_bytes(total[0])} read, "
        f"{in_bytes(total[1])} written."
    )
    rows = tuple(
        (
            str(use.rank),
            *(_known(count, in_bytes) for count in (use.read_bytes, use.write_bytes)),
            _known(use.n_calls, "{:,.0f}".format),
            _known(use.time_s, in_seconds),
        )
        for use in used[:MOST_FILES]
    )
    note = f"{len(used) - len(rows):,} more ranks used files" if len(used) > len(rows) else ""
    headings = (">rank", ">read", ">written", ">calls", ">time")
    return Section("files", "Files", (words,), tables=(Table(headings, rows, note),))


def _placement(report: Report) -> Section:
    rows = report.places
    names = list(rows[0]) if rows else []
    numbers = ("ranks", "core", "pu", "ran_on")
    cells = tuple(
        tuple(
            (begin_of_list(row[name]) if name in numbers else short(row[name])) or UNKNOWN for name in names
        )
        for row in rows
    )
    words = tuple(f"{start(note).rstrip('.')}." for note in report.placement.notes)
    note = "PU: the operating system's number of a hardware thread that a rank may run on"
    headings = tuple("PU" if name == "pu" else name.replace("_", " ") for name in names)
    folded = "Where each rank sat" if len(cells) > 12 else ""
    return Section("placement", "Placement", words, tables=(Table(headings, cells, note, folded),))


def _settings(report: Report) -> Section:
    def row(setting: Setting) -> tuple[str, ...]:
        return printable(setting.key), short(setting.value), short(setting.default)

    changed = tuple(row(s) for s in report.settings if s.value != s.default and s.key not in BY_RUN)
    same = tuple(row(s)[:2] for s in report.settings if s.value == s.default)
    lines = dict(report.lines)
    words = [f"perfield itself: {lines['perfield']}." if "perfield" in lines else ""]
    words += [f"Files: {lines['written']}." if "written" in lines else ""]
    words += ["" if changed else "All settings have their defaults."]
    tables = [Table(("setting", "value", "default"), changed)] if changed else []
    tables += [Table(("setting", "value"), same, folded="Settings that have their defaults")] if same else []
    name = "Settings, and what measuring cost"
    return Section("settings", name, tuple(filter(None, words)), tables=tuple(tables))


def _how(report: Report) -> Section:
    words = (
        "Each finding is exact, or has passed a test against chance. A run without findings may still have "
        "problems that perfield does not look for. Findings are ordered by the time that could be saved at "
        "most; what two findings save does not always add up.",
        "Computing is all time of a step outside MPI and files, without waiting for a PU. Waiting is the "
        "time in MPI calls that may wait for other ranks, with what these calls transfer. What balancing "
        "saves is the largest compute time of a rank minus the mean, added up over the steps. Findings "
        "bound it by the CPU time that the PUs of the ranks must supply in any case; charts and regions do "
        "not.",
        "The imbalance of the run is that largest compute time over the mean, both added up over the steps, "
        "whichever rank it is. A finding that names ranks says how long these compute in all steps "
        "together, which is less where the slowest rank changes. The plot's median is that of single steps.",
        "The whole run was one step, with its setup and teardown."
        if report.is_whole
        else f"{counted(report.observed.n_steps, 'step')} of {len(report.run):,} were compared, without "
        "setup and teardown.",
    )
    lines = tuple((printable(name), printable(text)) for name, text in report.lines)
    table = Table(("line", "text"), lines, folded="The summary of the run, as `perfield info` prints it")
    return Section("how", "How this was computed", words, tables=(table,) if lines else ())


FIRST: tuple[Callable[[Report], Section | None], ...] = (_parts, _where, _efficiency, _regions, _heat_maps)
THEN: tuple[Callable[[Report], Section | None], ...] = (_slowest, _messages, _files, _placement)
