// The demo page, as a person uses it: in a real browser, beside a real server that is killed and started again.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { chromium } from "playwright-core";

const DEADLINE_MS = 30_000;
const SCREENSHOTS = new URL("../../../target/demo-screenshots/", import.meta.url).pathname;
const LOOKS = [
  { name: "light-wide", colorScheme: "light", viewport: { width: 1280, height: 860 } },
  { name: "dark-wide", colorScheme: "dark", viewport: { width: 1280, height: 860 } },
  { name: "light-narrow", colorScheme: "light", viewport: { width: 360, height: 1500 } },
  { name: "dark-narrow", colorScheme: "dark", viewport: { width: 390, height: 1500 } },
];

/** Asks again until the answer is the one that is right; fails with what was seen last. */
async function until(what, read, right) {
  const deadline = Date.now() + DEADLINE_MS;
  for (;;) {
    const seen = await read();
    if (JSON.stringify(seen) === JSON.stringify(right)) return;
    if (Date.now() > deadline) assert.deepEqual(seen, right, `waited ${DEADLINE_MS} ms for: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** A port that is free now, for a server that must come back to it. */
function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer().once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

class Server {
  constructor(port) {
    this.folder = mkdtempSync(join(tmpdir(), "readmark-demo-"));
    this.listen = `127.0.0.1:${port}`;
    this.url = `http://${this.listen}`;
  }

  async up() {
    const env = Object.entries(process.env).filter(([name]) => !name.startsWith("READMARK_"));
    const words = ["up", "--listen", this.listen, "--data-dir", this.folder];
    this.child = spawn(process.env.READMARK_BIN, words, { env: Object.fromEntries(env), stdio: "ignore" });
    const ready = () => fetch(`${this.url}/readyz`).then((answer) => answer.status, () => 0);
    await until("readmark to be ready", ready, 200);
  }

  async kill() {
    const ended = new Promise((resolve) => this.child.once("exit", resolve));
    this.child.kill("SIGKILL");
    await ended;
  }
}

let server, browser;
before(async () => {
  mkdirSync(SCREENSHOTS, { recursive: true });
  server = new Server(await freePort());
  await server.up();
  browser = await chromium.launch({
    executablePath: process.env.READMARK_TEST_BROWSER,
    args: ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
      "--disable-component-update", "--disable-sync"],
  });
});
after(async () => {
  await browser?.close();
  await server?.kill();
  rmSync(server.folder, { recursive: true, force: true });
});

/** The page, and what is seen on it. */
class Page {
  static async open(look, path = "/demo/") {
    const context = await browser.newContext({ colorScheme: look.colorScheme, viewport: look.viewport });
    const page = await context.newPage();
    const faults = [];
    page.on("pageerror", (error) => faults.push(error.message));
    page.on("console", (message) => {
      // While the server is away, or was killed with a request on its way, a browser says so by itself.
      const isAway = /ERR_CONNECTION_REFUSED|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE|WebSocket connection/;
      if (message.type() === "error" && !isAway.test(message.text())) {
        faults.push(message.text());
      }
    });
    await page.goto(server.url + path);
    return new Page(page, faults);
  }

  constructor(page, faults) {
    this.page = page;
    this.faults = faults;
  }

  states = () => this.page.locator(".state").allTextContents();
  badges = () => this.page.locator(".badge").allTextContents();
  tallies = () => this.page.locator(".tally").allTextContents();
  names = async () => (await this.page.locator(".names").textContent()).trim();
  window = (name) => this.page.locator(`section.window[aria-label="${name}"]`);
  press = (name) => this.page.getByRole("button", { name, exact: true }).click();
  shot = (name) => this.page.screenshot({ path: join(SCREENSHOTS, `${name}.png`) });

  async done() {
    assert.deepEqual(this.faults, []);
    await this.page.context().close();
  }
}

