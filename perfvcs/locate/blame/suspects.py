"""Changed functions in the order in which they may explain a difference of call trees."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from perfvcs.collectors._shared.frames import INLINED
from perfvcs.locate.blame.pairing import Contribution, MatchedTree
from perfvcs.locate.blame.places import Places
from perfvcs.locate.sources import language
from perfvcs.locate.sources.braced import is_braced
from perfvcs.locate.sources.grammars import family
from perfvcs.locate.sources.hunks import ChangedUnit
from perfvcs.locate.sources.outline import scope
from perfvcs.locate.sources.parts import FILE, MODULE, is_hunk

# the share of the difference from which on a function that did not change has to be explained
UNEXPLAINED_SHARE = 0.01
# How well a changed function explains what a function that did not change costs more: by what leads
# from one to the other.
CALLER, CALLED, SAME_CLASS, SAME_FILE, REACHED, OUTSIDE, UNSEEN = (
    0.9,
    0.85,
    0.8,
    0.6,
    0.4,
    0.35,
    0.05,
)


@dataclass
class TreeEvidence:
    """One measure of both sides: its tree, what each function adds by it, and how far that varies
    by itself.
    """

    tree: MatchedTree
    contributions: Mapping[str, Contribution]
    noise: Mapping[str, float] = field(default_factory=dict)

    @property
    def base(self) -> float:
        """What the first side costs."""
        return float(sum(self.tree.own[0])) or 1.0


@dataclass
class Suspect:
    """A changed function, as shares of what the first side costs: ``own`` is what it adds itself,
    ``led`` what unchanged ones add that it can explain, each in the direction of the effect;
    ``through`` is the unchanged function of most of that. ``reached``: it was seen to run;
    ``is_hidden``: nothing here would show whether it runs.
    """

    unit: ChangedUnit
    own: float = 0.0
    led: float = 0.0
    through: str = ""
    reached: bool = False
    dearer: float = 0.0
    oftener: float = 0.0
    callee: str = ""
    calls: tuple[float, float] = (0.0, 0.0)
    is_hidden: bool = False

    @property
    def may_be_cause(self) -> bool:
        """Whether it was seen to run, or is code of which that cannot be seen, such as what stands
        outside of functions.
        """
        return self.reached or self.is_hidden or self.unit.name == MODULE

    @property
    def size(self) -> int:
        """How many lines its change takes away and brings."""
        return sum(hunk.size for hunk in self.unit.hunks)

    @property
    def score(self) -> float:
        """The share by which suspects are ranked."""
        return self.own + self.led


def rank(
    units: Collection[ChangedUnit],
    evidence: Sequence[TreeEvidence],
    places: Places,
    sign: float,
    ran: Collection[str] = (),
    distance: Callable[[str], int] = lambda _: 0,
) -> list[Suspect]:
    """All changed functions, the most suspect first; ``sign`` is the direction of the effect,
    ``ran`` has those that were seen to run.

    Where nothing tells two apart, the one whose file has the smaller ``distance`` from the job
    comes first, then the larger change.
    """
    suspects = {unit.key: Suspect(unit) for unit in units}
    for measure in evidence:
        _add(suspects, measure, places, sign)
    seen = {*ran, *_parts(evidence, places, ran)}
    families = {family(key.rpartition(":")[0]) for key in seen}
    families |= {family(path) for path in _paths(evidence, places)}
    for key, suspect in suspects.items():
        suspect.reached = suspect.reached or key in seen
        suspect.is_hidden = not suspect.reached and _is_hidden(suspect.unit, families)
        is_seen = suspect.reached or family(suspect.unit.path) in families
        if suspect.is_hidden or not suspect.may_be_cause or not is_seen:
            suspect.own = suspect.led = 0.0

    def order(suspect: Suspect) -> tuple[float, bool, int, int, str]:
        far = distance(suspect.unit.path)
        return -suspect.score, not suspect.reached, far, -suspect.size, suspect.unit.key

    return sorted(suspects.values(), key=order)


def _is_hidden(unit: ChangedUnit, families: Collection[str]) -> bool:
    """Whether a unit may run without being seen: lines of a text, other files, functions of
    languages that no tool here counts, and those of Rust and Go where none of their ``families``
    was seen.
    """
    if is_hunk(unit.name) or unit.name == FILE:
        return True
    if is_braced(unit.path):
        return family(unit.path) not in families
    return not language(unit.path)


def _paths(evidence: Iterable[TreeEvidence], places: Places) -> set[str]:
    """The project's files that have functions in the trees."""
    names = {name for measure in evidence for name in measure.tree.names}
    return {owner.rpartition(":")[0] for owner in map(places.owner, names) if owner}


def _parts(evidence: Iterable[TreeEvidence], places: Places, ran: Collection[str]) -> set[str]:
    """The functions of C and C++ that may run as parts of others, where names do not tell which
    ones the compiler put into their callers.
    """
    if any(INLINED in name for measure in evidence for name in measure.tree.names):
        return set()
    return {part for key in ran for part in places.inside(key, ran)}


@dataclass
class _Explained:
    """What unchanged functions cost more that each suspect can explain (``led``), and the function
    of most of that.
    """

    led: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    through: dict[str, tuple[float, str]] = field(default_factory=dict)

    def add(self, key: str, amount: float, function: str) -> None:
        """Adds what a suspect explains of one function."""
        self.led[key] += amount
        self.through[key] = max(self.through.get(key, (0.0, "")), (amount, function))


