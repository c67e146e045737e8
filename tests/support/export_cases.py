"""Small Transformers of every kind, with random weights, to write in other formats."""

from typing import Any

import numpy as np
import torch

from headway.data.collate import pair_batch
from headway.models import FAMILIES, VocabularySizes
from headway.models.transformer import Transformer
from headway.text import BOS, EOS, Tokenizer, TokenizerConfig, train_tokenizer

SIZES = {"d_model": 16, "d_ff": 24, "n_heads": 2, "encoder_layers": 2, "decoder_layers": 3}
WORDS = train_tokenizer(["a b c d e f g h i j"], TokenizerConfig(kind="words"))
OTHER_WORDS = train_tokenizer(["k l m n o p q r s t u v"], TokenizerConfig(kind="words"))
N_POSITIONS = 32


def sizes_of(target: Tokenizer = WORDS) -> VocabularySizes:
    return VocabularySizes(WORDS.size, target.size, target is WORDS, head="words")


def build(target: Tokenizer = WORDS, **settings: Any) -> Transformer:
    family, sizes = FAMILIES["transformer"], sizes_of(target)
    torch.manual_seed(1)
    config = family.config(**{**SIZES, "dropout": 0.0, **settings}).resolve(100, sizes)
    model: Any = family.build(config, sizes)
    with torch.no_grad():
        for parameter in model.parameters():
            # Gains and biases start at 1 and 0, where a mistake with them would not show.
            parameter.add_(0.2 * torch.randn_like(parameter))
    return model.eval()


def some_pairs(target: Tokenizer = WORDS) -> list[tuple[np.ndarray, np.ndarray]]:
    """Encoded pairs of several lengths, none included, so that there is padding on both sides."""
    draw = np.random.default_rng(0)

    def words(n: int, tokenizer: Tokenizer) -> np.ndarray:
        return np.append(draw.integers(4, tokenizer.size, n), EOS)

    return [
        (words(n, WORDS), words(m, target)) for n, m in ((1, 4), (7, 1), (4, 9), (0, 2), (3, 0))
    ]


@torch.inference_mode()
def logits_of(model: Transformer, pairs: list[tuple[np.ndarray, np.ndarray]]) -> torch.Tensor:
    """(n, V) over all tokens of all targets."""
    batch = pair_batch([source for source, _ in pairs], [target for _, target in pairs], BOS)
    return model.output(model(batch))[batch["tgt_valid"]]
