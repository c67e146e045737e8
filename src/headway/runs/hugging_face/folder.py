"""A folder of the library as it lies on the disk: JSON and safetensors, and nothing else.

No code that lies in it is run, and no pickle is opened.
"""

import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError

from ...errors import RunError
from ..tensors import load_tensors

CONFIG, WEIGHTS, INDEX = "config.json", "model.safetensors", "model.safetensors.index.json"
GENERATION = "generation_config.json"
PICKLED = ("pytorch_model.bin", "pytorch_model.bin.index.json", "tf_model.h5", "flax_model.msgpack")


class Folder:
    """A model that the library saved.

    Raises:
        RunError: there is no such folder, or no `config.json` in it.
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
        """A table that must be there.

        Raises:
            RunError: it is missing, or no table.
        """
        found = self.find_json(name)
        if found is None:
            raise RunError(
                f"{self.path} has no {name}; give a folder with {CONFIG}, {WEIGHTS} and "
                "tokenizer.json, as save_pretrained writes it"
            )
        if not isinstance(found, dict):
            raise self._damaged(name, "it holds no table")
        return found

    def find_json(self, name: str) -> Any:
        """What a JSON file holds, or None if there is none."""
        try:
            return json.loads((self.path / name).read_bytes())
        except FileNotFoundError:
            return None
        except OSError as error:
            raise RunError(
                f"{self.path / name} cannot be read ({error.strerror}); check its permissions"
            ) from error
        except ValueError as error:
            raise self._damaged(name, str(error)) from None

    def generation(self) -> dict[str, Any]:
        """Settings of the search; older folders have them in `config.json`."""
        found = self.find_json(GENERATION)
        return {**self.config, **(found if isinstance(found, dict) else {})}

    def tensors(self) -> dict[str, torch.Tensor]:
        """All weights, from one file or from several that an index names.

        Raises:
            RunError: a file is missing or damaged, or there are only pickled ones.
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
        places = self.read_json(INDEX).get("weight_map")
        if not isinstance(places, dict) or not all(isinstance(f, str) for f in places.values()):
            raise self._damaged(INDEX, "it has no weight_map")
        found: dict[str, torch.Tensor] = {}
        for file in sorted(set(places.values())):
            if file != Path(file).name:
                raise self._damaged(INDEX, f"{file!r} is no file of this folder")
            here = self._load(file)
            expected = {name for name, place in places.items() if place == file}
            if expected != here.keys():
                name = min(expected ^ here.keys())
                has = "has" if name in here else "lacks"
                raise self._damaged(INDEX, f"{file} {has} {name}, which the index says otherwise")
            found.update(here)
        return found

    def _load(self, name: str) -> dict[str, torch.Tensor]:
        try:
            return load_tensors(self.path / name)[0]
        except FileNotFoundError:
            raise RunError(
                f"{self.path} has no {name}, which {INDEX} names; copy it there"
            ) from None
        except OSError as error:
            raise RunError(f"{self.path / name} cannot be read ({error})") from error
        except (SafetensorError, ValueError) as error:
            raise self._damaged(name, " ".join(str(error).split())) from None

    def _damaged(self, name: str, reason: str) -> RunError:
        return RunError(f"{self.path / name} is damaged ({reason}); copy it from its origin again")
