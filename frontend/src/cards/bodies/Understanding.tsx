import { list, record, text, texts } from '../../api/looseValues';
import type { BodyProps } from './index';

/** The facts remembered about the user. */
export function Understanding({ result }: BodyProps<'understanding_updated'>) {
  const fresh = new Set(texts(result.updated_fields));
  const facts = Object.entries(record(result.current_understanding));
  return (
    <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1.5">
      {facts.map(([name, value]) => (
        <div key={name} className="contents">
          <dt className={fresh.has(name) ? 'font-medium text-accent-text' : 'text-quiet'}>
            {name.replaceAll('_', ' ')}
          </dt>
          <dd className="min-w-0 break-words">
            {Array.isArray(value) ? list(value).map(text).join(', ') : text(value)}
          </dd>
        </div>
      ))}
    </dl>
  );
}
