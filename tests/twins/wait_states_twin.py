# SPDX-License-Identifier: BSD-3-Clause
"""Wait states by plain Python, from their definitions: slow, and short enough to check by reading.

It is the twin of bridge/waits/wait_states.hpp, for events of any order, damaged ones included.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass

import numpy as np
from compiled.call_numbers import CALL

from perfield.analysis.waits import KINDS, UNKNOWN

ROOT, SINGLE, MEAN, OVERFLOW, EXCLUSIVE = 1, 2, 4, 16, 32
SEND, RECEIVE, COLLECTIVE, SYNCHRONISATION = 0, 1, 2, 3
EVERYBODY = -1  # whose window a lock of all ranks locks
EXACT, BOUND, UNCERTAIN = 2, 1, 0
CLEARLY = 0.05

NAME = {number: name for name, number in CALL.items()}
TESTS = {"test", "testall", "testany", "testsome"}
ONE_SIDED = {name for name, number in CALL.items() if CALL["put"] <= number <= CALL["compare_and_swap"]}
STANDARD = {"send", "isend", "sendrecv", "sendrecv_replace"}
ALONE = {"send", "bsend", "ssend", "rsend"}
PLACE = ("channel", "number", "count")
ONLY_START = {"isend", "ibsend", "issend", "irsend"}
EPOCH = {"win_post", "win_start", "win_complete", "win_wait"}
OF_LOCK = {"lock", "flush", "unlock"}
ALL_TO_ALL = {
    *("barrier", "fence", "allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw"),
    *("allreduce", "reduce_scatter", "reduce_scatter_block", "comm_create", "win_create"),
}
ONE_TO_ALL = {"bcast", "scatter", "scatterv"}
ALL_TO_ONE = {"reduce", "gather", "gatherv"}


@dataclass
class Found:
    """One wait state, comparable with a row of STATE."""

    step: int
    rank: int
    cause: int
    kind: str
    exactness: int
    event: int
    cause_event: int
    time_ns: float


@dataclass
class Late:
    """By how much another rank was late for one event."""

    ns: float
    uncertainty: float
    cause: int
    cause_event: int
    kind: str
    is_sure: bool = True  # that it is the cause
    is_bound: bool = False
    is_known: bool = True  # of a send: that it was a rendezvous


class _Twin:
    def __init__(self, events, uncertainty, clock):
        self.events = [dict(zip(events.dtype.names, one.item())) for one in events]
        for event in self.events:
            event["call"] = NAME.get(event["call"], "")
            event["is_mean"] = bool(event["flags"] & MEAN) or event["count"] != 1
            event["has_wait"] = (
                UNKNOWN not in (event["wait_begin"], event["wait_end"])
                and event["wait_end"] >= event["wait_begin"]
            )
        self.uncertainty_ns = uncertainty
        self.clock = clock
        self.n_ranks = len(uncertainty)
        self.late: dict[int, list[Late] | None] = {}  # None: not known

    def usable(self, event):
        return 0 <= event["rank"] < self.n_ranks and event["kind"] <= SYNCHRONISATION

    def is_message(self, event):
        return (
            self.usable(event)
            and event["kind"] < COLLECTIVE
            and 0 <= event["peer"] < self.n_ranks
            and event["call"] not in ONE_SIDED
        )

    def between(self, a, b):
        if a == b or (self.clock is not None and self.clock[a] == self.clock[b]):
            return 0.0
        of = [self.uncertainty_ns[rank] for rank in (a, b)]
        return sum(max(float(one), 0.0) for one in of) if all(map(math.isfinite, of)) else math.inf

    def lateness(self, event, begun, cause, cause_event, kind):
        """Late, or "clash" if the call was left before the other rank began."""
        until, end = begun - event["wait_begin"], event["wait_end"] - event["wait_begin"]
        uncertainty = self.between(event["rank"], cause)
        if end < until - uncertainty:
            return "clash"
        return Late(float(min(until, end)), uncertainty, cause, cause_event, kind)

    # Messages.
    def classify_messages(self):
        ends = defaultdict(list)
        for i, e in enumerate(self.events):
            if self.is_message(e) and not e["is_mean"] and e["channel"] and e["number"]:
                pair = (e["rank"], e["peer"]) if e["kind"] == SEND else (e["peer"], e["rank"])
                ends[(*pair, e["channel"], e["number"])].append(i)
        partner, clashing, eager, either = {}, set(), [], []
        for members in ends.values():
            kinds = sorted(self.events[i]["kind"] for i in members)
            if kinds == [SEND, RECEIVE]:
                a, b = members
                partner[a], partner[b] = b, a
            elif len(members) > 1:
                clashing.update(members)
        alone = []
        for i, e in enumerate(self.events):
            if not self.usable(e) or e["kind"] >= COLLECTIVE or e["is_mean"]:
                continue
            self.late[i] = None
            if e["kind"] == SEND and e["call"] in ONE_SIDED:
                continue
            harmless = e["kind"] == SEND and e["call"] in ("bsend", "ibsend")
            if e["peer"] == e["rank"] or harmless or e["call"] in TESTS:
                self.late[i] = []
                continue
            if i not in partner or self.events[partner[i]]["begun"] == UNKNOWN:
                if i not in clashing:
                    alone.append(i)
                continue
            if not e["has_wait"]:
                continue
            kind = "late_sender" if e["kind"] == RECEIVE else "late_receiver"
            late = self.lateness(e, self.events[partner[i]]["begun"], e["peer"], partner[i], kind)
            synchronous = e["call"] in ("ssend", "issend")
            if late == "clash":
                if e["kind"] == SEND and not synchronous:
                    self.late[i] = []
                    eager.append(i)
                continue
            if e["kind"] == SEND and not synchronous:
                late.is_known = False
                either.append(i)
            self.late[i] = [late]
        self.classify_by_size(eager, either, alone)

    def way(self, event):
        return self.clock is not None and self.clock[event["rank"]] == self.clock[event["peer"]]

    def classify_by_size(self, eager, either, alone):
        for way in (False, True):
            of_way = {
                i: self.events[i]
                for i in eager + either + alone
                if self.is_message(self.events[i]) and self.way(self.events[i]) == way
            }
            of_way = {i: e for i, e in of_way.items() if e["kind"] == SEND and e["call"] in STANDARD}
            largest = max((of_way[i]["bytes"] for i in eager if i in of_way), default=-1)
            smallest = math.inf
            for i in either:
                if i in of_way and of_way[i]["call"] == "send":
                    (late,) = self.late[i]
                    if late.ns > max(100_000, late.uncertainty):
                        smallest = min(smallest, of_way[i]["bytes"])
            if largest >= smallest:
                continue
            for i in either + alone:
                if i in of_way and of_way[i]["bytes"] <= largest:
                    self.late[i] = []
                elif i in of_way and of_way[i]["bytes"] >= smallest and self.late[i]:
                    self.late[i][0].is_known = True

    # Collectives.
    def classify_collectives(self):
        groups = defaultdict(list)
        for i, e in enumerate(self.events):
            if self.usable(e) and e["kind"] == COLLECTIVE and not e["is_mean"]:
                self.late[i] = None
                if e["channel"] and e["number"]:
                    groups[(e["channel"], e["number"])].append(i)
        for members in groups.values():
            self.classify_group(members)

    def classify_group(self, members):
        for i in members:
            self.late[i] = None
        es = {i: self.events[i] for i in members}
        first = es[members[0]]
        call = first["call"][1:] if first["call"].startswith("i") else first["call"]
        ranks = {e["rank"]: i for i, e in es.items()}
        if len(ranks) < len(es) or any(
            (e["call"], e["size"], e["count"]) != (first["call"], first["size"], first["count"])
            for e in es.values()
        ):
            return
        if first["size"] and len(es) > first["size"]:
            return
        expected = first["size"] or len(
            {
                e["rank"]
                for e in self.events
                if self.usable(e)
                and e["kind"] == COLLECTIVE
                and e["channel"] == first["channel"]
                and e["size"] == 0
            }
        )
        begun = {rank: es[i]["begun"] for rank, i in ranks.items() if es[i]["begun"] != UNKNOWN}
        complete = len(begun) == expected
        exact = complete and first["size"] > 0

        def classify(rank, late_rank, kind, is_bound, is_sure):
            if late_rank not in begun or not es[ranks[rank]]["has_wait"]:
                return
            late = self.lateness(es[ranks[rank]], begun[late_rank], late_rank, ranks[late_rank], kind)
            if late != "clash":
                late.is_bound, late.is_sure = is_bound, is_sure
                self.late[ranks[rank]] = [late]

        def last(of):
            """The last of some ranks, and whether the clocks are sure of it."""
            late = max(of, key=lambda rank: (begun[rank], -rank))
            others = [rank for rank in of if rank != late]
            return late, all(begun[late] - begun[rank] >= self.between(late, rank) for rank in others)

        roots = [rank for rank, i in ranks.items() if es[i]["flags"] & ROOT]
        if call in ALL_TO_ALL:
            if not begun:
                return
            kind = {"barrier": "barrier", "fence": "late_one_sided"}.get(call, "n_to_n")
            late, is_sure = last(begun)
            for rank in ranks:
                if rank != late:
                    classify(rank, late, kind, not exact, is_sure and complete)
                elif exact:
                    self.late[ranks[rank]] = []
            left_early = any(
                e["has_wait"] and e["wait_end"] < begun[late] - self.between(e["rank"], late)
                for e in es.values()
                if e["rank"] != late
            )
            if call == "barrier" and left_early:
                for i in members:
                    self.late[i] = None
        elif call in ONE_TO_ALL | ALL_TO_ONE and len(roots) == 1 and (exact or not first["is_mean"]):
            (root,) = roots
            for i in members:
                self.late[i] = []
            if call in ONE_TO_ALL:
                for rank in ranks:
                    if rank != root:
                        self.late[ranks[rank]] = None
                        classify(rank, root, "late_broadcast", False, True)
            else:
                self.late[ranks[root]] = None
                others = [rank for rank in begun if rank != root]
                if others:
                    late, is_sure = last(others)
                    classify(root, late, "early_reduce", not exact, is_sure and complete)

    # One-sided transfers.
    def classify_windows(self):
        posts = self.classify_epochs()
        walks = defaultdict(list)
        for i, e in enumerate(self.events):
            if self.is_of_window(e) and e["channel"] and e["begun"] != UNKNOWN:
                walks[(self.window_of(e), e["rank"])].append(i)
        asked, holds = [], defaultdict(list)  # (event, hold, target); window -> holds
        for (window, _), walk in walks.items():
            access, held = {}, {}
            for i in sorted(walk, key=lambda i: (self.events[i]["begun"], i)):
                e = self.events[i]
                if e["kind"] == SEND and e["peer"] in access:
                    self.classify_transfer(i, posts.get(access[e["peer"]]))
                elif e["kind"] == SEND or e["call"] in ("flush", "unlock"):
                    hold = held.get(e["peer"], held.get(EVERYBODY))
                    if hold is None and e["peer"] == EVERYBODY and len(held) == 1:
                        (hold,) = held.values()
                    if hold:
                        asked.append((i, hold, e["peer"]))
                    if e["call"] == "flush" and e["has_wait"]:
                        for target in held:
                            if e["peer"] in (EVERYBODY, target) and held[target]["proven"] is None:
                                held[target]["proven"] = e["wait_end"]
                    if e["call"] == "unlock" and e["peer"] in held:
                        held.pop(e["peer"])["unlock"] = i
                elif e["call"] == "lock":
                    held[e["peer"]] = {"lock": i, "unlock": None, "proven": None}
                    holds[window].append(held[e["peer"]])
                    asked.append((i, held[e["peer"]], e["peer"]))
                elif e["call"] == "win_start":
                    access[e["peer"]] = i
                elif e["call"] == "win_complete":
                    access.pop(e["peer"], None)
        for i, hold, target in asked:
            self.classify_lock(i, hold, target, holds[self.window_of(self.events[i])])

    def is_of_window(self, e):
        return (
            self.usable(e)
            and not e["is_mean"]
            and (e["kind"] == SYNCHRONISATION or (e["kind"] == SEND and e["call"] in ONE_SIDED))
        )

    def window_of(self, e):
        ends = e["kind"] == SYNCHRONISATION and e["call"] in ("win_complete", "win_wait")
        return e["channel"] ^ 2 if ends else e["channel"]

    def classify_epochs(self):
        """The post of each start, where both are known."""
        epochs, posts = defaultdict(lambda: defaultdict(list)), {}
        for i, e in enumerate(self.events):
            if not self.is_of_window(e) or e["kind"] != SYNCHRONISATION:
                continue
            harmless = e["call"] in EPOCH and (e["call"] == "win_post" or e["peer"] == e["rank"])
            self.late[i] = [] if harmless else None
            known = 0 <= e["peer"] < self.n_ranks and e["channel"] and e["number"]
            if e["call"] not in EPOCH or not known or e["peer"] == e["rank"]:
                continue
            ends = (e["rank"], e["peer"])
            ends = ends if e["call"] in ("win_start", "win_complete") else ends[::-1]
            epochs[(*ends, self.window_of(e), e["number"])][e["call"]].append(i)
        for calls in epochs.values():
            if any(len(members) > 1 for members in calls.values()):
                continue
            of = {call: members[0] for call, members in calls.items()}
            for call in ("win_start", "win_complete"):
                if call in of and "win_post" in of:
                    self.late[of[call]] = self.late_partner(of[call], of["win_post"], may_leave=True)
            if "win_wait" in of and "win_complete" in of:
                self.late[of["win_wait"]] = self.late_partner(of["win_wait"], of["win_complete"])
            if "win_start" in of and "win_post" in of:
                posts[of["win_start"]] = of["win_post"]
        return posts

    def late_partner(self, i, cause, may_leave=False):
        e, other = self.events[i], self.events[cause]
        if other["begun"] == UNKNOWN or not e["has_wait"]:
            return None
        late = self.lateness(e, other["begun"], other["rank"], cause, "late_one_sided")
        if late == "clash":
            return [] if may_leave else None
        return [late]

    def classify_transfer(self, i, post):
        """It waits for a post that comes while it lasts."""
        e = self.events[i]
        if post is None or not e["has_wait"] or self.events[post]["begun"] == UNKNOWN:
            return
        late = self.late_partner(i, post)
        if late and self.events[post]["begun"] > e["wait_begin"]:
            self.late[i] = late

    def classify_lock(self, i, own, target, holds):
        """Those who conflict, had the lock before, and unlocked while the call lasted."""
        e, lock = self.events[i], self.events[own["lock"]]
        is_held = own["proven"] is not None and own["proven"] <= e["wait_begin"]
        if not e["has_wait"] or is_held:
            return
        target = lock["peer"] if target == EVERYBODY else target
        others = []
        for hold in holds:
            its_lock = self.events[hold["lock"]]
            its_unlock = self.events[hold["unlock"]] if hold["unlock"] is not None else None
            if its_unlock is None or not its_lock["has_wait"] or not its_unlock["has_wait"]:
                continue
            meets = EVERYBODY in (target, its_lock["peer"]) or its_lock["peer"] == target
            conflicts = (its_lock["flags"] | lock["flags"]) & EXCLUSIVE
            apart = self.between(its_lock["rank"], e["rank"])
            during = e["wait_begin"] < its_unlock["begun"] <= e["wait_end"] + apart
            older = e["kind"] == SYNCHRONISATION and e["call"] == "lock"
            older = older or (
                its_lock["wait_end"] + apart <= e["wait_begin"]
                and (
                    (hold["proven"] is not None and hold["proven"] + apart <= e["wait_begin"])
                    or its_unlock["wait_end"] + apart <= e["wait_end"]
                )
            )
            if its_lock["rank"] != e["rank"] and meets and conflicts and during and older:
                others.append((its_unlock["begun"], -its_lock["rank"], -hold["unlock"]))
        if not others:
            return
        begun, rank, unlock = max(others)
        (late,) = self.late_partner(i, -unlock)
        rest = e["wait_end"] - max(begun, self.events[-unlock]["wait_end"])
        late.is_bound = rest > max(0, min(begun, e["wait_end"]) - e["wait_begin"])
        late.is_sure = all(
            begun - other >= self.between(-its_rank, -rank)
            for other, its_rank, _ in others
            if its_rank != rank
        )
        self.late[i] = [late]

    # Calls.
    def shares_its_call(self, e):
        """Among what an event may share its call: messages and requests, or partners; "": nothing."""
        if e["kind"] == SYNCHRONISATION:
            return "partners" if e["call"] in EPOCH else ""
        if e["kind"] == RECEIVE:
            return "messages"
        if e["kind"] == COLLECTIVE:
            shares = e["call"].startswith("i") or e["call"] == "persistent_collective"
        else:
            shares = e["call"] not in ALONE | ONE_SIDED
            at_once = e["kind"] == SEND and e["call"] in ONLY_START and e["begun"] == e["wait_begin"]
            shares = shares and not at_once
        return "messages" if shares else ""

    def is_row_of_call(self, e):
        """Whether it is a row of several messages for which one call blocked."""
        of_one = e["most_in_call"] >= e["count"] > 1
        return (
            e["is_mean"] and e["kind"] < COLLECTIVE and of_one and e["has_wait"] and self.shares_its_call(e)
        )

    def classify_calls(self):
        calls = defaultdict(list)
        for i, e in enumerate(self.events):
            if self.usable(e) and (not e["is_mean"] or self.is_row_of_call(e)) and e["has_wait"]:
                calls[(e["rank"], e["wait_begin"], e["wait_end"])].append(i)
        with_rows = {
            (e["step"], e["rank"], self.shares_its_call(e))
            for e in self.events
            if self.usable(e) and e["is_mean"] and self.shares_its_call(e) and not self.is_row_of_call(e)
        }
        found = []
        for (rank, begin, end), members in calls.items():
            es = [self.events[i] for i in members]
            step = max(e["step"] for e in es)
            shares = max(self.shares_its_call(e) for e in es)
            if any(e["call"] in TESTS for e in es):
                continue
            all_known = all(
                self.late[i] is not None and not any(late.is_bound for late in self.late[i]) for i in members
            )
            all_known = all_known and not any(e["flags"] & OVERFLOW for e in es)
            all_known = all_known and not (shares and (step, rank, shares) in with_rows)
            state = self.classify_call(rank, step, begin, end, members, all_known, shares)
            if state:
                found.append((state, shares))
        return found

    def classify_call(self, rank, step, begin, end, members, all_known, shares):
        some = any(self.events[i]["call"] == "waitsome" for i in members)
        if some and not all_known:
            return None
        late = [(i, one) for i in members for one in self.late[i] or []]
        others = [(i, one) for i, one in late if self.events[i]["kind"] != SEND]
        sends = [(i, one) for i, one in late if self.events[i]["kind"] == SEND]
        sign = 1 if some else -1
        top = min(others, key=lambda x: (sign * x[1].ns, x[1].cause, x[0]), default=None)
        doubt, doubtful = 0.0, -1
        only_sends = all(self.events[i]["kind"] == SEND for i in members)
        for is_known in (True, False):
            candidates = [one for one in sends if one[1].is_known == is_known]
            if not candidates or (some and top):
                continue
            send = min(candidates, key=lambda x: (-x[1].ns, x[1].cause, x[0]))
            shown = max(top[1].ns, 0.0) if top else 0.0
            more = send[1].ns - shown
            if more <= 0:
                continue
            rest = end - begin - send[1].ns
            is_other = is_known and top and top[1].cause != send[1].cause
            is_clear = is_other or more > CLEARLY * send[1].ns
            is_shown = (all_known or not shares) and (only_sends or more >= rest)
            if (is_known or is_shown) and is_clear:
                top = send
            else:
                doubt, doubtful = max((doubt, doubtful), (more, send[1].cause), key=lambda x: x[0])
        if top is None or top[1].ns <= 0:
            return None
        i, one = top
        if one.ns <= one.uncertainty:
            return Found(step, rank, -1, one.kind, UNCERTAIN, i, -1, one.ns)
        exact = all_known and doubt <= max(CLEARLY * one.ns, one.uncertainty)
        rivals = [x for _, x in late if x.cause != one.cause and (x.is_known or x.kind != "late_receiver")]
        sure = one.is_sure and all(
            -sign * (one.ns - x.ns) >= self.between(one.cause, x.cause) for x in rivals
        )
        cause = one.cause if sure and (not exact or doubt == 0 or doubtful == one.cause) else -1
        return Found(step, rank, cause, one.kind, EXACT if exact else BOUND, i, one.cause_event, one.ns)

    # Rows of several messages.
    def bounds(self):
        pairs, groups = defaultdict(list), defaultdict(list)
        for i, e in enumerate(self.events):
            if not self.usable(e) or not (e["flags"] & (SINGLE | MEAN) or e["is_mean"]):
                continue
            if self.is_row_of_call(e):
                self.late[i] = None
            if self.is_message(e):
                pair = (e["rank"], e["peer"]) if e["kind"] == SEND else (e["peer"], e["rank"])
                pairs[(*pair, e["step"])].append(i)
            if e["kind"] == COLLECTIVE and e["is_mean"]:
                groups[(e["channel"], e["call"], e["step"])].append(i)
        found = []
        for rows in pairs.values():
            if any(self.events[i]["is_mean"] for i in rows):
                found += self.bounds_of_pair(rows)
        for rows in groups.values():
            es = [self.events[i] for i in rows]
            same = len({(e["number"], e["count"]) for e in es}) == 1
            for i in rows:
                self.late[i] = None
            if same and es[0]["channel"] and es[0]["number"]:
                self.classify_group(rows)
            for i in rows:
                e = self.events[i]
                for one in self.late[i] or []:
                    ns = e["count"] * (one.ns - one.uncertainty - 1) / self.most_in_call(e)
                    found += self.bound(i, one, ns, self.shares_its_call(e))
        return found

    def most_in_call(self, row):
        """How many messages of a row one call completed, at most: it waited only once for them."""
        if not self.shares_its_call(row):
            return 1
        return min(row["most_in_call"], row["count"]) if row["most_in_call"] else row["count"]

    def bound(self, i, late, ns, shares):
        e = self.events[i]
        if ns <= 0 or not e["has_wait"]:
            return []
        cause = late.cause if late.is_sure else -1
        state = Found(e["step"], e["rank"], cause, late.kind, BOUND, i, late.cause_event, ns)
        return [(state, shares)]

    def bounds_of_pair(self, rows):
        sends = [i for i in rows if self.events[i]["kind"] == SEND]
        receives = [i for i in rows if self.events[i]["kind"] == RECEIVE]
        of = lambda rows, name: [self.events[i][name] for i in rows]  # noqa: E731
        to_itself = self.events[rows[0]]["rank"] == self.events[rows[0]]["peer"]
        is_paired = self.count_the_same(sends, receives)
        n = sum(of(sends, "count"))

        def total(rows, name):
            return sum(self.events[i]["count"] * self.events[i][name] for i in rows)

        found = []
        for waiting, late, kind in ((receives, sends, "late_sender"), (sends, receives, "late_receiver")):
            is_known = is_paired and UNKNOWN not in of(late, "begun")
            of_calls = [i for i in waiting if self.is_row_of_call(self.events[i])]
            for i in of_calls:
                e, same = self.events[i], late
                if not (is_paired and len(waiting) == 1):
                    place = [(e["channel"], e["number"], e["count"])]
                    same = [k for k in late if list(zip(*(of([k], name) for name in PLACE))) == place]
                    same = same if len(same) == 1 and e["channel"] and e["number"] else []
                known = same if UNKNOWN not in of(same, "begun") else []
                self.late[i] = [] if to_itself else self.late_in_row_of_call(i, known, kind)
            if to_itself or not is_known or len(of_calls) == len(waiting):
                continue
            if kind == "late_receiver" and not set(of(sends, "call")) <= {"ssend", "issend"}:
                continue
            if not all(of(waiting, "has_wait")):
                continue
            waiting = [i for i in waiting if i not in of_calls] + of_calls
            e = self.events[waiting[0]]
            ns = min(total(late, "begun"), total(waiting, "wait_end")) - total(waiting, "wait_begin")
            ns -= n * (1 + self.between(e["rank"], e["peer"]))
            rows = [self.events[i] for i in waiting]
            most = {
                call: max(self.most_in_call(row) for row in rows if row["call"] == call)
                for call in {row["call"] for row in rows if self.shares_its_call(row)}
            }
            ns /= max(1, sum(most.values()))
            shares = max(self.shares_its_call(row) for row in rows)
            found += self.bound(waiting[0], Late(ns, 0, e["peer"], late[0], kind), ns, shares)
        return found

    def count_the_same(self, sends, receives):
        """Whether the rows at both ends count the same messages: as many, and the same last ones."""
        of = lambda rows, name: [self.events[i][name] for i in rows]  # noqa: E731
        n = sum(of(sends, "count"))
        if not sends or not receives or n != sum(of(receives, "count")) or n == 0:
            return False
        for channel in set(of(receives, "channel")):
            last = [
                max(
                    (self.events[i]["number"] for i in one if self.events[i]["channel"] == channel), default=0
                )
                for one in (sends, receives)
            ]
            if channel == 0 or last[0] != last[1] or last[0] == 0:
                return False
        return len(sends) + len(receives) <= 64

    def late_in_row_of_call(self, i, late, kind):
        """By how much the partner was late for the messages of a row that one call completed, on average. The
        last of them was later, but not later than the end of the call, and than the partner's own call."""
        e = self.events[i]
        if e["kind"] == SEND and e["call"] in ("bsend", "ibsend"):
            return []
        if not late:
            return None
        begun = sum(self.events[k]["count"] * self.events[k]["begun"] for k in late) / e["count"]
        blocked, until = e["wait_end"] - e["wait_begin"], begun - e["wait_begin"]
        uncertainty = self.between(e["rank"], e["peer"])
        is_certain = e["kind"] == RECEIVE or e["call"] in ("ssend", "issend")
        if blocked < until - uncertainty:
            return None if is_certain else []
        until_all = math.inf
        if len(late) == 1 and self.is_row_of_call(self.events[late[0]]):
            until_all = self.events[late[0]]["wait_begin"] - e["wait_begin"]
        one = Late(min(until, blocked) - 1, uncertainty, e["peer"], late[0], kind, is_known=is_certain)
        spread = max(0.0, min(blocked, until_all + uncertainty)) - max(0.0, one.ns)
        one.is_bound = spread > CLEARLY * blocked
        return [one]

    def find(self):
        self.classify_messages()
        self.classify_collectives()
        self.classify_windows()
        bounds = self.bounds()
        found = self.classify_calls()
        states = [state for state, shares in found + bounds if not shares]
        places = {(state.step, state.rank, shares) for state, shares in found + bounds if shares}
        for place in places:
            of_calls = [s for s, shares in found if shares and (s.step, s.rank, shares) == place]
            of_rows = [s for s, shares in bounds if shares and (s.step, s.rank, shares) == place]
            known = sum(s.time_ns for s in of_calls if s.exactness != UNCERTAIN)
            longest = lambda s: (-s.time_ns, KINDS.index(s.kind), s.cause, s.event)  # noqa: E731
            most = min(of_rows, key=longest, default=None)
            states += [most] if most and most.time_ns > known else of_calls
        return sorted(states, key=lambda s: (s.step, s.rank, s.event))


def wait_states_by_definition(events: np.ndarray, uncertainty_ns, clock=None) -> list[Found]:
    """The wait states of events, by step, rank and event; arguments as of `find_wait_states`."""
    return _Twin(events, uncertainty_ns, clock).find()


def found_states(states: np.ndarray) -> list[Found]:
    """STATE rows as the twin writes them."""
    return [
        Found(
            int(s["step"]),
            int(s["rank"]),
            int(s["cause"]),
            KINDS[s["kind"]],
            int(s["exactness"]),
            int(s["event"]),
            int(s["cause_event"]),
            float(s["time_ns"]),
        )
        for s in states
    ]
