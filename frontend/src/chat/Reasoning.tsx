import { Fold } from '../components/Pieces';
import { useT } from '../i18n';

/** The model's reasoning, in a disclosure. */
export function Reasoning({ text, live }: { text: string; live: boolean }) {
  const t = useT();
  if (!text) return null;
  return (
    <Fold title={t(live ? 'chat.reasoningNow' : 'chat.reasoning')}>
      <p className="border-l-2 border-line pl-3.5 text-sm leading-relaxed whitespace-pre-wrap text-quiet">{text}</p>
    </Fold>
  );
}
