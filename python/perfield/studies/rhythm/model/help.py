# SPDX-License-Identifier: BSD-3-Clause
"""What each metric is good for, and where it misleads: the help of its plot (section 4.2, Table 7)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Help:
    """The help of one plot: what it shows, what it is for, what it cannot show, and for how many ranks."""

    shows: str
    use: str
    limit: str
    scale: str

    def __str__(self) -> str:
        return f"{self.shows} {self.use} {self.limit} {self.scale}"


BLIND = "It cannot see whole steps: ranks exactly one step apart look synchronous, so read the spread, too."

HELP = {
    "phase_circle": Help(
        "Each rank is a point at the angle of its phase.",
        "Use it to see clusters and wavefronts of a few ranks at a glance, best as a film.",
        f"It gives no number. {BLIND}",
        "Points cover one another beyond some hundred ranks.",
    ),
    "order_parameter": Help(
        "R is 1 if all ranks are at the same point of their step, and near 0 if they are anywhere in it.",
        "Use it to follow synchrony over time; a fast fall (dR/dt) warns early.",
        f"It cannot distinguish clusters from disorder. {BLIND}",
        "It works for any number of ranks.",
    ),
    "entropy": Help(
        "S is 0 if all phases fall into one bin, and ln N_b if they fill all bins alike.",
        "Use it to find disorder and clusters that leave R unchanged.",
        "It depends on the bins; with bins that adapt, values of two instants cannot be compared, and nearly"
        f" synchronous ranks keep S above 0. {BLIND}",
        "It works for any number of ranks.",
    ),
    "phase_gradient": Help(
        "Each line is one rank: how far it is from those that it receives from.",
        "Use it to find where in the communication topology ranks drift apart, and effects of its ends.",
        "A sum grows with the number of neighbours; take the mean to compare ranks.",
        "Lines crowd beyond some dozen ranks; take a heat map or the largest value then.",
    ),
    "phase_differences": Help(
        "Each line is a pair of ranks: by how much one is ahead of the other.",
        "Use it to see pairs lock (level lines), drift (slopes) and slip by a step (jumps).",
        "It gives no single number.",
        "Pairs grow with the square of the ranks: choose neighbours by offsets beyond some dozen.",
    ),
    "difference_histogram": Help(
        "The bars count pairs of ranks by how far they are apart at one instant.",
        "Use it for synchrony at a moment: one narrow peak at 0, or peaks for clusters.",
        "It shows one instant only, and neither drift nor slips.",
        "Pairs grow with the square of the ranks: choose neighbours by offsets beyond 2,000 ranks.",
    ),
    "difference_matrix": Help(
        "Each cell is a pair of ranks at one instant: by how much the column's rank is ahead of the row's.",
        "Use it to see clusters (blocks) and wavefronts (bands along the diagonal).",
        "It shows one instant only, and depends on the order of the ranks: try that of nodes or of phases.",
        "Pairs grow with the square of the ranks: choose neighbours by offsets beyond 2,000 ranks.",
    ),
    "potential": Help(
        "V(t) adds up the squared pull along all messages: 0 means that nobody pulls.",
        "Use it to see whether a state is locked, settles, or slips (spikes).",
        "It is not an energy: it may rise before it falls, and it stays above 0 where pulls cancel one "
        "another. The Lyapunov function falls for symmetric topologies.",
        "It works for any number of ranks, but needs the potential of a model.",
    ),
    "order_parameter_rate": Help(
        "A negative dR/dt means that ranks lose their common rhythm.",
        "Use it as an early warning: a sharp fall comes before R itself is low.",
        f"Noise makes it jump, and ranks that begin or end change R, too. {BLIND}",
        "It works for any number of ranks.",
    ),
    "lyapunov": Help(
        "U(t) adds up what each pull has stored, like the tension of springs.",
        "Use it to see a state settle: it falls as long as ranks move against one another.",
        "It may rise where messages go one way only, or where ranks differ in speed.",
        "It works for any number of ranks, but needs the potential of a model.",
    ),
    "wavefront": Help(
        "The slope is the phase gained from rank to rank, and the fit says how straight the front is.",
        "Use it to follow a wavefront while it forms.",
        "A good fit of a few ranks may be chance; the name of the state takes that into account.",
        "It works for any number of ranks.",
    ),
    "spread": Help(
        "The spread is the number of steps between the rank furthest behind and the one furthest ahead.",
        "Use it beside R, S and the phase circle, which cannot see whole steps.",
        "One rank alone can widen it.",
        "It works for any number of ranks.",
    ),
}
"""Help by the name of the metric."""
