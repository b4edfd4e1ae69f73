/** Limits of durable queues; sections 1 to 3 of their contract. Sizes are of the stored bytes. */

export const MAX_MESSAGE_BYTES = 128_000;
export const MAX_BATCH_BYTES = 288_000;
export const MAX_BATCH_MESSAGES = 100;
/** An import carries as much as its command reads at once: up to 256,000 characters. */
export const MAX_IMPORT_BYTES = 800_000;
/** A page of an eject, in bodies. */
export const MAX_PAGE_BYTES = 8 * 1024 * 1024;
export const DEFAULT_PAGE_BYTES = 2 * 1024 * 1024;
export const MAX_DELAY_SECONDS = 86_400;
export const MIN_RETENTION_SECONDS = 60;
export const MAX_RETENTION_SECONDS = 1_209_600;
export const DEFAULT_RETENTION_SECONDS = 345_600;
export const MAX_RETRIES = 100;
export const MAX_CONCURRENCY = 250;
export const MAX_WAIT_TIME_MS = 60_000;
export const MAX_VISIBILITY_TIMEOUT_MS = 43_200_000;
export const DEFAULT_VISIBILITY_TIMEOUT_MS = 30_000;
/** How long a pull may wait for messages. */
export const MAX_PULL_WAIT_MS = 300_000;
export const DEFAULT_PULL_MESSAGES = 5;
/** How long a consumer may work on one batch. */
export const MAX_HANDLER_MS = 15 * 60_000;
/** Deliveries that an imported message may have had: far more than retries allow. */
export const MAX_ATTEMPTS = 1000;
/** The last moment of the year 9999. */
export const MAX_TIME_MS = 253_402_300_799_999;
