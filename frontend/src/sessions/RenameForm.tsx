import { useState } from 'react';
import { FIELD } from '../components/Field';
import { useT } from '../i18n';
import { api } from '../api/chat';
import { queryClient } from '../api/queries';
import { toast } from '../app/toasts';
import type { SessionRow } from '../api/types';
import { errorText } from '../api/errorText';

type Props = { session: Pick<SessionRow, 'id' | 'title'>; onDone: () => void };

/** The title as a field: Enter or blur saves it, Escape restores the old one. */
export function RenameForm({ session, onDone }: Props) {
  const t = useT();
  const [title, setTitle] = useState(session.title);
  const keep = async () => {
    onDone();
    if (!title.trim() || title.trim() === session.title) return;
    try {
      await api.change(session.id, { title: title.trim() });
    } catch (error) {
      toast(errorText(error, t), 'wrong');
    }
    await queryClient.invalidateQueries({ queryKey: ['sessions'] });
    await queryClient.invalidateQueries({ queryKey: ['session', session.id] });
  };
  return (
    <form action={keep}>
      <input
        autoFocus
        className={FIELD}
        aria-label={t('sessions.newTitle')}
        maxLength={200}
        value={title}
        onFocus={(event) => event.target.select()}
        onChange={(event) => setTitle(event.target.value)}
        onBlur={() => void keep()}
        onKeyDown={(event) => event.key === 'Escape' && onDone()}
      />
    </form>
  );
}
