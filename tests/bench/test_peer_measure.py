"""Search, rounds and statistics, with runtimes that only say what they were asked."""
import types
import unittest

import peer_measure


class Fake:
    """A runtime whose rate is a table's value for the setting; writes down every run."""

    def __init__(self, name, rates, log):
        self.name, self.rates, self.log = name, rates, log

    def candidates(self, _cell):
        return list(self.rates)

    def measure(self, _cell, setting, seconds):
        self.log.append((self.name, setting, seconds))
        return self.rates[setting]


def cell(key, texts_key=None):
    """As much of a cell as the search looks at."""
    return types.SimpleNamespace(key=key, texts_key=texts_key or key)


class Searching(unittest.TestCase):
    def test_finds_the_fastest_setting_and_runs_each_once_for_the_same_texts(self):
        log = []
        runtime = Fake("a", {"slow": 1.0, "fast": 3.0, "middle": 2.0}, log)
        search = peer_measure.Search(0.1)
        _, result = search.find(runtime, cell("one", "texts"))
        self.assertEqual((result.setting, result.found, result.rates), ("fast", 3.0, []))
        search.find(runtime, cell("two", "texts"))
        self.assertEqual(len(log), 3)
        search.find(runtime, cell("three"))
        self.assertEqual(len(log), 6)

    def test_runtimes_do_not_share_what_was_found(self):
        search = peer_measure.Search(0.1)
        search.find(Fake("a", {"x": 1.0}, []), cell("c"))
        self.assertEqual(search.find(Fake("b", {"x": 2.0}, []), cell("c"))[1].found, 2.0)


class Rounds(unittest.TestCase):
    def test_each_round_goes_there_and_back(self):
        log = []
        fakes = [Fake(name, {"s": 1.0}, log) for name in "abc"]
        pairs = [(fake, peer_measure.Result(fake.name, "s", 0.0)) for fake in fakes]
        peer_measure.run_rounds(pairs, 2,
                                lambda fake, result: fake.measure(None, result.setting, 1))
        self.assertEqual("".join(name for name, _, _ in log), "abccba" * 2)

    def test_a_drift_in_time_cancels(self):
        """A machine that gets slower by as much each run: equal runtimes stay equal."""
        clock = iter(range(100, 0, -1))
        pairs = [(name, peer_measure.Result(name, None, 0.0)) for name in "abc"]
        peer_measure.run_rounds(pairs, 3, lambda *_: next(clock))
        self.assertEqual(pairs[0][1].rates, pairs[2][1].rates)
        self.assertEqual(peer_measure.ratios(pairs[0][1], pairs[1][1]), [1.0, 1.0, 1.0])

    def test_only_the_best_peers_come_to_the_rounds(self):
        log = []
        ours = [Fake("ours", {"o": 5.0}, log)]
        peers = [Fake("p1", {"x": 1.0, "y": 2.0}, log), Fake("p2", {"x": 4.0}, log),
                 Fake("p3", {"x": 3.0}, log)]
        mine, others = peer_measure.measure_cell(peer_measure.Search(0.1), ours, peers, cell("c"),
                                                 3, 0.5, contenders=2)
        self.assertEqual([result.name for result in others], ["p2", "p3", "p1"])
        self.assertEqual([len(result.rates) for result in mine + others], [3, 3, 3, 0])
        self.assertEqual(others[2].rate, 2.0)
        self.assertEqual(sum(seconds == 0.5 for _, _, seconds in log), 3 * 2 * 3)


class Statistics(unittest.TestCase):
    def test_spread_is_quartiles_and_median(self):
        self.assertEqual(peer_measure.spread([7.0, 1.0, 5.0, 3.0, 9.0]), (3.0, 5.0, 7.0))
        self.assertEqual(peer_measure.spread([1.0, 2.0]), (1.25, 1.5, 1.75))
        self.assertEqual(peer_measure.spread([2.5]), (2.5, 2.5, 2.5))

    def test_a_result_without_rounds_has_the_rate_of_the_search(self):
        result = peer_measure.Result("a", None, 4.0)
        self.assertEqual(result.rate, 4.0)
        result.rates += [1.0, 9.0, 2.0]
        self.assertEqual(result.rate, 2.0)


if __name__ == "__main__":
    unittest.main()