def _add(suspects: dict[str, Suspect], evidence: TreeEvidence, places: Places, sign: float) -> None:
    """Adds what one measure says of the suspects; of several measures, the one that says most
    counts.

    1. Each function adds an amount to the difference, without what may be chance.
    2. Where names do not tell which functions the compiler put into their callers, a caller's
       amount may be that of its callee (``_inlined``).
    3. An amount that is worth explaining, of a function that is not a suspect, is led to the
       suspects that may explain it (``_lead``).
    4. A suspect takes its own amount and what was led to it where that is more than it had.
    """
    base = evidence.base
    amounts = {
        name: _settled(contribution.amount * sign, evidence.noise.get(name, 0.0)) / base
        for name, contribution in evidence.contributions.items()
    }
    whole = max(sum(amounts.values()), max(amounts.values(), default=0.0), 1e-12)
    owners = {name: places.owner(name) for name in set(evidence.tree.names)}
    explained = _Explained()
    if not any(owner and INLINED in name for name, owner in owners.items()):
        for caller, callee in _inlined(suspects, evidence.tree, places):
            amount = amounts.get(caller, 0.0)
            if amount > amounts.get(callee, 0.0):
                explained.add(callee, amount, caller)
                amounts[caller] = CALLED * amount
    worth = {name: share for name, share in amounts.items() if share >= UNEXPLAINED_SHARE * whole}
    _lead(suspects, evidence, places, worth, owners, explained)
    reached = {owner for owner in owners.values() if owner}
    for key, suspect in suspects.items():
        suspect.reached = suspect.reached or key in reached
        amount, led = max(amounts.get(key, 0.0), 0.0), explained.led[key]
        if amount + led <= suspect.score:
            continue
        if contribution := evidence.contributions.get(key):
            callees = contribution.callees.items()
            suspect.callee = max(callees, key=lambda part: part[1] * sign, default=("", 0.0))[0]
            suspect.dearer, suspect.oftener = (
                contribution.dearer / base,
                contribution.oftener / base,
            )
            suspect.calls = contribution.calls
        suspect.own, suspect.led = amount, led
        suspect.through = explained.through.get(key, (0.0, ""))[1]


def _lead(
    suspects: dict[str, Suspect],
    evidence: TreeEvidence,
    places: Places,
    amounts: Mapping[str, float],
    owners: Mapping[str, str | None],
    explained: _Explained,
) -> None:
    """Leads the amounts of functions to the suspects that may explain them."""
    reached = {owner for owner in owners.values() if owner}
    called = {owner for name, owner in owners.items() if owner and INLINED not in name}
    for name, amount in amounts.items():
        hidden = places.inside(name, called)
        if name in suspects:  # a compiler's choice: the change may be in either
            weights = dict.fromkeys(hidden & suspects.keys(), CALLED)
        else:
            weights = _explaining(suspects, evidence, places, name, reached, hidden)
        for key, weight in weights.items():
            explained.add(key, weight * amount, name)


def _inlined(
    suspects: Mapping[str, Suspect], tree: MatchedTree, places: Places
) -> set[tuple[str, str]]:
    """Pairs of changed functions of C and C++ of which the second is in the first's body on one
    side, and called by it on the other.

    What a compiler makes of it says nothing of who changed: without debug information the callee's
    cost looks like its caller's.
    """
    pairs = set()
    for node in range(1, len(tree)):
        callee, parent = places.owner(tree.names[node]), tree.parents[node]
        one_sided = bool(tree.calls[0][node]) != bool(tree.calls[1][node])
        if (
            callee is not None
            and one_sided
            and callee in suspects
            and language(suspects[callee].unit.path) == "c"
            and not suspects[callee].unit.is_new
        ):
            caller = places.owner(tree.names[parent])
            if (
                caller is not None
                and caller in suspects
                and caller != callee
                and tree.calls[0][parent]
                and tree.calls[1][parent]
            ):
                pairs.add((caller, callee))
    return pairs


def _settled(amount: float, noise: float) -> float:
    """An amount without what may be chance."""
    return max(0.0, amount - noise) if amount > 0 else min(0.0, amount + noise)


def _explaining(
    suspects: Mapping[str, Suspect],
    evidence: TreeEvidence,
    places: Places,
    name: str,
    reached: set[str],
    hidden: set[str],
) -> dict[str, float]:
    """The suspects that may have led to what an unchanged function costs more, with how well they
    explain it.
    """
    tree, contribution = evidence.tree, evidence.contributions[name]
    file, _, function = name.partition(":")
    weights: dict[str, float] = {}
    for key, suspect in suspects.items():
        path, inside = suspect.unit.path, suspect.unit.name
        if path == file and scope(inside) and scope(inside) == scope(function):
            weights[key] = SAME_CLASS
        elif path == file:
            weights[key] = SAME_FILE
        elif inside == MODULE:
            weights[key] = OUTSIDE
        else:
            weights[key] = REACHED if key in reached else UNSEEN
        if key in hidden:
            weights[key] = max(weights[key], CALLED)
    node, distance = contribution.heaviest, 0
    while node > 0:
        node = tree.parents[node]
        owner = places.owner(tree.names[node]) if node > 0 else None
        if owner is not None and owner in suspects and owner != name:
            weights[owner] = max(weights[owner], CALLER - 0.02 * min(distance, 10))
            distance += 1
    below = _called(tree, contribution.heaviest, places)
    for owner in below & suspects.keys():
        weights[owner] = max(weights[owner], CALLED)
    return weights


def _called(tree: MatchedTree, node: int, places: Places) -> set[str]:
    """The functions that a node calls directly."""
    if node <= 0:
        return set()
    owners = (
        places.owner(tree.names[child])
        for child in range(node + 1, len(tree))
        if tree.parents[child] == node
    )
    return {owner for owner in owners if owner}
