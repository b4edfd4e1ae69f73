import { WorkerEntrypoint } from "cloudflare:workers";
import { readConfig, type Env } from "../config.ts";
import type { PulledMessage, Settlement } from "../durable/message.ts";
import { decodeBody } from "../durable/content.ts";
import { DurableQueues } from "../durable-queues.ts";
import { Broker } from "../broker.ts";
import { handle } from "../http/app.ts";
import { DurableQueue as BrokerQueue } from "../objects/durable-queue.ts";
import { Owner as BrokerOwner } from "../objects/owner.ts";
import { ownerName } from "../placement.ts";
import type { TakenMessage, TestingBinding } from "./protocol.ts";

/** The broker as a test runs it beside a Worker of its user's: the whole of it, and an entrypoint that looks inside. */
export * from "../index.ts";
export { default } from "../index.ts";

const STOPPED = "stopped by a test";
/** Past the window of the checkpoint, everything that an owner holds is on its disk. */
const MARGIN_MS = 100;

export class Owner extends BrokerOwner {
  stop(): void {
    this.ctx.abort(STOPPED);
  }
}

export class DurableQueue extends BrokerQueue {
  stop(): void {
    this.ctx.abort(STOPPED);
  }
}

interface Stoppable {
  stop(): Promise<void>;
}

/** What `waggle-mq/testing` calls. */
export class Testing extends WorkerEntrypoint<Env> implements TestingBinding {
  async declare(queue: string, settings: object): Promise<void> {
    await this.#api("POST", "/api/v1/queues", { queue_name: queue }, [11009]);
    await this.#api("POST", `/api/v1/queues/${queue}/consumers`, { type: "http_pull", ...settings });
  }

  async take(queue: string, limit: number): Promise<TakenMessage[]> {
    const request = { consumer: null, limit, visibilityTimeoutMs: null, waitMs: 0 };
    const pulled = await this.#queues.pull(queue, request);
    return pulled.map(taken);
  }

  async settle(queue: string, settlements: Settlement[]): Promise<void> {
    await this.#queues.settle(queue, settlements);
  }

  async backlog(queue: string): Promise<number> {
    const { count } = await this.#queues.backlog(queue);
    return count;
  }

  async ephemeralBacklog(queue: string): Promise<number> {
    const { queues } = await new Broker(this.env).queues();
    return queues.find((listed) => listed.queue === queue)?.depth ?? 0;
  }

  async evict(): Promise<void> {
    await scheduler.wait(readConfig(this.env).checkpointMs + MARGIN_MS);
    await this.crash();
  }

  async crash(): Promise<void> {
    const owners = Array.from({ length: readConfig(this.env).owners }, (_, index) =>
      this.env.OWNER.getByName(ownerName(index)),
    );
    const objects: DurableObjectStub[] = [...owners];
    const { result = [] } = await this.#api<{ queue_id: string; queue_name: string }[]>("GET", "/api/v1/queues");
    for (const { queue_id, queue_name } of result) {
      const { partitions } = await this.#queues.resolve(queue_name);
      for (const partition of partitions) objects.push(this.env.DURABLE_QUEUE.getByName(`${queue_id}:${partition}`));
    }
    // The call itself fails with the object that it stops.
    await Promise.allSettled(objects.map((object) => (object as unknown as Stoppable).stop()));
  }

  get #queues(): DurableQueues {
    return new DurableQueues(this.env);
  }

  async #api<T>(method: string, path: string, body?: object, mayFailWith: number[] = []): Promise<{ result?: T }> {
    const init = body === undefined ? { method } : { method, body: JSON.stringify(body) };
    const answer = await handle(new Request(`http://waggle${path}`, init), this.env, this.ctx);
    const { success, errors, result } = await answer.json<{
      success: boolean;
      errors: { code: number; message: string }[];
      result: T;
    }>();
    if (success || errors.every(({ code }) => mayFailWith.includes(code))) return { result };
    throw new Error(errors.map(({ message }) => message).join("; "));
  }
}

function taken({ id, sentAt, attempts, type, body, leaseId }: PulledMessage): TakenMessage {
  return { id, timestamp: new Date(sentAt), attempts, body: decodeBody(type, body), leaseId };
}
