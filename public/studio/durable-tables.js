import { ago, bytes, count, span } from "./format.js";
import { Table } from "./table.js";

/** What `GET /api/v1/queues/:queue` answers, as far as it is shown here. */

/**
 * @typedef {object} Detail
 * @property {Consumer[]} consumers
 * @property {{ delivery_delay: number, message_retention_period: number }} settings
 * @property {{ partitions: Partition[] }} status
 */
/**
 * @typedef {object} Consumer
 * @property {string} consumer_id
 * @property {string} name
 * @property {"worker" | "http" | "http_pull"} type
 * @property {string} [script_name]
 * @property {string} [url]
 * @property {string | null} dead_letter_queue
 * @property {{ max_retries: number }} settings
 */
/**
 * @typedef {object} Partition
 * @property {string} partition
 * @property {number} ready_count
 * @property {number} delayed_count
 * @property {number} leased_count
 * @property {number} backlog_bytes
 * @property {number} rows_written
 * @property {ConsumerState[]} consumers
 */
/**
 * @typedef {object} ConsumerState
 * @property {string} consumer_id
 * @property {number} backlog_count
 * @property {number} batches_out
 * @property {string | null} last_delivery
 * @property {string | null} last_outcome
 * @property {string | null} last_error
 * @property {string | null} retry_at
 * @property {number} dead_letters_waiting
 */
/** @typedef {{ consumer: Consumer, states: ConsumerState[] }} ConsumerRow */

/** @returns {Table<Partition>} */
export function partitionsTable() {
  return new Table(
    "Partitions",
    [
      { name: "Partition", text: ({ partition }) => partition },
      { name: "Ready", isFigure: true, text: ({ ready_count }) => count(ready_count) },
      { name: "Leased", isFigure: true, text: ({ leased_count }) => count(leased_count) },
      { name: "Delayed", isFigure: true, text: ({ delayed_count }) => count(delayed_count) },
      { name: "Bytes", isFigure: true, text: ({ backlog_bytes }) => bytes(backlog_bytes) },
      {
        name: "Rows written",
        isFigure: true,
        about: "Since its object was last started: what storage costs",
        text: ({ rows_written }) => count(rows_written),
      },
    ],
    ({ partition }) => partition,
  );
}

/**
 * @param {() => number} now
 * @returns {Table<ConsumerRow>}
 */
export function consumersTable(now) {
  return new Table(
    "Consumers",
    [
      { name: "Consumer", text: ({ consumer }) => consumer.name },
      { name: "Type", text: ({ consumer }) => targetOf(consumer) },
      { name: "Backlog", isFigure: true, text: ({ states }) => count(total(states, "backlog_count")) },
      { name: "Batches out", isFigure: true, text: ({ states }) => count(total(states, "batches_out")) },
      { name: "Last delivery", text: ({ states }) => deliveryOf(latest(states), now()) },
      { name: "Error", text: ({ states }) => latest(states)?.last_error ?? "–" },
      { name: "Retries", isFigure: true, text: ({ consumer }) => count(consumer.settings.max_retries) },
      { name: "Dead letters to", text: ({ consumer }) => consumer.dead_letter_queue ?? "nowhere: they are dropped" },
    ],
    ({ consumer }) => consumer.consumer_id,
  );
}

/** @param {Consumer} consumer */
function targetOf({ type, script_name, url }) {
  if (type === "worker") return `Worker ${script_name}`;
  return type === "http" ? `HTTP ${url}` : "pull";
}

/**
 * @param {readonly ConsumerState[]} states
 * @param {"backlog_count" | "batches_out"} which
 */
function total(states, which) {
  return states.reduce((sum, state) => sum + state[which], 0);
}

/** @param {readonly ConsumerState[]} states */
function latest(states) {
  return states.toSorted((a, b) => timeOf(b.last_delivery) - timeOf(a.last_delivery))[0];
}

/**
 * @param {ConsumerState | undefined} state
 * @param {number} now
 */
function deliveryOf(state, now) {
  if (state === undefined || state.last_delivery === null) return "–";
  const again = state.retry_at === null ? "" : `, tried again in ${span(Date.parse(state.retry_at) - now)}`;
  return `${state.last_outcome}, ${ago(timeOf(state.last_delivery), now)}${again}`;
}

/** @param {string | null} time */
function timeOf(time) {
  return time === null ? 0 : Date.parse(time);
}
