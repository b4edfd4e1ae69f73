/** What a window says of itself, as a whole each time: a state that is lost is mended by the next one. */
export interface State {
  /** Of the window. */
  id: string;
  /** Counts up, so that a state that comes late does not undo a later one. */
  seq: number;
  name: string;
  isTyping: boolean;
  /** Where the pointer is, as fractions of the stage's width and height; null = not on it. */
  cursor: { x: number; y: number } | null;
  /** The last line that was sent, and which one it is. */
  said: { line: number; text: string } | null;
  /** Asks everybody to say at once that they are here. */
  isNew?: true;
  hasLeft?: true;
}

/** Whether a payload is a state; the queue is open to whoever has a token for it. */
export function isState(payload: unknown): payload is State {
  if (typeof payload !== "object" || payload === null) return false;
  const { id, seq, name, isTyping, cursor, said } = payload as Partial<Record<keyof State, unknown>>;
  return (
    typeof id === "string" &&
    Number.isSafeInteger(seq) &&
    typeof name === "string" &&
    typeof isTyping === "boolean" &&
    (cursor === null || (isRecord(cursor) && isFraction(cursor["x"]) && isFraction(cursor["y"]))) &&
    (said === null || (isRecord(said) && Number.isSafeInteger(said["line"]) && typeof said["text"] === "string"))
  );
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

function isFraction(value: unknown): boolean {
  return typeof value === "number" && value >= 0 && value <= 1;
}
