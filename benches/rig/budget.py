"""What a request to Policy may cost: its instructions as ratios to the hand-written server of the same run."""

import json, os

from rig import instructions, servers
from rig.rows import ROWS
from rig.tables import number, table

FILE = os.path.join(servers.ROOT, "benches", "budget.json")
# By how much a ratio may exceed its budget, and how often such a row is counted again: the least is taken,
# since whatever disturbs a count adds to it.
TOLERANCE, RECOUNTS = 1.01, 2


def measured(paths):
    """The ratios: by server, then by row."""
    return {name: ratios(servers.Server(name, paths), paths) for name in ("policy", "policy-per-core")}


def ratios(server, paths):
    floor = servers.Server(server.floor(), paths)
    counts, below = (instructions.of_server(one, list(ROWS)) for one in (server, floor))
    return {row + ", browser" * is_browser: count / below[row, is_browser] for (row, is_browser), count in counts.items()}


def check(paths, is_renewed):
    """Whether no row exceeds its budget; prints all rows. `is_renewed` writes what was measured as the new one."""
    found = measured(paths)
    if is_renewed:
        rounded = {name: {row: round(ratio, 3) for row, ratio in rows.items()} for name, rows in found.items()}
        with open(FILE, "w") as file:
            json.dump(rounded, file, indent=1)
            file.write("\n")
    with open(FILE) as file:
        budget = json.load(file)
    for _ in range(RECOUNTS):
        if exceeded(found, budget):
            again = measured(paths)
            found = {name: {row: min(ratio, again[name][row]) for row, ratio in rows.items()} for name, rows in found.items()}
    lines = [
        [f"{name}, {row}", number(ratio, 3), number(budget.get(name, {}).get(row), 3)]
        for name, rows in found.items() for row, ratio in rows.items()
    ]
    print("\n" + table(["row", "ratio to raw", "budget"], lines))
    for name, row in exceeded(found, budget):
        print(f"grown: {name}, {row}: if this is meant, renew the budget in the same change, by `benches/run budget --renew`")
    return not exceeded(found, budget)


def exceeded(found, budget):
    """The rows whose ratio is more than the tolerance above its budget, or that have no budget."""
    return [
        (name, row) for name, rows in found.items() for row, ratio in rows.items()
        if ratio > budget.get(name, {}).get(row, 0) * TOLERANCE
    ]
