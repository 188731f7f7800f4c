# SPDX-License-Identifier: BSD-3-Clause
"""Writes costs of cells as a field of an OpenFOAM case, for the entry weightField of decomposeParDict."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from perfield.analysis.cell_costs import CellCosts, unit_of
from perfield.balance.measured import BalanceError
from perfield.catalyst_scripts.safe_open import safe_read
from perfield.pictures.blocks import MeshMissingError
from perfield.pictures.openfoam_pieces import sources, written_times

FIELD = "cellCost"
# Patches that any field has to follow; all others get a value.
CONSTRAINTS = re.compile("empty|wedge|symmetry(Plane)?|(nonuniformTransform)?[cC]yclic\\w*|processor\\w*")
SECONDS = "[0 0 1 0 0 0 0]"


@dataclass(frozen=True)
class CostField:
    """A field that is ready to be written.

    file : where. text : of the file. n_cells : that it has values for.
    """

    file: Path
    text: str
    n_cells: int


def whole_case_fields(
    case: Path, costs: CellCosts, step_time: float, name: str = FIELD, time: str | None = None
) -> list[CostField]:
    """The field of the case as it was before decomposePar, one for each region of the mesh.

    time : the case's time directory; None is the one that decomposePar starts from. Other arguments and
    errors : as for `whole_case_costs`. Raises BalanceError, too, if the case has no such time.
    """
    costs_of_regions = whole_case_costs(case, costs, step_time)
    time = time or start_time(case)
    if not (case / time).is_dir():
        raise BalanceError(
            f"{case} has no directory {time}, but decomposePar reads weightField from the time that it "
            "divides. Make it (often: cp -r 0.orig 0), or name another one with --time."
        )
    unit_s = unit_of(costs.cost_s, costs.n_cells)
    fields = []
    for region, values in costs_of_regions.items():
        boundary = safe_read(case / "constant" / region / "polyMesh/boundary")
        fields.append(
            CostField(
                case / time / region / name,
                _text(name, time, _with_unit(values, unit_s, True), boundary),
                len(values),
            )
        )
    return fields


def whole_case_costs(case: Path, costs: CellCosts, step_time: float) -> dict[str, np.ndarray]:
    """By region of the mesh ("" if it has none), the cost of each cell in the undivided case, (n_cells,) s.

    step_time : the program's time of the last measured step.
    Raises BalanceError if the case is not the one that was measured, or its mesh changed since.
    """
    pieces = _Pieces(case, costs, step_time)
    found = {}
    for region in pieces.regions:
        where = [pieces.addressing(rank, region) for rank in range(costs.n_ranks)]
        counts = [pieces.n_cells(rank, region) for rank in range(costs.n_ranks)]
        places = np.concatenate(where)
        changed = [rank for rank in range(costs.n_ranks) if len(where[rank]) != counts[rank]]
        if changed:
            raise BalanceError(
                f"the mesh of {case} has changed since it was divided: rank {changed[0]} began with "
                f"{len(where[changed[0]]):,} cells and has {counts[changed[0]]:,}. The cells of the "
                "undivided case have no cost of their own. Write the field into the ranks' directories with "
                "--redistribute, for redistributePar."
            )
        if (np.sort(places) != np.arange(len(places))).any():
            raise BalanceError(
                f"cellProcAddressing of the {costs.n_ranks} pieces of {case} does not name each of "
                f"{len(places):,} cells once, so it is not of one decomposition. Divide the case again, "
                "measure, and call this again."
            )
        _check_whole(case / "constant" / region / "polyMesh", len(places))
        values = np.empty(len(places))
        values[places] = np.repeat([pieces.cost_s(rank) for rank in range(costs.n_ranks)], counts)
        found[region] = values
    return found


def _with_unit(values_s: np.ndarray, unit_s: float, mark: bool) -> np.ndarray:
    """Costs of at least one unit; with `mark` the first of the cheapest cells has exactly that.

    OpenFOAM's scotch, metis and kahip take each weight as a whole multiple of the smallest and cut off the
    rest, so that 1.9 counts as 1, and do not expect 0. One cell of one unit makes the multiples fine.
    """
    values_s = np.maximum(values_s, unit_s) if unit_s else np.ones(len(values_s))
    if mark and len(values_s):
        values_s[values_s.argmin()] = unit_s or 1.0
    return values_s


def _check_whole(mesh: Path, n_cells: int) -> None:
    """Raises BalanceError if the undivided mesh is not there or has other cells than its pieces."""
    if not (mesh / "owner").is_file():
        raise BalanceError(
            f"{mesh} has no file owner (not compressed), so decomposePar cannot divide the case; copy the "
            "undivided mesh there, or write into the ranks' directories with --redistribute."
        )
    there = n_cells_of(*(safe_read(mesh / name, most=None) for name in ("owner", "neighbour")))
    if there != n_cells:
        raise BalanceError(
            f"{mesh} has {there:,} cells, but the pieces of the ranks have {n_cells:,}. The case was "
            "meshed again after it was divided; divide and measure it again."
        )


def divided_case_fields(case: Path, costs: CellCosts, step_time: float, name: str = FIELD) -> list[CostField]:
    """The field of each rank's piece, at the newest written time until that of the step, for redistributePar.

    Arguments and errors : as for `whole_case_costs`. Raises BalanceError for collated pieces, too.
    """
    pieces = _Pieces(case, costs, step_time)
    unit_s = unit_of(costs.cost_s, costs.n_cells)
    cheapest = int(
        np.argmin(np.where(costs.cells_of_rank > 0, [pieces.cost_s(r) for r in range(costs.n_ranks)], np.inf))
    )
    fields = []
    for rank in range(costs.n_ranks):
        directory = pieces.sources[rank].directory
        if directory.name.startswith("processors"):
            raise BalanceError(
                f"{directory} is collated, and perfield writes fields of ranks only into processor0, "
                "processor1, ... Leave out --redistribute, or decompose with -fileHandler uncollated."
            )
        for region in pieces.regions:
            n_cells = pieces.n_cells(rank, region)
            boundary = pieces.mesh_file(rank, region, "boundary")
            values = _with_unit(np.full(n_cells, pieces.cost_s(rank)), unit_s, rank == cheapest)
            text = _text(name, pieces.time, values, boundary)
            fields.append(CostField(directory / pieces.time / region / name, text, n_cells))
    return fields


def newest_mesh(case: Path, n_ranks: int) -> float | None:
    """The newest written time of a case whose mesh changes; None if its mesh stays.

    Raises BalanceError if the case is not divided among so many ranks.
    """
    first = _sources_of(case, n_ranks)[0].directory
    times = written_times(first)
    meshes = [path for time in times.values() for path in (first / time).glob("**/polyMesh")]
    return max(times) if meshes else None


def start_time(case: Path) -> str:
    """The time directory that decomposePar divides: what controlDict's startFrom and startTime name."""
    times = written_times(case)
    control = _dictionary(case / "system/controlDict")
    start_from = _entry(control, "startFrom") or "latestTime"
    if times and start_from in ("latestTime", "firstTime"):
        return times[max(times) if start_from == "latestTime" else min(times)]
    wanted = _entry(control, "startTime") or "0"
    try:
        return times.get(float(wanted), wanted)
    except ValueError:
        return "0"


