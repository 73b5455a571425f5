import { Client } from "./client.js";
import { NodeWebSocket } from "./node/websocket.js";
import type { Options, WebSocketConstructor } from "./options.js";

/** Connects a user's device, as in a browser. Before Node 22, which has a WebSocket, one of this package is used. */
export function connect(options: Options): Client {
  const found = (globalThis as { readonly WebSocket?: unknown }).WebSocket;
  return new Client(options, typeof found === "function" ? (found as WebSocketConstructor) : NodeWebSocket);
}

export * from "./exports.js";
export { fileStorage } from "./node/file-storage.js";
export { NodeWebSocket } from "./node/websocket.js";
