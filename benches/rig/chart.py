"""Draws the results of the other modes as bars: all of them in `speed.svg`, and six groups in `summary.svg`."""

import json, os

POLICY, FLOOR, OTHER = "#0b6e4f", "#9aa5b1", "#d9a441"
TITLES = {
    "plain": "a plain GET", "cors": "GET with CORS", "preflight": "preflight", "parameters": "two parameters, 100 routes",
    "json": "1 KiB of JSON", "validation": "1 KiB of JSON, read and validated",
    "token": "a signed token", "session": "a session among 10,000", "policies": "every policy on",
}
HELD = {
    "keep-alive": "idle connection", "http2": "idle HTTP/2 connection", "tls": "idle TLS connection",
    "events": "open stream of events", "websocket": "open WebSocket", "small-websocket": "open WebSocket, buffer of 4 KiB",
}
WIDTH, COLUMN, LABEL, BAR, TOP = 920, 450, 130, 20, 34

SUMMARY_TITLE = "CPU instructions of a browser's request, relative to a hand-written hyper server: less is better"
SUMMARY = {"Policy": POLICY, "hand-written hyper": FLOOR, "axum with its crates": OTHER, "the best of poem and actix-web": "#b8895a"}
SUMMARY_ROWS = {
    "plain": "plain GET", "cors": "CORS", "preflight": "preflight", "parameters": "path parameters",
    "token": "signed token", "session": "session",
}
BASE = 290


def draw(folder):
    panels = []
    for row, title in TITLES.items():
        for is_browser in (False, True):
            found = [r for r in read(folder, "instr") if (r["row"], r["browser"]) == (row, is_browser)]
            bars = [(r["server"], r["instructions"]) for r in found]
            panels.append(("instructions: " + title + ", from a browser" * is_browser, bars, "{:,.0f}"))
    for mode, version in ("rate", "HTTP/1.1"), ("h2", "HTTP/2"):
        for row, title in TITLES.items():
            bars = [(r["server"], r["user"] + r["system"]) for r in read(folder, mode) if r["row"] == row]
            panels.append((f"{version}, CPU in microseconds: {title}", bars, "{:.2f}"))
    for kind, title in HELD.items():
        bars = [(r["server"], r["each"]) for r in read(folder, "idle") if r["kind"] == kind]
        panels.append((f"memory per {title}, KiB", bars, "{:.1f}"))
    panels = [(title, sorted(bars, key=lambda bar: bar[1]), style) for title, bars, style in panels if bars]
    pairs = [panels[index : index + 2] for index in range(0, len(panels), 2)]
    svg, y = [], 10
    for pair in pairs:
        for column, panel in enumerate(pair):
            svg += draw_panel(10 + COLUMN * column, y, *panel)
        y += max(TOP + BAR * len(bars) + 22 for _, bars, _ in pair)
    return [write(folder, "speed.svg", WIDTH, y, svg), summary(folder)]


def write(folder, name, width, height, svg):
    path = os.path.join(folder, name)
    with open(path, "w") as file:
        file.write(f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}"')
        file.write(' font-family="system-ui, sans-serif" font-size="12">\n')
        file.write(f'<rect width="{width}" height="{height}" fill="#ffffff"/>\n' + "\n".join(svg) + "\n</svg>\n")
    return path


def summary(folder):
    """Requests as a browser sends them, relative to the hand-written server."""
    counts = {(r["row"], r["server"]): r["instructions"] for r in read(folder, "instr") if r["browser"]}
    svg = [f'<text x="20" y="26" font-size="15" font-weight="600" fill="#1f2933">{SUMMARY_TITLE}</text>']
    for index, (name, colour) in enumerate(SUMMARY.items()):
        svg.append(f'<rect x="{20 + 175 * index}" y="42" width="12" height="12" fill="{colour}"/>')
        svg.append(f'<text x="{38 + 175 * index}" y="53" fill="#1f2933">{name}</text>')
    for group, (row, title) in enumerate(SUMMARY_ROWS.items()):
        x, of_row = 20 + 142 * group, lambda server: counts.get((row, server))
        others = list(filter(None, map(of_row, ("poem", "actix"))))
        values = of_row("policy"), of_row("raw"), of_row("axum"), min(others, default=None)
        for index, (value, colour) in enumerate(zip(values, SUMMARY.values())):
            if not (value and values[1]):
                continue
            ratio = value / values[1]
            height, left = 75 * ratio, x + 31 * index
            svg.append(f'<rect x="{left}" y="{BASE - height:.1f}" width="27" height="{height:.1f}" fill="{colour}"/>')
            svg.append(f'<text x="{left + 13.5}" y="{BASE - height - 5:.1f}" text-anchor="middle" fill="#52606d">{ratio:.2f}</text>')
        svg.append(f'<text x="{x + 60}" y="{BASE + 18}" text-anchor="middle" fill="#1f2933">{title}</text>')
    return write(folder, "summary.svg", 875, BASE + 32, svg)


def draw_panel(x, y, title, bars, style):
    svg = [f'<text x="{x}" y="{y + 16}" font-weight="600" fill="#1f2933">{title}</text>']
    longest = max(value for _, value in bars)
    for index, (server, value) in enumerate(bars):
        at, width = y + TOP + index * BAR, 220 * value / longest
        colour = POLICY if server.startswith("policy") else FLOOR if server.startswith("raw") else OTHER
        svg.append(f'<text x="{x + LABEL}" y="{at + 12}" text-anchor="end" fill="#1f2933">{server}</text>')
        svg.append(f'<rect x="{x + LABEL + 6}" y="{at}" width="{width:.1f}" height="{BAR - 5}" fill="{colour}"/>')
        svg.append(f'<text x="{x + LABEL + 12 + width:.1f}" y="{at + 12}" fill="#52606d">{style.format(value)}</text>')
    return svg


def read(folder, mode):
    path = os.path.join(folder, mode + ".json")
    if not os.path.exists(path):
        return []
    with open(path) as file:
        return json.load(file)
