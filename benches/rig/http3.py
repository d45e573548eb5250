"""HTTP/3 beside HTTP/2 over TLS of the same server: instructions, system calls and processor time of a request."""

import os, re, subprocess, tempfile

from rig import servers
from rig.account import GROUPS, in_groups
from rig.tables import number, table

VERSIONS = ["h2", "h3"]
# Path: how many requests are counted. What connections cost is subtracted, by counting twice as many more.
PATHS = {"/": 2000, "/large": 20}
STREAMS = "16"
OWN_GROUPS = [
    ("copies", GROUPS[0][1]),
    ("TLS and its ciphers", r"aws_lc|aes|gcm|ghash|gmult|EVP_|CRYPTO_|OPENSSL|rustls|poly1305|chacha|bn_mul|sha256"),
    ("QUIC: packets, streams, timers", r"quinn_proto|quinn::|rustc_hash|siphash|core::hash|btree|lru_slab"),
    ("UDP sockets", r"quinn_udp|sendmsg|recvmsg|recvmmsg|cmsg"),
    ("HTTP/2", r"\bh2::|hyper|tokio_util::codec"),
    ("HTTP/3: the library", r"\bh3(_quinn)?::"),
    ("HTTP/3: the server", r"policy_server::server::http3"),
] + GROUPS[1:]


class Serving:
    """The server of h3load, behind another program if one is given."""

    def __init__(self, path, before=()):
        self.path, self.folder = path, tempfile.TemporaryDirectory()
        self.process = subprocess.Popen([*before, path, "serve", self.folder.name], stdout=subprocess.PIPE, text=True)
        self.address, self.pid = self.process.stdout.readline().split()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.folder.cleanup()

    def load(self, version, path, amount):
        """One connection with so many requests, as `=COUNT`, or for so many seconds."""
        command = [self.path, version, self.folder.name, self.address, self.pid, "1", STREAMS, amount, path]
        return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def beside_http2(seconds):
    program = servers.build("--package", "policy-benches", "--bin", "h3load", "--features", "http3")
    keys = [(path, version) for path in PATHS for version in VERSIONS]
    groups = {key: difference(key, *instructions(program, *key)) for key in keys}
    calls = {key: difference(key, *system_calls(program, *key)) for key in keys}
    with Serving(program) as server:
        times = {(path, version): re.search(r"([\d.]+) us user and ([\d.]+) us system", server.load(version, path, str(seconds)))
                 for path, version in keys}
    head = ["response", "version", "user, us", "kernel, us", "instructions", "system calls"]
    print("\n" + table(head, [[
        path, version, times[path, version][1], times[path, version][2], number(sum(groups[path, version].values()), 0),
        ", ".join(f"{number(count, 2)} {name}" for name, count in calls[path, version].items() if count >= 0.01)]
        for path, version in keys]))
    for path in PATHS:
        h2, h3 = (groups[path, version] for version in VERSIONS)
        names = sorted(set(h2) | set(h3), key=lambda name: -h3.get(name, 0))
        lines = ([name, number(h2.get(name, 0), 0), number(h3.get(name, 0), 0)] for name in names)
        print("\n" + table([f"spent on, {path}", *VERSIONS], lines))
    return [{"path": path, "version": version, "user": float(times[path, version][1]), "system": float(times[path, version][2]),
             "groups": groups[path, version], "calls": calls[path, version]} for path, version in keys]


def difference(key, less, more):
    """Of one request, from those of one and of three times as many."""
    each = lambda name: (more.get(name, 0) - less.get(name, 0)) / (2 * PATHS[key[0]])
    return {name: each(name) for name in more}


def instructions(program, path, version):
    for times in (1, 3):
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "out")
            with Serving(program, ["valgrind", "-q", "--tool=callgrind", "--callgrind-out-file=" + out]) as server:
                server.load(version, path, f"={PATHS[path] * times}")
            yield in_groups(out, OWN_GROUPS, 1)


def system_calls(program, path, version):
    for times in (1, 3):
        with Serving(program) as server:
            yield servers.system_calls(server.pid, lambda: server.load(version, path, f"={PATHS[path] * times}"))
