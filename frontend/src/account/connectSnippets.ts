// Settings and first lines for programs that speak the OpenAI API, or the Model Context Protocol.
export const PROGRAMS = [
  { id: 'python', label: 'Python' },
  { id: 'javascript', label: 'JavaScript' },
  { id: 'curl', label: 'curl' },
  { id: 'open-webui', label: 'Open WebUI' },
  { id: 'librechat', label: 'LibreChat' },
  { id: 'langchain', label: 'LangChain' },
  { id: 'claude-code', label: 'Claude Code (MCP)' },
  { id: 'claude-desktop', label: 'Claude Desktop (MCP)' },
  { id: 'vscode', label: 'VS Code (MCP)' },
  { id: 'cursor', label: 'Cursor (MCP)' },
] as const;

export type Program = (typeof PROGRAMS)[number]['id'];

/** What to write in a program; `site` is the address of this site, without a path. */
export function snippet(program: Program, site: string, key: string): string {
  return SNIPPETS[program](MCP.has(program) ? `${site}/mcp` : `${site}/v1`, key).trim();
}

const MCP: ReadonlySet<Program> = new Set<Program>(['claude-code', 'claude-desktop', 'vscode', 'cursor']);

const SNIPPETS: Record<Program, (url: string, key: string) => string> = {
  python: (url, key) => `
from openai import OpenAI

client = OpenAI(base_url="${url}", api_key="${key}")
response = client.responses.create(model="copilot", input="Hello!", background=True)
# The answer goes on whatever happens to this program; fetch it whenever you like:
for event in client.responses.retrieve(response.id, stream=True):
    if event.type == "response.output_text.delta":
        print(event.delta, end="", flush=True)`,
  javascript: (url, key) => `
import OpenAI from "openai";

const client = new OpenAI({ baseURL: "${url}", apiKey: "${key}" });
const stream = await client.chat.completions.create({
  model: "copilot",
  messages: [{ role: "user", content: "Hello!" }],
  stream: true,
});
for await (const chunk of stream) process.stdout.write(chunk.choices[0]?.delta?.content ?? "");`,
  curl: (url, key) => `
curl ${url}/chat/completions \\
  -H "Authorization: Bearer ${key}" \\
  -H "Content-Type: application/json" \\
  -d '{"model": "copilot", "messages": [{"role": "user", "content": "Hello!"}]}'`,
  'open-webui': (url, key) => `
# Admin settings > Connections > OpenAI API, or in the environment of Open WebUI:
OPENAI_API_BASE_URL=${url}
OPENAI_API_KEY=${key}`,
  librechat: (url, key) => `
# librechat.yaml
endpoints:
  custom:
    - name: "Ratchet"
      apiKey: "${key}"
      baseURL: "${url}"
      models:
        default: ["copilot"]
        fetch: true`,
  langchain: (url, key) => `
from langchain_openai import ChatOpenAI

model = ChatOpenAI(base_url="${url}", api_key="${key}", model="copilot")
print(model.invoke("Hello!").content)`,
  'claude-code': (url, key) => `
claude mcp add --transport http ratchet ${url} --header "Authorization: Bearer ${key}"`,
  'claude-desktop': (url, key) => `
{
  "mcpServers": {
    "ratchet": {
      "command": "npx",
      "args": ["-y", "mcp-remote", "${url}", "--header", "Authorization: Bearer ${key}"]
    }
  }
}`,
  vscode: (url, key) => `
{
  "servers": {
    "ratchet": {
      "type": "http",
      "url": "${url}",
      "headers": { "Authorization": "Bearer ${key}" }
    }
  }
}`,
  cursor: (url, key) => `
{
  "mcpServers": {
    "ratchet": {
      "url": "${url}",
      "headers": { "Authorization": "Bearer ${key}" }
    }
  }
}`,
};
