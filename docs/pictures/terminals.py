#!/usr/bin/env python3
"""Draws terminals of tmux side by side as one SVG, from a run of parlor-chat:

tmux new-session -d -x 56 -y 12 -s ada 'parlor-chat --user ada --register'
docs/pictures/terminals.py ada ben >docs/pictures/chat.svg

Each argument is a pane of tmux. TMUX_TMPDIR and TMUX_SOCKET name a server other than the default one.
"""

import html
import os
import re
import subprocess
import sys

CELL, LINE, PAD, GAP, TITLE = 7.8, 18, 12, 16, 26
FONT = "ui-monospace,Menlo,Consolas,DejaVu Sans Mono,monospace"
PAPER, INK, FAINT, ACCENT, BAR = "#16181d", "#d7dae0", "#7d8590", "#56b6c2", "#262a33"


def capture(pane: str) -> list[str]:
    socket = ["-L", os.environ["TMUX_SOCKET"]] if "TMUX_SOCKET" in os.environ else []
    ran = subprocess.run(["tmux", *socket, "capture-pane", "-e", "-p", "-t", pane], check=True, capture_output=True, text=True)
    return ran.stdout.rstrip("\n").split("\n")


def spans(lines: list[str]):
    """Yields (row, column, text, styles) for each run of one style. Styles carry over from line to line."""
    styles: set[str] = set()
    for row, line in enumerate(lines):
        column = 0
        for code, text in re.findall(r"\x1b\[([\d;]*)m|([^\x1b]+)", line):
            if text:
                yield row, column, text, frozenset(styles)
                column += len(text)
                continue
            for part in (code or "0").split(";"):
                if part == "0":
                    styles.clear()
                elif part == "39":
                    styles.discard("36")
                elif part in ("1", "2", "7", "36"):
                    styles.add(part)


def draw(pane: str, left: float, width: float, height: float) -> list[str]:
    drawn = [
        f'<rect x="{left}" width="{width}" height="{height}" rx="8" fill="{PAPER}"/>',
        f'<text x="{left + PAD}" y="18" fill="{FAINT}">parlor-chat --user {html.escape(pane)}</text>',
    ]
    for row, column, text, styles in spans(capture(pane)):
        x, y = left + PAD + column * CELL, TITLE + PAD + row * LINE + 12
        if "7" in styles:
            drawn.append(f'<rect x="{x:.1f}" y="{y - 13}" width="{len(text) * CELL:.1f}" height="{LINE}" fill="{BAR}"/>')
        fill = FAINT if "2" in styles else ACCENT if "36" in styles else INK
        weight = ' font-weight="bold"' if "1" in styles else ""
        if text.strip():
            drawn.append(f'<text x="{x:.1f}" y="{y}" fill="{fill}"{weight} textLength="{len(text) * CELL:.1f}">{html.escape(text)}</text>')
    return drawn


panes = sys.argv[1:] or sys.exit(__doc__)
columns = max(len(re.sub(r"\x1b\[[\d;]*m", "", line)) for pane in panes for line in capture(pane))
rows = max(len(capture(pane)) for pane in panes)
width, height = columns * CELL + 2 * PAD, TITLE + 2 * PAD + rows * LINE
total = len(panes) * width + (len(panes) - 1) * GAP
print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {total:.0f} {height}" font-family="{FONT}" font-size="13" xml:space="preserve">')
for number, pane in enumerate(panes):
    print("\n".join(draw(pane, number * (width + GAP), width, height)))
print("</svg>")
