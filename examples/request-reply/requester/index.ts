import type { EphemeralBinding } from "../../../src/index.ts";
import type Responder from "../responder/index.ts";

interface Env {
  EPHEMERAL: EphemeralBinding;
  RESPONDER: Service<typeof Responder>;
}

interface Reply {
  squared: number;
}

/** Asks for the square of `n`: mints an inbox, sends the request, and parks on the inbox until the answer arrives. */
async function square(n: number, { EPHEMERAL }: Env): Promise<number | null> {
  const inbox = `rpc-inbox-${crypto.randomUUID()}`;
  await EPHEMERAL.push("rpc-requests", [{ n, replyTo: inbox }]);
  const { messages } = await EPHEMERAL.pop<Reply>(inbox, { wait: true, timeout: 5000, autoAck: true });
  const [reply] = messages;
  return reply === undefined ? null : reply.payload.squared;
}

export default {
  /** `GET /?n=7` */
  async fetch(request, env): Promise<Response> {
    const n = Number(new URL(request.url).searchParams.get("n"));
    if (!Number.isFinite(n)) return new Response("n must be a number\n", { status: 400 });
    await env.RESPONDER.start();
    const squared = await square(n, env);
    if (squared === null) return new Response("no reply within 5 s\n", { status: 504 });
    return Response.json({ n, squared });
  },
} satisfies ExportedHandler<Env>;
