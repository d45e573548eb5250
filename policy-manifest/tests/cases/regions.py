"""Prints the cases of `tests/cases/regions.json`, by a second model of the algebra of origins.

Unlike the algebra, it keeps a default value for the hosts, schemes and addresses that nothing
mentions, instead of a complement of the whole, and ports by their effective number.
"""

import itertools
import json
import random

NO_PORT = 65536  # of a scheme without a default port
DEFAULT_PORTS = {"http": 80, "https": 443}


# Ports: disjoint inclusive ranges in order.


def combine_ports(has, one, other):
    cuts = {0, NO_PORT + 1}
    for first, last in one + other:
        cuts |= {first, last + 1}
    cuts, ranges = sorted(cuts), []
    for start, end in zip(cuts, cuts[1:]):
        if has(has_port(one, start), has_port(other, start)):
            if ranges and ranges[-1][1] == start - 1:
                start = ranges.pop()[0]
            ranges.append((start, end - 1))
    return tuple(ranges)


def has_port(ports, port):
    return any(first <= port <= last for first, last in ports)


# Functions from keys to values: the entries that are not the default, and the default.


def function(entries, default):
    return frozenset((key, value) for key, value in entries.items() if value != default), default


def apply(mapping, key):
    return dict(mapping[0]).get(key, mapping[1])


def combine_functions(combine, has, one, other):
    keys = {key for key, _ in one[0] | other[0]}
    entries = {key: combine(has, apply(one, key), apply(other, key)) for key in keys}
    return function(entries, combine(has, one[1], other[1]))


def combine_schemes(has, one, other):
    return combine_functions(combine_ports, has, one, other)


NO_SCHEMES = function({}, ())
ALL_SCHEMES = function({}, ((0, NO_PORT),))


# Names: the value of this one, of all below that are not listed, and of listed children.


def node(here, below, children):
    unlisted = (below, below, ())
    listed = ((label, child) for label, child in children.items() if child != unlisted)
    return here, below, tuple(sorted(listed, key=lambda pair: pair[0]))


def child_of(parent, label):
    return dict(parent[2]).get(label, (parent[1], parent[1], ()))


def combine_names(has, one, other):
    labels = {label for label, _ in one[2] + other[2]}
    return node(
        combine_schemes(has, one[0], other[0]),
        combine_schemes(has, one[1], other[1]),
        {label: combine_names(has, child_of(one, label), child_of(other, label)) for label in labels},
    )


# Regions: whether `null` is in it, the names, the addresses.


def combine(has, one, other):
    return (
        has(one[0], other[0]),
        combine_names(has, one[1], other[1]),
        combine_functions(combine_schemes, has, one[2], other[2]),
    )


EMPTY = (False, node(NO_SCHEMES, NO_SCHEMES, {}), function({}, NO_SCHEMES))
ALL = (True, node(ALL_SCHEMES, ALL_SCHEMES, {}), function({}, ALL_SCHEMES))
NULL = (True, *EMPTY[1:])

OPERATIONS = {
    "or": lambda a, b: a or b,
    "and": lambda a, b: a and b,
    "minus": lambda a, b: a and not b,
    "xor": lambda a, b: a != b,
}


def minus(one, other):
    return combine(OPERATIONS["minus"], one, other)


def is_address(host):
    return host[-1].isdigit()


def split(text):
    scheme, rest = text.split("://")
    host, _, port = rest.partition(":")
    return scheme, host, port


def entry(text):
    if text in ("*", "null"):
        return ALL if text == "*" else NULL
    scheme, host, port = split(text)
    port = port or DEFAULT_PORTS.get(scheme, NO_PORT)
    ports = ((0, NO_PORT),) if port == "*" else ((int(port), int(port)),)
    value = function({scheme: ports}, ())
    if is_address(host):
        return False, EMPTY[1], function({host: value}, NO_SCHEMES)
    name = host.removeprefix("*.")
    names = node(NO_SCHEMES, value, {}) if name != host else node(value, NO_SCHEMES, {})
    for label in name.split("."):
        names = node(NO_SCHEMES, NO_SCHEMES, {label: names})
    return False, names, EMPTY[2]


