import * as z from "zod/mini";

/** The parts of JSON-RPC 2.0 and of the Model Context Protocol that a server of tools takes. */

/** Newest first: what a client asks for is spoken if it is among these, and the newest otherwise. */
export const PROTOCOL_VERSIONS = ["2025-11-25", "2025-06-18", "2025-03-26"] as const;

/** Codes of JSON-RPC. */
export const RPC = {
  parseError: -32_700,
  invalidRequest: -32_600,
  methodNotFound: -32_601,
  invalidParams: -32_602,
} as const;

/** A request, or a notification, which has no id and gets no answer. */
export const rpcMessage = z.object({
  jsonrpc: z.literal("2.0"),
  id: z.optional(z.union([z.string(), z.number()])),
  method: z.optional(z.string()),
  params: z.optional(z.looseObject({})),
});
export type RpcMessage = z.infer<typeof rpcMessage>;

export const initializeParams = z.object({ protocolVersion: z.string() });
export const callParams = z.object({ name: z.string(), arguments: z.optional(z.record(z.string(), z.unknown())) });

export class RpcError extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

export function rpcResult(id: RpcMessage["id"], result: unknown): object {
  return { jsonrpc: "2.0", id, result };
}

export function rpcFailure(id: RpcMessage["id"] | null, code: number, message: string): object {
  return { jsonrpc: "2.0", id: id ?? null, error: { code, message } };
}
