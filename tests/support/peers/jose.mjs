// What jose signs and verifies: jobs as JSON on standard input, their results on standard output.
import { readFileSync } from "node:fs";
import * as jose from "jose";

const privateKey = (job) =>
  job.secret ? Buffer.from(job.secret, "base64") : jose.importPKCS8(job.pem, job.alg);
const publicKey = (job) =>
  job.secret ? Buffer.from(job.secret, "base64") : jose.importSPKI(job.pem, job.alg);

async function pair(alg) {
  const options = alg === "EdDSA" ? { crv: "Ed25519" } : {};
  return jose.generateKeyPair(alg, { extractable: true, ...options });
}

const jobs = {
  async generate({ alg }) {
    const { privateKey, publicKey } = await pair(alg);
    return {
      private: await jose.exportPKCS8(privateKey),
      public: await jose.exportSPKI(publicKey),
    };
  },

  async sign(job) {
    const header = { alg: job.alg, ...job.header };
    const token = new jose.SignJWT(job.claims).setProtectedHeader(header);
    return { token: await token.sign(await privateKey(job)) };
  },

  // How many of the tokens are accepted, and what the first of those says.
  async verify(job) {
    const { issuer, audience } = job;
    const options = { issuer, audience, algorithms: [job.alg], typ: "at+jwt" };
    const key = await publicKey(job);
    const accepted = [];
    for (const token of job.tokens) {
      try {
        accepted.push((await jose.jwtVerify(token, key, options)).payload);
      } catch (error) {
        if (!(error instanceof jose.errors.JOSEError)) throw error;
      }
    }
    return { accepted: accepted.length, claims: accepted[0] ?? null };
  },

  // A set of public keys, one private and one secret among them, and a token of each.
  async publish({ claims }) {
    const keys = [];
    const tokens = {};
    for (const alg of ["ES256", "EdDSA", "RS256", "ES384"]) {
      const { privateKey, publicKey } = await pair(alg);
      keys.push({ ...(await jose.exportJWK(publicKey)), kid: alg, alg, use: "sig" });
      const token = new jose.SignJWT(claims);
      token.setProtectedHeader({ alg, kid: alg, typ: "at+jwt" });
      tokens[alg] = await token.sign(privateKey);
    }
    const { privateKey } = await pair("ES256");
    keys.push({ ...(await jose.exportJWK(privateKey)), kid: "private" });
    keys.push({ ...(await jose.exportJWK(new Uint8Array(32).fill(7))), kid: "secret" });
    // A key of each algorithm that may be taken, for something else than signatures.
    keys.push({ ...keys[0], kid: "encrypts", use: "enc" });
    return { document: JSON.stringify({ keys }), tokens };
  },
};

const results = [];
for (const job of JSON.parse(readFileSync(0, "utf8"))) results.push(await jobs[job.do](job));
process.stdout.write(JSON.stringify(results));
