import { Client } from "./client.js";
import type { Options, WebSocketConstructor } from "./options.js";

/** Connects a user's device, and keeps it connected. What was known last is shown meanwhile, marked as stale. */
export function connect(options: Options): Client {
  const found = (globalThis as { readonly WebSocket?: unknown }).WebSocket;
  return new Client(options, typeof found === "function" ? (found as WebSocketConstructor) : undefined);
}

export * from "./exports.js";
