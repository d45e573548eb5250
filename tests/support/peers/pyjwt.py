"""What PyJWT signs and verifies: jobs as JSON on standard input, their results on standard output."""

import base64
import json
import sys

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa


def key(job):
    return base64.b64decode(job["secret"]) if "secret" in job else job["pem"]


def generate(job):
    private = {
        "ES256": lambda: ec.generate_private_key(ec.SECP256R1()),
        "EdDSA": ed25519.Ed25519PrivateKey.generate,
        "RS256": lambda: rsa.generate_private_key(65537, 2048),
    }[job["alg"]]()
    private_pem = private.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    public_pem = private.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return {"private": private_pem.decode(), "public": public_pem.decode()}


def sign(job):
    return {"token": jwt.encode(job["claims"], key(job), job["alg"], job["header"])}


def verify(job):
    """How many of the tokens are accepted, and what the first of those says."""
    accepted = []
    for token in job["tokens"]:
        try:
            accepted.append(
                jwt.decode(
                    token,
                    key(job),
                    algorithms=[job["alg"]],
                    issuer=job["issuer"],
                    audience=job["audience"],
                )
            )
        except jwt.InvalidTokenError:
            pass
    return {"accepted": len(accepted), "claims": accepted[0] if accepted else None}


JOBS = {"generate": generate, "sign": sign, "verify": verify}
json.dump([JOBS[job["do"]](job) for job in json.load(sys.stdin)], sys.stdout)
