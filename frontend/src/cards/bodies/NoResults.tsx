import { texts } from '../../lib/shape';
import type { BodyProps } from './index';

export function NoResults({ result }: BodyProps) {
  const suggestions = texts(result.suggestions);
  if (suggestions.length === 0) return null;
  return (
    <ul className="list-inside list-disc text-quiet">
      {suggestions.map((line) => (
        <li key={line}>{line}</li>
      ))}
    </ul>
  );
}
