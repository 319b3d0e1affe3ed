"""A real browser, in which pages must make no error and ask for nothing."""

import shutil

import pytest

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def browser():
    """Debian's Chromium, driven by Playwright; without either, the test is left out."""
    sync_api = pytest.importorskip(
        "playwright.sync_api", reason="Playwright is not installed: pip install playwright"
    )
    executable = shutil.which("chromium")
    if executable is None:
        pytest.skip("Chromium is not installed: apt-get install chromium")
    with sync_api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=executable, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture
def browser_page(browser):
    """An empty page; at the end it must have met no error, and asked the network for nothing."""
    page = browser.new_page(viewport={"width": 1100, "height": 800})
    page.set_default_timeout(120_000)  # the machine may be busy with other tests
    errors, requests = [], []
    page.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    yield page
    page.close()
    assert errors == []
    assert [url for url in requests if not url.startswith(("file://", "data:"))] == []
