import { DurableObject } from "cloudflare:workers";

/**
 * What the platform itself costs: a body through one object and back, and an answer that another request lets go. Every
 * request takes the way of the broker's, from the Worker to an object that is found by name, by RPC.
 */
export class Bare extends DurableObject {
  #parked = [];

  echo(text) {
    return text;
  }

  park() {
    return new Promise((resolve) => this.#parked.push(resolve));
  }

  wake(text) {
    this.#parked.shift()?.(text);
  }
}

const HEADERS = { "content-type": "application/json" };

export default {
  async fetch(request, env) {
    const { pathname } = new URL(request.url);
    const object = env.BARE.getByName("bare");
    if (pathname === "/echo") return new Response(await object.echo(await request.text()), { headers: HEADERS });
    if (pathname === "/park") return new Response(await object.park(), { headers: HEADERS });
    if (pathname === "/wake") {
      await object.wake(await request.text());
      return new Response("{}", { status: 201, headers: HEADERS });
    }
    return new Response("{}", { headers: HEADERS });
  },
};
