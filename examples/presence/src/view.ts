import type { Line } from "./roster.ts";
import type { State } from "./state.ts";

const HUES = 12;
const MAX_LINES = 100;

/** An element of the page; it is there, or the page is broken. */
export function at<E extends HTMLElement = HTMLElement>(id: string): E {
  const element = document.getElementById(id);
  if (element === null) throw new Error(`the page has no #${id}`);
  return element as E;
}

/** Draws who is in the room. Elements stay as long as their person does, so that pointers glide and lists do not flicker. */
export class View {
  readonly #own: string;
  readonly #people = new Map<string, { item: HTMLLIElement; pointer: HTMLDivElement }>();

  constructor(own: string) {
    this.#own = own;
  }

  show(present: readonly State[]): void {
    const ids = new Set(present.map(({ id }) => id));
    for (const [id, { item, pointer }] of this.#people) {
      if (ids.has(id)) continue;
      item.remove();
      pointer.remove();
      this.#people.delete(id);
    }
    for (const state of present) this.#showOne(state);
    at("count").textContent = String(present.length);
    setText(at("typing"), typingText(present.filter(({ id, isTyping }) => isTyping && id !== this.#own)));
  }

  #showOne({ id, name, isTyping, cursor }: State): void {
    const { item, pointer } = this.#people.get(id) ?? this.#add(id);
    setText(item.children[1], id === this.#own ? `${name} (you)` : name);
    item.classList.toggle("typing", isTyping);
    pointer.hidden = cursor === null || id === this.#own;
    setText(pointer.children[1], name);
    if (cursor !== null) pointer.style.translate = `calc(${cursor.x} * var(--width)) calc(${cursor.y} * var(--height))`;
  }

  #add(id: string): { item: HTMLLIElement; pointer: HTMLDivElement } {
    const hue = `${hueOf(id) * (360 / HUES)}`;
    const item = document.createElement("li");
    item.append(mark("dot"), document.createElement("span"), mark("pen"));
    const pointer = document.createElement("div");
    pointer.className = "pointer";
    pointer.setAttribute("aria-hidden", "true");
    pointer.append(mark("tip"), document.createElement("span"));
    for (const element of [item, pointer]) element.style.setProperty("--hue", hue);
    at("people").append(item);
    at("stage").append(pointer);
    const person = { item, pointer };
    this.#people.set(id, person);
    return person;
  }

  say({ name, text }: Line): void {
    const who = document.createElement("b");
    who.textContent = name;
    const item = document.createElement("li");
    item.append(who, ` ${text}`);
    const lines = at("lines");
    lines.append(item);
    if (lines.childElementCount > MAX_LINES) lines.firstElementChild?.remove();
    item.scrollIntoView({ block: "nearest" });
  }
}

function mark(className: string): HTMLElement {
  const element = document.createElement("i");
  element.className = className;
  element.setAttribute("aria-hidden", "true");
  return element;
}

/** Touches the page only where something is new, since what is live is read aloud. */
function setText(element: Element | undefined, text: string): void {
  if (element !== undefined && element.textContent !== text) element.textContent = text;
}

function typingText(typing: readonly State[]): string {
  const names = typing.map(({ name }) => name);
  if (names.length === 0) return "";
  if (names.length > 3) return "Several people are typing…";
  return `${new Intl.ListFormat("en").format(names)} ${names.length === 1 ? "is" : "are"} typing…`;
}

/** Everybody sees the same person in the same colour. */
function hueOf(id: string): number {
  return [...id].reduce((sum, char) => (sum * 31 + char.charCodeAt(0)) % 997, 7) % HUES;
}
