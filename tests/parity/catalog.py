"""catalog.py: the tokenizers of the comparison, as documents of tokenizer.json, and what each one
covers. Every piece that issue 5 names stands in at least one of them; test_parity.py fails when the
C reader knows a piece that none has.
"""
import json

GPT2 = (r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+")
CL100K = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|"
          r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")


# ---- models ----

def with_bytes(model):
    """The model with all 256 byte pieces; fields of its own kind make it use them."""
    names = ["<0x%02X>" % value for value in range(256)]
    model = json.loads(json.dumps(model))
    if model["type"] == "Unigram":
        model["vocab"] += [[name, -12.0] for name in names]
    else:
        free = 1 + max(model["vocab"].values())
        model["vocab"].update({name: free + i for i, name in enumerate(names)})
    return dict(model, byte_fallback=True)


def pairs_as_text(model):
    return dict(model, merges=[" ".join(pair) for pair in model["merges"]])


def vocabulary_of(model):
    vocab = model["vocab"]
    return {piece: i for i, (piece, _) in enumerate(vocab)} if isinstance(vocab, list) else vocab


# ---- parts ----

def bert(clean=True, ideographs=True, strip=None, lower=True):
    return {"type": "BertNormalizer", "clean_text": clean, "handle_chinese_chars": ideographs,
            "strip_accents": strip, "lowercase": lower}


def part(kind, **fields):
    return dict({"type": kind}, **fields)


def normal(*steps):
    return {"type": "Sequence", "normalizers": list(steps)}


def pre(*steps):
    return {"type": "Sequence", "pretokenizers": list(steps)}


def post(*steps):
    return {"type": "Sequence", "processors": list(steps)}


def decode(*steps):
    return {"type": "Sequence", "decoders": list(steps)}


def string(text):
    return {"String": text}


def regex(text):
    return {"Regex": text}


def replace(pattern, content):
    return part("Replace", pattern=pattern, content=content)


def strip(left=True, right=True):
    return part("Strip", strip_left=left, strip_right=right)


def split(pattern, behavior, invert=False):
    return part("Split", pattern=pattern, behavior=behavior, invert=invert)


def byte_level(prefix=False, trim=True, use_regex=True):
    return part("ByteLevel", add_prefix_space=prefix, trim_offsets=trim, use_regex=use_regex)


def metaspace(scheme="always", whole=False, mark="▁"):
    return part("Metaspace", replacement=mark, prepend_scheme=scheme, split=not whole)


def wordpiece_decoder(prefix="##", cleanup=True):
    return part("WordPiece", prefix=prefix, cleanup=cleanup)


def strip_decoder(content=" ", start=1, stop=0):
    return part("Strip", content=content, start=start, stop=stop)


def bert_post(vocab):
    return part("BertProcessing", sep=["[SEP]", vocab["[SEP]"]], cls=["[CLS]", vocab["[CLS]"]])


def roberta_post(vocab, trim=True, prefix=True):
    return part("RobertaProcessing", sep=["[SEP]", vocab["[SEP]"]],
                cls=["[CLS]", vocab["[CLS]"]], trim_offsets=trim, add_prefix_space=prefix)


def template(vocab, single, pair):
    """"[CLS]:0 $A:1" and the like."""
    def pieces(text):
        out = []
        for item in text.split():
            name, kind = item.split(":")
            out.append({"Sequence": {"id": name[1:], "type_id": int(kind)}} if name[0] == "$" else
                       {"SpecialToken": {"id": name, "type_id": int(kind)}})
        return out
    names = sorted({item.split(":")[0] for item in (single + " " + pair).split()
                    if item[0] != "$"})
    return part("TemplateProcessing", single=pieces(single), pair=pieces(pair), special_tokens={
        name: {"id": name, "ids": [vocab[name]], "tokens": [name]} for name in names})


def cls_sep(vocab):
    return template(vocab, "[CLS]:0 $A:0 [SEP]:0", "[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1")


def token(content, **flags):
    return dict({"content": content, "single_word": False, "lstrip": False, "rstrip": False,
                 "normalized": False, "special": False}, **flags)


SPECIALS = [token("[UNK]", special=True), token("[CLS]", special=True),
            token("[SEP]", special=True), token("[PAD]", special=True),
            token("[MASK]", special=True, lstrip=True)]
FLAGGED = [token("<l>", lstrip=True), token("<r>", rstrip=True),
           token("<lr>", lstrip=True, rstrip=True), token("yes", single_word=True),
           token("Zürich", normalized=True), token("NEW york", normalized=True, lstrip=True),
           token("ab"), token("abc"), token("b c"), token("cab", normalized=True),
           token("Zed", normalized=True, single_word=True, rstrip=True), token("東"),
           token("京都", normalized=True), token("e\u0301", normalized=True),
           token("<sp>", special=True),
           token("é", single_word=True), token("the", single_word=True, normalized=True),
           token("<<", normalized=True, special=True), token("\n\n"), token("  ",
           normalized=True)]


def many_tokens(count=3000):
    return [token("<extra_%d>" % i, normalized=i % 3 == 0, lstrip=i % 5 == 0) for i in range(count)]


def document(model, normalizer=None, pre_tokenizer=None, post_processor=None, decoder=None,
             added=()):
    vocab = vocabulary_of(model)
    free = 1 + max(vocab.values())
    tokens = []
    for one in added:
        known = vocab.get(one["content"])
        tokens.append(dict({"id": free if known is None else known}, **one))
        free += known is None
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": tokens,
            "normalizer": normalizer, "pre_tokenizer": pre_tokenizer,
            "post_processor": post_processor, "decoder": decoder, "model": model}


