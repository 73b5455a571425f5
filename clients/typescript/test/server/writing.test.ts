import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileStorage } from "../../src/node/file-storage.js";
import { memoryStorage } from "../../src/io/storage.js";
import { TestPage, withDevices } from "../support/device.js";
import { TestServer } from "../support/server.js";
import { until } from "../support/wait.js";

// Marks and acks: merged, kept while nobody answers, sent once, given up only when the server says so.

let server: TestServer;

before(async () => {
  server = await TestServer.start();
});

after(() => server.remove());

test("many marks within 200 ms are one request, and the dot is out before it is answered", async () => {
  await server.conversation("w1", "1", "2");
  await server.messages("w1", "1", 1, 9);
  await withDevices(async (device) => {
    const reader = device(server, "2", "phone");
    await reader.sees("w1", { unread: 9 });
    for (const seq of [3, 9, "7", 8n]) {
      reader.client.markRead("w1", seq);
    }
    assert.deepEqual(
      { ...reader.client.conversation("w1"), readSeq: "", floorSeq: "" },
      {
        conversationId: "w1",
        unread: 0,
        mentions: 0,
        headSeq: "9",
        readSeq: "",
        floorSeq: "",
        markedUnread: false,
        muted: false,
        pending: true,
      },
    );
    assert.equal(reader.client.picture.total, 0);
    await reader.sees("w1", { unread: 0, readSeq: "9", pending: false });
    assert.equal(reader.client.counters.writes, 1);
    reader.client.markRead("w1", 9);
    reader.client.markRead("w1", 4);
    assert.equal(await reader.client.flush(), 0);
    assert.equal(reader.client.counters.writes, 1, "what an accepted mark covers is not sent again");
  });
});

test("acks make receipts of the messages named and of no others; a mark makes those below, too", async () => {
  await server.conversation("w2", "1", "2");
  await server.messages("w2", "1", 1, 3);
  await withDevices(async (device) => {
    const [sender, reader] = [device(server, "1", "pc"), device(server, "2", "phone")];
    sender.client.watch([1, 2, 3].map((seq) => ({ conversationId: "w2", seq })));
    reader.client.ack([
      { conversationId: "w2", seq: 3, senderUid: 1 },
      { conversationId: "w2", seq: 3 },
    ]);
    assert.equal(await reader.client.flush(), 0);
    await reader.sees("w2", { unread: 0, readSeq: "3" });
    await until("the tally of 3", async () =>
      (await sender.client.receipts([{ conversationId: "w2", seq: 3 }])).some((one) => "read" in one && one.read === 1),
    );
    const [first] = await sender.client.receipts([{ conversationId: "w2", seq: 1 }]);
    assert.ok(first !== undefined && "read" in first && first.read === 0, "1 was not acked");
    reader.client.markRead("w2", 3);
    await reader.client.flush();
    await until("the tally of 1", async () =>
      (await sender.client.receipts([{ conversationId: "w2", seq: 1 }])).some((one) => "read" in one && one.read === 1),
    );
    assert.deepEqual(reader.dropped, []);
  });
});

test("what is read while the server is away is shown, kept, and sent once when it is back", async () => {
  await server.conversation("w3", "1", "2");
  await server.messages("w3", "1", 1, 5);
  await withDevices(async (device) => {
    const reader = device(server, "2", "phone");
    await reader.sees("w3", { unread: 5 });
    await server.kill();
    await reader.stale(true);
    reader.client.markRead("w3", 2);
    reader.client.markRead("w3", 4);
    await reader.sees("w3", { unread: 1, pending: true });
    assert.equal(await reader.client.flush(), 1, "one conversation waits");
    await server.up();
    await reader.sees("w3", { unread: 1, readSeq: "4", pending: false });
    assert.equal(reader.client.counters.accepted, 1, "two marks, one request that was accepted");
    assert.deepEqual(reader.dropped, []);
    await server.messages("w3", "1", 6);
    await reader.sees("w3", { unread: 2, readSeq: "4" });
  });
});