def n_cells_of(owner: bytes, neighbour: bytes) -> int:
    """How many cells a mesh has, from its files owner and neighbour."""
    return 1 + int(max(labels(owner).max(initial=-1), labels(neighbour).max(initial=-1)))


def labels(file: bytes) -> np.ndarray:
    """The whole numbers of a labelList, int64; ascii or binary, of 32 or 64 bits.

    Raises BalanceError if the file holds no such list.
    """
    header = re.match(rb".*?\}", file, re.DOTALL)
    begin = re.compile(rb"(?:\s|//[^\n]*\n|/\*.*?\*/)*(\d+)\s*([({])", re.DOTALL)
    found = begin.match(file, header.end()) if header else None
    try:
        count = int(found[1])
        if found[2] == b"{":  # all the same
            return np.full(count, int(file[found.end() : file.index(b"}", found.end())]))
        if re.search(rb"format\s+binary", header[0]):
            kind = "<i8" if b"label=64" in header[0] else "<i4"
            return np.frombuffer(file, kind, count, found.end()).astype(np.int64)
        numbers = np.array(file[found.end() : file.index(b")", found.end())].split(), np.int64)
        if len(numbers) == count:
            return numbers
    except (TypeError, ValueError):
        pass
    raise BalanceError(
        "a file of the case holds no list of numbers as OpenFOAM writes it (ascii or binary, uncompressed). "
        "Write the case anew: foamFormatConvert with writeCompression off."
    )


def _sources_of(case: Path, n_ranks: int) -> list:
    if not case.is_dir():
        raise BalanceError(f"{case} is not a directory; expected an OpenFOAM case that is divided.")
    try:
        return sources(case, n_ranks)
    except MeshMissingError as error:
        raise BalanceError(str(error)) from error


