# SPDX-License-Identifier: BSD-3-Clause
"""perfield placement: where ranks sit, which places cost time, and an order of ranks that sends less."""

from __future__ import annotations

import argparse
import json
import platform
import shlex
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

import perfield
from perfield.catalyst_scripts.owned_folder import check_new_file, new_file
from perfield.commands import CommandError
from perfield.commands._newest import add_run, run_path
from perfield.text import begin_of_list, in_bytes, print_table
from perfield.topology import (
    BIND_TO,
    MAP_BY,
    Placement,
    UsedDevices,
    hostfile,
    mpirun_cpusets,
    place,
    placement_of,
    places,
    rankfile,
    reorder_file,
    sharing,
    this_machine,
    used_devices,
)

if TYPE_CHECKING:
    from perfield.analysis.findings import Finding
    from perfield.analysis.observed import Observed
    from perfield.analysis.rank_order import Order

HELP = "where ranks sit, which places cost time, and an order of ranks that sends less"
DESCRIPTION = """\
Lists where each rank of a run sat: host, switch, package, cores, PUs and devices.
Then come warnings about what hurts, each with its cost where the run shows one,
and a proposal: the order of ranks that would send fewer bytes between nodes and
switches.

  perfield placement perfield-run
  perfield placement perfield-run --rankfile order.txt
  perfield placement --here -n 8 --bind-to core

A proposed order takes effect in the next run, by one of these:

  mpirun --rankfile order.txt -n 8 perfield-exec ./a.out
                                                        Open MPI, --rankfile
  SLURM_HOSTFILE=hosts.txt srun --distribution=arbitrary -n 8 perfield-exec ./a.out
                                                        Slurm, --hostfile
  mpirun -f hosts.txt -n 8 perfield-exec ./a.out        MPICH, --hostfile
  MPICH_RANK_REORDER_METHOD=3 srun -n 8 perfield-exec ./a.out
                                                        Cray MPICH, with
      --reorder-file MPICH_RANK_ORDER in the working directory

--here shows, without a run, where Open MPI's mpirun (version 4) would put -n
ranks on this machine. Without --bind-to and --map-by it does as Open MPI does: up to
two ranks go by core, more by package."""