# ---- the tokenizers ----

BEHAVIOURS = ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"]


def make_catalog(models, charsmap):
    """Names to documents. `charsmap` is a small character map, in base64."""
    wp, bytes_, chars = models["wordpiece"], models["bpe-bytes"], models["bpe-chars"]
    uni, wl = models["unigram"], models["wordlevel"]
    v = {name: vocabulary_of(model) for name, model in models.items()}
    vb, vw, vu, vc, vl = (v[n] for n in ("bpe-bytes", "wordpiece", "unigram", "bpe-chars",
                                         "wordlevel"))
    precompiled = part("Precompiled", precompiled_charsmap=charsmap)
    all_added = SPECIALS + FLAGGED
    out = {}

    def add(name, model, normalizer=None, pre_tokenizer=None, post_processor=None, decoder=None,
            added=SPECIALS):
        assert name not in out, name
        out[name] = document(model, normalizer, pre_tokenizer, post_processor, decoder, added)

    bp = part("BertPreTokenizer")
    # WordPiece, BERT's forms
    add("bert", wp, bert(), bp, bert_post(vw), wordpiece_decoder())
    add("bert-cased", wp, bert(lower=False), bp, cls_sep(vw), wordpiece_decoder(cleanup=False))
    add("bert-added", wp, bert(), bp, cls_sep(vw), wordpiece_decoder(), all_added)
    add("bert-strip-only", wp, bert(False, False, True, False), bp, bert_post(vw),
        wordpiece_decoder())
    add("bert-accents-kept", wp, bert(strip=False), bp, bert_post(vw), wordpiece_decoder("", True))
    add("wordpiece-short-words", dict(wp, max_input_chars_per_word=7), part("Lowercase"),
        part("Whitespace"), cls_sep(vw), wordpiece_decoder(), all_added)
    add("wordpiece-no-prefix", dict(wp, continuing_subword_prefix=""), part("NFKC"),
        part("WhitespaceSplit"), None, part("Fuse"))
    add("wordpiece-many-added", wp, bert(), bp, cls_sep(vw), wordpiece_decoder(),
        SPECIALS + many_tokens())
    # Byte-level BPE
    add("gpt2", bytes_, None, byte_level(), byte_level(), byte_level())
    add("gpt2-no-trim", bytes_, None, byte_level(trim=False), byte_level(trim=False), byte_level())
    add("gpt2-added", bytes_, part("NFC"), byte_level(prefix=True), byte_level(), byte_level(),
        all_added)
    add("roberta", pairs_as_text(bytes_), None, byte_level(prefix=True), roberta_post(vb),
        byte_level(), all_added)
    add("roberta-no-trim", bytes_, None, byte_level(prefix=True, trim=False),
        roberta_post(vb, trim=False), byte_level())
    add("roberta-no-prefix", bytes_, None, byte_level(), roberta_post(vb, prefix=False),
        byte_level())
    add("bytes-no-regex", dict(bytes_, ignore_merges=True), None,
        byte_level(use_regex=False, prefix=True), byte_level(prefix=True), byte_level())
    add("cl100k", dict(bytes_, ignore_merges=True), part("NFC"),
        pre(split(regex(CL100K), "Isolated"), byte_level(use_regex=False)),
        post(byte_level(trim=False), cls_sep(vb)), byte_level(), all_added)
    add("modernbert", bytes_, part("NFC"), byte_level(), cls_sep(vb), byte_level(), all_added)
    add("deepseek-like", bytes_, normal(), pre(
        split(regex(r"\p{N}{1,3}"), "Isolated"), split(regex("[一-龥\u3040-ゟ゠-ヿ]+"), "Isolated"),
        split(regex(GPT2), "Isolated"), byte_level(use_regex=False)), byte_level(trim=False),
        byte_level())
    add("digits-bytes", bytes_, strip(False), pre(
        part("Digits", individual_digits=True), byte_level()), byte_level(),
        decode(byte_level(), strip_decoder(" ", 1, 1)))
    # BPE over characters
    add("bpe", chars, part("NFKD"), part("Whitespace"), cls_sep(vc), part("Fuse"), all_added)
    add("bpe-fuse-unk", dict(chars, fuse_unk=True), bert(), part("WhitespaceSplit"), cls_sep(vc),
        None)
    add("bpe-fallback", with_bytes(dict(chars, fuse_unk=True)),
        normal(part("Prepend", prepend="▁"), replace(string(" "), "▁")), None, cls_sep(vc),
        decode(replace(string("▁"), " "), part("ByteFallback"), part("Fuse"), strip_decoder()),
        all_added)
    add("bpe-no-unk", dict(chars, unk_token=None), part("NFC"),
        part("CharDelimiterSplit", delimiter="-"), None, part("Fuse"))
    add("bpe-affixes", models["bpe-affixes"], part("Lowercase"), bp,
        cls_sep(v["bpe-affixes"]), wordpiece_decoder())
    add("bpe-suffix", models["bpe-suffix"], normal(part("NFD"), part("StripAccents")),
        part("Punctuation", behavior="Isolated"), cls_sep(v["bpe-suffix"]),
        decode(replace(string("</w>"), " "), part("Fuse")), all_added)
    add("bpe-ignore-merges", dict(chars, ignore_merges=True), part("Nmt"),
        part("Digits", individual_digits=False), cls_sep(vc),
        decode(replace(regex("[aeiou]"), "<>"), part("Fuse")))
    # Unigram
    add("xlm-roberta", uni, normal(precompiled), pre(part("WhitespaceSplit"), metaspace()),
        cls_sep(vu), metaspace(), all_added)
    add("t5", uni, precompiled, metaspace(), template(vu, "$A:0 [SEP]:0",
        "$A:0 [SEP]:0 $B:0 [SEP]:0"), metaspace())
    add("albert", uni, normal(replace(string("``"), "\""), replace(string("''"), "\""),
                              part("NFKD"), part("StripAccents"), part("Lowercase"), precompiled),
        metaspace(), cls_sep(vu), metaspace(), all_added)
    add("deberta-v2", uni, normal(strip(), precompiled, replace(regex(" {2,}"), " ")),
        metaspace(), cls_sep(vu), metaspace("first"))
    add("unigram-first", uni, part("NFKC"), metaspace("first"), cls_sep(vu), metaspace("first"),
        all_added)
    add("unigram-never", uni, part("NFD"), metaspace("never"), cls_sep(vu), metaspace("never"),
        all_added)
    add("unigram-whole", uni, None, metaspace(whole=True), cls_sep(vu), metaspace(), all_added)
    # A normalized token of which Strip leaves nothing makes the library search without end.
    add("unigram-first-whole", uni, strip(True, False), metaspace("first", True), cls_sep(vu),
        metaspace(), [one for one in all_added if one["content"].strip()])
    add("unigram-fallback", with_bytes(uni), part("Nmt"), metaspace(), cls_sep(vu),
        decode(part("ByteFallback"), metaspace()), all_added)
    add("unigram-no-unknown", dict(uni, unk_id=None), bert(), metaspace(mark="_"), None,
        metaspace(mark="_"))
    add("unigram-scripts", uni, precompiled, pre(part("UnicodeScripts"), part("Digits",
        individual_digits=True), metaspace("always")), cls_sep(vu), None, all_added)
    add("unigram-raw", uni, None, None, None, None, all_added)
    # WordLevel
    add("wordlevel", wl, part("Lowercase"), part("Whitespace"), cls_sep(vl), None, all_added)
    add("wordlevel-scripts", wl, part("NFC"), part("UnicodeScripts"), cls_sep(vl), part("Fuse"))
    # Pre-tokenizers' behaviours
    for behavior in BEHAVIOURS:
        add("punctuation-" + behavior, wp, bert(), part("Punctuation", behavior=behavior),
            cls_sep(vw), wordpiece_decoder())
        add("split-" + behavior, chars, None, split(regex(r"\s+|\d"), behavior), cls_sep(vc),
            decode(strip_decoder("a", 1, 2), part("Fuse")))
        add("split-string-inverted-" + behavior, chars, None, split(string(" "), behavior, True),
            None, None)
    add("split-inverted", wl, None, split(regex(r"\w+|[^\w\s]+"), "Removed", True), cls_sep(vl),
        None, all_added)
    # Templates and processors
    add("template-types", wp, bert(), bp, template(
        vw, "[MASK]:3 [CLS]:1 $A:2 [SEP]:5", "[CLS]:7 $B:4 [SEP]:0 [SEP]:1 $A:9 [MASK]:2"),
        wordpiece_decoder(), all_added)
    add("bert-twice", wp, bert(), bp, post(bert_post(vw)), wordpiece_decoder())
    add("byte-post-then-roberta", bytes_, None, byte_level(prefix=True, trim=False),
        post(byte_level(), roberta_post(vb, trim=False)), byte_level(), all_added)
    # What the reader knows beyond the list
    add("byte-normalizer", bytes_, part("ByteLevel"), part("FixedLength", length=5), byte_level(),
        byte_level(), all_added)
    add("bpe-suffix-decoded", models["bpe-suffix"], bert(), bp, cls_sep(v["bpe-suffix"]),
        part("BPEDecoder", suffix="</w>"))
    add("bare", wl, None, None, None, None, ())
    return out


