import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { memoryStorage } from "../../src/io/storage.js";
import { TestPage, withDevices } from "../support/device.js";
import { TestServer } from "../support/server.js";
import { until } from "../support/wait.js";

// What happens elsewhere is seen here: on every device, without a gap, and again after any loss.

let server: TestServer;

before(async () => {
  server = await TestServer.start();
});

after(() => server.remove());

test("what is read on one device goes out on the other, which is told that it was not its own doing", async () => {
  await server.conversation("l1", "1", "2");
  await server.messages("l1", "1", 1, 9);
  await withDevices(async (device) => {
    const [phone, pc] = [device(server, "2", "phone"), device(server, "2", "pc")];
    await Promise.all([phone.is("live"), pc.is("live")]);
    await pc.sees("l1", { unread: 9 });
    // Two when the connection took so long that the picture was asked for by HTTP.
    const { snapshots } = phone.client.counters;
    phone.client.markRead("l1", 9);
    await pc.sees("l1", { unread: 0, readSeq: "9" });
    await until(
      "both to be told",
      () => phone.reads.length === 1 && pc.reads.length === 1,
      () => [phone.reads, pc.reads],
    );
    assert.deepEqual(
      [phone.reads, pc.reads].map(([read]) => [read?.readSeq, read?.endpoint, read?.own, read?.unread]),
      [
        ["9", "phone", true, 0],
        ["9", "phone", false, 0],
      ],
    );
    assert.equal(phone.client.counters.snapshots, snapshots, "the read came as an entry");
  });
});

test("the total is of all conversations, whichever an entry is about", async () => {
  await server.conversation("l2a", "1", "3");
  await server.conversation("l2b", "1", "3");
  await server.messages("l2a", "1", 1, 3);
  await server.messages("l2b", "1", 1);
  await withDevices(async (device) => {
    const reader = device(server, "3", "phone");
    await reader.is("live");
    await reader.sees("l2a", { unread: 3 });
    await server.messages("l2b", "1", 2);
    await reader.sees("l2b", { unread: 2 });
    assert.equal(reader.client.picture.total, 5);
    await reader.client.mute("l2a", true);
    await reader.sees("l2a", { muted: true });
    assert.equal(reader.client.picture.total, 2);
  });
});

test("marks that change nothing are told to nobody", async () => {
  await server.conversation("l3", "1", "2");
  await server.messages("l3", "1", 1, 7);
  await withDevices(async (device) => {
    const [phone, pc] = [device(server, "2", "phone"), device(server, "2", "pc")];
    await Promise.all([phone.is("live"), pc.is("live")]);
    phone.client.markRead("l3", 7);
    await pc.sees("l3", { readSeq: "7" });
    const known = pc.reads.length;
    for (const seq of [5, 6, 7]) {
      pc.client.ack([{ conversationId: "l3", seq, senderUid: 1 }]);
      await pc.client.flush();
    }
    await server.messages("l3", "1", 8);
    await pc.sees("l3", { unread: 1, headSeq: "8" });
    assert.equal(pc.reads.length, known);
    assert.deepEqual([pc.client.counters.gaps, pc.client.counters.oldEntries], [0, 0]);
  });
});

test("a flag set by hand is seen everywhere, and a read at the same seq takes it away", async () => {
  await server.conversation("l4", "1", "2");
  await server.messages("l4", "1", 1, 2);
  await withDevices(async (device) => {
    const [phone, pc] = [device(server, "2", "phone"), device(server, "2", "pc")];
    await Promise.all([phone.is("live"), pc.is("live")]);
    phone.client.markRead("l4", 2);
    await pc.sees("l4", { readSeq: "2" });
    await phone.client.unreadMark("l4", true);
    await pc.sees("l4", { markedUnread: true, unread: 0 });
    await phone.sees("l4", { markedUnread: true });
    phone.client.markRead("l4", 2);
    await pc.sees("l4", { markedUnread: false });
  });
});

test("a sender sees its tally rise, complete, and shrink when somebody leaves, without asking", async () => {
  await server.conversation("l5", "1", "2", "3", "4");
  await server.messages("l5", "1", 1);
  await withDevices(async (device) => {
    const sender = device(server, "1", "pc");
    await sender.is("live");
    const stop = sender.client.watch([{ conversationId: "l5", seq: 1 }]);
    await sender.shows("l5", "1", 0, 3);
    assert.equal(sender.client.counters.talliesAsked >= 1, true);
    const asked = sender.client.counters.talliesAsked;
    for (const [i, uid] of ["2", "3"].entries()) {
      const reader = device(server, uid, "phone");
      reader.client.markRead("l5", 1);
      await reader.client.flush();
      const receipt = await sender.shows("l5", "1", i + 1, 3);
      assert.equal(receipt.allRead, false);
    }
    await server.events({ type: "member_left", conversation_id: "l5", uid: "4", at_seq: "1" });
    assert.equal((await sender.shows("l5", "1", 2, 2)).allRead, true);
    const versions = sender.receipts.map((receipt) => receipt.version);
    assert.deepEqual(versions, [...versions].sort(), "a version never falls");
    assert.equal(sender.client.counters.talliesAsked, asked);
    stop();
  });
});

