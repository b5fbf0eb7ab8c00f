// The AI SDK's own providers for OpenAI and for servers like it, against /v1 of a running Ratchet.
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, stepCountIs, streamText, tool } from "ai7";
import { z } from "zod";

const [baseURL, apiKey, plain, calling] = process.argv.slice(2);

const openai = createOpenAI({ baseURL, apiKey });
const compatible = createOpenAICompatible({ name: "ratchet", baseURL, apiKey });
const models = {
  responses: openai.responses("copilot"),
  chat: openai.chat("copilot"),
  compatible: compatible("copilot"),
};

const get_weather = tool({
  description: "Tell the weather of a city.",
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => `sunny in ${city}`,
});

async function saw(model) {
  const whole = await generateText({ model, prompt: plain, maxRetries: 0 });
  const stream = streamText({ model, prompt: plain, maxRetries: 0 });
  let streamed = "";
  for await (const text of stream.textStream) streamed += text;
  const tools = await generateText({
    model,
    prompt: calling,
    tools: { get_weather },
    stopWhen: stepCountIs(3),
    maxRetries: 0,
  });
  return { whole: whole.text, tokens: whole.usage.totalTokens, streamed, tools: tools.text };
}

const found = {};
for (const [name, model] of Object.entries(models)) found[name] = await saw(model);
console.log(JSON.stringify(found));
