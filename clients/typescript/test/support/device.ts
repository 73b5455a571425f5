import { connect } from "../../src/node.js";
import { memoryStorage } from "../../src/io/storage.js";
import type { Client } from "../../src/client.js";
import type { Lifecycle, LifecycleHandlers } from "../../src/io/lifecycle.js";
import type { Options } from "../../src/options.js";
import type { Conversation, ConversationRead, Dropped, Receipt, Status } from "../../src/types.js";
import type { TestServer } from "./server.js";
import { until } from "./wait.js";

/** Pauses that don't make tests wait; what is tested of time says its own. */
const QUICK = { reconnectFirstMs: 50, reconnectCapMs: 500, refreshMs: 200, pollMs: 500 };

/** A page that does what a test says. */
export class TestPage implements Lifecycle {
  readonly handlers = new Set<LifecycleHandlers>();

  listen(handlers: LifecycleHandlers): () => void {
    this.handlers.add(handlers);
    return () => this.handlers.delete(handlers);
  }

  do(what: keyof LifecycleHandlers): void {
    for (const handlers of this.handlers) {
      handlers[what]();
    }
  }
}

/** A client and all that it told. */
export class Device {
  readonly client: Client;
  readonly receipts: Receipt[] = [];
  readonly reads: ConversationRead[] = [];
  readonly statuses: Status[] = [];
  readonly dropped: Dropped[] = [];
  /** Times that the picture was told. */
  told = 0;

  constructor(server: TestServer, uid: string, endpoint: string, options: Partial<Options> = {}) {
    this.client = connect({
      url: server.url,
      token: () => server.token(uid, endpoint),
      storage: memoryStorage(),
      ...options,
      timings: { ...QUICK, ...options.timings },
    });
    this.client.on("receipt", (receipt) => this.receipts.push(receipt));
    this.client.on("conversationRead", (read) => this.reads.push(read));
    this.client.on("status", (status) => this.statuses.push(status));
    this.client.on("dropped", (dropped) => this.dropped.push(dropped));
    this.client.on("unread", () => (this.told += 1));
  }

  /** Waits until a conversation looks so. */
  sees(id: string, ...wanted: readonly Partial<Conversation>[]): Promise<Conversation> {
    return until(
      `${id} to be ${JSON.stringify(wanted)}`,
      () => {
        const seen = this.client.conversation(id);
        const fits = (want: Partial<Conversation>): boolean =>
          Object.entries(want).every(([key, value]) => seen?.[key as keyof Conversation] === value);
        return seen !== undefined && wanted.some(fits) ? seen : undefined;
      },
      () => ({ picture: this.client.picture, status: this.client.status }),
    );
  }

  /** Waits until the client is in this state. */
  is(state: Status["state"]): Promise<true> {
    return until(
      `state ${state}`,
      () => this.client.status.state === state,
      () => this.statuses,
    );
  }

  /** Waits until the picture is what the server says, or is not. */
  stale(stale: boolean): Promise<true> {
    return until(
      `stale ${stale}`,
      () => this.client.picture.stale === stale,
      () => this.statuses,
    );
  }

  /** Waits until the tally of a message is known to be this. */
  shows(conversationId: string, seq: string, read: number, total: number): Promise<Receipt> {
    return until(
      `${read} of ${total} for ${conversationId} ${seq}`,
      () => {
        const receipt = this.client.receipt(conversationId, seq);
        return receipt?.read === read && receipt.total === total ? receipt : undefined;
      },
      () => ({
        receipts: this.receipts,
        known: this.client.receipt(conversationId, seq),
        counters: this.client.counters,
      }),
    );
  }
}

/** Runs a test with devices that are closed at its end, however it ends. */
export async function withDevices(
  run: (device: (...args: ConstructorParameters<typeof Device>) => Device) => Promise<void>,
): Promise<void> {
  const devices: Device[] = [];
  try {
    await run((...args) => {
      const device = new Device(...args);
      devices.push(device);
      return device;
    });
  } finally {
    await Promise.all(devices.map((device) => device.client.close()));
  }
}
