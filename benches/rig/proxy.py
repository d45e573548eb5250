"""The reverse proxy beside nginx: processor time, system calls and instructions of a request, before the same upstream."""

import os, shutil, tempfile

from rig import servers
from rig.account import in_groups
from rig.client import Client, request
from rig.instructions import COUNT, dump_of
from rig.load import median, under
from rig.tables import number, table

SIZES = {"5 bytes": "/small", "1 MiB": "/large"}

# Both are told not to buffer on the disk, and to keep connections to the upstream. Both servers are one
# process: a worker would hide from callgrind behind its parent.
NGINX = """
daemon off; master_process off; pid {folder}/pid; error_log {folder}/error crit; worker_processes 1;
events {{ worker_connections 1024; }}
http {{
  access_log off; keepalive_requests 100000000; client_max_body_size 0; sendfile on; tcp_nopush on;
  client_body_temp_path {folder}/client; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi; proxy_max_temp_file_size 0;
  {servers}
}}
"""
UPSTREAM = """
  server {{
    listen 127.0.0.1:{port} backlog=1024; root {folder};
    location = /small {{ return 200 hello; }}
    location = /large {{ }}
  }}
"""
PROXY = """
  upstream behind {{ server 127.0.0.1:{upstream}; keepalive 64; keepalive_requests 100000000; }}
  server {{
    listen 127.0.0.1:{port} backlog=1024;
    location /api/ {{ proxy_pass http://behind/; proxy_http_version 1.1; proxy_set_header Connection ""; {fields} }}
  }}
"""
# What `Proxy` tells an upstream about the client.
FIELDS = """
      proxy_set_header Forwarded "for=$remote_addr;host=\\"$http_host\\";proto=$scheme";
      proxy_set_header X-Forwarded-For $remote_addr; proxy_set_header X-Forwarded-Host $http_host;
      proxy_set_header X-Forwarded-Proto $scheme; proxy_set_header Via "1.1 nginx";
"""


class Ours(servers.Server):
    def __init__(self, path, upstream):
        self.name, self.path, self.flags, self.process = "policy", path, [f"http://127.0.0.1:{upstream.port}"], None


class Nginx(servers.Server):
    def __init__(self, name, server, **values):
        self.name, self.server, self.values, self.process = name, server, values, None

    def command(self):
        self.folder = tempfile.mkdtemp()
        # Its worker may be of another user.
        os.chmod(self.folder, 0o755)
        with open(os.path.join(self.folder, "large"), "wb") as large:
            large.write(b"x" * (1 << 20))
        values = {"port": self.port, "folder": self.folder, **self.values}
        configuration = os.path.join(self.folder, "nginx.conf")
        with open(configuration, "w") as file:
            file.write(NGINX.format(folder=self.folder, servers=self.server.format(**values)))
        return ["nginx", "-c", configuration]

    def stop(self):
        super().stop()
        shutil.rmtree(self.folder, ignore_errors=True)


class Upstream(Nginx):
    def core(self):
        return max(os.sched_getaffinity(0))


def beside_nginx(seconds, rounds):
    path = servers.build("--package", "policy-benches", "--bin", "proxy", "--features", "gateway")
    with Upstream("upstream", UPSTREAM) as upstream:
        upstream.start()
        proxies = [
            Ours(path, upstream),
            Nginx("nginx", PROXY, upstream=upstream.port, fields=""),
            Nginx("nginx, the same fields", PROXY, upstream=upstream.port, fields=FIELDS),
        ]
        times = times_of(proxies, seconds, rounds)
        found = [
            {"proxy": proxy.name, "size": size, **times[proxy.name, size], **counts_of(proxy, path)}
            for size, path in SIZES.items() for proxy in proxies
        ]
    ours = {r["size"]: r for r in found if r["proxy"] == "policy"}
    head = ["response", "proxy", "user, us", "kernel, us", "ours to it", "instructions", "ours to it", "system calls"]
    print("\n" + table(head, [[
        r["size"], r["proxy"], number(r["user"], 2), number(r["system"], 2), number(r["ratio"], 2),
        number(r["instructions"], 0), number(ours[r["size"]]["instructions"] / r["instructions"], 2),
        ", ".join(f"{number(count, 2)} {name}" for name, count in r["calls"].items())] for r in found]))
    groups = next(r for r in found if r["proxy"] == "policy")["groups"]
    lines = ([group, number(cost, 0)] for group, cost in sorted(groups.items(), key=lambda each: -each[1]))
    print("\n" + table(["spent on, 5 bytes", "instructions"], lines))
    return found


def times_of(proxies, seconds, rounds):
    """Of bursts of wrk, in turn. A ratio is of one round."""
    bursts = {(proxy.name, size): [] for proxy in proxies for size in SIZES}
    try:
        for proxy in proxies:
            proxy.start()
        for size, path in SIZES.items():
            for turn in range(rounds + 1):
                first = turn % len(proxies)
                for proxy in proxies[first:] + proxies[:first]:
                    url = f"http://127.0.0.1:{proxy.port}/api{path}"
                    result, _ = under(["wrk", "-t", "1", "-c", "32", "-d", f"{seconds}s", "--latency", url], proxy)
                    if turn > 0:  # The first round warms up.
                        bursts[proxy.name, size].append(result)
    finally:
        for proxy in proxies:
            proxy.stop()
    whole = lambda burst: burst["user"] + burst["system"]
    return {(name, size): {
        "user": median(b["user"] * 1e6 for b in own), "system": median(b["system"] * 1e6 for b in own),
        "ratio": median(whole(a) / whole(b) for a, b in zip(bursts["policy", size], own)),
    } for (name, size), own in bursts.items()}


def counts_of(proxy, path):
    """Of one request among many on one connection, where nothing is done for two at once."""
    sent = request("GET", f"/api{path}", {})
    with tempfile.TemporaryDirectory() as folder, proxy:
        proxy.start(["valgrind", "--tool=callgrind", "--callgrind-out-file=" + os.path.join(folder, "out")], seconds=120)
        groups = in_groups(dump_of(proxy, sent, folder))
    with proxy:
        proxy.start()
        client = Client(proxy.port)
        client.ask(sent)
        calls = servers.system_calls(proxy.process.pid, lambda: [client.ask(sent) for _ in range(COUNT)])
    calls = {name: count / COUNT for name, count in calls.items() if count / COUNT >= 0.01}
    return {"instructions": sum(groups.values()), "groups": groups, "calls": calls}
