/** When each message with a number below 4096 was last here, by the clock that all Workers of a process share. */
export const stamps = Array.from({ length: 4096 }, () => 0);

export function note(number) {
  if (number < stamps.length) stamps[number] = Date.now();
}
