//! Bounds of a connection, in time and bytes.

use std::time::Duration;

/// A client says hello within this time.
pub(super) const HELLO_LIMIT: Duration = Duration::from_secs(10);
/// No connection lasts longer, whatever its token says: the clock can't count to the end of every token.
pub(super) const CONNECTION_LIMIT: Duration = Duration::from_secs(365 * 86_400);
/// How often the server pings.
pub(super) const PING_EVERY: Duration = Duration::from_secs(30);
/// Two pings and a half without any sign of life: the client is gone, though the network has not said so.
pub(super) const SILENCE_LIMIT: Duration = Duration::from_secs(75);
/// How long one message may take to leave: by then megabytes wait in the kernel for a client that takes none.
pub(super) const SEND_LIMIT: Duration = Duration::from_secs(10);
/// Wake-ups may be missed, so that a stream is also read this often.
pub(super) const REREAD_EVERY: Duration = Duration::from_secs(30);
/// Heads of large conversations are told to nobody: who is connected compares them once a window.
pub(super) const LARGE_EVERY: Duration = Duration::from_secs(2);
/// After a failed read (hot state and store are away) it is tried again so much later.
pub(super) const RETRY_AFTER: Duration = Duration::from_secs(1);
/// Requests of one connection under way at once; then its next message waits in the network.
pub(super) const REQUESTS_AT_ONCE: usize = 8;
/// Closing takes at most this long; a client that does not answer is left.
pub(super) const CLOSE_LIMIT: Duration = Duration::from_secs(1);
/// When a process stops, its connections are closed one by one over this time, so that not all of them knock at
/// the others' doors at once. Within the time that a process has to drain.
pub(super) const RESTART_SPREAD_MS: u64 = 2_000;
/// Longest message of a client; a longer one is the last one.
pub(super) const MESSAGE_BYTES_MAX: usize = 64 * 1024;
/// Longest message that is read at all, so that the client of one that is a bit too long can be told so. A longer one
/// breaks the connection off.
pub(super) const READ_BYTES_MAX: usize = 2 * MESSAGE_BYTES_MAX;
/// Bytes of a frame to the client: within 64 KiB with its header, which has 4 bytes. A longer message goes in several.
pub(super) const FRAME_BYTES_MAX: usize = 64 * 1024 - 4;
/// What is read from the network at once: most of a connection's memory while it is idle.
pub(super) const READ_BUFFER_BYTES: usize = 4 * 1024;
/// Bytes of entries in one message, less its frame of JSON: one frame bears it.
pub(super) const ENTRIES_BYTES_MAX: usize = 60 * 1024;
/// Entries asked for at once.
pub(super) const ENTRIES_AT_ONCE: usize = 256;