# ---- what is covered ----

def facts(value, role=""):
    """Names of all parts and of their settings: "normalizer Strip strip_left=True" and so on."""
    found = set()
    if isinstance(value, list):
        for one in value:
            found |= facts(one, role)
        return found
    if not isinstance(value, dict) or "type" not in value:
        return found
    kind = "%s %s" % (role, value["type"])
    found.add(kind)
    for name, field in value.items():
        if isinstance(field, bool) or name in ("behavior", "prepend_scheme"):
            found.add("%s %s=%s" % (kind, name, field))
        elif name == "pattern":
            found.add("%s %s" % (kind, next(iter(field))))
        elif name in ("unk_token", "unk_id", "continuing_subword_prefix", "end_of_word_suffix"):
            found.add("%s %s%s" % (kind, "" if field is not None else "no ", name))
        elif name in ("normalizers", "pretokenizers", "processors", "decoders"):
            found |= facts(field, role)
    return found


def coverage(document):
    found = set()
    for role in ("normalizer", "pre_tokenizer", "post_processor", "decoder", "model"):
        if document.get(role) is None:
            found.add("no " + role)
        found |= facts(document.get(role), role)
    for one in document["added_tokens"]:
        found |= {"added " + flag for flag, on in one.items() if on is True}
    return found


