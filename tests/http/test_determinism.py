"""The same text gets the same bytes: alone, in a batch, at any row, among any neighbours, from many
connections at once, and under every plan."""
import json
import random
import unittest

import client
import harness

LONGEST = 512
QUEUE = ("--max-queue-tokens", "10000000", "--timeout", "300s")
PLANS = [("--stages", "1"), ("--stages", "2"), ("--stages", "3"), ("--stages", "6"),
         ("--stages", "2", "--replicas", "2"), ("--stages", "3", "--no-pipelining")]
MORE_PLANS = [("--layers-per-stage", "1,-1", "--tokenizer-threads", "2"),
              ("--stages", "2", "--microbatch-tokens", "64")]
if harness.SHORT:
    PLANS, MORE_PLANS = [PLANS[0], PLANS[2], PLANS[4], PLANS[5]], MORE_PLANS[1:]


def single_token_words():
    """Words of real texts that are one token each."""
    vocabulary = set((harness.DEMO / "vocab.txt").read_text(encoding="utf-8").split("\n"))
    words = {word for row in harness.real_texts() for word in row["text"].lower().split()}
    return sorted(word for word in words & vocabulary if word.isascii() and word.isalpha())


def mixed_inputs(count):
    """Inputs of 1 to 512 tokens, special tokens included: many short, some long, every border of a
    block of rows, typed padding and typed separators."""
    rng = random.Random(20)
    words = single_token_words()
    lengths = [2, 3, 7, 8, 9, 15, 16, 17, 63, 64, 65, 66, 127, 128, 129, 255, 256, 511, 512]
    while len(lengths) < count - 4:
        longest = rng.choice((30, 30, 30, 60, 60, 120, 120, LONGEST))
        lengths.append(rng.randrange(2, longest + 1))
    inputs = [" ".join(rng.choice(words) for _ in range(length - 2))
              for length in lengths[:count - 4]]
    inputs += [[rng.randrange(5, 19000)], "a [PAD] b", "[PAD] [PAD]", "x [SEP] [CLS] y"]
    rng.shuffle(inputs)
    return inputs


def scores(answer):
    """Each input's predictions as bytes, without what says where in the batch it stood."""
    items = answer.data().split(b'{"object":"classification","index":')[1:]
    return [item[item.index(b","):].rstrip(b",]") for item in items]


class PlansTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.inputs = mixed_inputs(harness.scaled(300, 40))
        cls.expected = None

    def alone(self, server):
        with server.connect(300) as connection:
            return [scores(connection.classify(value))[0] for value in self.inputs]

    def batched(self, server):
        rng, found, at = random.Random(3), [], 0
        with server.connect(300) as connection:
            while at < len(self.inputs):
                size = rng.randrange(1, 40)
                part = self.inputs[at:at + size]
                found += scores(connection.classify(part))
                at += len(part)
        return found

    def concurrent(self, server):
        order = list(range(len(self.inputs)))
        random.Random(4).shuffle(order)
        found = [None] * len(self.inputs)

        def ask(mine):
            with server.connect(300) as connection:
                for index in mine:
                    found[index] = scores(connection.classify(self.inputs[index]))[0]
        harness.in_threads([lambda i=i: ask(order[i::16]) for i in range(16)], 400)
        return found

    def test_every_plan_and_every_way_of_sending_gives_the_same_bytes(self):
        for plan in PLANS + MORE_PLANS:
            ways = (self.alone, self.batched, self.concurrent)
            with harness.Server(*QUEUE, *plan) as server:
                for way in ways if plan in PLANS else ways[2:]:
                    found = way(server)
                    if self.expected is None:
                        type(self).expected = found
                        self.assertGreater(len(set(found)), 0.9 * len(self.inputs))
                        longest = max(json.loads(b"{" + f[1:])["tokens"] for f in found)
                        self.assertEqual(longest, LONGEST)
                    differing = [i for i, (a, b) in enumerate(zip(found, self.expected,
                                                                  strict=True)) if a != b]
                    self.assertEqual(differing, [], (plan, way.__name__))


class NeighboursTest(harness.ServerTest):
    options = (*QUEUE, "--stages", "2")

    def test_a_text_at_any_row_among_any_neighbours_is_itself(self):
        rng = random.Random(5)
        words = single_token_words()
        for text in ("the one text that matters", "a [PAD] b", ""):
            alone = scores(self.server.classify(text))[0]
            for count in range(1, 32, harness.scaled(2, 10)):
                batch = [" ".join(rng.choices(words, k=rng.choice((0, 5, 30, rng.randrange(510)))))
                         for _ in range(count)]
                at = rng.randrange(count + 1)
                batch.insert(at, text)
                self.assertEqual(scores(self.server.classify(batch))[at], alone)

    def test_a_text_at_each_row_of_one_batch_is_itself(self):
        alone = scores(self.server.classify("me"))[0]
        for at in range(0, 32, harness.scaled(1, 8)):
            batch = ["some neighbour of mine number %d" % i for i in range(31)]
            batch.insert(at, "me")
            self.assertEqual(scores(self.server.classify(batch))[at], alone)


class MixedClientsTest(harness.ServerTest):
    """Many clients with marked texts; some leave, some send nonsense. Every answer belongs to its
    text."""
    options = (*QUEUE, "--stages", "3", "--replicas", "2")

    def test_every_answer_belongs_to_its_text(self):
        rng = random.Random(6)
        words = single_token_words()
        texts = ["marker %d %s" % (i, " ".join(rng.choices(words, k=rng.randrange(1, 60))))
                 for i in range(96)]
        expected = [scores(self.server.classify(text))[0] for text in texts]
        self.assertEqual(len(set(expected)), len(texts))

        def work(seed):
            own, answered = random.Random(seed), 0
            connection = self.server.connect(300)
            for _ in range(harness.scaled(40, 10)):
                picked = own.sample(range(len(texts)), own.choice((1, 1, 1, 2, 5)))
                value = texts[picked[0]] if len(picked) == 1 else [texts[i] for i in picked]
                chance = own.random()
                if chance < 0.05:
                    connection.send(client.request_bytes("POST", "/v1/classify",
                                                         client.encode({"input": value})))
                    connection.close()
                    connection = self.server.connect(300)
                elif chance < 0.1:
                    self.assertEqual(connection.classify([texts[picked[0]], 5]).status, 400)
                elif chance < 0.2:
                    self.assertEqual(connection.get("/readyz").status, 200)
                else:
                    self.assertEqual(scores(connection.classify(value)),
                                     [expected[i] for i in picked])
                    answered += 1
            connection.close()
            return answered
        answered = harness.in_threads([lambda s=s: work(s) for s in range(16)], 300)
        self.assertGreater(min(answered), 0)


if __name__ == "__main__":
    unittest.main()
