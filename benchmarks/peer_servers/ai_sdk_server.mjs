// A chat on the AI SDK, as its documentation shows it for Node's own HTTP server.
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { convertToModelMessages, streamText } from 'ai'
import { createServer } from 'node:http'

const provider = createOpenAICompatible({ name: 'model', baseURL: process.env.MODEL_URL, apiKey: 'none' })

createServer(async (request, response) => {
  const pieces = []
  for await (const piece of request) pieces.push(piece)
  const { model, messages } = JSON.parse(Buffer.concat(pieces).toString())
  const result = streamText({ model: provider(model), messages: await convertToModelMessages(messages) })
  result.pipeUIMessageStreamToResponse(response)
}).listen(Number(process.argv[2]), '127.0.0.1')
