import assert from "node:assert/strict";
import { test } from "node:test";
import type { Device } from "../support/device.js";
import { withDevices } from "../support/device.js";
import { Random } from "../support/random.js";
import { TestServer, type ImEvent } from "../support/server.js";
import { until } from "../support/wait.js";

const SEED = Number(process.env["READMARK_TEST_SEED"] ?? Math.floor(Math.random() * 0xffff_ffff));

const USERS = ["1", "2", "3", "4"];
const CONVERSATIONS = ["a", "b", "c"];
const STEPS = 250;

/** One life: what the IM says, what users do, and what goes wrong meanwhile. */
class Life {
  readonly #random: Random;
  readonly #server: TestServer;
  readonly #devices: readonly Device[];
  readonly #heads = new Map(CONVERSATIONS.map((id) => [id, 0]));

  constructor(random: Random, server: TestServer, devices: readonly Device[]) {
    this.#random = random;
    this.#server = server;
    this.#devices = devices;
  }

  async step(): Promise<void> {
    const random = this.#random;
    const id = random.pick(CONVERSATIONS);
    const head = this.#heads.get(id) ?? 0;
    const device = random.pick(this.#devices);
    const dice = random.next();
    if (dice < 0.45) {
      await this.#send(id, head);
    } else if (dice < 0.5 && head > 0) {
      await this.#say({ type: "message_recalled", conversation_id: id, seq: String(random.int(1, head)) });
    } else if (dice < 0.55) {
      const uid = random.pick(USERS);
      await this.#say({ type: "member_left", conversation_id: id, uid, at_seq: String(head) });
      await this.#say({ type: "member_joined", conversation_id: id, uid, at_seq: String(head) });
    } else if (dice < 0.85 && head > 0) {
      device.client.markRead(id, random.int(1, head));
    } else if (dice < 0.9 && head > 0) {
      device.client.ack([{ conversationId: id, seq: random.int(1, head) }]);
    } else if (dice < 0.92 && head > 0) {
      await device.client.clear(id, random.int(1, head));
    } else if (dice < 0.98) {
      this.#server.gate.cut();
    } else if (dice < 0.99) {
      await this.#server.kill();
      await this.#server.up();
    }
  }

  async #send(id: string, head: number): Promise<void> {
    const count = this.#random.int(1, 3);
    await this.#server.messages(id, this.#random.pick(USERS), head + 1, head + count);
    this.#heads.set(id, head + count);
  }

  async #say(event: ImEvent): Promise<void> {
    await this.#server.events(event);
  }
}

interface Truth {
  readonly total: string;
  readonly conversations: readonly Readonly<Record<string, unknown>>[];
}

async function truthOf(server: TestServer, uid: string): Promise<Truth> {
  const response = await fetch(`${server.direct}/v1/unread?all=true`, {
    headers: { authorization: `Bearer ${server.token(uid, "auditor")}` },
  });
  return (await response.json()) as Truth;
}

function same(device: Device, truth: Truth): boolean {
  const { picture } = device.client;
  const seen = (row: Readonly<Record<string, unknown>>): unknown => {
    const shown = picture.conversations.get(String(row["conversation_id"]));
    return [shown?.unread, shown?.headSeq, shown?.readSeq, shown?.floorSeq, shown?.pending];
  };
  return (
    String(picture.total) === truth.total &&
    !picture.stale &&
    truth.conversations.every(
      (row) => String(seen(row)) === String([row["unread"], row["head_seq"], row["read_seq"], row["floor_seq"], false]),
    )
  );
}

test(`after cuts and crashes every device shows what the server says (READMARK_TEST_SEED=${SEED})`, async () => {
  const server = await TestServer.start();
  try {
    await withDevices(async (device) => {
      for (const id of CONVERSATIONS) {
        await server.conversation(id, ...USERS);
      }
      const devices = USERS.flatMap((uid) => ["phone", "pc"].map((endpoint) => device(server, uid, endpoint)));
      const life = new Life(new Random(SEED), server, devices);
      for (let step = 0; step < STEPS; step += 1) {
        await life.step();
      }
      for (const one of devices) {
        await until(
          "the queue to be empty",
          async () => (await one.client.flush()) === 0,
          () => one.client.counters,
        );
      }
      for (const [i, one] of devices.entries()) {
        const uid = USERS[Math.floor(i / 2)] ?? "";
        let truth = await truthOf(server, uid);
        await until(
          `device ${i} of user ${uid} to show the truth`,
          async () => {
            truth = await truthOf(server, uid);
            return same(one, truth);
          },
          () => ({ truth, shown: one.client.picture, status: one.client.status }),
        );
        assert.deepEqual(
          [one.client.counters.badFrames, one.client.counters.badEntries, one.client.counters.gaps],
          [0, 0, 0],
        );
        assert.ok(
          one.dropped.every(({ reason }) => reason === "not-a-member"),
          JSON.stringify(one.dropped),
        );
      }
    });
  } finally {
    await server.remove();
  }
});
