"""From stored examples to padded tensors, without a loop over examples or tokens."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from .store import Store

# Padding is never read: `valid` marks it. Any id that exists in every vocabulary will do.
_FILL = 0


def pad(arrays: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Arrays of ids, padded to the longest, and a mask of the valid ids.

    Shape: n arrays of length at most L -> ids (n,L) int64, valid (n,L) bool.
    """
    lengths = np.array([len(array) for array in arrays], np.int64)
    flat = np.concatenate(arrays) if len(arrays) else np.empty(0, np.int64)
    return _pad_flat(flat, lengths)


def _pad_flat(flat: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    valid = np.arange(lengths.max(initial=0)) < lengths[:, None]
    ids = np.full(valid.shape, _FILL, np.int64)
    ids[valid] = flat
    return ids, valid


def collate(store: Store, indices: np.ndarray, bos: int) -> dict[str, torch.Tensor]:
    """A batch of the columns `source` and `target` of some examples.

    Args:
        bos: the begin token of the target.
    """
    return _batch(
        _pad_flat(*store["source"].take(indices)), _pad_flat(*store["target"].take(indices)), bos
    )


def pair_batch(
    sources: Sequence[np.ndarray], targets: Sequence[np.ndarray], bos: int
) -> dict[str, torch.Tensor]:
    """A batch of encoded pairs that are in no store; otherwise as `collate`."""
    return _batch(pad(sources), pad(targets), bos)


def _batch(
    source: tuple[np.ndarray, np.ndarray], target: tuple[np.ndarray, np.ndarray], bos: int
) -> dict[str, torch.Tensor]:
    """The tensors of padded pairs.

    The decoder input begins with the begin token and lacks the last token; the target to predict is
    as stored, with its end token.

    Shape: src (B,S), src_valid (B,S) bool, tgt_in, tgt_out (B,T), tgt_valid (B,T) bool.
    """
    return _sources(*source) | _targets(*target, bos)


def _sources(src: np.ndarray, src_valid: np.ndarray) -> dict[str, Tensor]:
    return {"src": torch.from_numpy(src), "src_valid": torch.from_numpy(src_valid)}


def source_batch(
    texts: Sequence[np.ndarray], segments: Sequence[np.ndarray] | None = None
) -> dict[str, Tensor]:
    """A batch of encoded texts for an encoder.

    Args:
        segments: the segment of each token, as `TextCodec.pair` returns them.

    Shape: src (B,S), src_valid (B,S) bool, and with segments segment (B,S).
    """
    batch = _sources(*pad(texts))
    return batch if segments is None else batch | {"segment": torch.from_numpy(pad(segments)[0])}


def collate_sources(store: Store, indices: np.ndarray, column: str) -> dict[str, Tensor]:
    """A batch of one column of some examples for an encoder."""
    return _sources(*_pad_flat(*store[column].take(indices)))


def collate_texts(
    store: Store, indices: np.ndarray, bos: int, column: str = "text"
) -> dict[str, Tensor]:
    """A batch of one column of some examples for a language model.

    Args:
        bos: the begin token.

    Shape: tgt_in, tgt_out (B,T), tgt_valid (B,T) bool.
    """
    return _targets(*_pad_flat(*store[column].take(indices)), bos)


def text_batch(texts: Sequence[np.ndarray], bos: int) -> dict[str, Tensor]:
    """A batch of encoded texts that are in no store; otherwise as `collate_texts`."""
    return _targets(*pad(texts), bos)


def _targets(tgt_out: np.ndarray, tgt_valid: np.ndarray, bos: int) -> dict[str, Tensor]:
    tgt_in = np.full_like(tgt_out, bos)
    tgt_in[:, 1:] = tgt_out[:, :-1]
    tgt_in[~tgt_valid] = _FILL
    arrays = {"tgt_in": tgt_in, "tgt_out": tgt_out, "tgt_valid": tgt_valid}
    return {name: torch.from_numpy(array) for name, array in arrays.items()}
