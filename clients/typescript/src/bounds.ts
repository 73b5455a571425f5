// Every bound of the client, with its reason. Times are in milliseconds.

// --- what the server takes -------------------------------------------------------------------------------------

/** Greatest seq there is: exact in JavaScript, which is why the server stops there. */
export const SEQ_MAX = 1_000_000_000_000_000;

/** Messages in one ack: what the server takes at most. With the longest ids they also fit a frame of 64 KiB. */
export const ACKS_PER_REQUEST_MAX = 1_000;

/** Messages in one `POST /v1/receipts/query`: what the server takes at most. */
export const QUERY_MESSAGES_MAX = 200;

/** Entries asked for in one `GET /v1/sync`: what the server gives at most. */
export const SYNC_ENTRIES_MAX = 1_000;

/** Pages of `GET /v1/sync` followed in one refresh: a stream keeps about 1,000 entries, so more is no progress. */
export const SYNC_PAGES_MAX = 16;

// --- writing ---------------------------------------------------------------------------------------------------

/** How long marks and acks of one conversation are gathered into one request: too short to be noticed. */
export const MERGE_MS = 200;

/** Conversations that may wait in the queue: a heavy user's list, and less than 1 MB of storage. */
export const QUEUE_CONVERSATIONS_MAX = 1_000;

/** Single acks that may wait in the queue, over all conversations: 40 bytes each, so that localStorage holds them. */
export const QUEUE_ACKS_MAX = 10_000;

/** Write requests on their way at once: a browser opens 6 connections to one host, and others need some too. */
export const WRITES_IN_FLIGHT_MAX = 4;

/** Requests sent when the page hides: browsers allow 64 KiB of bodies that outlive their page. */
export const HIDE_REQUESTS_MAX = 30;

/** Bytes of these requests together: below the 64 KiB, other requests of the page count too. */
export const HIDE_BYTES_MAX = 48 * 1_024;

/** First pause before a write is sent again that was answered "not there yet": the message is probably on its way. */
export const NOT_THERE_FIRST_MS = 200;

/** Longest such pause. */
export const NOT_THERE_CAP_MS = 30_000;

/** Tries of a write that is answered "not there yet": some five minutes, then nobody will send that message. */
export const NOT_THERE_TRIES_MAX = 16;

/** Tries of a write that is answered 500, which may heal or not; a server that is away is tried for ever. */
export const FAULT_TRIES_MAX = 8;

/** How long `close` waits for the queue's last requests; what is not answered by then stays in the storage. */
export const CLOSE_FLUSH_MS = 2_000;

// --- requests --------------------------------------------------------------------------------------------------

/** How long a request may take: the server gives up after 15 s itself. */
export const REQUEST_MS = 20_000;

/** Tries of a call that is no write of the queue: somebody waits for its promise. */
export const CALL_TRIES_MAX = 3;

/** A longer `Retry-After` is not waited for within a call, it is told in the error. */
export const CALL_RETRY_AFTER_MAX_MS = 5_000;

/** Pause before a call is tried again whose answer names none. */
export const CALL_PAUSE_MS = 500;

/** Longest `Retry-After` that is believed: a wrong header must not stop a client for a day. */
export const RETRY_AFTER_MAX_MS = 300_000;

/** What is added to a `Retry-After` at random, as a part of it: clients told the same must not return at once. */
export const RETRY_AFTER_JITTER = 0.5;

/** Answers longer than this are not read: a picture of 10,000 conversations takes 2 MB. */
export const BODY_BYTES_MAX = 32 * 1_024 * 1_024;

// --- the connection --------------------------------------------------------------------------------------------

/** First pause before connecting again. */
export const RECONNECT_FIRST_MS = 500;

/** Longest pause before connecting again: an hour's outage must not end with an hour's wait. */
export const RECONNECT_CAP_MS = 30_000;

/** After 1012 (the server restarts) clients return spread over this time: its other processes take them all. */
export const RESTART_SPREAD_MS = 5_000;

/** After 4003 (too many connections of this user): another device must go first, so there is no hurry. */
export const TOO_MANY_MS = 60_000;

/** How long a connection must live to count as good; one that breaks sooner waits longer the next time. */
export const GOOD_CONNECTION_MS = 10_000;

/** How long the connection, and then the answer to hello, may take; a rebuild of a heavy user takes seconds. */
export const OPEN_MS = 15_000;

/** A ping goes out when nothing came for this long: below the 75 s after which the server closes. */
export const HEARTBEAT_MS = 30_000;

/** How long the answer to a ping may take. */
export const PONG_MS = 10_000;

/** The same when the page comes back or the machine woke up, where a dead connection is likely. */
export const WAKE_PONG_MS = 3_000;

/** A timer that fires this much late: the machine slept. */
export const SLEPT_MS = 15_000;

/** How long an ack or a mark sent over the connection may stay without answer before it goes by HTTP. */
export const SOCKET_ANSWER_MS = 10_000;

// --- tokens ----------------------------------------------------------------------------------------------------

/** A token is renewed when it has no longer than this to live, so that no request carries a dead one. */
export const TOKEN_EARLY_MS = 10_000;

/** Two tokens are not asked for within this time by the clock alone: this machine's clock may be wrong. */
export const TOKEN_CLOCK_MS = 60_000;

/** Least pause between two questions for a token, whatever the server answers. */
export const TOKEN_PAUSE_MS = 1_000;

/** How long the application may take to give a token. */
export const TOKEN_MS = 30_000;

// --- what is shown ---------------------------------------------------------------------------------------------

/** Unread is asked for by HTTP at most this often. */
export const REFRESH_MS = 5_000;

/** How often unread is followed by HTTP while there is no connection: networks that let no WebSocket through. */
export const POLL_MS = 30_000;

/** An incomplete tally on screen that did not change for so long is asked for once. */
export const QUIET_TALLY_MS = 60_000;

/** A tally of which an older push said something else is asked for after this: pushes lag behind answers by seconds. */
export const DOUBT_MS = 5_000;

/** Tallies to be asked for are gathered for this long: a list comes on screen message by message. */
export const GATHER_MS = 20;

/** First pause before a message is asked for again that is unknown: it was sent a moment ago, most likely. */
export const UNKNOWN_FIRST_MS = 500;

/** Tries of an unknown message, in twice the time each: some 15 s, then only a change or the quiet minute asks. */
export const UNKNOWN_TRIES_MAX = 5;

/** Messages watched at once: far more than a screen holds, and no more than the server tells of one sender. */
export const WATCHED_MAX = 1_000;

/** Tallies remembered of messages that nobody watches, so that an older one never wins. */
export const TALLIES_MAX = 2_000;

/** How long an own mark that was accepted is shown before the server's numbers confirm it; then those win. */
export const OWN_MARK_MS = 30_000;

/** The picture is written to the storage at most this often. */
export const SAVE_MS = 2_000;

/** Conversations of a picture that is kept whole; of a longer one only what has anything unread, this many. */
export const SAVED_CONVERSATIONS_MAX = 1_000;

/** Longest text in the storage that is read: what is longer was not written by this client. */
export const SAVED_CHARS_MAX = 4 * 1_024 * 1_024;
