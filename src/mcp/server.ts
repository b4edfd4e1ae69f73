import * as z from "zod/mini";
import { parseOr } from "../contract/parse.ts";
import { Api } from "../operations/api.ts";
import { VERSION } from "../version.ts";
import {
  callParams,
  initializeParams,
  PROTOCOL_VERSIONS,
  RPC,
  RpcError,
  rpcFailure,
  rpcMessage,
  rpcResult,
} from "./protocol.ts";
import tools from "./tool-list.json" with { type: "json" };
import { callTool } from "./tools.ts";

const INSTRUCTIONS =
  "Operates a Waggle message broker: durable queues (queue_*) keep messages on disk until a consumer has handled them, " +
  "ephemeral queues (ephemeral_*) hold them in memory. When nothing arrives, begin with doctor.";

/** Answers one message of a client; null = it was a notification. */
export async function answerRpc(message: unknown, api: Api): Promise<object | null> {
  const checked = z.safeParse(rpcMessage, message);
  if (!checked.success) return rpcFailure(null, RPC.invalidRequest, "this is no message of JSON-RPC 2.0");
  const { id, method, params } = checked.data;
  // A response is not expected: nothing is asked of clients.
  if (id === undefined || method === undefined) return null;
  try {
    return rpcResult(id, await resultOf(method, params, api));
  } catch (error) {
    if (error instanceof RpcError) return rpcFailure(id, error.code, error.message);
    throw error;
  }
}

async function resultOf(method: string, params: unknown, api: Api): Promise<unknown> {
  switch (method) {
    case "initialize":
      return initialized(checkedParams(initializeParams, params).protocolVersion);
    case "ping":
      return {};
    case "tools/list":
      return { tools };
    case "tools/call": {
      const { name, arguments: given = {} } = checkedParams(callParams, params);
      const result = await callTool(name, given, api);
      if (result === null) throw new RpcError(RPC.invalidParams, `there is no tool ${JSON.stringify(name)}`);
      return result;
    }
    default:
      throw new RpcError(RPC.methodNotFound, `there is no method ${JSON.stringify(method)}`);
  }
}

function checkedParams<T>(schema: z.core.$ZodType<T>, params: unknown): T {
  return parseOr(schema, params, (problem) => new RpcError(RPC.invalidParams, problem));
}

function initialized(wanted: string) {
  const spoken = PROTOCOL_VERSIONS.find((version) => version === wanted) ?? PROTOCOL_VERSIONS[0];
  return {
    protocolVersion: spoken,
    capabilities: { tools: {} },
    serverInfo: { name: "waggle", title: "Waggle", version: VERSION },
    instructions: INSTRUCTIONS,
  };
}
