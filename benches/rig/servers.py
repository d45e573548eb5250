"""The servers that are measured: how they are built, started and stopped."""

import json, os, re, signal, socket, subprocess, sys, time

from rig.client import Client, request
from rig.rows import USER

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PEERS = os.path.join(ROOT, "benches", "peers", "Cargo.toml")
TARGET = os.environ.get("CARGO_TARGET_DIR", os.path.join(ROOT, "target"))

# Name: program, flags, and whether it has a runtime for each core in place of a work-stealing one. Ratios
# are to the hand-written server with as many runtimes.
SERVERS = {
    "policy": ("policy", [], False),
    "raw": ("raw", [], False),
    "raw-no-timer": ("raw", ["--no-timer"], False),
    "axum": ("axum", [], False),
    "poem": ("poem", [], False),
    "policy-per-core": ("policy", ["--per-core"], True),
    "raw-per-core": ("raw", ["--per-core"], True),
    "raw-per-core-no-timer": ("raw", ["--per-core", "--no-timer"], True),
    "actix": ("actix", [], True),
}
# Those that have a `held` program too.
HELD = ["policy", "raw", "axum"]
PROGRAMS = list(dict.fromkeys(program for program, _, _ in SERVERS.values()))


def build(*arguments):
    """Builds one program with the versions of the lock file; gives its path."""
    command = ["cargo", "build", "--locked", "--profile", "fast", "--message-format", "json", *arguments]
    log = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout
    (path,) = filter(None, (json.loads(line).get("executable") for line in log.splitlines()))
    return path


def build_server(program):
    """By itself: together with others, cargo would unite the features of what they share."""
    if program == "policy":
        return build("--package", "policy-benches", "--bin", "peer", "--features", "http2,per_core")
    return build("--manifest-path", PEERS, "--target-dir", os.path.join(TARGET, "peers"), "--package", program + "-peer")


def build_with(feature):
    """The program of mode `report-only`, `metrics` or `traces`: by itself, since the others have no such code in them."""
    return build("--package", "policy-benches", "--bin", "peer", "--features", "http2,per_core," + feature)


def build_held(program):
    """The programs of mode `idle` that hold more than a connection."""
    if program == "policy":
        return build("--package", "policy-benches", "--bin", "held", "--features", "held")
    target = os.path.join(TARGET, "peers")
    names = ["--package", "held-peer", "--features", program, "--bin", "held-" + program]
    return build("--manifest-path", PEERS, "--target-dir", target, *names)


def processor(pid):
    """Seconds of a process so far: in the program and in the kernel, and both of its children that ended."""
    with open(f"/proc/{pid}/stat") as stat:
        times = stat.read().rsplit(")", 1)[1].split()
    return [int(ticks) / os.sysconf("SC_CLK_TCK") for ticks in times[11:15]]


def system_calls(pid, work):
    """How often a process makes each system call while this is done, by strace."""
    command = ["strace", "-f", "-c", "-U", "name,calls", "-p", str(pid)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as counting:
        while "attached" not in counting.stderr.readline():
            pass
        work()
        counting.terminate()
        lines = re.findall(r"^(\w+) +(\d+)$", counting.stderr.read(), re.M)
    return {name: int(count) for name, count in lines if name != "total"}


class Server:
    def __init__(self, name, paths):
        self.name = name
        self.program, self.flags, self.is_per_core = SERVERS[name]
        self.path = paths[self.program]
        self.cookie = self.process = None

    def has(self, row):
        """Only the hand-written server does by hand what a route with every policy on does."""
        return row != "policies" or self.program in ("policy", "raw")

    def floor(self, has_timer=True):
        return "raw" + "-per-core" * self.is_per_core + "-no-timer" * (not has_timer)

    def command(self):
        return [self.path, str(self.port), *self.flags]

    def core(self):
        return min(os.sched_getaffinity(0))

    def start(self, before=(), flags=(), seconds=10):
        """On one core, behind another program if one is given."""
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.process = subprocess.Popen(
            [*before, *self.command(), *flags],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            preexec_fn=lambda: os.sched_setaffinity(0, {self.core()}))
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.process.poll() is None:
            try:
                return Client(self.port).socket.close()
            except OSError:
                time.sleep(0.05)
        self.stop()
        sys.exit(f"{self.name} did not start")

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def login(self, is_http2=False):
        path = f"/login?user={USER}"
        if is_http2:  # By nghttp, which is of the package that h2load is of.
            command = ["nghttp", "-nv", "--no-dep", "-H:method: POST", f"http://127.0.0.1:{self.port}{path}"]
            response = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
            cookie = re.search(r"set-cookie: (sid=[^;]+)", response)
        else:
            status, fields, _ = response = Client(self.port).ask(request("POST", path, {}))
            cookie = status < 300 and re.match(r"(sid=[^;]+)", fields.get("set-cookie", ""))
        if not cookie:
            sys.exit(f"{self.name} does not log in: {response}")
        self.cookie = cookie[1]

    def memory(self):
        """Of the process, in KiB."""
        with open(f"/proc/{self.process.pid}/status") as status:
            return int(re.search(r"VmRSS:\s+(\d+)", status.read())[1])

    def processor(self):
        """Seconds in the program and in the kernel, so far."""
        return processor(self.process.pid)[:2]
