import { spawn, type ChildProcess } from "node:child_process";
import { createHmac } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Gate } from "./gate.js";
import { until } from "./wait.js";

/** The program under test: `READMARK_BIN`, else the workspace's own debug build. */
function program(): string {
  return process.env["READMARK_BIN"] ?? join(process.cwd(), "../../target/debug/readmark");
}

/** How long the tests' tokens are good, in seconds, where nothing else is said. */
const TOKEN_S = 3_600;

/** Lines of the server's output that a failed start shows. */
const TAIL = 40;

/** Servers that run; none outlives this process, however it ends. */
const running = new Map<ChildProcess, string>();

process.once("exit", () => {
  for (const [child, folder] of running) {
    child.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  }
});
for (const signal of ["SIGTERM", "SIGINT"] as const) {
  process.once(signal, () => process.exit(1));
}

/** An event of the IM backend. */
export type ImEvent = { readonly type: string } & Readonly<Record<string, unknown>>;

/** A running `readmark up` on a data directory of its own, behind a gate. */
export class TestServer {
  readonly gate = new Gate();
  readonly #folder = mkdtempSync(join(tmpdir(), "readmark-sdk-"));
  readonly #env: Readonly<Record<string, string>>;
  #child: ChildProcess | undefined;
  #secret: Buffer = Buffer.alloc(0);
  #output: string[] = [];

  private constructor(env: Readonly<Record<string, string>>) {
    this.#env = env;
  }

  /** Starts one, and waits until it is ready. */
  static async start(env: Readonly<Record<string, string>> = {}): Promise<TestServer> {
    const server = new TestServer(env);
    await server.gate.open();
    await server.up();
    return server;
  }

  /** What clients connect to; it stays when the server is started again. */
  get url(): string {
    return `http://127.0.0.1:${this.gate.port}`;
  }

  /** Where it listens now, past the gate: for what the test itself asks. */
  get direct(): string {
    const { target } = this.gate;
    if (target === undefined) {
      throw new Error("readmark is down");
    }
    return `http://${target.host}:${target.port}`;
  }

  /** Starts it (again) on its data. */
  async up(): Promise<void> {
    const listen = join(this.#folder, "listen");
    rmSync(listen, { force: true });
    const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith("READMARK_"));
    const child = spawn(program(), ["up", "--listen", "127.0.0.1:0", "--data-dir", this.#folder], {
      env: { ...Object.fromEntries(inherited), ...this.#env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#child = child;
    running.set(child, this.#folder);
    child.once("exit", () => running.delete(child));
    for (const pipe of [child.stdout, child.stderr]) {
      pipe.setEncoding("utf8").on("data", (text: string) => {
        this.#output = [...this.#output, ...text.split("\n")].slice(-TAIL);
      });
    }
    const target = await until(
      "readmark to be ready",
      async () => {
        if (child.exitCode !== null) {
          throw new Error(`readmark ended with ${child.exitCode}:\n${this.#output.join("\n")}`);
        }
        return (await answers(listen)) ?? undefined;
      },
      () => this.#output,
    );
    this.#secret = readFileSync(join(this.#folder, "secret"));
    this.gate.target = target;
  }

  /** Ends it as a crash would. */
  async kill(signal: "SIGKILL" | "SIGTERM" = "SIGKILL"): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null) {
      return;
    }
    const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
    child.kill(signal);
    await ended;
    this.gate.target = undefined;
    this.#child = undefined;
  }

  /** Ends it, and removes its data. */
  async remove(): Promise<void> {
    await this.kill();
    this.gate.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** A token with these claims. */
  sign(claims: Readonly<Record<string, unknown>>): string {
    const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");
    const text = `${part({ alg: "HS256", typ: "JWT" })}.${part(claims)}`;
    const secret = this.#secret.toString().trim();
    return `${text}.${createHmac("sha256", secret).update(text).digest("base64url")}`;
  }

  /** A user's token on a device. */
  token(uid: string, endpoint: string, ttlS = TOKEN_S): string {
    return this.sign({ sub: uid, scope: "user", endpoint, exp: Math.floor(Date.now() / 1_000) + ttlS });
  }

  /** Hands in events as the IM backend does. They get the time, each its own. */
  async events(...events: readonly ImEvent[]): Promise<void> {
    const now = Date.now() - events.length;
    const token = this.sign({ sub: "0", scope: "service", exp: Math.floor(Date.now() / 1_000) + TOKEN_S });
    const response = await fetch(`${this.direct}/v1/events`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}` },
      body: JSON.stringify({ events: events.map((event, i) => ({ occurred_at: String(now + i), ...event })) }),
    });
    if (response.status !== 202) {
      throw new Error(`events were answered ${response.status}: ${await response.text()}`);
    }
  }

  /** A conversation with these members. */
  async conversation(id: string, ...uids: readonly string[]): Promise<void> {
    await this.events(...uids.map((uid) => ({ type: "member_joined", conversation_id: id, uid, at_seq: "0" })));
  }

  /** Messages `from` to `to` of a sender. */
  async messages(id: string, sender: string, from: number, to = from): Promise<void> {
    const seqs = Array.from({ length: to - from + 1 }, (_, i) => from + i);
    await this.events(
      ...seqs.map((seq) => ({
        type: "message_sent",
        conversation_id: id,
        seq: String(seq),
        msg_id: String(seq + 900),
        sender_uid: sender,
      })),
    );
  }
}

async function answers(listen: string): Promise<{ host: string; port: number } | undefined> {
  try {
    const [host, port] = readFileSync(listen, "utf8").trim().split(":") as [string, string];
    const response = await fetch(`http://${host}:${port}/readyz`);
    return response.status === 200 ? { host, port: Number(port) } : undefined;
  } catch {
    return undefined;
  }
}
