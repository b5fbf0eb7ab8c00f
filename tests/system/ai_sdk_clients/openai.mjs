// The official OpenAI client for Node over every path of /v1; prints one JSON object with what it saw.
//   node openai.mjs <base url> <api key> <script of a plain answer> <script that calls get_weather>
import OpenAI from 'openai';

const [baseURL, apiKey, plain, calling] = process.argv.slice(2);
const client = new OpenAI({ baseURL, apiKey, maxRetries: 2 });
const ask = (content) => [{ role: 'user', content }];
const saw = {};

saw.models = (await client.models.list()).data.map((model) => model.id);
saw.whole = (await client.chat.completions.create({ model: 'copilot', messages: ask(plain) })).choices[0].message.content;

const runner = client.chat.completions.stream({
  model: 'copilot', messages: ask(plain), stream_options: { include_usage: true },
});
saw.streamed = await runner.finalContent();
saw.usage = (await runner.totalUsage()).total_tokens > 0;

const tool = {
  type: 'function',
  function: {
    name: 'get_weather', description: 'Tell the weather.', parse: JSON.parse, function: () => 'sunny',
    parameters: { type: 'object', properties: { city: { type: 'string' } } },
  },
};
const tools = client.chat.completions.runTools({ model: 'copilot', messages: ask(calling), tools: [tool], stream: true });
saw.tools = await tools.finalContent();

const events = [];
for await (const event of await client.responses.create({ model: 'copilot', input: plain, stream: true })) events.push(event);
const response = events.at(-1).response;
saw.response = response.output.flatMap((item) => item.content ?? []).map((part) => part.text).join('');
saw.kinds = [...new Set(events.map((event) => event.type))];
saw.resumed = true;
for (const [place, event] of events.entries()) {
  const rest = [];
  const after = { stream: true, starting_after: event.sequence_number };
  for await (const one of await client.responses.retrieve(response.id, after)) rest.push(one);
  saw.resumed &&= JSON.stringify(rest) === JSON.stringify(events.slice(place + 1));
}
const helper = client.responses.stream({ response_id: response.id, starting_after: events[4].sequence_number });
saw.helper = (await helper.finalResponse()).output_text;
const background = await client.responses.create({ model: 'copilot', input: plain, background: true });
saw.background = background.status;
saw.cancelled = (await client.responses.cancel(background.id)).id === background.id;
saw.items = (await client.responses.inputItems.list(response.id)).data.length;
await client.responses.delete(response.id);
saw.deleted = await client.responses.retrieve(response.id).then(() => false, (error) => error.status === 404);
saw.refused = await client.chat.completions.create({ model: 'nothing', messages: ask('x') }).then(
  () => '', (error) => error.code,
);
console.log(JSON.stringify(saw));