# Each line: a part, and the settings that are to be there with both values or all of these.
REQUIRED = """
normalizer: BertNormalizer clean_text handle_chinese_chars lowercase
normalizer: NFC
normalizer: NFD
normalizer: NFKC
normalizer: NFKD
normalizer: Lowercase
normalizer: StripAccents
normalizer: Strip strip_left strip_right
normalizer: Replace String/Regex
normalizer: Prepend
normalizer: Nmt
normalizer: Precompiled
normalizer: Sequence
normalizer: ByteLevel
pre_tokenizer: BertPreTokenizer
pre_tokenizer: Whitespace
pre_tokenizer: WhitespaceSplit
pre_tokenizer: ByteLevel add_prefix_space use_regex trim_offsets
pre_tokenizer: Metaspace split prepend_scheme=always/first/never
pre_tokenizer: Punctuation behavior=Removed/Isolated/MergedWithPrevious/MergedWithNext/Contiguous
pre_tokenizer: Digits individual_digits
pre_tokenizer: Split String/Regex invert \
    behavior=Removed/Isolated/MergedWithPrevious/MergedWithNext/Contiguous
pre_tokenizer: UnicodeScripts
pre_tokenizer: CharDelimiterSplit
pre_tokenizer: Sequence
pre_tokenizer: FixedLength
post_processor: BertProcessing
post_processor: RobertaProcessing trim_offsets add_prefix_space
post_processor: TemplateProcessing
post_processor: ByteLevel trim_offsets
post_processor: Sequence
decoder: WordPiece cleanup
decoder: ByteLevel
decoder: Metaspace prepend_scheme=always/first/never
decoder: ByteFallback
decoder: Fuse
decoder: Strip
decoder: Replace String/Regex
decoder: Sequence
decoder: BPEDecoder
model: WordPiece
model: BPE ignore_merges fuse_unk byte_fallback unk_token/no_unk_token \
    continuing_subword_prefix/no_continuing_subword_prefix \
    end_of_word_suffix/no_end_of_word_suffix
model: Unigram byte_fallback unk_id/no_unk_id
model: WordLevel
""".strip().splitlines()


def required():
    out = set()
    for line in REQUIRED:
        role, rest = line.split(": ")
        kind, *settings = rest.split()
        base = "%s %s" % (role, kind)
        out.add(base)
        for setting in settings:
            if "=" in setting:
                name, values = setting.split("=")
                out |= {"%s %s=%s" % (base, name, value) for value in values.split("/")}
            elif "/" in setting:
                out |= {"%s %s" % (base, one.replace("no_", "no ")) for one in setting.split("/")}
            else:
                out |= {"%s %s=%s" % (base, setting, value) for value in (True, False)}
    return out | {"added " + flag for flag in ("lstrip", "rstrip", "single_word", "normalized",
                                               "special")}


def missing(documents):
    covered = set().union(*map(coverage, documents))
    return sorted(required() - covered)


def table(documents):
    """For each required piece the first tokenizers that have it."""
    lines = []
    for piece in sorted(required()):
        names = [name for name, one in documents.items() if piece in coverage(one)]
        lines.append("%-60s %s%s" % (piece, ", ".join(names[:3]),
                                     " and %d more" % (len(names) - 3) if len(names) > 3 else ""))
    return "\n".join(lines)


def compact(document):
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))
