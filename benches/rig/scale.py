"""What statements of the store cost PostgreSQL, and commands Redis: docs/scale.md is derived from it."""

import re, subprocess, tempfile, time

from rig import servers
from rig.stores import Postgres, Redis, Stored
from rig.load import median
from rig.tables import number, table

SESSIONS = 200_000

# As the store writes them, with times of this moment; `:i` is drawn for each.
DRAW = f"\\set i random(1, {SESSIONS})\n"
# `{keys}` are those of a round trip, `{known}` is how a load shows that the database has the cut-off that its instance knows.
LOAD = """SELECT h.is_known, s.* FROM (SELECT {known} AS is_known) h
    CROSS JOIN policy.meta m LEFT JOIN policy.sessions s
    ON key = ANY(ARRAY[{keys}]) AND (user_id IS NULL OR epoch >= m.everyone OR moved_to IS NOT NULL)"""
MARKED = "EXISTS (SELECT FROM policy.marks WHERE area = 'cut_off' AND number = 99000 AND mark = 99000)"
TOUCH = "SELECT policy.touch_session(sha256((:i)::text::bytea), {now} + 1000000, {now} + 60000)"
LOGOUT = "SELECT policy.delete_session(sha256((:i)::text::bytea))"
# The same change, of which nobody is told.
DELETE = "DELETE FROM policy.sessions WHERE key = sha256((:i)::text::bytea)"

FILL = """INSERT INTO policy.sessions (
        key, handle, user_id, roles, scopes, epoch, version, created, authenticated, rotated, last_seen, idle_deadline,
        absolute_deadline, idle, is_remembered, binding, data)
    SELECT sha256(i::text::bytea), substr(sha256(('handle' || i)::bytea), 1, 16), 'user-' || i, '{{}}', '{{}}', 0, 1,
        {now}, {now}, {now}, {now}, {now} + 900000, {now} + 28800000, 900000, false,
        sha256(('binding' || i)::bytea), '{{"count":1}}'::bytea
    FROM generate_series({first}, {last}) i"""


def of_statements():
    program = servers.build("--package", "policy-benches", "--bin", "stored", "--features", "stored")
    with Postgres() as database:
        # It makes the schema before it responds.
        with Stored("policy", program) as server:
            server.start(flags=[database.url])
            server.login()
        now = int(time.time() * 1000)
        database.ask(FILL.format(now=now, first=1, last=SESSIONS // 10))
        before = database.bytes()
        database.ask(FILL.format(now=now, first=SESSIONS // 10 + 1, last=SESSIONS))
        size = (database.bytes() - before) / (SESSIONS * 9 / 10)
        database.ask("INSERT INTO policy.marks SELECT 'cut_off', i, i FROM generate_series(1, 100000) i")
        database.ask("VACUUM ANALYZE policy.sessions, policy.marks")
        database.ask("CHECKPOINT")
        found = [
            run(database, name, statement.format(now=now), count, clients)
            for name, statement, count, clients in [
                ("load", load_of(1, MARKED), 40_000, 4), ("touch", TOUCH, 8_000, 4), ("touch again", TOUCH, 8_000, 4),
                ("logout", LOGOUT, 1_000, 1), ("logout", LOGOUT, 4_000, 16), ("the same without NOTIFY", DELETE, 4_000, 16)]]
        marks = [of_marks(database, count) for count in (1, 8)]
    print(f"\n{size:.0f} bytes a session in PostgreSQL, indexes included")
    head = ["statement", "clients", "a second", "CPU of the server, us", "bytes of WAL", "syncs of WAL"]
    print("\n" + table(head, [[
        r["statement"], str(r["clients"]), number(r["rate"], 0), number(r["cpu"], 0), number(r["wal"], 0), number(r["syncs"], 2)]
        for r in found]))
    print("\n" + table(["loads", "CPU of PostgreSQL, us", "without the mark, us"], [[
        str(m["loads"]), number(m["cpu"], 1), number(m["without"], 1)] for m in marks]))
    commands = of_commands()
    print("\n" + table(["command", "CPU of Redis, us"], [[c["command"], number(c["cpu"], 2)] for c in commands]))
    return {"bytes": size, "statements": found, "marks": marks, "commands": commands}


def load_of(count, known):
    keys = ", ".join(f"sha256(((:i + {n}) % {SESSIONS} + 1)::text::bytea)" for n in range(count))
    return LOAD.format(known=known, keys=keys)


def of_marks(database, count):
    """A load of so many sessions that states the mark of a cut-off, and one that states none, in turn."""
    rounds = [[run(database, "load", load_of(count, known), 40_000, 4)["cpu"] for known in (MARKED, "true")] for _ in range(5)]
    with_mark, without = (median(cpu) for cpu in zip(*rounds))
    return {"loads": count, "cpu": with_mark, "without": without}


def of_commands():
    """The commands of a load, each by itself, 16 to a round trip."""
    fields = "handle user roles scopes epoch version created rotated last_seen idle_deadline absolute_deadline idle is_remembered binding data"
    found, count = [], 1_000_000
    with Redis() as server:
        client = ["redis-cli", "-p", str(server.port)]
        subprocess.run([*client, "HSET", "session", *(word for name in fields.split() for word in (name, name * 2))], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([*client, "HSET", "numbers", "everyone", "7"], check=True, stdout=subprocess.DEVNULL)
        fill = "for i = 1, 100000 do redis.call('HSET', 'marks', i, i * 1000000007) end"
        subprocess.run([*client, "EVAL", fill, "0"], check=True, stdout=subprocess.DEVNULL)
        for command in (["HGETALL", "session"], ["HGET", "numbers", "everyone"], ["HGET", "marks", "99000"]):
            rounds = []
            for _ in range(5):
                before = server.processor_time()
                subprocess.run(["redis-benchmark", "-p", str(server.port), "-n", str(count), "-c", "4", "-P", "16", "-q", *command],
                               check=True, stdout=subprocess.DEVNULL)
                rounds.append((server.processor_time() - before) / count * 1e6)
            found.append({"command": " ".join(command), "cpu": median(rounds)})
    return found


def run(database, name, statement, count, clients):
    time.sleep(1)
    before = clock(database)
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as script:
        script.write(DRAW + statement.replace("\n", " ") + ";\n")
        script.flush()
        command = ["pgbench", "--no-vacuum", "--protocol=prepared", f"--client={clients}", f"--transactions={count // clients}"]
        out = subprocess.run([*command, f"--file={script.name}", database.url], stdout=subprocess.PIPE, text=True, check=True).stdout
    # Statistics arrive a moment later, and what a connection used when it is gone.
    time.sleep(1.5)
    cpu, written, syncs = ((after - begun) / count for after, begun in zip(clock(database), before))
    rate = float(re.search(r"tps = ([\d.]+)", out)[1])
    return {"statement": name, "clients": clients, "rate": rate, "cpu": cpu * 1e6, "wal": written, "syncs": syncs}


def clock(database):
    """Seconds of the server and of its connections that ended, and bytes and syncs of its log."""
    seconds = sum(servers.processor(database.process.pid))
    return seconds, *map(float, database.ask("SELECT wal_bytes, wal_sync FROM pg_stat_wal").split("|"))
