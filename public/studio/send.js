import { path } from "./api.js";
import { ask, labelled } from "./dialogs.js";
import { h } from "./dom.js";
import { parseExactly } from "./json.js";

/** @import { Studio } from "./main.js" */

/**
 * @param {Studio} studio
 * @param {string} queue
 */
export function sendDurable(studio, queue) {
  const body = bodyField();
  const type = h(
    "select",
    { name: "type" },
    h("option", { value: "json", textContent: "JSON" }),
    h("option", { value: "text", textContent: "Text" }),
    h("option", { value: "bytes", textContent: "Bytes, given in base64" }),
  );
  const delay = h("input", { type: "number", name: "delay", min: "0", max: "86400", placeholder: "as the queue says" });
  const partition = h("input", { name: "partition", autocomplete: "off", placeholder: "Default" });
  return ask({
    title: `Send to ${queue}`,
    text: "One message, stored when this dialog closes.",
    button: "Send",
    fields: [
      labelled("Body", body),
      labelled("Content type", type),
      labelled("Delay in seconds", delay),
      labelled("Partition", partition),
    ],
    run: async () => {
      await studio.call("POST", path`/api/v1/queues/${queue}/messages`, {
        body: type.value === "json" ? parsed(body.value) : body.value,
        content_type: type.value,
        ...(delay.value === "" ? {} : { delay_seconds: Number(delay.value) }),
        ...(partition.value === "" ? {} : { partition: partition.value }),
      });
      studio.done(`Sent to ${queue}.`);
    },
  });
}

/**
 * @param {Studio} studio
 * @param {string} queue
 */
export function pushEphemeral(studio, queue) {
  const payload = bodyField();
  const partition = h("input", { name: "partition", autocomplete: "off", placeholder: "Default" });
  return ask({
    title: `Push to ${queue}`,
    text: "One message.",
    button: "Push",
    fields: [labelled("Payload, as JSON", payload), labelled("Partition", partition)],
    run: async () => {
      await studio.call("POST", "/api/v1/ephemeral/push", {
        queue,
        messages: [{ payload: parsed(payload.value) }],
        ...(partition.value === "" ? {} : { partition: partition.value }),
      });
      studio.done(`Pushed to ${queue}.`);
    },
  });
}

function bodyField() {
  return h("textarea", { name: "body", rows: 6, spellcheck: false, required: true });
}

/** @param {string} text */
function parsed(text) {
  try {
    return parseExactly(text);
  } catch (error) {
    throw new Error(`This is no JSON: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}
