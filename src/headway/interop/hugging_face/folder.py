"""Access to the files of a folder that `save_pretrained` wrote: JSON and safetensors alone.

No code of the folder is run and no pickle is opened. What the files mean is up to the callers.
"""

from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError

from ...errors import RunError
from ...file_limits import JSON_BYTES, parse_json, read_bounded, refuse_named_pipe
from ...runs.tensors import load_tensors

CONFIG, WEIGHTS, INDEX = "config.json", "model.safetensors", "model.safetensors.index.json"
GENERATION = "generation_config.json"
COPY = "copy it from its origin again"
MOST_DIMENSIONS = 8
"""The most dimensions of a tensor. torch allows 64; no weight has more than 4."""
PICKLED = ("pytorch_model.bin", "pytorch_model.bin.index.json", "tf_model.h5", "flax_model.msgpack")


class Folder:
    """A folder with a saved model.

    Raises:
        RunError: the folder or its `config.json` does not exist.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        if not self.path.is_dir():
            what = "is a file" if self.path.exists() else "does not exist"
            raise RunError(
                f"{self.path} {what}; give a folder with {CONFIG}, {WEIGHTS} and tokenizer.json"
            )
        self.config = self.read_json(CONFIG)

    def read_json(self, name: str) -> dict[str, Any]:
        """The object in a JSON file.

        Raises:
            RunError: the file is missing or holds something else.
        """
        if not (self.path / name).exists():
            raise RunError(
                f"{self.path} has no {name}; give a folder with {CONFIG}, {WEIGHTS} and "
                "tokenizer.json, as save_pretrained writes it"
            )
        return self.find_object(name)

    def find_object(self, name: str) -> dict[str, Any]:
        """The object in a JSON file; empty if the file does not exist.

        Raises:
            RunError: the file holds something else.
        """
        content = self.find_json(name, {})
        if not isinstance(content, dict):
            raise self._damaged(name, "it holds no table")
        return content

    def find_json(self, name: str, default: Any = None) -> Any:
        """The content of a JSON file, or the default if the file does not exist."""
        try:
            return parse_json(read_bounded(self.path / name, JSON_BYTES, RunError, COPY))
        except FileNotFoundError:
            return default
        except OSError as error:
            raise RunError(
                f"{self.path / name} cannot be read ({error.strerror}); check its permissions"
            ) from error
        except ValueError as error:
            raise self._damaged(name, str(error)) from None

    def generation(self) -> dict[str, Any]:
        """The search settings; older folders have them in `config.json`."""
        return {**self.config, **self.find_object(GENERATION)}

    def tensors(self) -> dict[str, torch.Tensor]:
        """All weights, from one file or from the files of an index.

        Raises:
            RunError: a file is missing or damaged, or the weights are pickled.
        """
        if (self.path / WEIGHTS).exists():
            return self._load(WEIGHTS)
        if (self.path / INDEX).exists():
            return self._shards()
        pickled = next((name for name in PICKLED if (self.path / name).exists()), None)
        if pickled is not None:
            raise RunError(
                f"{self.path} holds its weights as {pickled}, which headway does not open because "
                "such files can run code; load it with transformers and write it anew with "
                "save_pretrained"
            )
        raise RunError(f"{self.path} has no {WEIGHTS}; copy it there")

    def _shards(self) -> dict[str, torch.Tensor]:
        files = self.read_json(INDEX).get("weight_map")
        if not isinstance(files, dict) or not all(isinstance(f, str) for f in files.values()):
            raise self._damaged(INDEX, "it has no weight_map")
        tensors: dict[str, torch.Tensor] = {}
        for file in sorted(set(files.values())):
            if file != Path(file).name:
                raise self._damaged(INDEX, f"{file!r} is no file of this folder")
            shard = self._load(file)
            expected = {name for name, other in files.items() if other == file}
            if expected != shard.keys():
                name = min(expected ^ shard.keys())
                verb = "has" if name in shard else "lacks"
                raise self._damaged(INDEX, f"{file} {verb} {name}, which the index says otherwise")
            tensors.update(shard)
        return tensors

    def _load(self, name: str) -> dict[str, torch.Tensor]:
        refuse_named_pipe(self.path / name, RunError)
        try:
            tensors = load_tensors(self.path / name)[0]
        except FileNotFoundError:
            raise RunError(
                f"{self.path} has no {name}, which {INDEX} names; copy it there"
            ) from None
        except OSError as error:
            raise RunError(f"{self.path / name} cannot be read ({error})") from error
        except (SafetensorError, ValueError) as error:
            raise self._damaged(name, " ".join(str(error).split())) from None
        if any(tensor.dim() > MOST_DIMENSIONS for tensor in tensors.values()):
            raise self._damaged(name, f"a tensor has more than {MOST_DIMENSIONS} dimensions")
        return tensors

    def _damaged(self, name: str, reason: str) -> RunError:
        return RunError(f"{self.path / name} is damaged ({reason}); {COPY}")
