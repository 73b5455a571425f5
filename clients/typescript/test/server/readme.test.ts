import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { TestServer } from "../support/server.js";
import { until } from "../support/wait.js";

// The examples of README.md, in their order, as one program on the built package. A comment `<!-- then: … -->` behind
// an example says what must come true then.

/** What the page takes from the reader's own application, and what the examples expect to be there. */
const PRELUDE = `
import { connect as readerOf } from "readmark";
const { url, tokens, until, ends } = /** @type {any} */ (globalThis).readme;
const getToken = () => /** @type {string} */ (tokens.reader());
const sender = readerOf({ url, token: () => tokens.sender() });
/** @type {Map<string, number>} */ const dots = new Map();
/** @type {{ total?: number, colour?: string }} */ const badge = {};
/** @type {Map<string, string>} */ const tallies = new Map();
/** @type {(total: number, colour: string) => void} */
const showBadge = (total, colour) => void Object.assign(badge, { total, colour });
/** @type {(id: string, unread: number) => void} */ const showDot = (id, unread) => void dots.set(id, unread);
/** @type {(seq: string, text: string) => void} */ const showTally = (seq, text) => void tallies.set(seq, text);
/** @type {(id: string, seq: string) => void} */ const closeNotifications = (_id, _seq) => undefined;
/** @type {(...what: unknown[]) => void} */ const quiet = (..._what) => undefined;
const console = { log: quiet, warn: quiet };
`;

function program(page: string): { text: string; examples: number; checks: number } {
  const parts = page.matchAll(/```js\n(.*?)```|<!-- then: (.*?) -->/gs);
  let text = PRELUDE;
  let [examples, checks] = [0, 0];
  for (const [, example, check] of parts) {
    if (example !== undefined) {
      examples += 1;
      text += example.replaceAll('"https://receipts.example"', "url");
      text += examples === 1 ? "ends.push(client, sender);\n" : "";
    } else if (check !== undefined) {
      checks += 1;
      text += `await until(${JSON.stringify(check)}, () => (${check}));\n`;
    }
  }
  return { text, examples, checks };
}

let server: TestServer;

before(async () => {
  server = await TestServer.start();
  await server.conversation("lunch", "7", "8", "9");
  await server.messages("lunch", "7", 1, 2);
});

const ends: { close(): Promise<void> }[] = [];

after(async () => {
  await Promise.all(ends.map((client) => client.close()));
  await server.remove();
});

test("the examples of the README have right types and do what the page says", async () => {
  const { text, examples, checks } = program(readFileSync("README.md", "utf8"));
  assert.ok(examples >= 10 && checks >= 7, `${examples} examples, ${checks} checks`);
  writeFileSync("build/readme.mjs", text);
  execFileSync(
    process.execPath,
    [
      "node_modules/typescript/bin/tsc",
      "--ignoreConfig",
      "--noEmit",
      "--allowJs",
      "--checkJs",
      "--strict",
      "--module",
      "nodenext",
      "--target",
      "es2022",
      "--lib",
      "es2022,dom",
      "--types",
      "node",
      "build/readme.mjs",
    ],
    { stdio: "inherit" },
  );
  const tokens = { reader: () => server.token("8", "phone"), sender: () => server.token("7", "laptop") };
  // The third message comes when the page acks it.
  const withThird = async (what: string, look: () => boolean): Promise<void> => {
    if (what.includes("accepted >= 2")) {
      await server.messages("lunch", "7", 3);
    }
    await until(what, look);
  };
  Object.assign(globalThis, { readme: { url: server.url, tokens, until: withThird, ends } });
  await import(pathToFileURL("build/readme.mjs").href);
});
