import assert from "node:assert/strict";
import { test } from "node:test";
import { NodeWebSocket } from "../../src/node/websocket.js";
import type { Options } from "../../src/options.js";
import { Device } from "../support/device.js";
import { RawConnection, RawServer, serverFrame } from "../support/raw-socket.js";
import { until } from "../support/wait.js";

// What a real server never does: here a script speaks in its place.

const TOKEN = `h.${Buffer.from(JSON.stringify({ sub: "2", exp: 4_000_000_000 })).toString("base64url")}.s`;

/** A connection that takes long on a busy machine makes a client ask by HTTP, where no script answers. */
const NOTHING_BY_HTTP = { pollMs: 60_000, refreshMs: 60_000 };

function snapshot(token: string, unread: number, head: number): unknown {
  const row = {
    conversation_id: "c",
    unread: String(unread),
    mentions: "0",
    head_seq: String(head),
    read_seq: String(head - unread),
    floor_seq: String(head - unread),
    marked_unread: false,
    muted: false,
  };
  return { type: "snapshot", snapshot: { total: String(unread), mentions: "0", conversations: [row] }, token };
}

function entry(version: number, unread: number, head: number): Record<string, unknown> {
  return {
    version: String(version),
    kind: "unread_changed",
    conversation_id: "c",
    head_seq: String(head),
    floor_seq: String(head - unread),
    unread: String(unread),
    mentions: "0",
    marked_unread: false,
    muted: false,
    total_unread: String(unread),
    total_mentions: "0",
  };
}

async function scripted(
  run: (script: {
    device: Device;
    raw: RawServer;
    connection: (at: number) => Promise<RawConnection>;
  }) => Promise<void>,
  options: Partial<Options> = {},
): Promise<void> {
  const raw = await RawServer.start();
  const server = { url: raw.url, token: () => TOKEN };
  const device = new Device(server as never, "2", "tab", {
    token: TOKEN,
    webSocket: NodeWebSocket,
    ...options,
    timings: { ...NOTHING_BY_HTTP, ...options.timings },
  });
  const connection = (at: number): Promise<RawConnection> =>
    until(
      `hello on connection ${at}`,
      () => (raw.connections[at]?.hello === undefined ? undefined : raw.connections[at]),
      () => device.statuses,
    );
  try {
    await run({ device, raw, connection });
  } finally {
    await device.client.close();
    raw.stop();
  }
}

test("the token travels as a subprotocol, and hello asks for a snapshot the first time", () =>
  scripted(async ({ connection }) => {
    const first = await connection(0);
    assert.equal(first.protocols, `readmark.v1, bearer.${TOKEN}`);
    assert.deepEqual(first.received, [{ type: "hello", token: null }]);
  }));

test("frames that mean nothing are ignored and counted, and the connection goes on", () =>
  scripted(async ({ device, connection, raw }) => {
    const first = await connection(0);
    first.say({ type: "ready", token: "e.1" });
    first.say(snapshot("e.1", 1, 5));
    await device.is("live");
    const bad = [
      "",
      "{",
      "null",
      "[]",
      "7",
      '"x"',
      "{}",
      '{"type":"news"}',
      '{"type":"entries"}',
      '{"type":"entries","entries":{},"token":"e.1"}',
      '{"type":"ok","id":"77"}',
      '{"type":"snapshot","snapshot":{},"token":"e.9"}',
      "x".repeat(200_000),
    ];
    bad.forEach((text) => first.text(text));
    first.raw(serverFrame(2, Buffer.from([1, 2, 3])));
    first.say({ type: "entries", entries: [entry(2, 2, 6)], token: "e.2" });
    await device.sees("c", { unread: 2, headSeq: "6" });
    // One more: a ready in answer to a hello that asked for a snapshot.
    assert.equal(device.client.counters.badFrames, bad.length + 2);
    assert.deepEqual([raw.connections.length, device.client.status.state], [1, "live"]);
  }));

test("a message in several frames is one, and a ping in between is answered", () =>
  scripted(async ({ device, connection }) => {
    const first = await connection(0);
    const text = Buffer.from(JSON.stringify(snapshot("e.1", 1, 5)));
    first.raw(serverFrame(1, text.subarray(0, 10), 0x01));
    first.raw(serverFrame(9, Buffer.from("are you there")));
    first.raw(serverFrame(0, text.subarray(10, 20), 0x00));
    const end = serverFrame(0, text.subarray(20));
    for (let i = 0; i < end.length; i += 7) {
      first.raw(end.subarray(i, i + 7));
    }
    await device.sees("c", { unread: 1 });
  }));

