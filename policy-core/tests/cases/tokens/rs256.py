"""Prints a key of RS256, tokens that it signed, and tokens with one fault in the padding each."""

import base64
import hashlib
import json
import random

BYTES = 256
EXPONENT = 65537


def encode(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def prime(source, bits):
    while True:
        number = source.getrandbits(bits) | 1 | 3 << (bits - 2)
        if number % EXPONENT != 1 and all(number % small for small in (3, 5, 7, 11, 13)):
            # Fermat's test: enough for a key that protects nothing.
            if all(pow(base, number - 1, number) == 1 for base in (2, 3, 5, 7)):
                return number


SOURCE = random.Random(8017)
P, Q = prime(SOURCE, 1024), prime(SOURCE, 1024)
N = P * Q
D = pow(EXPONENT, -1, (P - 1) * (Q - 1))


def power(message):
    """RSASP1 (RFC 8017 5.2.1), by the Chinese remainder theorem."""
    of_p, of_q = pow(message, D % (P - 1), P), pow(message, D % (Q - 1), Q)
    return of_q + Q * ((of_p - of_q) * pow(Q, -1, P) % P)


def signature(encoded):
    assert len(encoded) == BYTES
    return power(int.from_bytes(encoded, "big")).to_bytes(BYTES, "big")


def padded(info):
    return b"\0\1" + b"\xff" * (BYTES - 3 - len(info)) + b"\0" + info


def der(tag, content):
    assert len(content) < 128
    return bytes([tag, len(content)]) + content


SHA256 = bytes.fromhex("608648016503040201")


def digest_info(digest, oid=SHA256, change=lambda name, tag, content: der(tag, content)):
    """The DigestInfo of RFC 8017 9.2; `change` encodes its elements."""
    algorithm = change("algorithm", 0x30, change("oid", 6, oid) + change("null", 5, b""))
    return change("info", 0x30, algorithm + change("digest", 4, digest))


def encodings(tag, content):
    """Encodings of an element that are not its DER, by what is wrong with them."""
    head, length, whole = bytes([tag]), len(content), der(tag, content)
    yield "long form of the length", head + bytes([0x81, length]) + content
    yield "leading zero in the length", head + bytes([0x82, 0, length]) + content
    yield "length and one", head + bytes([length + 1]) + content
    if length:
        yield "length less one", head + bytes([length - 1]) + content
        yield "no value", head + b"\0"
        yield "first byte of the value", der(tag, bytes([content[0] ^ 1]) + content[1:])
        yield "last byte of the value", der(tag, content[:-1] + bytes([content[-1] ^ 1]))
        yield "value without its first byte", der(tag, content[1:])
        yield "value without its last byte", der(tag, content[:-1])
        yield "truncated", whole[:-1]
    for huge in ("7fffffff", "80000000", "ffffffff", "ffffffffff", "ffffffffffffffff"):
        size = bytes.fromhex(huge)
        yield f"length 0x{huge}", head + bytes([0x80 | len(size)]) + size + content
    for overflow in (1 << 32, 1 << 64):
        size = (overflow + length).to_bytes(9, "big").lstrip(b"\0")
        yield f"length and {overflow}", head + bytes([0x80 | len(size)]) + size + content
    yield "length cut off", head + b"\x81"
    yield "indefinite length without an end", head + b"\x80" + content
    yield "indefinite length", head + b"\x80" + content + b"\0\0"
    yield "constructed with an indefinite length", bytes([tag ^ 0x20, 0x80]) + content + b"\0\0"
    yield "constructed or not", der(tag ^ 0x20, content)
    yield "composed", der(tag | 0x20, whole)
    yield "left out", b""
    yield "tag alone", head
    yield "twice", whole + whole
    yield "inside itself", der(tag, whole)
    yield "null in its place", b"\x05\0" if tag != 5 else b"\x04\0"
    for other in (0, 1, 2, 3, 0x24, 0x31, 0xa0, 0xff):
        yield f"tag {other:#x}", der(other, content)
    for name, garbage in (("zeros", b"\0\0"), ("a null", b"\5\0"), ("a tag", b"\xaa\2\0\0")):
        yield f"{name} before the value", der(tag, garbage + content)
        yield f"{name} after the value", der(tag, content + garbage)
        yield f"{name} before", garbage + whole
        yield f"{name} after", whole + garbage


def vectors():
    header = encode(b'{"alg":"RS256"}')

    def vector(name, payload, signed, valid=False):
        token = f"{header}.{encode(payload)}.{encode(signed)}"
        return {"name": name, "token": token, "valid": valid}

    def digest(payload, algorithm=hashlib.sha256):
        return algorithm(f"{header}.{encode(payload)}".encode()).digest()

    for payload in (b"", b"\0" * 20, b"a", b'{"sub":"user-1"}'):
        yield vector("valid", payload, signature(padded(digest_info(digest(payload)))), True)

    payload = b'{"sub":"user-1"}'
    own = digest(payload)
    info = digest_info(own)
    right = padded(info)

    for element in ("info", "algorithm", "oid", "null", "digest"):
        parts = {}
        digest_info(own, change=lambda name, tag, content: (
            parts.setdefault(name, (tag, content)), der(tag, content))[1])
        for fault, encoded in encodings(*parts[element]):
            changed = digest_info(own, change=lambda name, tag, content: (
                encoded if name == element else der(tag, content)))
            assert changed != info
            yield vector(f"{element}: {fault}", payload, signature(padded(changed)))

    other_hashes = [
        ("SHA-1", "2b0e03021a"),
        ("SHA-224", "608648016503040204"),
        ("SHA-384", "608648016503040202"),
        ("SHA-512", "608648016503040203"),
        ("MD5", "2a864886f70d0205"),
        ("SHA3-256", "608648016503040208"),
    ]
    for name, oid in other_hashes:
        named = digest_info(own, oid=bytes.fromhex(oid))
        yield vector(f"named {name}", payload, signature(padded(named)))
    for name, algorithm, oid in (
        ("SHA-384", hashlib.sha384, "608648016503040202"),
        ("SHA-512", hashlib.sha512, "608648016503040203"),
    ):
        made = digest_info(digest(payload, algorithm), oid=bytes.fromhex(oid))
        yield vector(f"signed with {name}", payload, signature(padded(made)))
    yield vector("of another payload", payload, signature(padded(digest_info(digest(b"a")))))
    yield vector("digest alone", payload, signature(padded(own)))

    def changed(at, byte):
        return right[:at] + bytes([byte]) + right[at + 1:]

    separator = BYTES - len(info) - 1
    short = b"\0\1" + b"\xff" * 8 + b"\0" + info
    for name, encoded in [
        ("first byte 1", changed(0, 1)),
        ("block type 0", changed(1, 0)),
        ("block type 2", changed(1, 2)),
        ("zero in the padding", changed(2, 0)),
        ("zero in the middle of the padding", changed(separator // 2, 0)),
        ("another byte in the padding", changed(separator - 1, 0xfe)),
        ("no separator", changed(separator, 0xff)),
        ("separator 1", changed(separator, 1)),
        ("garbage behind", short + b"\xff" * (BYTES - len(short))),
        ("zeros behind", short + b"\0" * (BYTES - len(short))),
        ("garbage before", right[:2] + b"\xaa" * (separator - 2) + right[separator:]),
        ("padding without a beginning", right[2:] + b"\0\0"),
    ]:
        yield vector(name, payload, signature(encoded))

    signed = signature(right)
    number = int.from_bytes(signed, "big")
    for name, altered in [
        ("nothing but zeros", b"\0" * BYTES),
        ("one", (1).to_bytes(BYTES, "big")),
        ("modulus less one", (N - 1).to_bytes(BYTES, "big")),
        ("modulus", N.to_bytes(BYTES, "big")),
        ("modulus added", (number + N).to_bytes(BYTES + 1, "big")),
        ("negated", (N - number).to_bytes(BYTES, "big")),
        ("zero before", b"\0" + signed),
        ("zero behind", signed + b"\0"),
        ("first byte missing", signed[1:]),
        ("last byte missing", signed[:-1]),
        ("not a power", right),
    ]:
        yield vector(f"signature: {name}", payload, altered)


KEY = {
    "kty": "RSA",
    "kid": "a",
    "alg": "RS256",
    "n": encode(N.to_bytes(BYTES, "big")),
    "e": encode(EXPONENT.to_bytes(3, "big")),
}
print(json.dumps({"key": KEY, "vectors": list(vectors())}))
