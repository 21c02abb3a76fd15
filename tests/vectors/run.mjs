// Runs the vectors of this folder without any of the Python code: node tests/vectors/run.mjs
// RFC 8785 as its section 3.2 says; ECMAScript's own number and string serialization is what the RFC cites.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

const load = (name) => JSON.parse(readFileSync(new URL(name, import.meta.url), "utf8"));
let checks = 0;
let failures = 0;

function equal(what, actual, expected) {
  checks += 1;
  if (actual !== expected) {
    failures += 1;
    console.error(`${what}\n  expected ${expected}\n  actual   ${actual}`);
  }
}

function canonicalize(value) {
  if (typeof value === "number") {
    if (!Number.isFinite(value)) throw new RangeError("not a JSON number");
    return JSON.stringify(value);
  }
  if (typeof value === "string") {
    if (!value.isWellFormed()) throw new RangeError("lone surrogate");
    return JSON.stringify(value);
  }
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonicalize).join(",")}]`;
  // sort() without a function compares UTF-16 code units, which is section 3.2.3.
  const members = Object.keys(value).sort();
  return `{${members.map((key) => `${canonicalize(key)}:${canonicalize(value[key])}`).join(",")}}`;
}

// What the TypeScript runtime does: it copies into an ordinary object in sorted order.
function copySorted(value) {
  if (Array.isArray(value)) return value.map(copySorted);
  if (value === null || typeof value !== "object") return value;
  const copy = {};
  for (const key of Object.keys(value).sort()) copy[key] = copySorted(value[key]);
  return copy;
}

const sha256 = (text) => createHash("sha256").update(text, "utf8").digest("hex");
const proposal = (vector, names) => canonicalize(Object.fromEntries(names.map((name) => [name, vector[name]])));
const TOOL = ["kind", "agentName", "toolName", "argsCanonicalJson"];
const HANDOFF = ["kind", "fromAgentName", "toAgentName", "payloadCanonicalJson"];

const rfc = load("rfc8785.json");
for (const { name, input, canonical, utf8Hex } of rfc.texts) {
  equal(name, canonicalize(JSON.parse(input)), canonical);
  equal(`${name}: UTF-8`, Buffer.from(canonical, "utf8").toString("hex"), utf8Hex);
}
for (const { ieee754, canonical } of rfc.numbers) {
  const number = Buffer.from(ieee754, "hex").readDoubleBE();
  let written = null;
  try {
    written = canonicalize(number);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
  }
  equal(`number ${ieee754}`, written, canonical);
}

const hashes = load("proposal_hash.json");
for (const vector of hashes.tools) {
  equal(`${vector.name}: arguments`, canonicalize(JSON.parse(vector.parsedArgumentsText)), vector.argsCanonicalJson);
  equal(`${vector.name}: same value`, canonicalize(vector.parsedArguments), vector.argsCanonicalJson);
  equal(`${vector.name}: proposal`, proposal(vector, TOOL), vector.proposalCanonicalJson);
  equal(`${vector.name}: hash`, sha256(vector.proposalCanonicalJson), vector.proposalHash);
}
for (const vector of hashes.handoffs) {
  equal(`${vector.name}: payload`, canonicalize(JSON.parse(vector.handoffPayloadText)), vector.payloadCanonicalJson);
  equal(`${vector.name}: proposal`, proposal(vector, HANDOFF), vector.proposalCanonicalJson);
  equal(`${vector.name}: hash`, sha256(vector.proposalCanonicalJson), vector.proposalHash);
}
for (const { name, texts, argsCanonicalJson } of hashes.sameHash) {
  for (const text of texts) equal(`${name}: ${text}`, canonicalize(JSON.parse(text)), argsCanonicalJson);
}
for (const vector of hashes.typescriptDiffers) {
  const value = JSON.parse(vector.parsedArgumentsText);
  const theirs = JSON.stringify(copySorted(value));
  const tool = { ...vector, kind: "tool" };
  equal(`${vector.name}: RFC 8785`, canonicalize(value), vector.argsCanonicalJson);
  equal(`${vector.name}: TypeScript`, theirs, vector.typescriptCanonicalJson);
  equal(`${vector.name}: hash`, sha256(proposal(tool, TOOL)), vector.proposalHash);
  equal(
    `${vector.name}: TypeScript hash`,
    sha256(proposal({ ...tool, argsCanonicalJson: theirs }, TOOL)),
    vector.typescriptProposalHash,
  );
}

// Of the strict decoder, what JSON.parse can say: it accepts the same values, and refuses all that is no JSON at all.
// What it cannot see (duplicate keys, lone surrogates, big integers, limits) needs a strict decoder.
const LENIENT = new Set([
  "duplicate_key", "lone_surrogate", "integer_out_of_range", "number_overflow", "number_underflow",
  "too_deep", "too_many_nodes", "too_large", "not_an_object", "empty_arguments",
]);
for (const { name, text, base64, repeat, value, code } of load("strict_json.json").cases) {
  let raw = text;
  if (repeat) raw = repeat.map(([part, times]) => part.repeat(times)).join("");
  let parsed;
  let refused = false;
  try {
    if (base64 !== undefined) {
      raw = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(Buffer.from(base64, "base64"));
    }
    parsed = raw.trim() === "" && code === undefined ? {} : JSON.parse(raw);
  } catch {
    refused = true;
  }
  if (code === undefined) equal(name, canonicalize(parsed), canonicalize(value));
  else if (!LENIENT.has(code)) equal(`${name}: refused`, refused, true);
}

console.log(`${checks - failures} of ${checks} checks passed`);
process.exit(failures === 0 ? 0 : 1);
