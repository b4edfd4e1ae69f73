import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { launch } from "../test/process/browser.ts";
import { Served } from "../test/process/serve-support.ts";
import { NARROW, openStudio, WIDE } from "../test/process/studio-support.ts";

/** Takes the pictures of the README: a broker of its own, two minutes of traffic, two windows. */

const ROOT = join(import.meta.dirname, "..");
const DOCS = join(ROOT, "docs");
/** As far back as the charts reach; a whole number of seconds may be given instead. */
const SECONDS = Number(process.argv[2] ?? 120);

const MAILER = `export default {
  queue(batch) {
    for (const message of batch.messages) if (message.body.to.startsWith("bounces")) message.retry();
  },
};`;

const served = await Served.in();
const browser = await launch();
try {
  await served.write("mailer.js", MAILER);
  const consumers = [{ queue: "mails", max_retries: 1, max_batch_size: 10, dead_letter_queue: "mails-dead" }];
  await served.configure({
    assets: join(ROOT, "public"),
    queues: [{ queue_name: "orders" }, { queue_name: "invoices", settings: { delivery_paused: true } }],
    workers: [{ name: "mailer", main: "mailer.js", queues: { consumers } }],
    consumers: [
      { queue: "orders", type: "http_pull" },
      { queue: "invoices", type: "http", url: "http://127.0.0.1:9/invoices", secret: "known to both" },
    ],
  });
  await served.start();
  await served.call("POST", "ephemeral/configure", {
    queue: "presence",
    options: { maxLength: 200, policy: "dropOldest" },
  });
  const { page: wide } = await openStudio(browser, `${served.url}/studio`, {
    viewport: { ...WIDE, height: 600 },
    colorScheme: "light",
  });
  const { page: narrow } = await openStudio(browser, `${served.url}/studio/#/durable/orders`, {
    viewport: NARROW,
    colorScheme: "dark",
  });
  for (let second = 0; second < SECONDS; second++) {
    const until = Date.now() + 1000;
    await traffic(second);
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, until - Date.now())));
  }
  await narrow.getByRole("button", { name: "Peek" }).click();
  await narrow.locator("pre").first().waitFor();
  await mkdir(DOCS, { recursive: true });
  await wide.screenshot({ path: join(DOCS, "studio-queues.png") });
  await narrow.screenshot({ path: join(DOCS, "studio-queue-dark.png") });
} finally {
  await browser.close();
  await served.remove();
}

/** A second of it: orders swell and are worked off, some mails bounce, rooms are talked in. */
async function traffic(second: number): Promise<void> {
  const wave = 1 + Math.sin(second / 9);
  await Promise.all([
    sendMany("orders", Math.round(20 * wave) + 4, (n) => ({
      order: second * 100 + n,
      item: "book",
      copies: 1 + (n % 3),
    })),
    sendMany("mails", 6, (n) => ({ to: n === 0 && second % 10 === 0 ? "bounces@example.com" : "ada@example.com" })),
    second % 5 === 0 ? sendMany("invoices", 3, (n) => ({ invoice: second + n })) : null,
    push("presence", `room-${second % 6}`, 8),
    push("rpc-requests", "Default", Math.round(10 * wave)),
    pullOrders(),
    served.call("GET", "ephemeral/pop?queue=presence&group=ui-1&batch=6&autoAck=true"),
    served.call("GET", "ephemeral/pop?queue=rpc-requests&group=workers&batch=100&autoAck=true"),
  ]);
}

async function sendMany(queue: string, count: number, bodyOf: (n: number) => unknown): Promise<void> {
  const messages = Array.from({ length: count }, (_, n) => ({ body: bodyOf(n) }));
  await served.call("POST", `queues/${queue}/messages/batch`, { messages });
}

async function push(queue: string, partition: string, count: number): Promise<void> {
  const messages = Array.from({ length: count }, (_, n) => ({ payload: { n } }));
  await served.call("POST", "ephemeral/push", { queue, partition, messages });
}

async function pullOrders(): Promise<void> {
  interface Pulled {
    messages: { lease_id: string }[];
  }
  const { messages } = await served.call<Pulled>("POST", "queues/orders/messages/pull", { batch_size: 24 });
  const acks = messages.map(({ lease_id }) => ({ lease_id }));
  await served.call("POST", "queues/orders/messages/ack", { acks });
}
