"""Markdown: tables of it, and a page of HTML out of it."""

import base64
import re
from collections.abc import Sequence
from pathlib import Path

from markdown_it import MarkdownIt

_HEAD = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>The paper, reproduced</title>
<style>
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; display: block; overflow-x: auto; font-size: 0.9em; }
th, td { border: 1px solid #8886; padding: 0.3em 0.6em; text-align: left; vertical-align: top; }
img { max-width: 100%; background: white; }
blockquote { border-left: 4px solid #c60; margin-left: 0; padding-left: 1em; }
</style></head><body>
"""


def markdown_table(rows: Sequence[Sequence[str]]) -> str:
    """Return rows of text as a table, the titles first."""
    head, *body = (f"| {' | '.join(row)} |" for row in rows)
    return "\n".join([head, "|" + "---|" * len(rows[0]), *body])


def html_page(text: str, folder: Path) -> str:
    """Return Markdown as one page of HTML; the pictures, relative to *folder*, are within it."""

    def embedded(match: re.Match[str]) -> str:
        data = base64.b64encode((folder / match[1]).read_bytes()).decode()
        return f'<img src="data:image/svg+xml;base64,{data}"'

    body = MarkdownIt("commonmark").enable("table").render(text)
    return _HEAD + re.sub(r'<img src="([^"]+)"', embedded, body) + "</body></html>\n"
