"""What statements of the store cost PostgreSQL: what docs/scale.md is derived from."""

import os, re, subprocess, tempfile, time

from rig import servers
from rig.stores import Postgres, Stored
from rig.tables import number, table

SESSIONS = 200_000

# As the store writes them, with times of this moment; `:i` is drawn for each.
DRAW = f"\\set i random(1, {SESSIONS})\n"
LOAD = """SELECT s.* FROM policy.sessions s, policy.meta m
    WHERE key = sha256((:i)::text::bytea) AND (
        moved_until > {now}
        OR moved_to IS NULL AND idle_deadline > {now} AND absolute_deadline > {now}
            AND (user_id IS NULL OR epoch >= m.everyone))"""
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
        database.ask("VACUUM ANALYZE policy.sessions")
        database.ask("CHECKPOINT")
        found = [
            run(database, name, statement.format(now=now), count, clients)
            for name, statement, count, clients in [
                ("load", LOAD, 40_000, 4), ("touch", TOUCH, 8_000, 4), ("touch again", TOUCH, 8_000, 4),
                ("logout", LOGOUT, 1_000, 1), ("logout", LOGOUT, 4_000, 16), ("the same without NOTIFY", DELETE, 4_000, 16)]]
    print(f"\n{size:.0f} bytes a session in PostgreSQL, indexes included")
    head = ["statement", "clients", "a second", "CPU of the server, us", "bytes of WAL", "syncs of WAL"]
    print("\n" + table(head, [[
        r["statement"], str(r["clients"]), number(r["rate"], 0), number(r["cpu"], 0), number(r["wal"], 0), number(r["syncs"], 2)]
        for r in found]))
    return {"bytes": size, "statements": found}


def run(database, name, statement, count, clients):
    time.sleep(1)
    before = (processor(database), *wal(database))
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as script:
        script.write(DRAW + statement.replace("\n", " ") + ";\n")
        script.flush()
        command = ["pgbench", "--no-vacuum", "--protocol=prepared", f"--client={clients}", f"--transactions={count // clients}"]
        out = subprocess.run([*command, f"--file={script.name}", database.url], stdout=subprocess.PIPE, text=True, check=True).stdout
    # Statistics arrive a moment later, and what a connection used when it is gone.
    time.sleep(1.5)
    cpu, written, syncs = ((after - begun) / count for after, begun in zip((processor(database), *wal(database)), before))
    rate = float(re.search(r"tps = ([\d.]+)", out)[1])
    return {"statement": name, "clients": clients, "rate": rate, "cpu": cpu * 1e6, "wal": written, "syncs": syncs}


def processor(database):
    """Seconds of the server and of its connections that ended."""
    with open(f"/proc/{database.process.pid}/stat") as stat:
        times = stat.read().rsplit(")", 1)[1].split()
    return sum(map(int, times[11:15])) / os.sysconf("SC_CLK_TCK")


def wal(database):
    return map(float, database.ask("SELECT wal_bytes, wal_sync FROM pg_stat_wal").split("|"))