test("entries twice, late or of a kind to come change nothing; what is missing is fetched from the last token", () =>
  scripted(async ({ device, connection }) => {
    const first = await connection(0);
    first.say(snapshot("e.10", 1, 5));
    first.say({ type: "entries", entries: [entry(11, 2, 6), entry(12, 3, 7)], token: "e.12" });
    first.say({ type: "entries", entries: [entry(11, 2, 6), entry(12, 9, 99)], token: "e.12" });
    first.say({
      type: "entries",
      entries: [{ version: "13", kind: "from_the_future", x: 1 }, entry(14, 4, 8)],
      token: "e.14",
    });
    await device.sees("c", { unread: 4, headSeq: "8" });
    assert.equal(device.client.counters.oldEntries, 2);
    first.say({ type: "entries", entries: [entry(16, 6, 10)], token: "e.16" });
    const second = await connection(1);
    assert.equal(second.hello?.token, "e.14");
    assert.equal(first.closedWith, 1000);
    assert.equal(device.client.conversation("c")?.headSeq, "8", "nothing after the gap is taken");
    second.say({ type: "ready", token: "e.14" });
    second.say({ type: "entries", entries: [entry(15, 5, 9), entry(16, 6, 10)], token: "e.16" });
    await device.sees("c", { unread: 6, headSeq: "10" });
    assert.deepEqual([device.client.counters.gaps, device.client.counters.badEntries], [1, 0]);
  }));

test("an entry that can't be understood is fetched again, and after the second time everything is", () =>
  scripted(async ({ device, connection }) => {
    (await connection(0)).say(snapshot("e.10", 1, 5));
    for (const [at, token] of [
      [0, null],
      [1, "e.11"],
    ] as const) {
      const now = await connection(at);
      assert.equal(now.hello?.token, token);
      now.say(
        at === 0 ? { type: "entries", entries: [entry(11, 2, 6)], token: "e.11" } : { type: "ready", token: "e.11" },
      );
      now.say({ type: "entries", entries: [{ ...entry(12, 3, 7), unread: "many" }], token: "e.12" });
    }
    const third = await connection(2);
    assert.equal(third.hello?.token, null);
    third.say(snapshot("f.1", 7, 20));
    await device.sees("c", { unread: 7, headSeq: "20" });
    assert.equal(device.client.counters.badEntries, 2);
  }));

test("a snapshot in the middle replaces everything, and the tallies on screen are asked for again", () => {
  const asked: string[] = [];
  return scripted(
    async ({ device, connection }) => {
      device.client.watch([{ conversationId: "c", seq: 3 }]);
      const first = await connection(0);
      first.say(snapshot("e.10", 1, 5));
      await until("the first question", () => asked.length === 1);
      first.say({ type: "entries", entries: [entry(11, 2, 6)], token: "e.11" });
      first.say(snapshot("f.1", 4, 9));
      first.say({ type: "entries", entries: [entry(2, 5, 10)], token: "f.2" });
      await device.sees("c", { unread: 5, headSeq: "10" });
      await until("the second question", () => asked.length === 2);
      assert.equal(device.client.counters.snapshots, 2);
    },
    {
      fetch: async (input) => {
        asked.push(String(input));
        const receipt = {
          conversation_id: "c",
          seq: "3",
          msg_id: "1",
          sender_uid: "2",
          mode: "full",
          recalled: false,
          read: "1",
          total: "2",
          all_read: false,
          version: "0".repeat(32),
        };
        return new Response(JSON.stringify({ receipts: [receipt] }));
      },
    },
  );
});

test("a server that never answers hello is left, and tried again", () =>
  scripted(
    async ({ device, connection }) => {
      const first = await connection(0);
      const second = await connection(1);
      assert.equal(first.closedWith, 1000);
      second.say(snapshot("e.1", 1, 5));
      await device.is("live");
      assert.ok(device.statuses.some(({ state, reason }) => state === "waiting" && reason.includes("did not answer")));
    },
    { timings: { openMs: 1_000 } },
  ));

test("a connection that went dead is found out by a ping, at once when the machine wakes up", () =>
  scripted(
    async ({ device, connection }) => {
      const first = await connection(0);
      first.say(snapshot("e.1", 1, 5));
      await until("a ping", () => first.received.some((frame) => frame.type === "ping"));
      first.say({ type: "pong" });
      await until("another ping", () => first.received.filter((frame) => frame.type === "ping").length >= 2);
      const second = await connection(1);
      assert.equal(second.hello?.token, "e.1", "it goes on where it was");
      second.say({ type: "ready", token: "e.1" });
      await device.is("live");
    },
    { timings: { heartbeatMs: 50, pongMs: 1_000 } },
  ));

