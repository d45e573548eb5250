"""Sessions in PostgreSQL and in Redis, beside tower-sessions with its stores in the same servers."""

import glob, os, pwd, shutil, socket, subprocess, sys, tempfile, time

from rig import servers
from rig.client import Client, request
from rig.load import burst, median
from rig.tables import number, table

# How many sessions are begun to measure the bytes of one, each of another user.
SESSIONS = 5_000
QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


class Engine:
    """A server of our own, on the core of the load."""

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.start()
        end = time.monotonic() + 60
        while time.monotonic() < end:
            try:
                self.calls()
                return self
            except (subprocess.CalledProcessError, ValueError, KeyError):
                time.sleep(0.1)
        sys.exit(f"{self.name} did not start")

    def processor_time(self):
        """Seconds of the processes that serve: those that last."""
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children") as children:
            return sum(seconds(pid) for pid in [self.process.pid, *children.read().split()])

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.folder.cleanup()


def seconds(pid):
    try:
        return sum(servers.processor(pid)[:2])
    except (FileNotFoundError, ProcessLookupError):
        return 0


class Postgres(Engine):
    name = "PostgreSQL"

    def start(self):
        programs = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
        if not programs:
            sys.exit("benches/run stores needs PostgreSQL: apt-get install postgresql")
        as_server = {}
        if os.getuid() == 0:
            user = pwd.getpwnam("postgres")
            os.chown(self.folder.name, user.pw_uid, user.pw_gid)
            as_server = {"user": user.pw_uid, "group": user.pw_gid}
        data = os.path.join(self.folder.name, "data")
        initdb = [programs[-1] + "/initdb", "--auth=trust", "--username=policy", "--pgdata", data]
        subprocess.run(initdb, check=True, cwd="/", **QUIET, **as_server)
        options = [f"port={self.port}", "listen_addresses=127.0.0.1", "unix_socket_directories="]
        command = [programs[-1] + "/postgres", "-D", data, *(word for option in options for word in ("-c", option))]
        self.process = subprocess.Popen(command, cwd="/", **QUIET, **as_server)
        self.url = f"postgres://policy@127.0.0.1:{self.port}/postgres"

    def ask(self, statement):
        command = ["psql", "--no-psqlrc", "--tuples-only", "--no-align", self.url, "-c", statement]
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout.strip()

    def calls(self):
        """Transactions until now: each statement of the servers is one."""
        return {"statement": int(self.ask(
            "SELECT pg_stat_clear_snapshot(), xact_commit FROM pg_stat_database WHERE datname = 'postgres'").split("|")[-1])}

    def bytes(self):
        """Of all tables and their indexes."""
        return int(self.ask("SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relkind = 'r' AND relnamespace NOT IN "
                            "('pg_catalog'::regnamespace, 'information_schema'::regnamespace)"))


class Redis(Engine):
    name = "Redis"

    def start(self):
        program = shutil.which("redis-server") or sys.exit("benches/run stores needs Redis: apt-get install redis-server")
        # As its default, and what each second writes is on the disk.
        settings = ["--bind", "127.0.0.1", "--port", str(self.port), "--save", "", "--appendonly", "yes", "--appendfsync", "everysec"]
        self.process = subprocess.Popen([program, "--dir", self.folder.name, *settings], **QUIET)
        self.url = f"redis://127.0.0.1:{self.port}/"

    def info(self, section):
        command = ["redis-cli", "-p", str(self.port), "INFO", section]
        lines = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
        return dict(line.split(":", 1) for line in lines if ":" in line)

    def calls(self):
        """Of each command, those inside of scripts included."""
        found = {name[8:]: int(fields.split(",")[0][6:]) for name, fields in self.info("commandstats").items()}
        return {name: count for name, count in found.items() if name not in ("info", "ping")}

    def bytes(self):
        return int(self.info("memory")["used_memory"])


class Stored(servers.Server):
    def __init__(self, name, path):
        self.name, self.path = name, path
        self.program, self.flags, self.is_per_core = name, [], False
        self.cookie = self.process = None


def of_sessions(seconds, rounds):
    target = os.path.join(servers.TARGET, "peers")
    paths = {
        "policy": servers.build("--package", "policy-benches", "--bin", "stored", "--features", "stored"),
        "axum": servers.build("--manifest-path", servers.PEERS, "--target-dir", target, "--package", "stored-peer"),
    }
    found = [row for engine in (Postgres, Redis) for row in of_engine(engine, paths, seconds, rounds)]
    head = ["store", "server", "requests/s", "ratio", "CPU of the server, us", "of the store, us", "p99, us", "bytes a session", "commands a request"]
    print("\n" + table(head, [[
        r["store"], r["server"], number(r["rate"], 0), number(r["ratio"], 2), number(r["cpu"], 1), number(r["store_cpu"], 1), number(r["p99"], 0),
        number(r["bytes"], 0), ", ".join(f"{number(count, 2)} {name}" for name, count in r["calls"].items())] for r in found]))
    return found


def of_engine(engine, paths, seconds, rounds):
    bursts, sizes = {name: [] for name in paths}, {}
    with engine() as database:
        every = [Stored(name, path) for name, path in paths.items()]
        try:
            for server in every:
                server.start(flags=[database.url])
                sizes[server.name] = bytes_of_session(server, database)
                server.login()
            for turn in range(rounds + 1):
                for server in every[turn % 2:] + every[:turn % 2]:
                    result = burst_of(server, database, seconds)
                    if turn > 0:  # The first round warms up.
                        bursts[server.name].append(result)
        finally:
            for server in every:
                server.stop()
    return [{
        "store": engine.name, "server": name,
        "rate": median(b["rate"] for b in own), "p99": median(b["p99"] * 1e6 for b in own),
        "cpu": median((b["user"] + b["system"]) * 1e6 for b in own),
        "store_cpu": median(b["store_cpu"] * 1e6 for b in own),
        "bytes": sizes[name],
        "calls": own[-1]["calls"],
        "ratio": median(a["rate"] / b["rate"] for a, b in zip(own, bursts["axum"])),
    } for name, own in bursts.items()]


def bytes_of_session(server, database):
    """What a further session takes, where there are some."""
    client, before = Client(server.port), 0
    for user in range(SESSIONS + SESSIONS // 10):
        if user == SESSIONS // 10:
            before = database.bytes()
        status, _, _ = client.ask(request("POST", f"/login?user={user}", {}))
        if status >= 300:
            sys.exit(f"{server.name} does not log in: {status}")
    return (database.bytes() - before) / SESSIONS


def burst_of(server, database, duration):
    before, cpu = database.calls(), database.processor_time()
    result, _ = burst(server, "session", duration, False, None)
    cpu = database.processor_time() - cpu
    # Statistics arrive a moment later.
    time.sleep(1.5)
    requests = result["rate"] * duration
    result["store_cpu"] = cpu / requests
    calls = {name: (count - before.get(name, 0)) / requests for name, count in database.calls().items()}
    # What a background task asks once a second is no part of a request.
    result["calls"] = {name: count for name, count in calls.items() if count > 0.01}
    return result
