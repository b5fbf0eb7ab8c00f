import type { DynamicToolUIPart, ToolUIPart } from 'ai';
import { type Components, Streamdown } from 'streamdown';
import type { ChatMessage } from './api';

const ENDINGS: Record<string, string> = {
  cancelled: 'Stopped.',
  budget: 'The budget is used up.',
  too_many_steps: 'Stopped after too many steps.',
  model_refused: 'The model declined to answer.',
  worker_lost: 'The worker died several times.',
  timed_out: 'Took too long.',
};

export function MessageView({ message, live }: { message: ChatMessage; live: boolean }) {
  if (message.role === 'user') {
    const text = message.parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
    return <div className="ml-auto max-w-[85%] whitespace-pre-wrap break-words rounded-2xl bg-mine px-4 py-2">{text}</div>;
  }
  const ending = message.metadata?.status && message.metadata.status !== 'completed' ? message.metadata.end_reason : '';
  return (
    <article className="min-w-0 space-y-3" aria-label="Answer" aria-busy={live}>
      {message.parts.map((part, place) => {
        if (part.type === 'text') return <Words key={place} text={part.text} live={live && part.state === 'streaming'} />;
        if (part.type === 'reasoning') return <Reasoning key={place} text={part.text} />;
        if (part.type === 'data-steer') {
          return <p key={place} className="border-l-2 border-accent pl-3 text-sm text-quiet">{(part.data as { text: string }).text}</p>;
        }
        if (part.type.startsWith('tool-')) return <ToolCard key={place} part={part as ToolUIPart} />;
        return null;
      })}
      {ending && <p className="text-sm text-quiet">{message.metadata?.error || ENDINGS[ending] || ''}</p>}
    </article>
  );
}

function Words({ text, live }: { text: string; live: boolean }) {
  return (
    <div className="prose-answer">
      <Streamdown isAnimating={live} components={COMPONENTS}>
        {text}
      </Streamdown>
    </div>
  );
}

/** A picture from elsewhere would tell its server what the conversation says; it is a link until asked for. */
function RemoteImage({ src, alt }: { src?: unknown; alt?: unknown }) {
  const address = typeof src === 'string' && /^https?:/.test(src) ? src : undefined;
  return (
    <a href={address} target="_blank" rel="noreferrer noopener">
      {typeof alt === 'string' && alt ? alt : 'Picture'}
    </a>
  );
}

const COMPONENTS = { img: RemoteImage } as unknown as Components;

function Reasoning({ text }: { text: string }) {
  return (
    <details className="text-sm text-quiet">
      <summary className="cursor-pointer">Reasoning</summary>
      <p className="mt-1 whitespace-pre-wrap border-l-2 border-line pl-3">{text}</p>
    </details>
  );
}

function ToolCard({ part }: { part: ToolUIPart | DynamicToolUIPart }) {
  const name = part.type.replace(/^tool-/, '').replaceAll('_', ' ');
  const output = 'output' in part ? (part.output as { message?: string; progress?: number } | undefined) : undefined;
  const working = part.state === 'input-streaming' || part.state === 'input-available' || ('preliminary' in part && part.preliminary);
  const failed = part.state === 'output-error';
  const line = failed ? part.errorText : (output?.message ?? (working ? 'Working…' : ''));
  return (
    <details className="card text-sm">
      <summary className="flex cursor-pointer items-center gap-2">
        <span className={`dot ${failed ? 'failed' : working ? 'running' : 'done'}`} />
        <span className="font-medium first-letter:uppercase">{name}</span>
        <span className={`truncate ${failed ? 'text-wrong' : 'text-quiet'}`}>{line}</span>
      </summary>
      {working && typeof output?.progress === 'number' && <progress className="mt-2 w-full" max={1} value={output.progress} />}
      <pre className="mt-2 max-h-80 overflow-auto rounded-lg bg-code p-3 text-xs">
        {JSON.stringify({ input: part.input, ...(output ? { output } : {}) }, null, 2)}
      </pre>
    </details>
  );
}
