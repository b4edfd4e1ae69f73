/** What a payload weighs: on the wire and in memory. */
export interface Weight {
  /** Length in UTF-8: what the queue's bounds count. */
  bytes: number;
  /** Size of the string in memory: one byte a character while all are Latin-1, else two. */
  width: number;
}

/** Weighs a text that is known to be ASCII or not. */
export function weigh(text: string, isAscii: boolean): Weight {
  if (isAscii) return { bytes: text.length, width: text.length };
  let bytes = text.length;
  let widest = 0;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit > widest) widest = unit;
    if (unit >= 0x80) bytes++;
    // A surrogate is half of four bytes; any other unit past 0x7ff takes three.
    if (unit >= 0x800 && (unit < 0xd800 || unit > 0xdfff)) bytes++;
  }
  return { bytes, width: widest > 0xff ? text.length * 2 : text.length };
}

/** A piece of a text. What `slice` answers by itself would keep the whole text in memory for as long as it lives. */
export function copied(text: string, from: number, to: number): string {
  // A text that has been put together is flattened before it is cut: only that flat one is then kept.
  return ` ${text.slice(from, to)}`.slice(1);
}
