/** Messages in order, cut so that the bodies of each batch stay below a number of characters, as far as one message does. */
export function batchesByBody<T extends { body: string }>(messages: readonly T[], maxChars: number): T[][] {
  const batches: T[][] = [];
  let room = 0;
  for (const message of messages) {
    if (message.body.length > room) {
      batches.push([]);
      room = maxChars;
    }
    batches.at(-1)?.push(message);
    room -= message.body.length;
  }
  return batches;
}
