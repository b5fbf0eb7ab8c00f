// A tool part of a message, read once: its tool, its state, its words and its result.
import type { DynamicToolUIPart, ToolUIPart } from 'ai';
import { field, text } from '../lib/shape';

export type Result = { type: string; message: string; [field: string]: unknown };
export type Call = {
  tool: string;
  state: 'working' | 'done' | 'failed';
  line: string;
  progress: number | null;
  result: Result | null;
};

const FAILURES = new Set(['error', 'input_validation_error']);

export function readCall(part: ToolUIPart | DynamicToolUIPart): Call {
  const tool = part.type === 'dynamic-tool' ? part.toolName : part.type.slice('tool-'.length);
  const base = { tool, progress: null, result: null };
  if (part.state === 'output-error') return { ...base, state: 'failed', line: part.errorText };
  if (part.state !== 'output-available') return { ...base, state: 'working', line: '' };
  const message = text(field(part.output, 'message'));
  if (part.preliminary) {
    const share = field(part.output, 'progress');
    return { ...base, state: 'working', line: message, progress: typeof share === 'number' ? share : null };
  }
  const type = text(field(part.output, 'type')) || 'unknown';
  const output = typeof part.output === 'object' && part.output !== null ? part.output : { value: part.output };
  const result: Result = { ...output, type, message };
  return { ...base, state: FAILURES.has(type) ? 'failed' : 'done', line: message, result };
}
