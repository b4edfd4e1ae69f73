import type * as z from "zod/mini";
import { QueueError } from "../../contract/queue-errors.ts";
import { MAX_DELAY_SECONDS, MAX_IMPORT_BYTES } from "../../contract/queue-limits.ts";
import { importBody } from "../../contract/queue-requests.ts";
import { decodeBase64 } from "../../durable/base64.ts";
import { checkSizes, decodeBody } from "../../durable/content.ts";
import type { ContentType, ImportedMessage } from "../../durable/message.ts";
import { admin } from "../rules.ts";
import { param, readQueueBody, type QueueCall, type QueueRoute } from "./call.ts";
import { success } from "./envelope.ts";

/** What comes from another broker, or comes back. */
export const importRoutes: QueueRoute[] = [["POST", "/:queue/import", admin("import"), importMessages]];

type Given = z.infer<typeof importBody>["messages"][number];

async function importMessages(call: QueueCall): Promise<Response> {
  const { source, partition, messages } = await readQueueBody(call.request, importBody);
  const decoded = messages.map(messageOf);
  checkOrder(decoded);
  checkSizes(
    decoded.map(({ message }) => message.body.byteLength),
    MAX_IMPORT_BYTES,
  );
  const imported = await call.queues.import(param(call, "queue"), partition, source, decoded);
  return success({ imported, repeated: decoded.length - imported });
}

function messageOf({ number, id, content_type, body, timestamp_ms, due_at_ms, attempts, origin }: Given) {
  const latest = Date.now() + MAX_DELAY_SECONDS * 1000;
  if (due_at_ms != null && due_at_ms > latest) {
    throw new QueueError(10400, `due_at_ms is ${due_at_ms}; at most ${MAX_DELAY_SECONDS} seconds from now are allowed`);
  }
  return {
    number,
    dueAt: due_at_ms ?? null,
    message: {
      id,
      sentAt: timestamp_ms,
      attempts: attempts ?? 0,
      type: content_type,
      body: storedBody(content_type, body),
      origin:
        origin == null ? null : { queue: origin.source_queue, attempts: origin.attempts, error: origin.last_error },
    },
  };
}

/** The stored form is kept byte by byte; it must be one that a consumer can read. */
function storedBody(type: ContentType, text: string): Uint8Array {
  if (type === "text") return new TextEncoder().encode(text);
  const bytes = decodeBase64(text);
  if (bytes === null) throw new QueueError(10208, `a body of content type ${type} must be a text in base64`);
  try {
    decodeBody(type, bytes);
  } catch {
    throw new QueueError(10208, `the body is not base64 of the stored form of content type ${type}`);
  }
  return bytes;
}

function checkOrder(messages: readonly ImportedMessage[]): void {
  messages.forEach(({ number }, i) => {
    const before = messages[i - 1]?.number ?? 0;
    if (number > before) return;
    throw new QueueError(10400, `messages[${i}].number is ${number}; it must be above the one before it, ${before}`);
  });
}
