// A parsed tool part of a message: its tool, state, text and result.
import type { DynamicToolUIPart, ToolUIPart } from 'ai';
import { field, text } from '../api/looseValues';

export type Result = { type: string; message: string; [field: string]: unknown };
export type Call = {
  tool: string;
  state: 'working' | 'done' | 'failed';
  line: string;
  progress: number | null;
  result: Result | null;
};

const FAILURES = new Set(['error', 'input_validation_error']);

const ANSWERED = new Set<string>(['output-available', 'approval-requested', 'approval-responded']);

/** The result of a tool call, also of one that asks for approval. */
export function outputOf(part: ToolUIPart | DynamicToolUIPart): unknown {
  return ANSWERED.has(part.state) ? part.output : undefined;
}

export function readCall(part: ToolUIPart | DynamicToolUIPart): Call {
  const tool = part.type === 'dynamic-tool' ? part.toolName : part.type.slice('tool-'.length);
  const base = { tool, progress: null, result: null };
  if (part.state === 'output-error') return { ...base, state: 'failed', line: part.errorText };
  const answer = outputOf(part);
  if (answer === undefined) return { ...base, state: 'working', line: '' };
  const message = text(field(answer, 'message'));
  if (part.state === 'output-available' && part.preliminary) {
    const share = field(answer, 'progress');
    return { ...base, state: 'working', line: message, progress: typeof share === 'number' ? share : null };
  }
  const type = text(field(answer, 'type')) || 'unknown';
  const output = typeof answer === 'object' && answer !== null ? answer : { value: answer };
  const result: Result = { ...output, type, message };
  return { ...base, state: FAILURES.has(type) ? 'failed' : 'done', line: message, result };
}
