import { h, setText } from "./dom.js";

let dialogs = 0;

/**
 * @typedef {object} Question
 * @property {string} title
 * @property {string} text
 * @property {string} button
 * @property {string} [typed] What has to be typed before the button works: for what cannot be taken back.
 * @property {HTMLElement[]} [fields]
 * @property {(data: FormData) => Promise<void> | void} run What the button does. While it fails, the dialog stays and says why.
 * @property {string} [problem] What is wrong from the start.
 */

/**
 * Asks, and does it. Resolves with whether it was done.
 *
 * @param {Question} question
 * @returns {Promise<boolean>}
 */
export function ask({ title, text, button, typed, fields = [], run, problem = "" }) {
  const id = `dialog-${++dialogs}`;
  const back = document.activeElement;
  const said = h("p", { class: "problem", role: "alert", hidden: problem === "", textContent: problem });
  const submit = h("button", { class: typed === undefined ? "main" : "danger", textContent: button });
  const cancel = h("button", { type: "button", textContent: "Cancel", onclick: () => dialog.close() });
  const form = h("form", { method: "dialog" }, ...fields);
  if (typed !== undefined) form.append(typedField(typed, submit));
  form.append(said, h("div", { class: "buttons" }, cancel, submit));
  const dialog = h(
    "dialog",
    { "aria-labelledby": id, "aria-describedby": `${id}-text` },
    h("h2", { id, textContent: title }),
    h("p", { id: `${id}-text`, textContent: text }),
    form,
  );
  let isDone = false;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (submit.disabled) return;
    submit.disabled = true;
    said.hidden = true;
    try {
      await run(new FormData(form));
      isDone = true;
      dialog.close();
    } catch (error) {
      setText(said, error instanceof Error ? error.message : String(error));
      said.hidden = false;
      submit.disabled = false;
    }
  });
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      if (back instanceof HTMLElement && back.isConnected) back.focus();
      resolve(isDone);
    });
  });
}

/**
 * @param {string} expected
 * @param {HTMLButtonElement} submit
 */
function typedField(expected, submit) {
  submit.disabled = true;
  const input = h("input", {
    name: "typed",
    autocomplete: "off",
    spellcheck: false,
    oninput: () => {
      submit.disabled = input.value !== expected;
    },
  });
  return h("label", {}, h("span", {}, "Type ", h("b", { textContent: expected }), " to go on"), input);
}

/**
 * @param {string} text
 * @param {HTMLElement} input
 */
export function labelled(text, input) {
  return h("label", {}, h("span", { textContent: text }), input);
}
