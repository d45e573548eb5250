"""Rates and times of servers under load, on loopback: as noisy as the machine."""

import os, re, resource, statistics, subprocess, tempfile, time

from rig.rows import BODIES, ROWS, fields
from rig.tables import number, table


def rates(servers, rows, seconds, rounds, is_http2):
    """By wrk, or by h2load over HTTP/2 with prior knowledge: servers in turn. Medians; a ratio is of one round."""
    found, noise = [], []
    with tempfile.TemporaryDirectory() as folder:
        try:
            for server in servers:
                server.start(flags=["--http2"] if is_http2 else [])
                server.login(is_http2)
            for row in rows:
                having = [server for server in servers if server.has(row)]
                found += rates_of(row, having, seconds, rounds, is_http2, folder, noise)
        finally:
            for server in servers:
                server.stop()
    head = ["row", "server", "requests/s", "least to most", "ratio", "user, us", "kernel, us", "CPU ratio", "p99, us", "MiB"]
    print("\n" + table(head, [[
        r["row"], r["server"], number(r["rate"], 0), number(r["least"], 0) + " to " + number(r["most"], 0),
        number(r["ratio"], 3), number(r["user"], 2), number(r["system"], 2), number(r["cpu_ratio"], 2),
        number(r["p99"], 0), number(r["memory"] / 1024, 1)] for r in found]))
    print(f"\nCPUs that others used meanwhile: {statistics.median(noise):.2f} in the median, {max(noise):.2f} at most")
    return found


def rates_of(row, servers, seconds, rounds, is_http2, folder, noise):
    bursts = {server.name: [] for server in servers}
    for turn in range(rounds + 1):
        first = turn % len(servers)
        for server in servers[first:] + servers[:first]:
            result, others = burst(server, row, seconds, is_http2, folder)
            if turn > 0:  # The first round warms up.
                bursts[server.name].append(result)
                noise.append(others)
    found = []
    for server in servers:
        own, floor = bursts[server.name], bursts.get(server.floor(), [])
        found.append({
            "row": row, "server": server.name, "memory": server.memory(),
            "rate": median(b["rate"] for b in own), "least": min(b["rate"] for b in own), "most": max(b["rate"] for b in own),
            "user": median(b["user"] * 1e6 for b in own), "system": median(b["system"] * 1e6 for b in own),
            "p99": None if is_http2 else median(b["p99"] * 1e6 for b in own),
            "ratio": median(a["rate"] / b["rate"] for a, b in zip(own, floor)),
            "cpu_ratio": median((a["user"] + a["system"]) / (b["user"] + b["system"]) for a, b in zip(own, floor)),
        })
    return found


def of_method(row, is_http2, folder):
    """How wrk or h2load is told the method and the body of a row."""
    method, body = ROWS[row][0], BODIES.get(row, "")
    if method == "GET":
        return []
    file = os.path.join(folder, row)
    with open(file, "w") as written:
        written.write(body if is_http2 else f"wrk.method = {method!r}\nwrk.body = {body!r}\n")
    if not is_http2:
        return ["-s", file]
    return ["-d", file] if body else ["-H", ":method: " + method]


def burst(server, row, seconds, is_http2, folder):
    """What `under` gives for the load of a row."""
    _, path = ROWS[row]
    headers = [word for name, value in fields(row, server).items() for word in ("-H", f"{name}: {value}")]
    url = f"http://127.0.0.1:{server.port}{path}"
    if is_http2:
        options = ["-t", "1", "-c", "8", "-m", "16", "-D", str(seconds)]
    else:
        options = ["-t", "1", "-c", "32", "-d", f"{seconds}s", "--latency"]
    command = ["h2load" if is_http2 else "wrk", *options, *headers, *of_method(row, is_http2, folder), url]
    return under(command, server, is_http2)


def under(command, server, is_http2=False):
    """The results of a server under the load of a command, and the CPUs that neither of them used."""
    cores = os.sched_getaffinity(0)
    # Beside the server, where there is another core.
    client_cores = cores - {min(cores)} or cores
    pin = lambda: os.sched_setaffinity(0, client_cores)
    children = lambda: sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
    clock = lambda: (time.monotonic(), machine(), children(), *server.processor())
    before = clock()
    out = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, preexec_fn=pin).stdout
    wall, busy, client, user, system = (after - before for after, before in zip(clock(), before))
    if is_http2:
        done, *failed = map(int, re.search(r"(\d+) 2xx, (\d+) 3xx, (\d+) 4xx, (\d+) 5xx", out).groups())
        rate, p99 = float(re.search(r"([\d.]+) req/s", out)[1]), None
    else:
        done = int(re.search(r"(\d+) requests in", out)[1])
        failed = [int(count) for count in re.findall(r"Non-2xx or 3xx responses: (\d+)", out)]
        rate = float(re.search(r"Requests/sec:\s+([\d.]+)", out)[1])
        p99 = in_seconds(*re.search(r"^ +99% +([\d.]+)(\w+)", out, re.M).groups())
    if sum(failed) or not done:
        raise SystemExit(f"{server.name}, {command[-1]}: {sum(failed)} of {done} failed\n{out}")
    return {"rate": rate, "p99": p99, "user": user / done, "system": system / done}, (busy - client - user - system) / wall


def machine():
    """CPU seconds that the whole machine has used."""
    with open("/proc/stat") as stat:
        times = [int(ticks) for ticks in stat.readline().split()[1:9]]
    return (sum(times) - times[3] - times[4]) / os.sysconf("SC_CLK_TCK")


def in_seconds(number, unit):
    return float(number) * {"us": 1e-6, "ms": 1e-3, "s": 1, "m": 60}[unit]


def median(values):
    values = list(values)
    return statistics.median(values) if values else None
