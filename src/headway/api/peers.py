"""Other libraries that load what headway exports, imported where they are used."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..errors import MissingExtra, RunError


def load_hugging_face(folder: Path, kind: str) -> tuple[Any, Any] | None:
    """The model and the tokenizer of an export, or None if `transformers` is not installed.

    Args:
        kind: the class that finds the model's own, such as `AutoModelForCausalLM`.

    Raises:
        RunError: the library does not take the folder.
    """
    try:
        import transformers
    except ImportError:
        return None
    try:
        with _quiet(transformers):
            model = getattr(transformers, kind).from_pretrained(folder)
            tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        reason = " ".join(str(error).split())
        raise RunError(
            f"transformers {transformers.__version__} cannot load the export ({reason}); "
            "try the newest version of it"
        ) from error
    return model.eval(), tokenizer


@contextmanager
def _quiet(transformers: Any) -> Iterator[None]:
    """Without the library's progress bars and advice."""
    logging = transformers.utils.logging
    level, had_bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if had_bars:
            logging.enable_progress_bar()


def load_ctranslate2(
    folder: Path, compute_type: str = "default", threads: int = 0, device: str = "cpu"
) -> Any:
    """The engine with the model of an export.

    Args:
        compute_type: by the engine's name; `default` is as the weights are stored.
        threads: 0 leaves the number to the engine.

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
            f"{folder} cannot be loaded by CTranslate2 ({reason}); "
            "export again with `headway export DIR --to ctranslate2 --out FOLDER`"
        ) from error
