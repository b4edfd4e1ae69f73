import { Room } from "./room.ts";
import type { Transport } from "./listen.ts";
import { at, View } from "./view.ts";

/**
 * `?room=` says which room, `?transport=websocket` or `long-poll` allows only that one, `?broker=` names a broker at another
 * address. The token comes after `#`, which a browser sends to nobody.
 */
const query = new URLSearchParams(location.search);
const room = query.get("room") || "lobby";
const token = new URLSearchParams(location.hash.slice(1)).get("token") ?? undefined;

const NAMES = ["Ada", "Barbara", "Claude", "Donald", "Edsger", "Frances", "Grace", "Hedy", "Ivan", "John"];
const name = query.get("name") ?? NAMES[Math.floor(Math.random() * NAMES.length)] ?? "Ada";

const TRANSPORTS: Record<Transport, string> = { websocket: "WebSocket", "long-poll": "long poll" };

const here = new Room({
  broker: (query.get("broker") ?? location.origin).replace(/\/+$/, ""),
  token,
  room,
  name,
  transport: transportOf(query.get("transport")),
  changed: (present) => view.show(present),
  said: (line) => view.say(line),
  tries: (transport) => status(`over ${TRANSPORTS[transport]}`),
  failed: (error) => status(error instanceof Error ? error.message : String(error), true),
});
const view = new View(here.id);

function transportOf(text: string | null): Transport | null {
  return text === "websocket" || text === "long-poll" ? text : null;
}

function fraction(part: number): number {
  return Math.min(1, Math.max(0, Math.round(part * 1000) / 1000));
}

function status(text: string, isBad = false): void {
  const element = at("status");
  element.textContent = text;
  element.classList.toggle("bad", isBad);
}

at("room").textContent = room;
document.title = `${room} · presence`;

const own = at<HTMLInputElement>("name");
own.value = name;
own.addEventListener("change", () => here.rename(own.value || name));

const text = at<HTMLInputElement>("text");
text.addEventListener("input", () => here.type());
at<HTMLFormElement>("say").addEventListener("submit", (event) => {
  event.preventDefault();
  if (text.value.trim() !== "") here.say(text.value.trim());
  text.value = "";
});

const stage = at("stage");
const measure = () => {
  stage.style.setProperty("--width", `${stage.clientWidth}px`);
  stage.style.setProperty("--height", `${stage.clientHeight}px`);
};
new ResizeObserver(measure).observe(stage);
stage.addEventListener("pointermove", ({ clientX, clientY }) => {
  const { left, top, width, height } = stage.getBoundingClientRect();
  here.moveTo({ x: fraction((clientX - left) / width), y: fraction((clientY - top) / height) });
});
stage.addEventListener("pointerleave", () => here.moveTo(null));

addEventListener("offline", () => status("offline", true));
addEventListener("online", () => here.reconnect());
addEventListener("pagehide", () => here.leave());
// A page that the browser kept in hand and shows again has said goodbye.
addEventListener("pageshow", ({ persisted }) => {
  if (persisted) location.reload();
});

here.enter();