class _Pieces:
    """The pieces of the ranks, with the mesh that held at the time of the last measured step."""

    def __init__(self, case: Path, costs: CellCosts, step_time: float):
        self.sources = _sources_of(case, costs.n_ranks)
        self.case, self._costs = case, costs
        first = self.sources[0].directory
        times = written_times(first)
        until = [time for time in sorted(times) if not time > step_time * (1 + 1e-9)]
        self._until = ["constant", *(times[time] for time in until)]
        self.time = self._until[-1] if until else min(times.values(), key=float, default="0")
        constant = first / "constant"
        within = sorted(path.parent.name for path in constant.glob("*/polyMesh"))
        self.regions = within or [""]
        self._check()

    def n_cells(self, rank: int, region: str) -> int:
        files = (self.mesh_file(rank, region, name) for name in ("owner", "neighbour"))
        return n_cells_of(*files)

    def cost_s(self, rank: int) -> float:
        mine = self._costs.cost_s[self._costs.rank == rank]
        return float(mine[0]) if len(mine) else float(self._costs.load_s.sum() / self._costs.n_cells.sum())

    def addressing(self, rank: int, region: str) -> np.ndarray:
        """The cells' numbers in the undivided case."""
        return labels(self.mesh_file(rank, region, "cellProcAddressing"))

    def mesh_file(self, rank: int, region: str, name: str) -> bytes:
        """A file of the newest mesh until the step's time that has it."""
        source = self.sources[rank]
        for time in reversed(self._until):
            path = Path(time) / region / "polyMesh" / name
            if (source.directory / path).is_file():
                return source.read(str(path))
        raise BalanceError(
            f"{source.directory} has no file constant/polyMesh/{name} (not compressed); expected a case that "
            "decomposePar has divided. Divide it again."
        )

    def _check(self) -> None:
        """Raises BalanceError if the ranks had other numbers of cells when they were measured."""
        measured = self._costs.cells_of_rank
        found = [
            sum(self.n_cells(rank, region) for region in self.regions) for rank in range(len(self.sources))
        ]
        wrong = np.flatnonzero(np.array(found) != measured)
        if len(wrong):
            rank = int(wrong[0])
            raise BalanceError(
                f"rank {rank} has {found[rank]:,} cells in {self.sources[rank].directory} at time "
                f"{self.time}, but {measured[rank]:,} when it was measured; {len(wrong)} of "
                f"{len(found)} ranks differ. Name the case of this run, or end --steps at a step whose mesh "
                "was written."
            )


def _text(name: str, time: str, values_s: np.ndarray, boundary: bytes) -> str:
    """The file of a volScalarField."""
    patches = []
    for patch, kind in _patches(boundary):
        constraint = CONSTRAINTS.fullmatch(kind)
        value = "" if constraint and not kind.startswith("processor") else " value uniform 0;"
        patches.append(f"    {patch} {{ type {kind if constraint else 'calculated'};{value} }}")
    numbers = "\n".join(f"{value:.6e}" for value in values_s.tolist())
    header = f'version 2.0; format ascii; class volScalarField; location "{time}"; object {name};'
    return "\n".join(
        [
            f"FoamFile {{ {header} }}",
            "// Compute time per cell and step, s, as perfield measured it. One cell has a tiny value, so",
            "// that scotch, metis and kahip, which count in whole multiples of the smallest, count finely.",
            f"dimensions {SECONDS};",
            f"internalField nonuniform List<scalar> {len(values_s)}",
            f"({numbers}\n);",
            "boundaryField\n{",
            *patches,
            "}\n",
        ]
    )


def _patches(boundary: bytes) -> list[tuple[str, str]]:
    """(name, type) of each patch of a file polyMesh/boundary."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", boundary.decode("utf-8", "replace"), flags=re.DOTALL)
    body = text[text.index("}") + 1 :] if "FoamFile" in text else text
    found = re.findall(r"([^\s{}();]+)\s*\{([^{}]*)\}", body)
    return [(name, _entry(entries, "type") or "patch") for name, entries in found]


def _dictionary(file: Path) -> str:
    try:
        text = safe_read(file).decode("utf-8", "replace")
    except OSError:
        return ""
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)


def _entry(text: str, key: str) -> str | None:
    found = re.search(rf"(?:^|[\s;{{}}]){key}\s+([^;]*?)\s*;", text)
    return found[1] if found else None
