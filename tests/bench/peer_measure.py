"""The measuring: each runtime's best setting for a cell, then interleaved rounds, then ratios.

A runtime here is anything with `name`, `candidates(cell)` and `measure(cell, setting, seconds)`."""
import dataclasses
import statistics

SEARCH_S = 0.3  # of one candidate


@dataclasses.dataclass
class Result:
    """What is known of one runtime in one cell. `rates` is empty when it was left behind in the
    search; then `found` is its rate there."""
    name: str
    setting: object
    found: float
    rates: list = dataclasses.field(default_factory=list)

    @property
    def rate(self):
        """Tokens a second."""
        return statistics.median(self.rates) if self.rates else self.found


class Search:
    """Finds each runtime's fastest setting, each candidate being run once for the same texts."""

    def __init__(self, seconds=SEARCH_S):
        self.seconds, self.known = seconds, {}

    def rate(self, runtime, cell, setting):
        """One candidate's rate."""
        key = (runtime.name, cell.texts_key, setting)
        if key not in self.known:
            self.known[key] = runtime.measure(cell, setting, self.seconds)
        return self.known[key]

    def find(self, runtime, cell):
        """(runtime, Result without rounds)."""
        rates = {setting: self.rate(runtime, cell, setting) for setting in
                 runtime.candidates(cell)}
        best = max(rates, key=rates.get)
        return runtime, Result(runtime.name, best, rates[best])


def run_rounds(pairs, rounds, measure):
    """Each round goes through all (runtime, result) and back again: A B C C B A, so that what
    drifts meets all of them alike. A result gets the mean of its two runs as the round's rate.
    `measure(runtime, result)` gives a rate."""
    for _ in range(rounds):
        there = [measure(*pair) for pair in pairs]
        back = [measure(*pair) for pair in pairs[::-1]]
        for (_, result), one, other in zip(pairs, there, back[::-1]):
            result.rates.append((one + other) / 2)


def measure_cell(search, ours, peers, cell, rounds, seconds, contenders):
    """(our results in their order, the peers' from fast to slow). Of the peers, the fastest
    `contenders` of the search come to the rounds."""
    found = sorted((search.find(peer, cell) for peer in peers), key=lambda pair: -pair[1].found)
    mine = [search.find(runtime, cell) for runtime in ours]
    run_rounds(mine + found[:contenders], rounds,
               lambda runtime, result: runtime.measure(cell, result.setting, seconds))
    results = [result for _, result in found]
    results.sort(key=lambda result: (not result.rates, -result.rate))
    return [result for _, result in mine], results


def ratios(mine, other):
    """Ours to theirs, round by round."""
    return [a / b for a, b in zip(mine.rates, other.rates)]


def spread(values):
    """(first quartile, median, third quartile); of one value three times that."""
    if len(values) == 1:
        return values[0], values[0], values[0]
    return tuple(statistics.quantiles(values, n=4, method="inclusive"))