test("an incomplete tally on screen that stays quiet is asked for once", async () => {
  await server.conversation("l6", "1", "2", "3");
  await server.messages("l6", "1", 1);
  await withDevices(async (device) => {
    const sender = device(server, "1", "pc", { timings: { quietTallyMs: 300 } });
    await sender.is("live");
    sender.client.watch([{ conversationId: "l6", seq: 1 }]);
    await sender.shows("l6", "1", 0, 2);
    const asked = sender.client.counters.talliesAsked;
    await until("a question", () => sender.client.counters.talliesAsked === asked + 1);
    // A change begins the quiet time anew, and ends in one more question; none comes without a change.
    const reader = device(server, "2", "phone");
    reader.client.markRead("l6", 1);
    await sender.shows("l6", "1", 1, 2);
    await until("one more", () => sender.client.counters.talliesAsked === asked + 2);
    reader.client.ack([{ conversationId: "l6", seq: 1 }]);
    await reader.client.flush();
    assert.equal(sender.client.counters.talliesAsked, asked + 2);
  });
});

test("a connection that is cut is made again, and what was missed follows without a snapshot", async () => {
  await server.conversation("l7", "1", "2");
  await server.messages("l7", "1", 1);
  await withDevices(async (device) => {
    const reader = device(server, "2", "phone", { timings: { refreshMs: 60_000, pollMs: 60_000 } });
    await reader.is("live");
    await reader.sees("l7", { unread: 1 });
    for (let seq = 2; seq <= 6; seq += 1) {
      server.gate.cut();
      await server.messages("l7", "1", seq);
      await reader.sees("l7", { unread: seq });
    }
    await reader.is("live");
    assert.equal(reader.client.picture.stale, false);
    const { snapshots, gaps, badFrames } = reader.client.counters;
    assert.deepEqual([snapshots, gaps, badFrames], [1, 0, 0]);
  });
});

test("a network that goes silent is found out, and left", async () => {
  await server.conversation("l8", "1", "2");
  await server.messages("l8", "1", 1);
  await withDevices(async (device) => {
    const page = new TestPage();
    const reader = device(server, "2", "phone", {
      lifecycle: page,
      timings: { heartbeatMs: 200, pongMs: 200, openMs: 1_000 },
    });
    await reader.sees("l8", { unread: 1 });
    await reader.is("live");
    server.gate.silence(true);
    await reader.stale(true);
    assert.equal(reader.client.conversation("l8")?.unread, 1, "what was known last is shown");
    server.gate.silence(false);
    server.gate.cut();
    await server.messages("l8", "1", 2);
    page.do("online");
    await reader.sees("l8", { unread: 2 });
    await reader.stale(false);
  });
});

test("after a crash devices get a snapshot and ask again for their tallies, and no watermark has fallen", async () => {
  await server.conversation("l9", "1", "2", "3");
  await server.messages("l9", "1", 1, 50);
  await withDevices(async (device) => {
    const [sender, reader] = [device(server, "1", "pc"), device(server, "2", "phone")];
    await Promise.all([sender.is("live"), reader.is("live")]);
    sender.client.watch([{ conversationId: "l9", seq: 50 }]);
    reader.client.markRead("l9", 50);
    await sender.shows("l9", "50", 1, 2);
    await reader.sees("l9", { readSeq: "50", pending: false });
    const asked = sender.client.counters.talliesAsked;
    await server.kill();
    await Promise.all([sender.stale(true), reader.stale(true)]);
    assert.equal(reader.client.conversation("l9")?.readSeq, "50");
    await server.up();
    await Promise.all([sender.is("live"), reader.is("live")]);
    assert.ok(reader.client.counters.snapshots >= 2);
    await until("the tally to be asked for", () => sender.client.counters.talliesAsked > asked);
    await server.messages("l9", "1", 51);
    await reader.sees("l9", { unread: 1, readSeq: "50", headSeq: "51" });
  });
});

test("a server that stops says so, and its clients come back when there is one", async () => {
  await withDevices(async (device) => {
    const reader = device(server, "2", "phone");
    await reader.is("live");
    await server.kill("SIGTERM");
    await until(
      "the reason",
      () => reader.statuses.some(({ reason }) => reason === "the server restarts"),
      () => reader.statuses,
    );
    await server.up();
    await reader.is("live");
  });
});

