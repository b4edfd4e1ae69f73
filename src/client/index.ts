export { Waggle, type RequestOptions, type WaggleOptions } from "./waggle.ts";
export { WaggleError, type WaggleErrorOptions } from "./error.ts";
export type { SocketClass, SubscribedMessage, SubscribeOptions } from "./subscribe.ts";
export type { TokenSource } from "./transport.ts";
export type { Ephemeral } from "./ephemeral.ts";
export type { ConsumeOptions } from "./consume.ts";
export type { RequestContext, RespondOptions } from "./respond.ts";
export type {
  BatchMessage,
  ContentType,
  DurableQueue,
  Metrics,
  PulledMessage,
  PullOptions,
  Retry,
  SendOptions,
} from "./durable.ts";
export type {
  Abortable,
  AckOptions,
  AckStatus,
  Depth,
  ListedQueue,
  Message,
  Outcome,
  PopOptions,
  PushOptions,
  QueueOptions,
  Settled,
} from "./types.ts";
