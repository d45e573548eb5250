"""Sessions in a database, beside tower-sessions with its store in the same one."""

import glob, os, pwd, socket, subprocess, sys, tempfile, time

from rig import servers
from rig.load import burst, median
from rig.tables import number, table



class Postgres:
    """A server of our own, on the core of the load."""

    def __enter__(self):
        programs = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
        if not programs:
            sys.exit("benches/run stores needs PostgreSQL: apt-get install postgresql")
        self.folder = tempfile.TemporaryDirectory()
        as_server = {}
        if os.getuid() == 0:
            user = pwd.getpwnam("postgres")
            os.chown(self.folder.name, user.pw_uid, user.pw_gid)
            as_server = {"user": user.pw_uid, "group": user.pw_gid}
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        data, quiet = os.path.join(self.folder.name, "data"), {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        initdb = [programs[-1] + "/initdb", "--auth=trust", "--username=policy", "--pgdata", data]
        subprocess.run(initdb, check=True, cwd="/", **quiet, **as_server)
        options = [f"port={self.port}", "listen_addresses=127.0.0.1", "unix_socket_directories="]
        command = [programs[-1] + "/postgres", "-D", data, *(word for option in options for word in ("-c", option))]
        self.process = subprocess.Popen(command, cwd="/", **quiet, **as_server)
        self.url = f"postgres://policy@127.0.0.1:{self.port}/postgres"
        end = time.monotonic() + 60
        while time.monotonic() < end:
            try:
                self.statements()
                return self
            except (subprocess.CalledProcessError, ValueError):
                time.sleep(0.1)
        sys.exit("PostgreSQL did not start")

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.folder.cleanup()

    def ask(self, statement):
        command = ["psql", "--no-psqlrc", "--tuples-only", "--no-align", self.url, "-c", statement]
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout.strip()

    def statements(self):
        """Transactions until now: each statement of the servers is one."""
        return int(self.ask("SELECT pg_stat_clear_snapshot(), xact_commit FROM pg_stat_database WHERE datname = 'postgres'").split("|")[-1])


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
    bursts = {name: [] for name in paths}
    with Postgres() as database:
        every = [Stored(name, path) for name, path in paths.items()]
        try:
            for server in every:
                server.start(flags=[database.url])
                server.login()
            for turn in range(rounds + 1):
                for server in every[turn % 2:] + every[:turn % 2]:
                    result = burst_of(server, database, seconds)
                    if turn > 0:  # The first round warms up.
                        bursts[server.name].append(result)
        finally:
            for server in every:
                server.stop()
    found = [{
        "server": name,
        "rate": median(b["rate"] for b in own), "p99": median(b["p99"] * 1e6 for b in own),
        "cpu": median((b["user"] + b["system"]) * 1e6 for b in own),
        "statements": median(b["statements"] for b in own),
        "ratio": median(a["rate"] / b["rate"] for a, b in zip(own, bursts["axum"])),
    } for name, own in bursts.items()]
    head = ["server", "requests/s", "ratio", "CPU of the server, us", "p99, us", "statements a request"]
    print("\n" + table(head, [[
        r["server"], number(r["rate"], 0), number(r["ratio"], 2), number(r["cpu"], 1), number(r["p99"], 0),
        number(r["statements"], 2)] for r in found]))
    return found


def burst_of(server, database, seconds):
    before = database.statements()
    result, _ = burst(server, "session", seconds, False, None)
    # Statistics arrive a moment later.
    time.sleep(1.5)
    result["statements"] = (database.statements() - before) / (result["rate"] * seconds)
    return result