test("a token that ends is exchanged, and nothing is lost", async () => {
  await server.conversation("l10", "1", "2");
  await withDevices(async (device) => {
    const reasons: string[] = [];
    const reader = device(server, "2", "phone", {
      token: (reason) => {
        reasons.push(reason);
        return server.token("2", "phone", reasons.length < 3 ? 2 : 3_600);
      },
    });
    await reader.is("live");
    await until(
      "three tokens",
      () => reasons.length === 3,
      () => [reasons, reader.statuses],
    );
    await reader.is("live");
    assert.equal(reasons[0], "first");
    assert.ok(reader.statuses.some(({ reason }) => reason === "the token has expired"));
    await server.messages("l10", "1", 1);
    await reader.sees("l10", { unread: 1 });
    reader.client.markRead("l10", 1);
    assert.equal(await reader.client.flush(), 0);
    assert.deepEqual(reader.dropped, []);
  });
});

test("a token without a successor ends in `refused`, and what waits stays", async () => {
  await server.conversation("l11", "1", "2");
  await server.messages("l11", "1", 1);
  const storage = memoryStorage();
  await withDevices(async (device) => {
    const reader = device(server, "2", "phone", { token: server.token("2", "phone", 1), storage });
    await reader.is("refused");
    reader.client.markRead("l11", 1);
    assert.equal(await reader.client.flush(), 1);
    assert.deepEqual(reader.dropped, []);
    await reader.client.close();
    const next = device(server, "2", "phone", { storage });
    await next.sees("l11", { readSeq: "1", pending: false });
  });
});

test("the next life of an application goes on where the last one was", async () => {
  await server.conversation("l12", "1", "2");
  await server.messages("l12", "1", 1, 3);
  const storage = memoryStorage();
  await withDevices(async (device) => {
    const first = device(server, "2", "phone", { storage });
    await first.is("live");
    await first.sees("l12", { unread: 3 });
    await first.client.close();
    await server.messages("l12", "1", 4);
    const second = device(server, "2", "phone", { storage });
    await second.sees("l12", { unread: 3 });
    await second.sees("l12", { unread: 4 });
    await second.is("live");
    assert.equal(second.client.counters.snapshots, 0);
    assert.ok(second.client.picture.asOfMs > first.client.picture.asOfMs);
  });
});

test("where no WebSocket gets through, the picture follows by HTTP", async () => {
  await server.conversation("l13", "1", "2");
  await server.messages("l13", "1", 1);
  await withDevices(async (device) => {
    class Blocked {
      onopen = null;
      onmessage = null;
      onerror = null;
      onclose: ((event: { code: number; reason: string }) => unknown) | null = null;
      protocol = "";
      constructor() {
        setTimeout(() => this.onclose?.({ code: 1006, reason: "" }), 1);
      }
      send(): void {}
      close(): void {}
    }
    const reader = device(server, "2", "phone", { webSocket: Blocked });
    await reader.sees("l13", { unread: 1 });
    await reader.stale(false);
    await server.messages("l13", "1", 2);
    await reader.sees("l13", { unread: 2 });
    assert.equal(reader.client.counters.snapshots, 1, "what follows are entries");
    reader.client.markRead("l13", 2);
    await reader.sees("l13", { unread: 0, readSeq: "2", pending: false });
    await reader.client.refresh();
  });
});

test("coming back from the background proves the connection at once", async () => {
  await server.conversation("l14", "1", "2");
  await withDevices(async (device) => {
    const page = new TestPage();
    const reader = device(server, "2", "phone", { lifecycle: page });
    await reader.is("live");
    page.do("hide");
    server.gate.silence(true);
    server.gate.cut();
    server.gate.silence(false);
    await server.messages("l14", "1", 1);
    page.do("show");
    await reader.sees("l14", { unread: 1 });
    await reader.is("live");
  });
});

test("one connection too many waits, and takes the place of one that goes when it is time", async () => {
  const strict = await TestServer.start({ READMARK_GATEWAY__MAX_CONNECTIONS_PER_USER: "1" });
  try {
    await strict.conversation("l15", "1", "2");
    await strict.messages("l15", "1", 1);
    await withDevices(async (device) => {
      const first = device(strict, "2", "phone");
      await first.is("live");
      const page = new TestPage();
      const second = device(strict, "2", "pc", { lifecycle: page });
      await until("patience", () => second.client.status.reason === "too many connections of this user");
      assert.ok((second.client.status.retryAtMs ?? 0) - Date.now() > 50_000);
      await second.sees("l15", { unread: 1 });
      await first.client.close();
      await until("a place", () => {
        page.do("online");
        return second.client.status.state === "live";
      });
    });
  } finally {
    await strict.remove();
  }
});