MOST_ROWS = 64  # beyond, ranks share a row
MOST_PROPOSED = 20_000  # ranks, which take 20 s; for more a proposal is made when asked for
NOT_PAIRS = "bytes: of calls with one peer and one-sided calls; collective calls are not in them"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the run, the files to write, and the preview."""
    add_run(parser)
    add = parser.add_argument
    add("--all", action="store_true", help=f"a row for each rank, also above {MOST_ROWS}")
    add("--rankfile", metavar="FILE", help="write the proposed order for Open MPI's mpirun --rankfile")
    add(
        "--hostfile",
        metavar="FILE",
        help="write the host of each rank, for srun (SLURM_HOSTFILE) and MPICH's mpirun -f",
    )
    add("--reorder-file", metavar="FILE", help="write the proposed order for Cray MPICH (MPICH_RANK_ORDER)")
    add(
        "--propose",
        action="store_true",
        help=f"propose an order, also above {MOST_PROPOSED:,} ranks, where it takes long",
    )
    add("--json", action="store_true", help="print everything as one JSON object")
    preview = parser.add_argument_group("without a run")
    preview.add_argument("--here", action="store_true", help="preview ranks on this machine (needs lstopo)")
    preview.add_argument("-n", dest="n_ranks", metavar="N", type=int, help="how many ranks (1)")
    kinds = ", ".join(BIND_TO)
    preview.add_argument("--bind-to", metavar="KIND", help=f"like mpirun's: {kinds}; socket is package")
    preview.add_argument("--map-by", metavar="KIND", help=f"like mpirun's: {', '.join(MAP_BY)}")


def execute(arguments: argparse.Namespace) -> int:
    """Prints the table, the warnings and the proposal; writes the files that the options name."""
    from perfield.analysis.findings import OF_PLACEMENT, needs, placement_findings
    from perfield.analysis.observed import unmeasured

    if arguments.here:
        placement = _preview(arguments)
        _print(arguments, placement, placement_findings(unmeasured(placement)), None, None)
        return 0
    for path in (arguments.rankfile, arguments.hostfile, arguments.reorder_file):
        check_new_file(path)
    for option, value in (
        ("-n", arguments.n_ranks),
        ("--bind-to", arguments.bind_to),
        ("--map-by", arguments.map_by),
    ):
        if value is not None:
            raise CommandError(f"{option} chooses a preview; add --here, or leave {option} out to see a run")
    from perfield.derived.observe import observe

    run = perfield.open(run_path(arguments.run))
    placement = placement_of(run)
    observed = observe(run, needs(OF_PLACEMENT), comparable=False)
    order, why_none = _proposal(arguments, placement, observed)
    _write(arguments, placement, order, why_none)
    devices = used_devices(placement, run.ends)
    findings = placement_findings(observed)
    names = _names(devices, run.ends)
    program = shlex.join(map(str, run.info.get("command") or ["./a.out"]))
    _print(
        arguments,
        placement,
        findings,
        order,
        why_none,
        observed.by_rank("pu_id"),
        names,
        observed.n_program_steps,
        program,
    )
    return 0


def _preview(arguments: argparse.Namespace) -> Placement:
    for option, value in (
        *(("RUN", arguments.run), ("--rankfile", arguments.rankfile), ("--hostfile", arguments.hostfile)),
        *(("--reorder-file", arguments.reorder_file), ("--propose", arguments.propose or None)),
    ):
        if value is not None:
            raise CommandError(f"--here looks at no run; leave {option} out")
    n_ranks = 1 if arguments.n_ranks is None else arguments.n_ranks
    if not 1 <= n_ranks <= 100_000:
        raise CommandError(f"-n is {n_ranks}, expected 1 to 100,000 ranks")
    machine = this_machine()
    host = platform.node()
    cpusets = mpirun_cpusets(machine, n_ranks, arguments.map_by, arguments.bind_to)
    entries = [{"host": host, "boot_id": "", "cpuset": cpuset} for cpuset in cpusets]
    placement = place(entries, {host: machine})
    if sharing(placement).ranks.size and not placement.movable.all():
        note = "mpirun refuses to bind more ranks than PUs, unless --bind-to ends with :overload-allowed"
        placement = replace(placement, notes=(*placement.notes, note))
    return placement


def _names(used: UsedDevices, ends: Mapping[int, dict]) -> dict[int, list[str]]:
    """The devices of each rank; where its machine knows none, the files that it had open at its end, or the
    variables that choose devices."""
    found: dict[int, list[str]] = {}
    for device, rank in zip(used.user.tolist(), used.rank.tolist()):
        found.setdefault(rank, []).append(used.name[device])
    for rank, end in ends.items():
        listed, choice = end.get("devices"), end.get("device_choice")
        devices = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
        files = [str(each["file"]).rpartition("/")[2] for each in devices if each.get("file")]
        chosen = [f"{name}={value}" for name, value in choice.items()] if isinstance(choice, dict) else []
        found.setdefault(rank, files or chosen)
    return found


def _proposal(
    arguments: argparse.Namespace, placement: Placement, observed: Observed
) -> tuple[Order | None, str | None]:
    """The proposed order; None with the reason where there is none."""
    from perfield.analysis.rank_order import Places, propose

    asked = bool(arguments.propose or arguments.rankfile or arguments.hostfile or arguments.reorder_file)
    missing = placement.node_id < 0
    if missing.any():
        return None, f"{missing.sum():,} ranks never checked in, so their places are not known"
    messages = observed.known_messages
    if not messages["bytes"].any():
        return None, "the run has no messages whose two ranks are known"
    if placement.n_ranks > MOST_PROPOSED and not asked:
        return None, f"it takes long for {placement.n_ranks:,} ranks; --propose makes one"
    n_nodes = len(placement.nodes)
    node = np.arange(n_nodes)
    switches = placement.switches
    places = Places(
        placement.node_id.astype(np.int64),
        np.nan_to_num(placement.package_id, nan=-1).astype(np.int64),
        switches.of_node,
        switches.hops(*np.meshgrid(node, node, indexing="ij")),
    )
    try:
        return propose(places, messages), None
    except ModuleNotFoundError as error:
        if asked:
            raise
        return None, str(error)


def _write(
    arguments: argparse.Namespace, placement: Placement, order: Order | None, why_none: str | None
) -> None:
    for path, text in (
        (arguments.rankfile, rankfile),
        (arguments.hostfile, hostfile),
        (arguments.reorder_file, reorder_file),
    ):
        if path is not None and order is None:
            raise CommandError(f"cannot write {path}, since no order is proposed: {why_none}")
        if path is not None:
            with new_file(path) as place:
                place.write_text(text(placement, order.place_of_rank), encoding="utf-8")


def _print(
    arguments: argparse.Namespace,
    placement: Placement,
    findings: list[Finding],
    order: Order | None,
    why_none: str | None,
    ran_on: np.ndarray | None = None,
    devices: dict[int, list[str]] | None = None,
    n_steps: int = 0,
    program: str = "",
) -> None:
    fitting = (by for by in ("rank", "package") if _n_rows(placement, by) <= MOST_ROWS)
    by = "rank" if arguments.all or arguments.json else next(fitting, "alike")
    rows = places(placement, by, ran_on, devices)
    if arguments.json:
        facts = _facts(rows, findings, order, why_none, placement, n_steps)
        print(json.dumps(facts, indent=1, allow_nan=False))
        return
    numbers = ("ranks", "core", "pu", "ran_on")
    print_table([row | {name: begin_of_list(row[name]) for name in numbers if name in row} for row in rows])
    if by != "rank":
        alike = " of nodes that are filled alike" if by == "alike" else ""
        print(
            f"({placement.n_ranks:,} ranks, those of a package{alike} in one row; --all gives each its own)"
        )
    for note in placement.notes:
        print(f"note       {note}")
    for finding in findings:
        print(f"warning    {finding.words}\n           {finding.remedy}")
    if not findings:
        print("warning    none: nothing that perfield looks for hurts here")
    if arguments.here:
        return
    print(f"proposal   {_in_words(order, why_none)}")
    if order is not None and order.better:
        print_table(_gains(order, n_steps))
        print(f"(per step; {NOT_PAIRS})")
        print("\n".join(_how(arguments, placement.n_ranks, program)))


def _n_rows(placement: Placement, by: str) -> int:
    packages = np.stack([placement.node_id, np.nan_to_num(placement.package_id, nan=-1)], axis=1)
    return placement.n_ranks if by == "rank" else len(np.unique(packages, axis=0))


def _facts(
    rows: list[dict],
    findings: list[Finding],
    order: Order | None,
    why_none: str | None,
    placement: Placement,
    n_steps: int,
) -> dict[str, Any]:
    warnings = [
        {
            "kind": finding.kind,
            "ranks": finding.ranks.tolist(),
            "words": finding.words,
            "saved_s": finding.saved_s,
            "remedy": finding.remedy,
        }
        for finding in findings
    ]
    facts: dict[str, Any] = {"ranks": rows, "notes": list(placement.notes), "warnings": warnings}
    if order is None:
        return facts | {"proposal": None, "why_no_proposal": why_none}
    hosts = [placement.nodes[n].label for n in placement.node_id[order.place_of_rank]]
    return facts | {
        "proposal": {
            "better": order.better,
            "place_of_rank": order.place_of_rank.tolist(),
            "host_of_rank": hosts,
            "n_steps": n_steps,
            "before": vars(order.before),
            "after": vars(order.after),
        }
    }


def _in_words(order: Order | None, why_none: str | None) -> str:
    if order is None:
        return f"none: {why_none}"
    if not order.better:
        return "keep the present order: no other was found that sends at least 1 % less over the network"
    moved = int((order.place_of_rank != np.arange(len(order.place_of_rank))).sum())
    return f"another order of the ranks, which moves {moved:,} of {len(order.place_of_rank):,}, sends"


def _gains(order: Order, n_steps: int) -> list[dict[str, Any]]:

    rows = []
    for words, name in (
        ("between nodes", "between_nodes"),
        ("between switches", "between_switches"),
        ("times switches passed", "hop_bytes"),
        ("between packages of a node", "between_packages"),
    ):
        before, after = getattr(order.before, name), getattr(order.after, name)
        if before is None or after is None or not (before or after):
            continue
        change = f"{(after - before) / before:+.0%}" if before else "-"
        now, then = (in_bytes(value / max(n_steps, 1)) for value in (before, after))
        rows.append({"": words, "now": now, "then": then, "change": change})
    return rows


def _how(arguments: argparse.Namespace, n_ranks: int, program: str) -> list[str]:
    """How to start a run with the files that were written, or how to get them. program : with its words."""
    start, lines = f"-n {n_ranks} perfield-exec {program}", []
    if arguments.rankfile:
        lines.append(f"use it     mpirun --rankfile {arguments.rankfile} {start}")
    if arguments.hostfile:
        srun = f"srun --distribution=arbitrary {start}"
        lines.append(f"use it     SLURM_HOSTFILE={arguments.hostfile} {srun}")
    if arguments.reorder_file:
        lines.append(f"use it     as ./MPICH_RANK_ORDER: MPICH_RANK_REORDER_METHOD=3 srun {start}")
    return lines or ["use it     --rankfile FILE writes it for Open MPI, --hostfile FILE for srun and MPICH"]
