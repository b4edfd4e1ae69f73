/**
 * What an owner still holds and no longer owns stands under a name that no client can say, so that it is kept, aged and
 * written like everything else, and served to nobody until it has been handed over.
 */
const IN_TRANSIT = "\u0001";

export function isInTransit(queue: string): boolean {
  return queue.startsWith(IN_TRANSIT);
}

export function inTransit(queue: string): string {
  return isInTransit(queue) ? queue : IN_TRANSIT + queue;
}

/** The name that clients know. */
export function clientName(queue: string): string {
  return isInTransit(queue) ? queue.slice(IN_TRANSIT.length) : queue;
}