test("a clock that is set back by an hour stops no heartbeat", (context) =>
  scripted(
    async ({ device, connection }) => {
      (await connection(0)).say(snapshot("e.1", 1, 5));
      await device.is("live");
      const now = Date.now;
      context.after(() => (Date.now = now));
      Date.now = () => now() - 3_600_000;
      await connection(1);
    },
    { timings: { heartbeatMs: 50, pongMs: 50 } },
  ));

test("each close code is met as it asks for", () => {
  const reasons: string[] = [];
  return scripted(
    async ({ device, connection }) => {
      (await connection(0)).close(4001);
      assert.equal(((await connection(1)).say(snapshot("e.1", 1, 5)), await device.is("live")), true);
      assert.deepEqual(reasons, ["first", "refused"], "an expired token is exchanged");
      (await connection(1)).close(1013);
      (await connection(2)).close(4002);
      const last = await connection(3);
      last.close(4003);
      await until("patience", () => (device.client.status.retryAtMs ?? 0) - Date.now() > 50_000);
      assert.match(device.client.status.reason, /too many connections/);
    },
    {
      token: (reason) => {
        reasons.push(reason);
        return TOKEN;
      },
    },
  );
});

test("bytes that are no WebSocket end the connection, and nothing else", () =>
  scripted(
    async ({ connection }) => {
      (await connection(0)).raw(serverFrame(1, Buffer.from("{}"), 0xf1));
      (await connection(1)).raw(Buffer.from([0x81, 0x85, 1, 2, 3, 4, 5, 6, 7, 8, 9]));
      (await connection(2)).raw(Buffer.from([0x81, 127, 0xff, 0, 0, 0, 0, 0, 0, 0]));
      await connection(3);
    },
    { timings: { openMs: 60_000 } },
  ));

test("what a connection that ends has not answered goes by HTTP", async () => {
  const posted: string[] = [];
  await scripted(
    async ({ device, connection }) => {
      const first = await connection(0);
      first.say(snapshot("e.1", 5, 5));
      await device.is("live");
      device.client.markRead("c", 3);
      await until("the frame", () => first.received.some((frame) => frame.type === "read"));
      first.close(1012);
      await until("the request", () => posted.length === 1);
      assert.ok(posted[0]?.endsWith("/v1/conversations/c/read"));
      await until("the answer", () => device.client.counters.accepted === 1);
    },
    {
      fetch: async (input) => {
        posted.push(String(input));
        return new Response(JSON.stringify({ read_seq: "3" }), { status: 202 });
      },
    },
  );
});

test("answers over the connection mean what they mean by HTTP", () =>
  scripted(async ({ device, connection }) => {
    const first = await connection(0);
    first.say(snapshot("e.1", 5, 5));
    await device.is("live");
    let asked = 1;
    const answer = async (what: Record<string, unknown>): Promise<unknown> => {
      const frame = (await until("a request", () => first.received[asked])) as { readonly id?: string };
      asked += 1;
      first.say({ ...what, id: frame.id });
      return frame;
    };
    device.client.markRead("c", 4);
    const problem = { type: "error", detail: "" };
    await answer({ ...problem, status: 409, problem: "seq-beyond-head", items: [{ index: 0, detail: "" }] });
    await answer({ ...problem, status: 503, problem: "unavailable", retry_after_s: 0 });
    const last = await answer({ type: "ok", read_seq: "4" });
    assert.deepEqual({ ...(last as object), id: "" }, { type: "read", id: "", conversation_id: "c", up_to_seq: "4" });
    await until("the answer", () => device.client.counters.accepted === 1);
    device.client.ack([{ conversationId: "c", seq: 5, senderUid: 7 }]);
    await answer({ ...problem, status: 403, problem: "not-a-member" });
    await until("the refusal", () => device.dropped.length === 1);
    assert.deepEqual([device.dropped[0]?.reason, device.dropped[0]?.seqs], ["not-a-member", ["5"]]);
    assert.equal(device.client.counters.badFrames, 0);
  }));

test("an application that gives no token is asked again, and its queue stays", async () => {
  let fails = 2;
  await scripted(
    async ({ device, connection }) => {
      device.client.markRead("c", 3);
      await connection(0);
      assert.equal(fails, 0);
      assert.ok(device.statuses.some(({ reason }) => reason.includes("no token was given")));
      assert.deepEqual(device.dropped, []);
    },
    {
      token: async () => {
        if (fails > 0) {
          fails -= 1;
          throw new Error("the login service is away");
        }
        return TOKEN;
      },
    },
  );
});

test("another user's token is never used", () =>
  scripted(
    async ({ device, raw }) => {
      await until("a refusal", () =>
        device.statuses.some(({ reason }) => reason.includes("of user 2 was given for user 3")),
      );
      assert.equal(raw.connections.length, 0);
    },
    { uid: 3 },
  ));