test("what one life of the application did not send, the next one sends", async () => {
  await server.conversation("w4", "1", "2");
  await server.messages("w4", "1", 1, 5);
  const folder = mkdtempSync(join(tmpdir(), "readmark-kept-"));
  try {
    await withDevices(async (device) => {
      const first = device(server, "2", "phone", { storage: fileStorage(folder) });
      await first.sees("w4", { unread: 5 });
      await server.kill();
      await first.stale(true);
      first.client.markRead("w4", 3);
      first.client.ack([{ conversationId: "w4", seq: 5, senderUid: 1 }]);
      await first.client.close();
      const second = device(server, "2", "phone", { storage: fileStorage(folder), uid: "2" });
      const seen = await second.sees("w4", { pending: true });
      assert.equal(seen.unread, 0, "the last picture, with the waiting marks counted in");
      assert.equal(second.client.picture.stale, true);
      await server.up();
      await second.sees("w4", { unread: 0, readSeq: "5", pending: false });
      assert.equal(await second.client.flush(), 0);
      const third = device(server, "2", "phone", { storage: fileStorage(folder) });
      await third.sees("w4", { unread: 0, pending: false });
      assert.equal(await third.client.flush(), 0);
      assert.equal(third.client.counters.writes, 0, "nothing was left to send");
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test("two tabs share one storage, and neither takes away what the other waits for", async () => {
  await server.conversation("w5", "1", "2");
  await server.conversation("w6", "1", "2");
  await server.messages("w5", "1", 1, 5);
  await server.messages("w6", "1", 1, 5);
  const storage = memoryStorage();
  await withDevices(async (device) => {
    const tabs = [device(server, "2", "tab", { storage }), device(server, "2", "tab", { storage })] as const;
    await tabs[0].sees("w5", { unread: 5 });
    await tabs[1].sees("w6", { unread: 5 });
    await server.kill();
    await tabs[0].stale(true);
    await tabs[1].stale(true);
    tabs[0].client.markRead("w5", 5);
    tabs[1].client.markRead("w6", 5);
    await Promise.all(tabs.map((tab) => tab.client.close()));
    await server.up();
    const next = device(server, "2", "tab", { storage });
    await next.sees("w5", { readSeq: "5", pending: false });
    await next.sees("w6", { readSeq: "5", pending: false });
  });
});

test("a mark that comes before its message waits for it", async () => {
  await server.conversation("w7", "1", "2");
  await server.messages("w7", "1", 1);
  await withDevices(async (device) => {
    const reader = device(server, "2", "phone");
    await reader.sees("w7", { unread: 1 });
    reader.client.markRead("w7", 2);
    reader.client.ack([{ conversationId: "w7", seq: 3 }]);
    await until("a refusal", () => reader.client.counters.writes >= 2);
    await server.messages("w7", "1", 2, 3);
    await reader.sees("w7", { readSeq: "3", unread: 0, pending: false });
    assert.deepEqual(reader.dropped, []);
  });
});

test("what the server will never take is given up, said, and not shown any more", async () => {
  await server.conversation("w8", "1", "2");
  await server.conversation("w9", "1");
  await server.messages("w8", "1", 1, 2);
  await server.messages("w9", "1", 1);
  await withDevices(async (device) => {
    const reader = device(server, "2", "phone");
    await reader.sees("w8", { unread: 2 });
    reader.client.markRead("w9", 1);
    await until(
      "w9 to be given up",
      () => reader.dropped.length === 1,
      () => reader.dropped,
    );
    reader.client.ack([
      { conversationId: "w8", seq: 1, senderUid: 5 },
      { conversationId: "w8", seq: 2, senderUid: 1 },
    ]);
    await until(
      "the wrong sender to be given up",
      () => reader.dropped.length === 2,
      () => reader.dropped,
    );
    assert.deepEqual(
      reader.dropped.map(({ conversationId, kind, seqs, reason }) => [conversationId, kind, seqs, reason]),
      [
        ["w9", "read", ["1"], "not-a-member"],
        ["w8", "ack", ["1"], "malformed"],
      ],
    );
    await reader.sees("w8", { readSeq: "2", pending: false });
    await server.events({ type: "conversation_closed", conversation_id: "w8", closed: true });
    await server.messages("w8", "1", 3);
    await until(
      "the closing to hold",
      async () => {
        reader.client.markRead("w8", 3);
        await reader.client.flush();
        return reader.dropped.some((one) => one.reason === "conversation-closed");
      },
      () => reader.dropped,
    );
  });
});

test("a clear, a flag set by hand and a muted conversation reach the server", async () => {
  await server.conversation("w10", "1", "2");
  await server.messages("w10", "1", 1, 4);
  await withDevices(async (device) => {
    const reader = device(server, "2", "phone");
    await reader.sees("w10", { unread: 4 });
    await reader.client.clear("w10");
    await reader.sees("w10", { unread: 0, floorSeq: "4", readSeq: "0", pending: false });
    await server.messages("w10", "1", 5);
    await reader.sees("w10", { unread: 1 });
    await reader.client.mute("w10", true);
    await reader.sees("w10", { muted: true, unread: 1 });
    await reader.client.mute("w10", false);
    await reader.sees("w10", { muted: false });
    await reader.client.clear("w10", 5);
    await reader.sees("w10", { unread: 0, floorSeq: "5" });
    await reader.client.unreadMark("w10", true);
    await reader.sees("w10", { markedUnread: true });
    reader.client.markRead("w10", 5);
    await reader.sees("w10", { markedUnread: false, readSeq: "5" });
  });
});

test("receipts can be switched off and on", async () => {
  await server.conversation("w11", "1", "2");
  await withDevices(async (device) => {
    const [sender, reader] = [device(server, "1", "pc"), device(server, "2", "phone")];
    await reader.client.settings({ receipts: false });
    await until("nobody to count", async () => {
      await server.messages("w11", "1", 1);
      const [one] = await sender.client.receipts([{ conversationId: "w11", seq: 1 }]);
      return one !== undefined && "total" in one && one.total === 0;
    });
    await reader.client.settings({ receipts: true });
  });
});

test("names come in pages, in order, and are refused to others than the sender", async () => {
  await server.conversation("w12", "1", "2", "3", "4", "5");
  await server.messages("w12", "1", 1);
  await withDevices(async (device) => {
    const [sender, reader] = [device(server, "1", "pc"), device(server, "4", "phone")];
    reader.client.markRead("w12", 1);
    await reader.client.flush();
    const message = { conversationId: "w12", seq: 1 };
    const readers = await until("a reader", async () => {
      const page = await sender.client.readers(message);
      return page.read === 1 ? page : undefined;
    });
    assert.deepEqual([readers.uids, readers.next, readers.total], [["4"], null, 4]);
    const first = await sender.client.unreadMembers(message, { limit: 2 });
    assert.deepEqual(first.uids, ["2", "3"]);
    const last = await sender.client.unreadMembers(message, { limit: 2, cursor: first.next ?? "" });
    assert.deepEqual([last.uids, last.next], [["5"], null]);
    await assert.rejects(reader.client.readers(message), {
      name: "ReadmarkError",
      status: 403,
      code: "names-for-sender-only",
    });
    const mixed = await sender.client.receipts([
      message,
      { conversationId: "w12", seq: 9 },
      { conversationId: "nowhere", seq: 1 },
    ]);
    assert.deepEqual(
      mixed.map((one) => ("error" in one ? one.error : one.read)),
      [1, "not_found", "not_found"],
    );
  });
});

test("when the page hides what waits is sent at once, in requests that outlive the page", async () => {
  await server.conversation("w13", "1", "2");
  await server.messages("w13", "1", 1, 3);
  const page = new TestPage();
  const outliving: string[] = [];
  await withDevices(async (device) => {
    const reader = device(server, "2", "tab", {
      lifecycle: page,
      timings: { mergeMs: 60_000 },
      fetch: (input, init) => {
        if (init?.keepalive === true) {
          outliving.push(String(input));
        }
        return fetch(input, init);
      },
    });
    await reader.sees("w13", { unread: 3 });
    reader.client.markRead("w13", 2);
    // A page that goes away hides first, and says both.
    page.do("hide");
    page.do("hide");
    await until("the mark to be on its way", () => outliving.length === 1);
    assert.ok(outliving[0]?.endsWith("/v1/conversations/w13/read"));
    page.do("show");
    await reader.sees("w13", { unread: 1, readSeq: "2", pending: false });
    assert.equal(reader.client.counters.writes, 1, "the answer counts: nothing is sent again");
  });
});

test("a storage that fails stops nothing and is counted; one that answers later works as well", async () => {
  await server.conversation("w14", "1", "2");
  await server.messages("w14", "1", 1, 2);
  const broken = {
    getItem: () => {
      throw new Error("forbidden");
    },
    setItem: () => {
      throw new Error("full");
    },
    removeItem: () => undefined,
  };
  const texts = new Map<string, string>();
  const slow = {
    getItem: (key: string) =>
      new Promise<string | null>((resolve) => setTimeout(() => resolve(texts.get(key) ?? null), 5)),
    setItem: async (key: string, text: string) => void texts.set(key, text),
    removeItem: async (key: string) => void texts.delete(key),
  };
  await withDevices(async (device) => {
    const first = device(server, "2", "tab", { storage: broken });
    await first.sees("w14", { unread: 2 });
    first.client.markRead("w14", 1);
    await first.sees("w14", { readSeq: "1", pending: false });
    assert.ok(first.client.counters.storageFailures > 0);
    const second = device(server, "2", "tab", { storage: slow });
    await second.sees("w14", { unread: 1 });
    second.client.markRead("w14", 2);
    await second.sees("w14", { readSeq: "2", pending: false });
    await second.client.close();
    await until(
      "the queue to be empty and the picture kept",
      () => [...texts.keys()].every((key) => key.endsWith("/picture")) && texts.size === 1,
      () => [...texts],
    );
    assert.equal(second.client.counters.storageFailures, 0);
    const third = device(server, "2", "tab", { storage: slow });
    await third.sees("w14", { readSeq: "2" });
    await third.client.close({ forget: true });
    await until(
      "nothing to be kept",
      () => texts.size === 0,
      () => [...texts],
    );
  });
});

test("a server that says when to come back is not asked before", async () => {
  const strict = await TestServer.start({ READMARK_HTTP__USER_REQUESTS_PER_S: "1", READMARK_HTTP__USER_BURST: "2" });
  try {
    await strict.conversation("w15", "1", "2");
    for (let i = 0; i < 6; i += 1) {
      await strict.conversation(`w15-${i}`, "1", "2");
      await strict.messages(`w15-${i}`, "1", 1);
    }
    await withDevices(async (device) => {
      const reader = device(strict, "2", "phone", { timings: { pollMs: 10_000, refreshMs: 5_000 } });
      await reader.sees("w15-5", { unread: 1 });
      for (let i = 0; i < 6; i += 1) {
        reader.client.markRead(`w15-${i}`, 1);
      }
      await until(
        "everything to be accepted",
        async () => (await reader.client.flush()) === 0,
        () => reader.client.counters,
      );
      assert.ok(reader.client.counters.writes < 30, `${reader.client.counters.writes} requests for 6 marks`);
      assert.deepEqual(reader.dropped, []);
    });
  } finally {
    await strict.remove();
  }
});
