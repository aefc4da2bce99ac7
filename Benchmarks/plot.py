#!/usr/bin/env python3
"""Makes the picture of Docs/Performance.md and the tables of Benchmarks/README.md from the results of `make bench OUTPUT=FILE`.

    Benchmarks/plot.py FILE

writes Docs/Performance.svg, and prints the tables as Markdown.
"""

import html
import json
import pathlib
import sys

BAR, GAP, LEFT, WIDTH = 16, 8, 430, 860
UNITS = {"microseconds": (1, "µs"), "milliseconds": (1_000, "ms"), "kilobytes": (1_000, "kB"), "plain": (1, "")}
COLORS = {"stretch met": "#2a7f62", "met": "#4c78a8", "MISSED": "#c44e52", "": "#8c8c8c"}


def rows_with_target(results):
    return [row for row in results["rows"] if row.get("must") is not None and row.get("reference") is not None]


def svg(rows):
    """Draws one bar for each row. Its length is the ratio divided by the target, and the line shows the target."""
    scale = (WIDTH - LEFT - 90) / 1.6
    height = len(rows) * (BAR + GAP) + 50
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" font-family="sans-serif" '
        f'font-size="12"><rect width="100%" height="100%" fill="white"/>'
    ]
    for index, row in enumerate(rows):
        y = 30 + index * (BAR + GAP)
        share = row["comparison"]["median"] / row["must"]
        length = min(share, 1.6) * scale
        name = f"{row['table'].split(':')[0]}: {row['title']}"
        if len(name) > 68:
            name = name[:67] + "…"
        parts.append(
            f'<text x="{LEFT - 8}" y="{y + 12}" text-anchor="end">{html.escape(name)}</text>'
            f'<rect x="{LEFT}" y="{y}" width="{length:.0f}" height="{BAR}" fill="{COLORS.get(row["verdict"], "#8c8c8c")}"/>'
            f'<text x="{LEFT + length + 5:.0f}" y="{y + 12}">×{row["comparison"]["median"]:.2f}</text>'
        )
    line = LEFT + scale
    parts.append(
        f'<line x1="{line:.0f}" x2="{line:.0f}" y1="22" y2="{height - 14}" stroke="black" stroke-dasharray="4 3"/>'
        f'<text x="{line:.0f}" y="16" text-anchor="middle">target</text></svg>'
    )
    return "\n".join(parts) + "\n"


def short(number):
    if number is None:
        return ""
    return f"{number:.2f}" if number < 10 else f"{number:.1f}" if number < 100 else f"{number:.0f}"


def amount(row, key):
    if key not in row:
        return ""
    divisor, unit = UNITS[row["unit"]]
    return f"{short(row[key]['median'] / divisor)} {unit}".strip()


def tables(results):
    table = None
    for row in results["rows"]:
        if row["table"] != table:
            table = row["table"]
            print(f"\n**{table}**\n\n| | measured | reference | ratio | min – max | target |\n|---|---|---|---|---|---|")
        compared = row["comparison"]
        target = short(row.get("must")) + (f" ({short(row['stretch'])})" if row.get("stretch") is not None else "")
        result, ratio = amount(row, "value"), "×" + short(compared["median"]) if "reference" in row else ""
        if row["verdict"] == "MISSED":
            result, ratio = (result, f"**{ratio}**") if ratio else (f"**{result}**", ratio)
        print(
            f"| {row['title']} | {result} | {amount(row, 'reference')} | {ratio} "
            f"| {short(compared['min'])} – {short(compared['max'])} | {target} |"
        )


def main():
    results = json.loads(pathlib.Path(sys.argv[1]).read_text())
    pathlib.Path("Docs/Performance.svg").write_text(svg(rows_with_target(results)))
    tables(results)


main()
