"""Lines of every sort, always the same: scripts, signs, spaces, what only looks like text."""

import random

ALPHABETS = (
    "abcdefghijklmnopqrstuvwxyzéüßñçøłABCDEFGHIJKLMNOPQRSTUVWXYZİſ",
    "абвгдежзийклмнопрстуфхцчшщъыьэюяёАБВГДЕЖ",
    "αβγδεζηθικλμνξοπρσςτυφχψωάέίό",
    "أبتثجحخدذرزسشصضطظعغفقكلمنهويىةءًٌٍَُِّْـ",
    "अआइईकखगघचछजझटठडढणतथदधनपफबभमािीुूेैोौं्",
    "กขคงจฉชซญดตถทธนบปผฝพฟภมยรลวศษสหอะาิีึืุูเแโใไ่้",
    "的一是不了人我在有他这中大来上国個們語漢字猫坐垫子",
    "あいうえおかきくけこさしすせそアイウエオガギグゲゴー",
    "한국어문장을나누는시험입니다",
    "0123456789²½٣४",
    ".,;:!?'\"’“”«»-–—()[]{}<>/\\|@#$%^&*_+=~`…¿¡、。「」",
    "🙂🎉❤️👩👧👦🇩🇪🏽✈☃",
    "e\u0301o\u0308n\u0303\u0327ﬁﬂ２™Åℌ",
)
SPACES = (" ", " ", " ", " ", " ", "  ", "\t", "\n", "\u00a0", "\u3000", "\u2009", "\u200b")
ODD = (
    "\x00",
    "\x07",
    "\x1b",
    "\x7f",
    "\x85",
    "\u200d",
    "\u200e",
    "\ufeff",
    "\ufffd",
    "\u2028",
    "▁",
    "Ġ",
    "##",
)
LOOKALIKES = (
    "[PAD]", "[CLS]", "[SEP]", "[MASK]", "[UNK]", "<s>", "</s>", "<pad>", "<unk>", "<mask>",
    "<|endoftext|>", "<extra_id_0>", "< bos >", "< [MASK] >",
)  # fmt: skip


def varied_lines(n: int, lookalikes: bool, seed: int = 0) -> list[str]:
    """`n` lines; with `lookalikes` some of their words spell control tokens."""
    rng = random.Random(f"{seed} {lookalikes}")
    return [_line(rng, lookalikes) for _ in range(n)]


def _line(rng: random.Random, lookalikes: bool) -> str:
    parts = [rng.choice(SPACES)] if rng.random() < 0.1 else []
    alphabets = rng.sample(ALPHABETS, rng.choice((1, 1, 2, 4)))
    for _ in range(rng.randrange(12)):
        parts.append("".join(rng.choices(rng.choice(alphabets), k=rng.randrange(1, 9))))
        if rng.random() < 0.08:
            parts.append(rng.choice(ODD))
        if lookalikes and rng.random() < 0.3:
            parts.append(rng.choice(LOOKALIKES))
        if rng.random() < 0.9:
            parts.append(rng.choice(SPACES))
    return "".join(parts)
