/** A call of the API of durable queues; answers its result. */
export type Call = <T>(method: string, path: string, body?: unknown) => Promise<T>;

/** How to call the API at this URL. `token` null = it asks for none. */
export function caller(url: string, token: string | null, base = "/api/v1"): Call {
  const headers = {
    "content-type": "application/json",
    ...(token === null ? {} : { authorization: `Bearer ${token}` }),
  };
  return async <T>(method: string, path: string, body?: unknown) => {
    const init = body === undefined ? { method, headers } : { method, headers, body: JSON.stringify(body) };
    const response = await fetch(`${url}${base}${path}`, init);
    const answer = (await response.json()) as { success: boolean; errors: { message: string }[]; result: T };
    if (answer.success) return answer.result;
    throw new Error(`${method} ${path}: ${answer.errors.map(({ message }) => message).join("; ")}`);
  };
}

/**
 * Looks at every queue once, which wakes its objects: what became due while the broker was down goes on now, and not at
 * the alarm that each has set for such an end, up to 30 s later.
 */
export async function wakeQueues(call: Call): Promise<void> {
  for (const { queue_id } of await call<{ queue_id: string }[]>("GET", "/queues"))
    await call("GET", `/queues/${queue_id}`);
}
