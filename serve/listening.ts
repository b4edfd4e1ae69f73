import type { Readable } from "node:stream";

const READY_MS = 10_000;

/** Which ports a `workerd` has got, by the names of its sockets; it says so on its control descriptor. */
export async function listening(
  control: Readable,
  names: readonly string[],
  ended: Promise<unknown>,
): Promise<Map<string, number>> {
  const { promise, resolve, reject } = Promise.withResolvers<Map<string, number>>();
  const late = setTimeout(() => reject(new Error(`workerd is not up after ${READY_MS} ms`)), READY_MS);
  void ended.then(() => reject(new Error("workerd has ended")));
  let said = "";
  control.setEncoding("utf8").on("data", (text: string) => {
    said += text;
    const events = said.matchAll(/"event":"listen","socket":"(.*?)","port":(\d+)/g);
    const ports = new Map(Array.from(events, ([, name = "", port]) => [name, Number(port)]));
    if (names.every((name) => ports.has(name))) resolve(ports);
  });
  try {
    return await promise;
  } finally {
    clearTimeout(late);
  }
}