test("N/M rises, the other device's dot goes out, a recall, a leave, a clear, a crash", async () => {
  const page = await Page.open(LOOKS[0]);
  const phone = page.window("Bob's phone"), laptop = page.window("Bob's laptop");
  await until("three clients to be live", page.states, ["live", "live", "live"]);
  await page.press("Send five");
  await until("five unread on both devices", page.badges, ["0", "5", "5"]);
  await until("nobody has read", page.tallies, Array(5).fill("read by 0 of 2"));
  await until("both are named", page.names, "Not read message 5: Bob, Cleo");

  await phone.getByRole("button", { name: "Message 3" }).click();
  await until("two are left, on the other device too", page.badges, ["0", "2", "2"]);
  await until("three are read", page.tallies, [...Array(3).fill("read by 1 of 2"), ...Array(2).fill("read by 0 of 2")]);
  assert.equal(await laptop.locator(".new-line + li").textContent(), "Message 4", "the line of what is new");

  await laptop.getByRole("button", { name: "Read all" }).click();
  await until("no dot anywhere", page.badges, ["0", "0", "0"]);
  await until("the list shrinks", page.names, "Not read message 5: Cleo");
  await page.press("Cleo leaves");
  await until("who left is in neither number", page.tallies, Array(5).fill("read by all 1"));
  await until("nobody is missing", page.names, "Everybody has read message 5");

  await page.press("Send a message");
  await until("one unread", page.badges, ["0", "1", "1"]);
  await page.press("Recall the newest");
  await until("a recalled message is unread for nobody", page.badges, ["0", "0", "0"]);
  await until("and has no tally", async () => (await page.tallies()).at(-1), "recalled");

  await page.press("Send five");
  await until("five more", page.badges, ["0", "5", "5"]);
  await phone.getByRole("button", { name: "Clear" }).click();
  await until("cleared on both devices", page.badges, ["0", "0", "0"]);
  await until("and nobody is told that it was read", async () => (await page.tallies()).at(-1), "read by 0 of 1");

  await page.press("Send a message");
  await until("one unread before the crash", page.badges, ["0", "1", "1"]);
  await server.kill();
  await until("all say that the server is away", page.states, ["offline", "offline", "offline"]);
  assert.deepEqual(await page.badges(), ["0", "1", "1"], "what is known is kept");
  await page.shot("light-wide-offline");
  await phone.getByRole("button", { name: "Read all" }).click();
  await server.up();
  await until("all are live again", page.states, ["live", "live", "live"]);
  await until("what was read meanwhile has been sent", page.badges, ["0", "0", "0"]);
  await until("and counts", async () => (await page.tallies()).at(-1), "read by all 1");
  await page.done();
});

test("a mark by hand, a muted conversation, receipts off", async () => {
  const page = await Page.open(LOOKS[1]);
  const phone = page.window("Bob's phone");
  await until("three clients to be live", page.states, ["live", "live", "live"]);
  await phone.getByRole("button", { name: "Mark unread" }).click();
  await until("a dot without a number on both devices", page.badges, ["0", "●", "●"]);
  await phone.getByRole("button", { name: "Unmark" }).click();
  await until("no dot", page.badges, ["0", "0", "0"]);
  await phone.getByRole("button", { name: "Mute" }).click();
  await until("muted on the other device too", () => page.window("Bob's laptop").getByRole("button", { name: "Unmute" }).count(), 1);
  await phone.getByRole("button", { name: "Receipts off" }).click();
  await until("it says so", () => phone.getByRole("button", { name: "Receipts on" }).count(), 1);
  await page.press("Send a message");
  await until("Bob is in neither number", page.tallies, ["read by 0 of 1"]);
  await phone.getByRole("button", { name: "Read all" }).click();
  await until("Bob's own dots go out all the same", page.badges, ["0", "0", "0"]);
  assert.deepEqual(await page.tallies(), ["read by 0 of 1"]);
  await page.done();
});

test("a hundred readers, in every look; a reader in a window of its own", async () => {
  for (const look of LOOKS) {
    const page = await Page.open(look);
    await until("three clients to be live", page.states, ["live", "live", "live"]);
    await page.press("Send five");
    await page.press("A hundred readers join and read");
    const total = async () => Number(/of (\d+)$/.exec((await page.tallies()).at(-1) ?? "")?.[1] ?? 0);
    await until("they are counted", total, 102);
    await page.shot(`${look.name}-rising`);
    await until("all hundred have read", async () => (await page.tallies()).at(-1), "read by 100 of 102");
    await until("two are named", page.names, "Not read message 6: Bob, Cleo");
    const widths = await page.page.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth]);
    assert.ok(widths[0] <= widths[1], `${look.name} must not scroll sideways: ${widths}`);
    const alone = await Page.open(look, `/demo/${await page.page.locator("#link-reader").getAttribute("href")}`);
    await until("the window of its own sees the same", alone.badges, ["6"]);
    await alone.press("Read all");
    await until("and its dot goes out here, too", page.badges, ["0", "0", "0"]);
    await page.shot(look.name);
    await alone.done();
    await page.done();
  }
});
