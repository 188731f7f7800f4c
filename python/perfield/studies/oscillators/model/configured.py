# SPDX-License-Identifier: BSD-3-Clause
"""Models from tables of plain values, as a TOML file holds them, and back.

KEYS says which tables and keys there are; the command's help and the docs show the same text. An `Experiment`
is all that a result needs to be repeated; `tables_of_result` takes it back from a result.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import xarray as xr

from perfield.studies.oscillators.model import initial as starts
from perfield.studies.oscillators.model import potentials, topologies
from perfield.studies.oscillators.model.changing import Stages, Stop
from perfield.studies.oscillators.model.delays import Delay, RandomDelay
from perfield.studies.oscillators.model.integrate import METHODS, oscillate
from perfield.studies.oscillators.model.model import (
    NORMALISATIONS,
    Model,
    coupling_strength,
    natural_frequency,
)
from perfield.studies.oscillators.model.noise import KINDS as NOISES
from perfield.studies.oscillators.model.noise import Noise
from perfield.studies.oscillators.model.presets import PRESETS, Preset, lorentzian
from perfield.studies.rhythm.model.errors import ModelError
from perfield.studies.rhythm.model.topology import Topology, topology
from perfield.text import did_you_mean, in_list

Tables = Mapping[str, Any]

TOPOLOGIES: dict[str, tuple[Callable[..., Topology], tuple[str, ...], tuple[str, ...]]] = {
    "chain": (topologies.chain, ("ranks",), ("bidirectional", "distance")),
    "ring": (topologies.ring, ("ranks",), ("bidirectional", "distance")),
    "compact": (topologies.compact, ("ranks", "distance"), ("bidirectional", "periodic")),
    "by_send": (topologies.by_send, ("ranks", "offsets"), ("periodic",)),
    "by_receive": (topologies.by_receive, ("ranks", "offsets"), ("periodic",)),
    "mesh": (topologies.mesh, ("shape",), ("periodic", "bidirectional")),
    "all_to_all": (topologies.all_to_all, ("ranks",), ()),
    "random": (topologies.random_graph, ("ranks", "probability"), ("seed", "directed")),
    "edges": (topology, ("ranks", "receiver", "sender"), ("weight",)),
}
"""Kind: its constructor, the keys that it needs, and those that it may have."""
STARTS: dict[str, tuple[Callable[..., np.ndarray], tuple[str, ...]]] = {
    "synchronised": (starts.synchronised, ()),
    "disordered": (starts.disordered, ("seed",)),
    "spaced": (starts.spaced, ("gap",)),
    "perturbed": (starts.perturbed, ("value", "first")),
    "delayed": (starts.delayed, ("rank", "periods")),
    "phases": (lambda n, *, values: np.asarray(values, float), ("values",)),
}
"""Kind: what makes the phases, and the keys that it takes."""

KEYS: dict[str, dict[str, tuple[str, str]]] = {
    "": {
        "preset": ("text", "begin with a figure of the paper; other tables change it"),
        "title": ("text", "a name for the result"),
        "seed": ("integer", "of noise and random delays (0)"),
    },
    "topology": {
        "kind": ("text", f"who receives from whom: {', '.join(TOPOLOGIES)}"),
        "ranks": ("integer", "how many; a mesh takes its shape instead"),
        "bidirectional": ("boolean", "chain, ring, compact: both ways (false); mesh (true)"),
        "distance": (
            "integer",
            "chain, ring: rank i receives from i - distance (1); compact: from all up to it",
        ),
        "offsets": ("integers", "by_send: i sends to i + each; by_receive: i receives from i + each"),
        "periodic": ("flags", "whether ends are neighbours (false); mesh: one value, or one per axis"),
        "shape": ("integers", "mesh: ranks along each axis"),
        "probability": ("number", "random: of each edge"),
        "seed": ("integer", "random: the same seed gives the same graph (0)"),
        "directed": ("boolean", "random: each way by itself (true)"),
        "receiver": ("integers", "edges: the rank that receives, for each edge"),
        "sender": ("integers", "edges: the rank that it receives from"),
        "weight": ("numbers", "edges: T_ij of each (1)"),
        "file": ("text", "instead of kind: T as .mtx (Matrix Market) or .npz (SciPy), row = receiver"),
    },
    "potential": {
        "name": ("text", f"V: {', '.join(potentials.POTENTIALS)}"),
        "steepness": ("number", "tanh: s in 1/rad (1)"),
        "sigma": ("number", "piecewise_sine: width of the repulsion in rad (pi)"),
        "a": ("number", "fourier (0.5)"),
        "b": ("number", "fourier (0.1)"),
        "harmonic": ("integer", "fourier: N (18)"),
        "radius": ("number", "mexican_hat: distance that a pair keeps, rad (2 pi / 3)"),
        "depth": ("number", "mexican_hat: of its minima (0.25)"),
        "choices": ("tables", "per_edge: potentials, each a table of this kind"),
        "which": ("integers", "per_edge: the number of the choice of each edge"),
    },
    "program": {
        "t_comp": ("numbers", "s of computation per step (1), one number or one per rank"),
        "t_comm": ("numbers", "s of communication per step (0)"),
        "frequency": ("changing", "instead: omega in rad/s, one number, one per rank, or stages"),
        "width": ("number", "frequencies spread as a Lorentz distribution, rad/s at half height (0)"),
    },
    "coupling": {
        "beta": ("number", "1, or 2 for rendezvous messages in both directions (1)"),
        "kappa": ("number", "longest distance of partners for one MPI_Waitall, else their sum (1)"),
        "v_p": ("changing", "instead: rad/s; else beta kappa / (t_comp + t_comm)"),
        "normalisation": (
            "text",
            f"what the sum over partners is divided by: {', '.join(NORMALISATIONS)} (ranks)",
        ),
        "weight": ("changing", "T_ij is multiplied by it: one number, one per edge, or stages (1)"),
    },
    "noise": {
        "kind": ("text", f"{', '.join(NOISES)} (paper_uniform)"),
        "size": ("number", "fraction: 0.05 is 5 % (0.05)"),
        "hold": ("number", "s for which a random number holds (0.1)"),
        "until": ("number", "s after which noise ends (never)"),
        "correlation": ("number", "s, of an Ornstein-Uhlenbeck process (1)"),
    },
    "delay": {
        "time_s": ("numbers", "tau_ij, one number or one per edge (0)"),
        "least": ("number", "instead: random, from here ..."),
        "most": ("number", "... to here, s"),
        "hold": ("number", "s for which a random delay holds (0.1)"),
        "compensate": ("boolean", "a delay shifts no difference of ranks that march in step (false)"),
    },
    "initial": {
        "kind": ("text", f"phases at the start: {', '.join(STARTS)}"),
        "seed": ("integer", "disordered (0)"),
        "gap": ("number", "spaced: rad from one to the next (2 pi / ranks)"),
        "value": ("number", "perturbed: rad; above 0 is ahead (3 pi / 2)"),
        "first": ("integer", "perturbed: so many of the first ranks (1)"),
        "rank": ("integer", "delayed: who (0)"),
        "periods": ("number", "delayed: how late"),
        "values": ("numbers", "phases: rad, one per rank"),
    },
    "stops": {
        "rank": ("integer", "stops ..."),
        "start_s": ("number", "... from here ..."),
        "steps": ("number", "... for so many of its steps"),
    },
    "times": {
        "start_s": ("number", "(0)"),
        "end_s": ("number", "until when"),
        "count": ("integer", "how many instants, evenly spaced (601)"),
        "values": ("numbers", "instead: each instant, s"),
    },
    "solver": {
        "method": ("text", f"{', '.join(METHODS)}; delays have their own (DOP853)"),
        "rtol": ("number", "relative tolerance (1e-8)"),
        "atol": ("number", "absolute tolerance, rad (1e-10)"),
    },
}
"""Table: key: (type, meaning). "" holds the keys outside of tables; `stops` is a list of tables."""
NEEDED = ("topology", "potential", "initial", "times")
ALTERNATIVES = {
    "program": ({"frequency"}, {"t_comp", "t_comm"}),
    "coupling": ({"v_p"}, {"beta", "kappa"}),
    "delay": ({"time_s"}, {"least", "most", "hold"}),
    "times": ({"values"}, {"start_s", "end_s", "count"}),
    "topology": ({"file"}, set(KEYS["topology"]) - {"file"}),
}
"""Two sets of keys of a table that exclude each other."""


@dataclass(frozen=True)
class Experiment:
    """A model with its start, its times (s), its seed, and how it is integrated."""

    model: Model
    initial: np.ndarray
    times: np.ndarray
    seed: int = 0
    title: str = ""
    solver: dict[str, Any] = field(default_factory=dict)

    def run(self) -> xr.Dataset:
        """Its phases; see `oscillate`."""
        found = oscillate(self.model, self.initial, self.times, seed=self.seed, **self.solver)
        if self.title:
            found.attrs["title"] = self.title
        return found


def experiment(tables: Tables) -> Experiment:
    """The experiment that tables describe (KEYS); `topology.file` is turned into edges by who reads it.

    Raises ModelError with all that is wrong, a line each; unknown keys come with the nearest known one.
    """
    tables = with_preset(tables)
    mistakes = _mistakes(tables)
    errors = [sentence for sentences in mistakes.values() for sentence in sentences]

    def tried(name: str, make: Callable[..., Any], *arguments: Any) -> Any:
        """make(the table, ...), unless that table is known to be wrong; None if it cannot."""
        if mistakes.get(name) or None in arguments:
            return None
        try:
            return make(tables.get(name, {}), *arguments)
        except ModelError as error:
            errors.append(str(error))
            return None

    edges = tried("topology", _topology)
    n = None if edges is None else edges.n
    force = tried("potential", _potential)
    noise = tried("noise", _noise) if "noise" in tables else None
    delay, compensate = tried("delay", _delay) or (0.0, False)
    stops = (tried("stops", _stops) if "stops" in tables else None) or ()
    times = tried("times", _times)
    frequency = tried("program", _frequency, n)
    start = tried("initial", _start, n)
    v_p = None if frequency is None else tried("coupling", lambda table: _coupling(table, frequency))
    model = None
    if not errors:
        model = tried(
            "coupling",
            lambda table: Model(
                edges,
                force,
                frequency,
                v_p,
                normalisation=table.get("normalisation", "ranks"),
                weight=_changing(table.get("weight", 1.0)),
                noise=noise,
                delay=delay,
                compensate=compensate,
                stops=stops,
            ),
        )
    if errors:
        raise ModelError("\n".join(errors))
    return Experiment(
        model, start, times, tables.get("seed", 0), tables.get("title", ""), dict(tables.get("solver", {}))
    )


def with_preset(tables: Tables) -> dict[str, Any]:
    """The tables of the preset that `preset` names, changed by the others; as they are without one."""
    if "preset" not in tables:
        return dict(tables)
    of = preset_of(tables["preset"])
    rest = {key: value for key, value in tables.items() if key != "preset"}
    title = of.title if set(rest) <= {"seed", "title"} else f"{of.title}, changed"
    return merged(tables_of(Experiment(of.model, of.initial, of.times, title=title)), rest)


def preset_of(name: str) -> Preset:
    """The preset of that name, with "-" or "_"; ModelError names the nearest ones."""
    key = str(name).replace("-", "_")
    if key not in PRESETS:
        raise ModelError(f"preset = {name!r} is unknown; {_nearest(key, PRESETS)}")
    return PRESETS[key]()


def merged(base: Tables, over: Tables) -> dict[str, Any]:
    """Tables `base` changed by `over`, key by key.

    A new kind (or name) drops the keys that it does not take, and a key drops those that it excludes.
    """
    found = {name: dict(part) if isinstance(part, Mapping) else part for name, part in base.items()}
    for name, part in over.items():
        if not isinstance(part, Mapping) or not isinstance(found.get(name), dict):
            found[name] = dict(part) if isinstance(part, Mapping) else part
            continue
        old = found[name]
        one, other = ALTERNATIVES.get(name, (set(), set()))
        for given, excluded in ((one, other), (other, one)):
            if given & set(part):
                old = {key: value for key, value in old.items() if key not in excluded}
        chosen = "name" if name == "potential" else "kind"
        if part.get(chosen, old.get(chosen)) != old.get(chosen):
            taken = _taken(name, part[chosen])
            old = {key: value for key, value in old.items() if key in taken}
        found[name] = {**old, **part}
    return found


def _mistakes(tables: Tables) -> dict[str, list[str]]:
    """What is wrong with the names and types of tables and keys: sentences by table."""
    found: dict[str, list[str]] = {}
    for name, part in tables.items():
        if name in KEYS[""]:
            found[name] = _wrong_type("", name, part)
        elif name not in KEYS:
            known = [key for key in KEYS if key] + list(KEYS[""])
            found[name] = [f"'{name}' is unknown; {_nearest(name, known)}"]
        elif name == "stops":
            found[name] = []
            for row in part if isinstance(part, (list, tuple)) else [part]:
                found[name] += _wrong_keys(name, row) or [
                    f"a stop lacks '{key}'; give it." for key in KEYS[name] if key not in row
                ]
        elif not isinstance(part, Mapping):
            found[name] = [f"'{name}' is a table; write [{name}] and its keys below, not {name} = {part!r}."]
        else:
            found[name] = _wrong_keys(name, part)
    for name in NEEDED:
        if name not in tables:
            some = in_list(list(KEYS[name]), 20)
            found[name] = [f"the table [{name}] is missing; it takes {some}."]
    return found


def tables_of(of: Experiment) -> dict[str, Any]:
    """The tables of an experiment, as short as they say it exactly.

    Raises ModelError if a parameter is a function, which no file can hold.
    """
    return _tables(
        of.model.parameters(), of.model.topology, of.initial, of.times, of.seed, of.title, of.solver
    )


def tables_of_result(found: xr.Dataset) -> dict[str, Any]:
    """The tables of a result of `oscillate`, saved and read again or not: they give the same phases again.

    Raises ModelError if the Dataset is no result of a model, or if a parameter was a function.
    """
    missing = [name for name in ("phase", "receiver", "sender", "weight") if name not in found]
    if missing or "parameters" not in found.attrs:
        lacks = in_list(missing or ["the attribute 'parameters'"])
        raise ModelError(f"this Dataset lacks {lacks}, so it is no result of a model; give one of oscillate.")
    try:
        kept = json.loads(found.attrs["parameters"])
        phase = found["phase"].transpose("oscillator", "time").values
        return _of_saved(found, kept, phase)
    except (ArithmeticError, LookupError, RecursionError, TypeError, ValueError) as error:
        if isinstance(error, ModelError):
            raise
        raise ModelError(
            f"this Dataset does not hold what a result of a model holds ({type(error).__name__}: "
            f"{error!s:.200}); save it again."
        ) from error


def _of_saved(found: xr.Dataset, kept: Tables, phase: np.ndarray) -> dict[str, Any]:
    edges = topology(len(phase), *(found[name].values for name in ("receiver", "sender", "weight")))
    return _tables(
        kept,
        edges,
        phase[:, 0],
        found["time"].values,
        int(found.attrs.get("seed", 0)),
        str(found.attrs.get("title", "")),
        {key: kept[key] for key in KEYS["solver"] if key in kept},
    )


def _tables(
    kept: Tables,
    edges: Topology,
    initial: np.ndarray,
    times: np.ndarray,
    seed: int,
    title: str,
    solver: Tables,
) -> dict[str, Any]:
    for name in ("potential", "frequency", "coupling", "weight", "delay"):
        if isinstance(kept[name], Mapping) and "function" in kept[name]:
            raise ModelError(
                f"the model's {name} is the function {kept[name]['function']}, which no file can hold; give "
                "numbers, stages or a named potential, or run the model in Python."
            )
    found: dict[str, Any] = {"title": title} if title else {}
    found["seed"] = int(seed)
    found["topology"] = _topology_table(edges)
    found["potential"] = dict(kept["potential"])
    found["program"] = {"frequency": kept["frequency"]}
    found["coupling"] = {"v_p": kept["coupling"], "normalisation": kept["normalisation"]}
    if kept["weight"] != 1.0:
        found["coupling"]["weight"] = kept["weight"]
    if kept["noise"] is not None:
        found["noise"] = {key: value for key, value in kept["noise"].items() if value is not None}
    delay = kept["delay"]
    if delay != 0.0:
        found["delay"] = {**(delay if isinstance(delay, Mapping) else {"time_s": delay})}
        found["delay"]["compensate"] = kept["compensate"]
    found["initial"] = _initial_table(initial)
    if kept["stops"]:
        found["stops"] = [
            {"rank": stop["oscillator"], "start_s": stop["start"], "steps": stop["steps"]}
            for stop in kept["stops"]
        ]
    found["times"] = _times_table(times)
    if solver:
        found["solver"] = dict(solver)
    return found


# --- parts of an experiment, from their tables ------------------------------------------------------


def _topology(table: Tables) -> Topology:
    kind = table.get("kind")
    if kind not in TOPOLOGIES:
        raise ModelError(f"topology.kind = {kind!r} is unknown; {_nearest(str(kind), TOPOLOGIES)}")
    make, needs, may = TOPOLOGIES[kind]
    given = {key: value for key, value in table.items() if key != "kind"}
    _fit("topology", kind, given, needs, (*needs, *may))
    if kind == "random":
        given.setdefault("seed", 0)
    first = [given.pop(needs[0])]
    if kind == "edges":
        given = {key: np.asarray(value) for key, value in given.items()}
    return make(*first, **given)


def _potential(table: Tables) -> potentials.Potential:
    parameters = {key: value for key, value in table.items() if key != "name"}
    name = table.get("name")
    if name == "per_edge":
        _fit("potential", name, parameters, ("choices", "which"), ("choices", "which"))
        return potentials.PerEdge(
            tuple(_potential(choice) for choice in parameters["choices"]), np.asarray(parameters["which"])
        )
    if name not in potentials.POTENTIALS:
        known = [*potentials.POTENTIALS, "per_edge"]
        raise ModelError(f"potential.name = {name!r} is unknown; {_nearest(str(name), known)}")
    return potentials.potential(name, **parameters)


def _frequency(table: Tables, n: int) -> Any:
    if "frequency" in table:
        frequency = _changing(table["frequency"])
    else:
        t_comp, t_comm = np.broadcast_arrays(
            *(
                np.asarray(table.get(key, default), float)
                for key, default in (("t_comp", 1.0), ("t_comm", 0.0))
            )
        )
        each = [natural_frequency(*times) for times in zip(t_comp.ravel().tolist(), t_comm.ravel().tolist())]
        frequency = np.array(each) if t_comp.ndim else each[0]
    width = table.get("width", 0.0)
    if width:
        if not isinstance(frequency, float) and np.ndim(frequency):
            raise ModelError("program.width spreads one frequency; leave it out where each rank has its own.")
        frequency = lorentzian(n, width, frequency)
    return frequency


def _coupling(table: Tables, frequency: Any) -> Any:
    if "v_p" in table:
        return _changing(table["v_p"])
    if isinstance(frequency, Stages):
        raise ModelError("with a frequency in stages the coupling has no single step; give coupling.v_p.")
    period = 2 * np.pi / float(np.mean(frequency))
    return coupling_strength(table.get("beta", 1.0), table.get("kappa", 1.0), period, 0.0)


def _noise(table: Tables) -> Noise:
    if table.get("kind", "paper_uniform") not in NOISES:
        raise ModelError(f"noise.kind = {table['kind']!r} is unknown; {_nearest(table['kind'], NOISES)}")
    return Noise(**table)


def _delay(table: Tables) -> tuple[Delay, bool]:
    compensate = table.get("compensate", False)
    if "most" in table or "least" in table:
        given = {key: table[key] for key in ("least", "most", "hold") if key in table}
        _fit("delay", "random", given, ("least", "most"), ("least", "most", "hold"))
        return RandomDelay(**given), compensate
    tau = table.get("time_s", 0.0)
    return (np.asarray(tau, float) if isinstance(tau, (list, tuple)) else float(tau)), compensate


def _stops(rows: Any) -> tuple[Stop, ...]:
    rows = rows if isinstance(rows, (list, tuple)) else [rows]
    return tuple(Stop(row["rank"], row["start_s"], row["steps"]) for row in rows)


def _start(table: Tables, n: int) -> np.ndarray:
    kind = table.get("kind")
    if kind not in STARTS:
        raise ModelError(f"initial.kind = {kind!r} is unknown; {_nearest(str(kind), STARTS)}")
    make, keys = STARTS[kind]
    given = {key: value for key, value in table.items() if key != "kind"}
    _fit("initial", kind, given, tuple(key for key in keys if key in ("periods", "values")), keys)
    if "rank" in given:
        given["oscillator"] = given.pop("rank")
    return make(n, **given)


def _times(table: Tables) -> np.ndarray:
    if "values" in table:
        return np.asarray(table["values"], float)
    if "end_s" not in table:
        raise ModelError("times.end_s is missing; give the second at which the model ends.")
    start, end, count = table.get("start_s", 0.0), table["end_s"], table.get("count", 601)
    if not (end > start and count >= 2):
        raise ModelError(
            f"times from {start:g} to {end:g} s in {count} instants make no axis; give an end behind it, "
            "and 2 instants or more."
        )
    return np.linspace(start, end, count)


def _changing(value: Any) -> Any:
    """A number, an array or Stages."""
    if isinstance(value, Mapping):
        unknown = set(value) - {"starts", "values", "period"}
        if unknown or not {"starts", "values"} <= set(value):
            raise ModelError(
                f"stages have the keys {in_list(sorted(value))}; give starts and values, and period if they "
                "repeat."
            )
        return Stages(
            np.asarray(value["starts"], float), np.asarray(value["values"], float), value.get("period")
        )
    return np.asarray(value, float) if isinstance(value, (list, tuple)) else float(value)


# --- tables of parts ---------------------------------------------------------------------------------


def _topology_table(of: Topology) -> dict[str, Any]:
    """The shortest table that gives exactly these edges."""
    offsets = np.unique(of.receiver - of.sender)
    candidates: list[dict[str, Any]] = []
    if of.n_edges == of.n * (of.n - 1):
        candidates.append({"kind": "all_to_all", "ranks": of.n})
    if len(offsets) <= 8:
        around = ((offsets + of.n // 2) % of.n) - of.n // 2
        for kind, bidirectional in (("chain", False), ("chain", True), ("ring", False), ("ring", True)):
            candidates.append({"kind": kind, "ranks": of.n, "bidirectional": bidirectional})
        candidates.append({"kind": "by_send", "ranks": of.n, "offsets": offsets.tolist()})
        candidates.append(
            {"kind": "by_send", "ranks": of.n, "offsets": sorted(set(around.tolist())), "periodic": True}
        )
    for table in candidates:
        made = _topology(table)
        if made.n_edges == of.n_edges and all(
            np.array_equal(getattr(made, name), getattr(of, name))
            for name in ("receiver", "sender", "weight")
        ):
            return table
    table = {"kind": "edges", "ranks": of.n, "receiver": of.receiver.tolist(), "sender": of.sender.tolist()}
    return table if (of.weight == 1).all() else {**table, "weight": of.weight.tolist()}


def _initial_table(start: np.ndarray) -> dict[str, Any]:
    """The shortest table that gives exactly these phases."""
    candidates: list[dict[str, Any]] = [{"kind": "synchronised"}, {"kind": "spaced"}]
    moved = np.flatnonzero(start)
    if len(moved):
        candidates.append({"kind": "perturbed", "value": float(start[0]), "first": len(moved)})
        rank = int(moved[0])
        candidates.append({"kind": "delayed", "rank": rank, "periods": float(start[rank] / (-2 * np.pi))})
        candidates.append({"kind": "disordered"})
    for table in candidates:
        if np.array_equal(_start(table, len(start)), start):
            return table
    return {"kind": "phases", "values": np.asarray(start, float).tolist()}


def _times_table(times: np.ndarray) -> dict[str, Any]:
    first, last, count = float(times[0]), float(times[-1]), len(times)
    if np.array_equal(np.linspace(first, last, count), times):
        return {"start_s": first, "end_s": last, "count": count}
    return {"values": np.asarray(times, float).tolist()}


# --- checks ------------------------------------------------------------------------------------------


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _list_of(check: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, (list, tuple)) and all(map(check, value))


_TYPES: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "text": ("a text in quotes", lambda value: isinstance(value, str)),
    "integer": ("a whole number", _is_integer),
    "number": ("a number", _is_number),
    "boolean": ("true or false", lambda value: isinstance(value, bool)),
    "integers": ("a list of whole numbers", _list_of(_is_integer)),
    "numbers": ("a number or a list of numbers", lambda v: _is_number(v) or _list_of(_is_number)(v)),
    "flags": (
        "true or false, or a list of these",
        lambda v: isinstance(v, bool) or _list_of(lambda one: isinstance(one, bool))(v),
    ),
    "changing": (
        "a number, a list of numbers, or stages: {starts = [...], values = [...]}",
        lambda v: _is_number(v) or _list_of(_is_number)(v) or isinstance(v, Mapping),
    ),
    "tables": ("a list of tables", _list_of(lambda one: isinstance(one, Mapping))),
}


def _wrong_keys(name: str, part: Any) -> list[str]:
    if not isinstance(part, Mapping):
        return [f"'{name}' is a list of tables; write [[{name}]] and its keys below."]
    found = []
    for key, value in part.items():
        if key not in KEYS[name]:
            found.append(f"'{name}.{key}' is unknown; {_nearest(key, KEYS[name])}")
        else:
            found += _wrong_type(name, key, value)
    for one, other in [ALTERNATIVES[name]] if name in ALTERNATIVES else []:
        if one & set(part) and other & set(part):
            both = " and ".join(
                f"{name}.{key}" for key in (*sorted(one & set(part)), *sorted(other & set(part)))
            )
            found.append(f"{both} exclude one another; keep one side.")
    return found


def _wrong_type(name: str, key: str, value: Any) -> list[str]:
    expected, fits = _TYPES[KEYS[name][key][0]]
    if fits(value):
        return []
    full = f"{name}.{key}" if name else key
    return [f"{full} = {value!r} does not fit; expected {expected}."]


def _fit(name: str, kind: str, given: Tables, needs: tuple[str, ...], takes: tuple[str, ...]) -> None:
    for key in given:
        if key not in takes:
            known = in_list([f"{name}.{one}" for one in takes], 10) or "no other key"
            raise ModelError(f"{name}.{key} means nothing to the kind '{kind}', which takes {known}.")
    for key in needs:
        if key not in given:
            raise ModelError(f"{name}.{key} is missing, which the kind '{kind}' needs: {KEYS[name][key][1]}.")


def _taken(name: str, kind: str) -> set[str]:
    """The keys that a kind of topology or start, or a potential, takes."""
    if name == "topology" and kind in TOPOLOGIES:
        return {"kind", *TOPOLOGIES[kind][1], *TOPOLOGIES[kind][2]}
    if name == "initial" and kind in STARTS:
        return {"kind", *STARTS[kind][1]}
    if name == "potential" and kind in potentials.POTENTIALS:
        return {"name", *potentials.POTENTIALS[kind].__dataclass_fields__}
    return set(KEYS[name])


def _nearest(name: str, known: Any) -> str:
    return did_you_mean(name, known) or f"expected one of {', '.join(known)}."
