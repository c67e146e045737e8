"""Makes docs/images/live.gif: someone types into the live page of a run.

    python docs/make_live_gif.py runs/demo --text "3. März 2021"

Needs Chromium (`HEADWAY_CHROMIUM` names another program), Playwright and Pillow, which the extra
`test` brings.
"""

import argparse
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

OUT = Path(__file__).parent / "images" / "live.gif"
WIDTH, HEIGHT = 1040, 800
TABS = ("Search", "Attention")  # each is watched for a part of the typing
TYPED, HELD = 260, 1800  # milliseconds that a frame is shown


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("--text", default="3. März 2021")
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    command = [sys.executable, "-m", "headway", "serve", str(options.run), "--port", "0", "--json"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        url = json.loads(server.stdout.readline())["url"]
        frames = take_frames(url, options.text)
    finally:
        server.terminate()
        server.wait()
    write_gif(frames, options.out)
    print(f"{options.out}: {len(frames)} frames, {options.out.stat().st_size:,} bytes")


def take_frames(url: str, text: str) -> list[tuple[bytes, int]]:
    """Pictures of the page after each letter and in each view, with the time each is shown."""
    from playwright.sync_api import sync_playwright

    program = os.environ.get("HEADWAY_CHROMIUM", "/usr/bin/chromium")
    flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    frames: list[tuple[bytes, int]] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=flags)
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        page.goto(url)
        page.locator("html[data-ready]").wait_for()
        page.get_by_label("Beam").fill("3")
        page.locator("textarea").first.fill("")
        for number, tab in enumerate(TABS):
            for length in range(
                len(text) * number // len(TABS), len(text) * (number + 1) // len(TABS)
            ):
                type_text(page, text[: length + 1])
                page.get_by_role("tab", name=tab).first.click()
                frames.append((page.screenshot(), TYPED))
            frames.append((frames[-1][0], HELD))
        browser.close()
    return frames


def type_text(page: Any, text: str) -> None:
    """Puts a text into the field and waits for its answer."""
    with page.expect_response(lambda response: response.url.endswith("/inspect")):
        page.locator("textarea").first.fill(text)
    page.wait_for_function("() => document.querySelector('.status').textContent.endsWith('ms')")


def write_gif(frames: list[tuple[bytes, int]], out: Path) -> None:
    from PIL import Image

    pictures = [
        Image.open(io.BytesIO(data)).convert("RGB").quantize(96, dither=Image.Dither.NONE)
        for data, _ in frames
    ]
    first, *rest = pictures
    first.save(
        out,
        save_all=True,
        append_images=rest,
        duration=[shown for _, shown in frames],
        loop=0,
        optimize=True,
    )


if __name__ == "__main__":
    main()
