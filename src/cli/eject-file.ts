/** The lines of an ejected queue: settings, messages, and an end that tells a whole file from one that was cut off. */

export const FORMAT = "waggle-queue/1";

export interface HeadLine {
  format: typeof FORMAT;
  kind: "durable" | "ephemeral";
  queue: string;
  /** Names this eject: an import tells by it what it has taken already. */
  eject_id: string;
  taken_on: string;
  settings: Record<string, unknown>;
  partitions: { partition: string; count: number }[];
}

export interface EndLine {
  end: true;
  messages: number;
  /** Partitions that started again meanwhile: what was consumed of them after that is not here. */
  restarted: string[];
}

/** What every message has, of either kind. */
export interface MessageLine {
  /** Counts the messages of a partition, from 1. */
  number: number;
  partition: string;
  id: string;
  enqueued_on: string;
  attempts: number;
}

export function isHead(line: unknown): line is HeadLine {
  return typeof line === "object" && line !== null && (line as Partial<HeadLine>).format === FORMAT;
}

export function isEnd(line: unknown): line is EndLine {
  return typeof line === "object" && line !== null && (line as Partial<EndLine>).end === true;
}
