"""What the instructions of a request are spent on: own costs of symbols by callgrind, in groups."""

import re, tempfile

from rig.client import request
from rig.instructions import COUNT, dump_of, started
from rig.rows import BODIES, ROWS, fields
from rig.tables import number, table

REST = "the rest"
# The first that fits names the group of a symbol. Of `drop_in_place`, the type decides.
GROUPS = [
    ("copies", r"memcpy|memmove|memset"),
    ("memory", r"malloc|calloc|realloc|memalign|\bfree$|_int_free|unlink_chunk"),
    # hyper's client is compiled into the task of the connection.
    ("connections to an upstream", r"proxy::pool::Pool::connect|hyper::client|^<?hyper::body|sync::(mpsc|oneshot)"),
    ("reverse proxy", r"policy_server::gateway|policy_core::(reverse_proxy|headers::groups|head::read::Single)"),
    ("gates 1 to 11", r"pipeline::(gates|normal_form)|policy_core::(gates|head|router|origin|cors::(preflight|compiled)|percent)|decide_origin|policy_server::client"),
    ("path parameters", r"handler::parameters|matchit"),
    ("gate 13", r"pipeline::respond|response_future::finished|remove_cors|keep_cookie|policy_core::(cors|cache|vary|headers)"),
    ("service, panics, response future", r"policy_server::(pipeline|server::connection::service)|catch_unwind|policy_server::handler::Call"),
    ("handler and its response", r"policy_server::handler|axum_core|^(<|_::<)?(impl .* for )?(peer|raw_peer)\b|raw_peer::respond|peer::|alloc::fmt|core::fmt|alloc::string"),
    ("connection: its loop, timer, unread bytes", r"policy_server::(server|base|auth)"),
    ("parsing and writing HTTP", r"hyper|httparse|raw_peer::connection|\bh2::|tokio_util::codec"),
    ("fields, URI, methods", r"\bhttp::|\bbytes::|core::str"),
    ("runtime and sockets", r"tokio|mio::|clock_gettime|Timespec|pow|floattidf|asynccancel|recv|writev|epoll|futures|slab::"),
]


def of_rows(policy, raw, rows):
    """The groups of Policy and of the hand-written server side by side."""
    found = {}
    for row in rows:
        ours, floor = of_row(policy, row), of_row(raw, row)
        groups = [group for group, _ in GROUPS] + [REST]
        sums = ["in all", sum(ours.values()), sum(floor.values())]
        lines = [[group, ours.get(group, 0), floor.get(group, 0)] for group in groups] + [sums]
        lines = ([group, number(own, 0), number(base, 0), number(own - base, 0)] for group, own, base in lines)
        print(f"\n{row}:\n\n" + table(["spent on", policy.name, raw.name, "more"], lines), flush=True)
        found[row] = {policy.name: ours, raw.name: floor}
    return found


def of_row(server, row):
    with tempfile.TemporaryDirectory() as folder, started(server, folder):
        sent = request(*ROWS[row], fields(row, server), BODIES.get(row, ""))
        return in_groups(dump_of(server, sent, folder))


def in_groups(dump, groups=GROUPS, count=COUNT):
    """Of one of so many requests, by group."""
    costs = {}
    for symbol, cost in own_costs(dump).items():
        group = next((group for group, pattern in groups if re.search(pattern, symbol)), REST)
        costs[group] = costs.get(group, 0) + cost / count
    return costs


def own_costs(path):
    """By symbol, without what it calls."""
    names, costs, symbol, is_call = {}, {}, None, False
    with open(path) as file:
        for line in file:
            if match := re.match(r"c?fn=\((\d+)\)(?: (.*))?$", line.rstrip("\n")):
                names[match[1]] = match[2] or names[match[1]]
                if line.startswith("fn="):
                    symbol = names[match[1]]
            elif line.startswith("calls="):
                is_call = True
            elif re.match(r"[0-9+*-]", line):
                # The line behind `calls=` has the cost of the call.
                if not is_call:
                    costs[symbol] = costs.get(symbol, 0) + int(line.split()[1])
                is_call = False
    return costs
