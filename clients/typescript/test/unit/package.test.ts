import assert from "node:assert/strict";
import { test } from "node:test";

// The package as it is built, under the names that others import it by.

const NAMES = ["ReadmarkError", "compareSeq", "connect", "memoryStorage", "withReaders"];

test("every entry of the package gives the same, and the one for Node a little more", async () => {
  const entries = new Map<string, string[]>();
  for (const name of ["readmark", "readmark/node", "readmark/min"]) {
    entries.set(name, Object.keys((await import(name)) as object).sort());
  }
  const forNode = [...NAMES, "NodeWebSocket", "fileStorage"].sort();
  assert.deepEqual(Object.fromEntries(entries), {
    readmark: forNode,
    "readmark/node": forNode,
    "readmark/min": [...NAMES].sort(),
  });
});
