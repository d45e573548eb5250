"""cachecontrol as the client of a server: `cachecontrol.py ORIGIN`, each request twice.

The server counts what arrives.
"""

import json
import sys

import requests
from cachecontrol import CacheControl

(ORIGIN,) = sys.argv[1:]
session = CacheControl(requests.Session())

login = session.post(ORIGIN + "/login", headers={"Origin": ORIGIN})
login.raise_for_status()
token = login.json()["access_token"]
for job in json.load(sys.stdin):
    for accept in job["accepts"]:
        headers = {"Accept": accept}
        if job["target"].startswith("/token"):
            headers["Authorization"] = f"Bearer {token}"
        session.request(job["method"], ORIGIN + job["target"], headers=headers)
json.dump(None, sys.stdout)
