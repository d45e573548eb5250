"""User-space instructions by callgrind: exact on a busy machine too."""

import os, re, subprocess, tempfile

from rig.client import Client, request
from rig.rows import BODIES, ROWS, fields
from rig.servers import Server
from rig.tables import number, table

COUNT = 1000


def of_requests(servers, rows):
    """Of one request in each row, as a tool and as a browser sends it, and the ratios to both floors."""
    counts = {(server.name, *key): count for server in servers for key, count in of_server(server, rows).items()}
    for is_browser in (False, True):
        print("\nInstructions per request" + ", with the header fields of a browser" * is_browser + ":\n")
        print(table(["server", *rows], lines(counts, servers, rows, is_browser)), flush=True)
    floors = {server.name: {"ratio": server.floor(), "ratio_no_timer": server.floor(False)} for server in servers}
    found = []
    for key, count in counts.items():
        server, row, is_browser = key
        ratios = {name: ratio(counts, key, floor) for name, floor in floors[server].items()}
        found.append({"server": server, "row": row, "browser": is_browser, "instructions": count, **ratios})
    return found


def of_server(server, rows, more={}):
    """Of one request in each row with more headers, by row and whether a browser sends it."""
    counts = {}
    with tempfile.TemporaryDirectory() as folder, started(server, folder):
        for row in filter(server.has, rows):
            for is_browser in (False, True):
                sent = request(*ROWS[row], fields(row, server, is_browser) | more, BODIES.get(row, ""))
                counts[row, is_browser] = of_one(server, sent, folder)
    return counts


def lines(counts, servers, rows, is_browser):
    for server in servers:
        keys = [(server.name, row, is_browser) for row in rows]
        yield [server.name, *(number(counts.get(key), 0) for key in keys)]
        for floor in (server.floor(), server.floor(False)) if server.program != "raw" else ():
            yield [f"{server.name} / {floor}", *(number(ratio(counts, key, floor), 3) for key in keys)]


def ratio(counts, key, floor):
    count, below = counts.get(key), counts.get((floor, *key[1:]))
    return count / below if count and below else None


def started(server, folder):
    """The server under callgrind, which writes into a folder, with its client logged in."""
    out = os.path.join(folder, "out")
    server.start(["valgrind", "--tool=callgrind", "--callgrind-out-file=" + out], seconds=120)
    server.login()
    return server


def of_one(server, sent, folder):
    with open(dump_of(server, sent, folder)) as file:
        return int(re.search(r"^(?:totals|summary): (\d+)", file.read(), re.M)[1]) / COUNT


def dump_of(server, sent, folder):
    """The file with the costs of so many requests."""
    client = Client(server.port)

    def ask():
        for _ in range(COUNT):
            status, _, _ = client.ask(sent)
            if status >= 300:
                raise SystemExit(f"{server.name}: {status} to {sent}")

    def control(flag):
        command = ["callgrind_control", flag, str(server.process.pid)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    ask()
    control("--zero")
    ask()
    before = set(os.listdir(folder))
    control("--dump")
    (dump,) = set(os.listdir(folder)) - before
    return os.path.join(folder, dump)


def of_variants(program, variants, rows):
    """What options and headers add to a request: the same program with the flags and headers of each name."""
    found = []
    for name, (flags, more) in variants.items():
        server = Server("policy", {"policy": program})
        server.flags = flags
        counts = of_server(server, rows, more)
        found += [{"server": name, "row": row, "browser": is_browser, "instructions": count} for (row, is_browser), count in counts.items()]
    for is_browser in (False, True):
        print("\nInstructions per request" + ", with the header fields of a browser" * is_browser + ":\n")
        names = dict.fromkeys(one["server"] for one in found)
        cells = lambda name: [number(one["instructions"], 0) for one in found if (one["server"], one["browser"]) == (name, is_browser)]
        print(table(["server", *rows], ([name, *cells(name)] for name in names)), flush=True)
    return found


def of_decisions(micro):
    """Instructions and allocations of single decisions. `X.base` is subtracted from the cases `X.*`."""
    cases = subprocess.run([micro, "list"], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    counts = {case: {"instructions": each(micro, case, *CALLGRIND), "allocations": each(micro, case, *MEMCHECK)} for case in cases}
    found = {}
    for case, count in counts.items():
        group, operation = case.split(".", 1)
        if operation != "base":
            base = counts.get(group + ".base", {})
            found[case] = {name: value - base.get(name, 0) for name, value in count.items()}
    lines = ([case, number(count["instructions"], 0), number(count["allocations"], 1)] for case, count in found.items())
    print("\n" + table(["operation", "instructions", "allocations"], lines))
    return found


CALLGRIND = ["--tool=callgrind", "--callgrind-out-file=/dev/null"], r"Collected : ([\d,]+)"
MEMCHECK = ["--leak-check=no"], r"total heap usage: ([\d,]+) allocs"


def each(micro, case, options, pattern):
    """What valgrind counts for one call: the count of 3000 calls less that of 1000."""
    counts = []
    for calls in (1000, 3000):
        command = ["valgrind", *options, micro, "count", case, str(calls)]
        log = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=True).stderr
        counts.append(int(re.search(pattern, log)[1].replace(",", "")))
    return (counts[1] - counts[0]) / 2000
