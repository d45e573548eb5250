"""What it costs to build a service: processor time of cargo and everything that it starts, and sizes."""

import os, statistics, subprocess, tempfile

from rig.servers import ROOT
from rig.tables import number, table

CRATES = os.path.join(ROOT, "benches", "builds")
# Work: the crates that do it.
WORKS = {"minimal": ("policy", "axum"), "stack": ("policy-stack", "axum-stack")}
# What is measured of each: column, digits.
COLUMNS = {
    "check": ("clean check, s", 1), "build": ("clean build, s", 1), "again": ("build after a touch of main.rs, s", 2),
    "debug": ("debug binary, MB", 1), "release": ("stripped release binary, MB", 2),
    "crates": ("crates", 0),
}
ROUNDS, TOUCHES = 3, 5
# As a user of cargo has them.
UNSET = ["CARGO_INCREMENTAL", "CARGO_TARGET_DIR", "RUSTC_WRAPPER", "RUSTFLAGS"]


def of_services():
    found = []
    for crate in [crate for crates in WORKS.values() for crate in crates]:
        # Before anything is measured; the lock file follows what Policy depends on now.
        subprocess.run(["cargo", "fetch"], cwd=os.path.join(CRATES, crate), check=True)
    for work, crates in WORKS.items():
        own, other = map(of_service, crates)
        for crate, result in zip(crates, (own, other)):
            found.append({"work": work, "crate": crate} | result)
        lines = [
            *([crate, *(number(result[key], digits) for key, (_, digits) in COLUMNS.items())] for crate, result in zip(crates, (own, other))),
            ["ratio", *(number(own[key] / other[key], 2) for key in COLUMNS)],
        ]
        print("\n" + table([work, *(title for title, _ in COLUMNS.values())], lines), flush=True)
    return found


def of_service(crate):
    """Medians; every clean run has a folder of its own."""
    folder = os.path.join(CRATES, crate)
    main = os.path.join(folder, "src", "main.rs")
    checks, builds, again = [], [], []
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as target:
            checks.append(cargo(folder, target, "check"))
        with tempfile.TemporaryDirectory() as target:
            builds.append(cargo(folder, target, "build"))
            debug = os.path.getsize(os.path.join(target, "debug", crate))
            for _ in range(TOUCHES):
                os.utime(main)
                again.append(cargo(folder, target, "build"))
    with tempfile.TemporaryDirectory() as target:
        cargo(folder, target, "build", "--release")
        release = os.path.getsize(os.path.join(target, "release", crate))
    return {
        "check": statistics.median(checks), "build": statistics.median(builds), "again": statistics.median(again),
        "debug": debug / 1e6, "release": release / 1e6, "crates": crates_of(folder),
    }


def cargo(folder, target, *words):
    """Seconds in programs and in the kernel, of cargo and what it waits for."""
    environment = {name: value for name, value in os.environ.items() if name not in UNSET}
    process = subprocess.Popen(["cargo", *words, "--frozen", "--quiet", "--target-dir", target], cwd=folder, env=environment)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{folder}: cargo {words[0]} failed")
    return used.ru_utime + used.ru_stime


def crates_of(folder):
    """What is compiled for it, for this platform."""
    command = ["cargo", "tree", "--frozen", "--edges", "normal,build", "--prefix", "none", "--format", "{p}"]
    tree = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True, check=True).stdout
    return len({line.replace(" (*)", "").replace(" (proc-macro)", "") for line in tree.splitlines()})
