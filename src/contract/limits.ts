/** Fixed limits of the wire; those that an operator may move are vars, see `config.ts`. */

/** A request's body, in bytes. */
export const MAX_BODY_BYTES = 16 * 1024 * 1024;
/** The payload of one answer, in bytes: an RPC message over 32 MiB throws. */
export const MAX_ANSWER_BYTES = 16 * 1024 * 1024;
/** Messages or acks in one call, and messages in one answer. */
export const MAX_ITEMS = 10_000;
/** Messages that a look answers. */
export const MAX_PEEKED = 100;
/** A page of an eject, in bytes. */
export const MAX_EJECT_BYTES = 8 * 1024 * 1024;
export const DEFAULT_EJECT_BYTES = 2 * 1024 * 1024;
/** A queue's, partition's or group's name, in bytes of UTF-8. */
export const MAX_NAME_BYTES = 512;
/** Group names that one queue remembers. */
export const MAX_GROUPS = 4096;
/** How long a pop may wait, in ms. */
export const MAX_WAIT_MS = 300_000;
/** How long a look at all queues may wait for a change, in ms. */
export const MAX_WATCH_MS = 25_000;
/** How long a ticket is good for, and how many of them may wait to be used. */
export const TICKET_SECONDS = 30;
export const MAX_TICKETS = 10_000;
/** Messages that a subscriber may have unsettled. */
export const MAX_PREFETCH = 1000;
/** Payload that a subscriber may have unsettled before it has to ack some; one message more may be out. */
export const MAX_UNSETTLED_BYTES = 4 * 1024 * 1024;
/** Payload sent to a subscriber of which nothing has ever been acked: it waits in memory, for all that is known. */
export const MAX_UNREAD_BYTES = 16 * 1024 * 1024;
/** Messages that a subscriber is sent in one frame, in characters; a larger message has one to itself. */
export const MAX_FRAME_CHARS = 512 * 1024;
/** Frames of a subscriber that wait for an answer of other owners. */
export const MAX_FRAMES_UNDER_WAY = 1000;
export const MAX_LEASE_SECONDS = 86_400;
export const MAX_RETRY_LIMIT = 1000;
export const MAX_WINDOW_MS = 60_000;
export const MAX_WINDOW_COUNT = 10_000;

/** The key of a push, in bytes of UTF-8. */
export const MAX_KEY_BYTES = 128;
/** How long the key of a push is remembered, in ms. */
export const KEY_MEMORY_MS = 60_000;
/** Keys that are remembered at once; beyond, the oldest is forgotten first, and a repeat of its push is a new one. */
export const MAX_KEYS_PER_PARTITION = 10_000;
export const MAX_KEYS_PER_OWNER = 50_000;
/** Keys that a checkpoint holds: the youngest of its owner. */
export const MAX_WRITTEN_KEYS = 10_000;

/** For how long after its last pop a consumer counts as listening, in ms. */
export const LISTENING_MS = 5000;

/** The partition of a push that names none. */
export const DEFAULT_PARTITION = "Default";
/** The reserved group of pops that name none. */
export const QUEUE_MODE = "__QUEUE_MODE__";
