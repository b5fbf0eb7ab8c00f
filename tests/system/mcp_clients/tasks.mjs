// The official TypeScript client with its tasks: start an agent as a task, or go on with one by its stored reference.
// One JSON object comes as the argument; one JSON object a line goes to the standard output.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { createTaskSessionFromClient, resultFromTaskOutcome } from "@modelcontextprotocol/ext-tasks/client";

const { url, key, mode, action, tool, args, reference, decide } = JSON.parse(process.argv[2]);
const clientInfo = { name: "ratchet-tests", version: "1.0.0" };
const tasks = action === "call" ? {} : { extensions: { "io.modelcontextprotocol/tasks": {} } };
const capabilities = { elicitation: {}, ...tasks };
const authorization = { Authorization: `Bearer ${key}` };
const names = { "tools/call": "name" };

const client = new Client(clientInfo, { capabilities, versionNegotiation: { mode: mode ?? "auto" } });
const transport = new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers: authorization } });
client.setRequestHandler("elicitation/create", async () => ({ action: "accept", content: { approved: true } }));
await client.connect(transport);

const tell = (what) => process.stdout.write(`${JSON.stringify(what)}\n`);
let count = 0;

// Requests whose results the client's own codec does not know; a refused connection is tried again.
async function rawDispatch(request, options = {}) {
  const protocol = request.params._meta["io.modelcontextprotocol/protocolVersion"];
  const name = request.params[names[request.method] ?? "taskId"];
  const headers = {
    ...authorization,
    "Content-Type": "application/json",
    Accept: "application/json, text/event-stream",
    "Mcp-Protocol-Version": protocol,
    "Mcp-Method": request.method,
    ...(name ? { "Mcp-Name": name } : {}),
  };
  const body = JSON.stringify({ jsonrpc: "2.0", id: ++count, ...request });
  for (;;) {
    try {
      const response = await fetch(`${url}/mcp`, { method: "POST", headers, body, signal: options.signal });
      const message = JSON.parse((await response.text()).replace(/^[^]*?data: /, ""));
      return message.error ? { kind: "error", error: message.error } : { kind: "result", result: message.result };
    } catch (error) {
      if (options.signal?.aborted) throw error;
      await new Promise((next) => setTimeout(next, 200));
    }
  }
}

if (action === "call") {
  const found = await client.callTool({ name: tool, arguments: args });
  tell({ era: client.getProtocolEra(), result: found, tools: (await client.listTools()).tools.map((each) => each.name) });
  process.exit(0);
}

const session = createTaskSessionFromClient(client, {
  endpointId: "ratchet",
  rawDispatch,
  v2RequestFraming: { protocolVersion: "2026-07-28", clientInfo, clientCapabilities: capabilities },
  onInputRequest: async () => {
    tell({ asked: true });
    if (!decide) process.exit(0); // somebody else is to decide
    return { action: "accept", content: { approved: true } };
  },
});
const execution = action === "start" ? await session.callTool(tool, args) : await session.resumeTask(reference);
tell({ kind: execution.kind, reference: execution.kind === "task" ? execution.serializeReference() : null });
const { outcome } = await execution.settle();
tell({ result: resultFromTaskOutcome(outcome) });
process.exit(0);
