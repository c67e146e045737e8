"""Small tokenizers as other projects lay them out, made with the library alone."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, processors, trainers
from tokenizers import normalizers as norms
from tokenizers import pre_tokenizers as pre
from varied_lines import varied_lines

from headway.text import SpecialTokenTemplate
from headway.text.pretokenize import build_cutter
from headway.text.unigram import train_unigram

TEXTS = [
    "the cat sat on the mat .",
    "The cat's mat, the dog's mat; 12 mats in 2021!",
    "Кот сел на коврик",
    "猫坐在垫子上。",
    "ein Hund läuft über die Straße",
] * 20 + varied_lines(400, lookalikes=False, seed=1)


@dataclass(frozen=True)
class Layout:
    """How a tokenizer is made, which of its tokens are the marks, and the transformers class."""

    make: Callable[[], Tokenizer]
    roles: dict[str, str]
    frame: SpecialTokenTemplate
    peer: str
    settings: dict[str, object] = field(default_factory=dict)


def bert(lowercase: bool) -> Tokenizer:
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    made = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.normalizer = norms.BertNormalizer(lowercase=lowercase)
    made.pre_tokenizer = pre.BertPreTokenizer()
    made.decoder = decoders.WordPiece()
    trainer = trainers.WordPieceTrainer(vocab_size=1200, special_tokens=names, show_progress=False)
    made.train_from_iterator(TEXTS, trainer)
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(name, made.token_to_id(name)) for name in ("[CLS]", "[SEP]")],
    )
    made.enable_truncation(8)  # as files of sentence encoders have it, which must not cut texts
    made.enable_padding(length=8, pad_token="[PAD]", pad_id=0)
    return made


def byte_bpe(names: list[str]) -> Tokenizer:
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=800,
        special_tokens=names,
        initial_alphabet=pre.ByteLevel.alphabet(),
        show_progress=False,
    )
    made.train_from_iterator(TEXTS, trainer)
    return made


def roberta() -> Tokenizer:
    made = byte_bpe(["<s>", "<pad>", "</s>", "<unk>"])
    made.add_special_tokens([AddedToken("<mask>", lstrip=True, special=True)])
    marks = {name: (name, made.token_to_id(name)) for name in ("<s>", "</s>")}
    made.post_processor = processors.RobertaProcessing(
        marks["</s>"], marks["<s>"], trim_offsets=True, add_prefix_space=False
    )
    return made


def gpt2() -> Tokenizer:
    made = byte_bpe(["<|endoftext|>"])
    made.post_processor = processors.ByteLevel(trim_offsets=False)
    return made


def unigram(names: list[str], splits: bool) -> Tokenizer:
    """Pieces with ▁ for a space; where words are cut first, as transformers does for T5, it is put
    before each, and nothing is normalised."""
    normalizer = norms.Sequence([norms.NFKC(), norms.Replace(Regex(" {2,}"), " ")])
    cutter = pre.Metaspace(prepend_scheme="always")
    if splits:
        normalizer, cutter = None, pre.Sequence([pre.WhitespaceSplit(), cutter])
    # The library's trainer never gives the same pieces twice.
    words = Counter(word for text in TEXTS for word in build_cutter(normalizer, cutter)(text))
    alphabet = sorted({character for word in words for character in word})
    pieces = train_unigram(words, alphabet, 900 - len(names))
    controls = [(name, 0.0) for name in names]
    made = Tokenizer(models.Unigram(controls + pieces, unk_id=names.index("<unk>")))
    made.pre_tokenizer = cutter
    if normalizer is not None:
        made.normalizer = normalizer
    made.decoder = decoders.Metaspace(prepend_scheme="always")
    made.add_special_tokens(names)
    return made


def t5(splits: bool = False) -> Tokenizer:
    made = unigram(["<pad>", "</s>", "<unk>"], splits)
    made.add_special_tokens([f"<extra_id_{number}>" for number in reversed(range(4))])
    end = ("</s>", made.token_to_id("</s>"))
    made.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[end]
    )
    return made


def marian() -> Tokenizer:
    made = unigram(["</s>", "<unk>"], splits=False)
    made.add_special_tokens(["<pad>"])  # the last one, and where outputs begin
    return made


BERT = {"pad": "[PAD]", "bos": "[CLS]", "eos": "[SEP]", "unk": "[UNK]", "mask": "[MASK]"}
ROBERTA = {"pad": "<pad>", "bos": "<s>", "eos": "</s>", "unk": "<unk>", "mask": "<mask>"}
GPT2 = dict.fromkeys(("pad", "bos", "eos", "unk"), "<|endoftext|>")
T5 = {"pad": "<pad>", "bos": "<pad>", "eos": "</s>", "unk": "<unk>"}
SENTINELS = {f"sentinel_{number}": f"<extra_id_{number}>" for number in range(4)}

LAYOUTS = {
    "bert": Layout(
        lambda: bert(lowercase=True), BERT, SpecialTokenTemplate(True, 1), "BertTokenizerFast"
    ),
    "bert-cased": Layout(
        lambda: bert(lowercase=False),
        BERT,
        SpecialTokenTemplate(True, 1),
        "BertTokenizerFast",
        {"do_lower_case": False},
    ),
    "roberta": Layout(roberta, ROBERTA, SpecialTokenTemplate(True, 2), "RobertaTokenizerFast"),
    "bart": Layout(roberta, ROBERTA, SpecialTokenTemplate(True, 2), "BartTokenizerFast"),
    "gpt2": Layout(gpt2, GPT2, SpecialTokenTemplate(), "GPT2TokenizerFast"),
    "t5": Layout(t5, T5 | SENTINELS, SpecialTokenTemplate(), "PreTrainedTokenizerFast"),
    "t5-split": Layout(
        lambda: t5(splits=True),
        T5 | SENTINELS,
        SpecialTokenTemplate(),
        "T5TokenizerFast",
        {"extra_ids": 4},
    ),
    "marian": Layout(marian, T5, SpecialTokenTemplate(), "PreTrainedTokenizerFast"),
}
