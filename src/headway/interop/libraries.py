"""Loads exports with the libraries they are for.

The libraries are optional and imported in the functions that need them.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from safetensors import SafetensorError

from ..errors import MissingExtra, RunError


def load_hugging_face(folder: Path, auto_class: str) -> tuple[Any, Any] | None:
    """The model and the tokenizer of an export, or None if `transformers` is not installed.

    Args:
        auto_class: the class that finds the model's own, such as `AutoModelForCausalLM`.

    Raises:
        RunError: the library cannot load the folder.
    """
    try:
        import transformers
    except ImportError:
        return None
    try:
        with _quiet(transformers):
            model = getattr(transformers, auto_class).from_pretrained(folder)
            tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
        reason = " ".join(str(error).split())
        raise RunError(
            f"transformers {transformers.__version__} cannot load the export ({reason}); "
            "try the newest version of it"
        ) from error
    return model.eval(), tokenizer


@contextmanager
def _quiet(transformers: Any) -> Iterator[None]:
    """Switches off the library's progress bars and advice."""
    logging = transformers.utils.logging
    level, shows_bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if shows_bars:
            logging.enable_progress_bar()


def load_ctranslate2(
    folder: Path, compute_type: str = "default", threads: int = 0, device: str = "cpu"
) -> Any:
    """A CTranslate2 translator with the model of an export.

    Args:
        compute_type: in the engine's words; `default` computes as the weights are stored.
        threads: 0 lets the engine choose.

    Raises:
        MissingExtra: the package is not installed.
        RunError: the folder holds no such model, or a damaged one.
    """
    try:
        import ctranslate2
    except ImportError:
        raise MissingExtra("the engine CTranslate2", "ctranslate2", "ctranslate2") from None
    try:
        return ctranslate2.Translator(
            str(folder), device=device, compute_type=compute_type, intra_threads=threads
        )
    except (RuntimeError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise RunError(
            f"{folder} cannot be loaded by CTranslate2 ({reason}); export the run again"
        ) from error