def evaluate(expression):
    if isinstance(expression, str):
        return entry(expression)
    if expression[0] == "not":
        return minus(ALL, evaluate(expression[1]))
    return combine(OPERATIONS[expression[0]], *map(evaluate, expression[1:]))


def contains(region, origin):
    if origin == "null":
        return region[0]
    scheme, host, port = split(origin)
    if is_address(host):
        value = apply(region[2], host)
    else:
        names = region[1]
        for label in reversed(host.split(".")):
            names = child_of(names, label)
        value = names[0]
    return has_port(apply(value, scheme), int(port or DEFAULT_PORTS.get(scheme, NO_PORT)))


def witnesses(region):
    """One for each part of the region."""

    def show(value, host):
        schemes = {"https", "http", "app", *dict(value[0])}
        for scheme in sorted(schemes):
            ports = apply(value, scheme)
            default = DEFAULT_PORTS.get(scheme, NO_PORT)
            if has_port(ports, default):
                yield f"{scheme}://{host}"
            # No expression mentions the last of them.
            others = (port for port in (3000, 8080) if has_port(ports, port))
            yield from (f"{scheme}://{host}:{port}" for port in itertools.islice(others, 1))

    def walk(names, end):
        if end:
            yield from show(names[0], end[1:])
        yield from show(names[1], f"evil{end}")
        for label, child in names[2]:
            yield from walk(child, f".{label}{end}")

    if region[0]:
        yield "null"
    yield from walk(region[1], "")
    for address in ("1.1.1.1", "192.0.2.7"):
        yield from show(apply(region[2], address), address)


SOURCE = random.Random(8017)
NAMES = [".".join(labels) for count in (1, 2, 3) for labels in itertools.product(["a", "b", "com"], repeat=count)]
ORIGINS = ["null"] + [
    f"{scheme}://{host}{port}"
    for scheme in ("https", "http", "ext")
    for host in NAMES + ["zz." + name for name in NAMES] + ["zz.yy.a.com", "zz", "com.", "a.com.", "1.1.1.1", "9.9.9.9"]
    for port in ("", ":3000", ":7")
]


def any_pattern():
    roll = SOURCE.random()
    if roll < 0.07:
        return "null" if roll < 0.04 else "*"
    scheme = SOURCE.choice(["https", "https", "https", "http", "ext"])
    host = "1.1.1.1" if SOURCE.random() < 0.06 else SOURCE.choice(["", "*."]) + SOURCE.choice(NAMES)
    return f"{scheme}://{host}" + SOURCE.choice(["", "", "", ":3000", ":*"])


def any_expression(depth):
    if depth == 0:
        return any_pattern()
    operation = SOURCE.choice(["or", "or", "and", "minus", "xor", "not"])
    first = any_expression(depth - 1)
    return [operation, first] if operation == "not" else [operation, first, any_expression(SOURCE.randrange(depth))]


def related(expression):
    """Another expression, which often says the same, less or more."""
    other, roll = any_expression(SOURCE.randrange(2)), SOURCE.randrange(5)
    if roll == 0:
        return ["or", expression, other]
    if roll == 1:
        return ["and", other, expression]
    if roll == 2:
        return ["minus", expression, ["minus", expression, other]]
    if roll == 3:
        return ["not", ["not", ["or", expression, ["and", other, expression]]]]
    return any_expression(SOURCE.randrange(4))


def case():
    a = any_expression(SOURCE.randrange(4))
    b = related(a)
    one, other = evaluate(a), evaluate(b)
    found = list(witnesses(minus(one, other)))
    # Half of the origins are those of one region only, if there are enough of them.
    differing = [origin for origin in ORIGINS if contains(one, origin) != contains(other, origin)]
    origins = SOURCE.sample(differing, min(4, len(differing)))
    origins += SOURCE.sample(ORIGINS, 8 - len(origins))
    return {
        "a": a,
        "b": b,
        "origins": {origin: [contains(one, origin), contains(other, origin)] for origin in origins},
        "a_is_empty": one == EMPTY,
        "equal": one == other,
        "a_includes_b": minus(other, one) == EMPTY,
        "only_in_a": SOURCE.sample(found, min(4, len(found))),
    }


CASES = [case() for _ in range(300)]
print("[\n" + ",\n".join(json.dumps(case) for case in CASES) + "\n]")
