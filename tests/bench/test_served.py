"""The calls that the server is measured with."""
import unittest

import served


class Calls(unittest.TestCase):
    def test_calls_are_full(self):
        self.assertEqual(served.group(list("abcde"), 2), [["a", "b"], ["c", "d"]])

    def test_mixed_texts_take_every_text_once(self):
        texts = [f"t{index}" for index in range(31)]
        self.assertEqual(" ".join(served.mixed_texts(texts)).split(), texts)
        self.assertEqual([len(text.split()) for text in served.mixed_texts(texts)][:8],
                         list(served.JOINED))


if __name__ == "__main__":
    unittest.main()
