"""What one writes in an afternoon: a FastAPI endpoint around `generate` of Hugging Face.

    python benchmarks/plain_server.py EXPORTED [--serial] [--threads N]

The same search as headway's: beam, length penalty and stop rule come with the export, the length
limit follows the input. Prints its address as a line of JSON when it is ready.
"""

import argparse
import json
import os
import socket
from typing import Any

import torch
from alike import start_alike

MAX_RATIO, MAX_EXTRA = 2.0, 10  # headway's usual limits, for which an export has no place


class Translator:
    """Tokenizer and model of an exported run."""

    def __init__(self, folder: str) -> None:
        from transformers import AutoModelForSeq2SeqLM, AutoTokenizer
        from transformers.utils import logging

        logging.disable_progress_bar()
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.model = AutoModelForSeq2SeqLM.from_pretrained(folder).eval()

    @torch.inference_mode()
    def __call__(self, texts: list[str]) -> dict[str, Any]:
        inputs = self.tokenizer(texts, return_tensors="pt", padding=True)
        inputs.pop("token_type_ids", None)
        longest = inputs["input_ids"].shape[1] * MAX_RATIO + MAX_EXTRA
        limit = min(1 + int(longest), self.model.generation_config.max_length)
        outputs = self.model.generate(**inputs, max_length=limit)
        found = self.tokenizer.batch_decode(outputs, skip_special_tokens=True)
        return {"results": [{"outputs": [{"text": text}]} for text in found]}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--serial", action="store_true", help="one request at a time")
    parser.add_argument("--threads", type=int, default=None, help="of torch")
    given = parser.parse_args()
    os.environ["HF_HUB_OFFLINE"] = "1"  # before transformers is loaded: nothing is fetched
    os.environ["TRANSFORMERS_VERBOSITY"] = "error"
    if given.threads is not None:
        torch.set_num_threads(given.threads)
    import uvicorn
    from fastapi import FastAPI
    from pydantic import BaseModel

    class Asked(BaseModel):
        texts: list[str]

    translator = Translator(given.folder)
    app = FastAPI()

    async def one_at_a_time(asked: Asked) -> dict[str, Any]:
        return translator(asked.texts)

    def in_a_thread(asked: Asked) -> dict[str, Any]:
        return translator(asked.texts)

    app.post("/translate")(one_at_a_time if given.serial else in_a_thread)
    listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
    print(json.dumps({"url": f"http://127.0.0.1:{listener.getsockname()[1]}"}), flush=True)
    config = uvicorn.Config(app, log_level="warning", access_log=False)
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    start_alike()
    main()
