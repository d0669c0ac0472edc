"""Take the screenshots of te_sched.explain: docs/images/explain-light.png and explain-dark.png.

Needs Chromium: that of TE_SCHED_BROWSER, or one on the path. The script measures the times shown.
"""

from __future__ import annotations

import io
import os
import runpy
import shutil
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

import te_sched

IMAGES = Path(__file__).resolve().parent.parent / "docs" / "images"
SIZE = {"width": 1400, "height": 1120}
STEP = "#step-6"  # after the reorder: reads of B are contiguous
STAGE = "C.local"  # the highlighted stage


def main() -> None:
    """Take both screenshots."""
    executable = shutil.which(os.environ.get("TE_SCHED_BROWSER", "")) or shutil.which("chromium")
    os.chdir(IMAGES)  # the page shows paths relative to this folder
    made = runpy.run_path("gemm.py")
    args = [made["A"], made["B"], made["C"]]
    story = te_sched.explain(made["s"], args, title="Matrix product", budget=30)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        report = Path(folder) / "report.html"
        story.save(report)
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        for scheme in ("light", "dark"):
            _shoot(browser, report, scheme)
        browser.close()


def _shoot(browser: Browser, report: Path, scheme: str) -> None:
    page = browser.new_page(viewport=SIZE, color_scheme=scheme, reduced_motion="reduce")
    page.goto(report.as_uri() + STEP)
    page.wait_for_selector("html.ready")
    page.locator(".current .flow summary").click()  # the dataflow is that of the step before
    page.get_by_role("button", name=STAGE, exact=True).click()
    page.mouse.move(0, 0)
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    page.close()
    path = IMAGES / f"explain-{scheme}.png"
    picture.quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)
    print(f"{path}: {path.stat().st_size // 1024} KiB")


if __name__ == "__main__":
    main()
