import { useT } from '../i18n';

/** The activity indicator; shows a status note if there is one. */
export function Thinking({ waiting, note }: { waiting: boolean; note: string }) {
  const t = useT();
  if (!waiting && !note) return null;
  return (
    <p role="status" className="flex items-center gap-2.5 text-sm text-quiet">
      <span className="flex gap-1" aria-hidden="true">
        {[0, 1, 2].map((place) => (
          <span
            key={place}
            className="dot size-1.5!"
            data-status="running"
            style={{ animationDelay: `${place * 0.2}s` }}
          />
        ))}
      </span>
      {note || t('chat.thinking')}
    </p>
  );
}
