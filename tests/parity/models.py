"""models.py: small models, trained with the pinned library on texts.make_corpus()."""
import json

from tokenizers import Tokenizer, models, pre_tokenizers, trainers

import texts

SPECIALS = ["[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"]


def model_of(tokenizer):
    return json.loads(tokenizer.to_str())["model"]


def train(model, trainer, pre_tokenizer):
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.train_from_iterator(texts.make_corpus(), trainer)
    return model_of(tokenizer)


def wordpiece():
    trainer = trainers.WordPieceTrainer(vocab_size=900, special_tokens=SPECIALS,
                                        show_progress=False)
    return train(models.WordPiece(unk_token="[UNK]"), trainer, pre_tokenizers.BertPreTokenizer())


def bpe_bytes():
    trainer = trainers.BpeTrainer(vocab_size=700, special_tokens=SPECIALS, show_progress=False,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    return train(models.BPE(), trainer, pre_tokenizers.ByteLevel(add_prefix_space=False))


def bpe_chars():
    trainer = trainers.BpeTrainer(vocab_size=700, special_tokens=SPECIALS,
                                  show_progress=False)
    return train(models.BPE(unk_token="[UNK]"), trainer, pre_tokenizers.Whitespace())


def bpe_affixes():
    """Pieces behind a word's first start with "##", the last one ends in "</w>"."""
    trainer = trainers.BpeTrainer(vocab_size=700, special_tokens=SPECIALS,
                                  continuing_subword_prefix="##", end_of_word_suffix="</w>",
                                  show_progress=False)
    return train(models.BPE(unk_token="[UNK]", continuing_subword_prefix="##",
                            end_of_word_suffix="</w>"), trainer, pre_tokenizers.Whitespace())


def bpe_suffix():
    trainer = trainers.BpeTrainer(vocab_size=600, special_tokens=SPECIALS,
                                  end_of_word_suffix="</w>", show_progress=False)
    return train(models.BPE(unk_token="[UNK]", end_of_word_suffix="</w>"), trainer,
                 pre_tokenizers.Whitespace())


def unigram():
    trainer = trainers.UnigramTrainer(vocab_size=700, special_tokens=SPECIALS, unk_token="[UNK]",
                                      show_progress=False)
    model = train(models.Unigram(), trainer, pre_tokenizers.Metaspace())
    model["vocab"] = [[piece, round(score, 4)] for piece, score in model["vocab"]]
    return model


def wordlevel():
    trainer = trainers.WordLevelTrainer(vocab_size=300, special_tokens=SPECIALS,
                                        show_progress=False)
    return train(models.WordLevel(unk_token="[UNK]"), trainer, pre_tokenizers.Whitespace())


def make_models():
    base = {"wordpiece": wordpiece(), "bpe-bytes": bpe_bytes(), "bpe-chars": bpe_chars(),
            "bpe-affixes": bpe_affixes(), "bpe-suffix": bpe_suffix(), "unigram": unigram(),
            "wordlevel": wordlevel()}
    return base
