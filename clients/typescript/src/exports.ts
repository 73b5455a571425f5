// What every entry of the package gives.

export type { AckInput, Client, CloseOptions, MessageInput, PageInput } from "./client.js";
export { ReadmarkError, type ErrorParts, type ProblemItem } from "./errors.js";
export type { Lifecycle, LifecycleHandlers } from "./io/lifecycle.js";
export { memoryStorage, type KeyValueStorage } from "./io/storage.js";
export type { Options, Timings, TokenReason, TokenSource, WebSocketConstructor, WebSocketLike } from "./options.js";
export { compareSeq, type Decimal, type Seq, type SeqInput } from "./state/decimal.js";
export { withReaders } from "./state/tallies.js";
export type * from "./types.js";
