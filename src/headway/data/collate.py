"""From stored examples to padded tensors, without a loop over examples or tokens."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from headway.data.store import Store

# What stands beside the ids is never looked at: `valid` says so. Any id will do that exists in
# every vocabulary.
_FILL = 0


def pad(arrays: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Arrays of ids side by side, padded to the longest, and where the ids are valid.

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
        bos: the begin mark of the target.
    """
    return _batch(
        _pad_flat(*store["source"].take(indices)), _pad_flat(*store["target"].take(indices)), bos
    )


def pair_batch(
    sources: Sequence[np.ndarray], targets: Sequence[np.ndarray], bos: int
) -> dict[str, torch.Tensor]:
    """The same of encoded pairs that stand in no store."""
    return _batch(pad(sources), pad(targets), bos)


def _batch(
    source: tuple[np.ndarray, np.ndarray], target: tuple[np.ndarray, np.ndarray], bos: int
) -> dict[str, torch.Tensor]:
    """The tensors of padded pairs.

    The target as fed to the decoder begins with the begin mark and lacks its last token; the target
    to predict is as stored, with its end mark.

    Shape: src (B,S), src_valid (B,S) bool, tgt_in, tgt_out (B,T), tgt_valid (B,T) bool.
    """
    return _sources(*source) | _targets(*target, bos)


def _sources(src: np.ndarray, src_valid: np.ndarray) -> dict[str, Tensor]:
    return {"src": torch.from_numpy(src), "src_valid": torch.from_numpy(src_valid)}


def source_batch(
    texts: Sequence[np.ndarray], segments: Sequence[np.ndarray] | None = None
) -> dict[str, Tensor]:
    """A batch of encoded texts that are only read.

    Args:
        segments: of each token of each text, as `TextCodec.pair` gives them.

    Shape: src (B,S), src_valid (B,S) bool, and with segments segment (B,S).
    """
    batch = _sources(*pad(texts))
    return batch if segments is None else batch | {"segment": torch.from_numpy(pad(segments)[0])}


def collate_sources(store: Store, indices: np.ndarray, column: str) -> dict[str, Tensor]:
    """The same of one column of some examples."""
    return _sources(*_pad_flat(*store[column].take(indices)))


def collate_texts(
    store: Store, indices: np.ndarray, bos: int, column: str = "text"
) -> dict[str, Tensor]:
    """A batch of some examples of one column, each of which is to be predicted from its beginning.

    Args:
        bos: the begin mark.

    Shape: tgt_in, tgt_out (B,T), tgt_valid (B,T) bool.
    """
    return _targets(*_pad_flat(*store[column].take(indices)), bos)


def text_batch(texts: Sequence[np.ndarray], bos: int) -> dict[str, Tensor]:
    """The same of encoded texts that stand in no store."""
    return _targets(*pad(texts), bos)


def _targets(tgt_out: np.ndarray, tgt_valid: np.ndarray, bos: int) -> dict[str, Tensor]:
    tgt_in = np.full_like(tgt_out, bos)
    tgt_in[:, 1:] = tgt_out[:, :-1]
    tgt_in[~tgt_valid] = _FILL
    arrays = {"tgt_in": tgt_in, "tgt_out": tgt_out, "tgt_valid": tgt_valid}
    return {name: torch.from_numpy(array) for name, array in arrays.items()}
