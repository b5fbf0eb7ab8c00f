import { useState } from 'react';
import { useLocation } from 'wouter';
import { ApiError } from '../api/http';
import { errorText } from '../api/errorText';
import { queryClient, useMe } from '../api/queries';
import { toast } from '../app/toasts';
import { Button } from '../components/Button';
import { Dialog } from '../components/Dialog';
import { TextArea, TextField } from '../components/Field';
import { Notice } from '../components/Pieces';
import { useT } from '../i18n';
import { type AgentDetail, libraryApi } from './api';
import { ListingView } from './StorePage';

/** Publishes an agent: what others will see is filled in and looked at before anything is public. */
export function Publish({ agent, onClose }: { agent: AgentDetail; onClose: () => void }) {
  const t = useT();
  const [, go] = useLocation();
  const username = useMe().data?.username ?? '';
  const [name, setName] = useState(agent.name);
  const [slug, setSlug] = useState('');
  const [description, setDescription] = useState(agent.description);
  const [words, setWords] = useState('');
  const [busy, setBusy] = useState(false);
  const [problems, setProblems] = useState<Record<string, string>>({});
  const categories = words
    .split(',')
    .map((word) => word.trim())
    .filter(Boolean);
  const shown = slug || slugOf(name);
  const publish = async () => {
    setBusy(true);
    setProblems({});
    try {
      const made = await libraryApi.publish({ agent_id: agent.id, name, slug: shown, description, categories });
      await queryClient.invalidateQueries({ queryKey: ['store'] });
      toast(t('agent.published', { name: `${made.username}/${made.slug}` }));
      go(`/library/store/${made.username}/${made.slug}`);
    } catch (error) {
      const fields = error instanceof ApiError ? error.fields : {};
      const named = Object.fromEntries(Object.entries(fields).map(([field, lines]) => [field, lines.join(' ')]));
      setProblems(Object.keys(named).length ? named : { '': errorText(error, t) });
      setBusy(false);
    }
  };
  return (
    <Dialog
      open
      wide
      onClose={onClose}
      title={t('publish.title', { name: agent.name })}
      about={t('publish.about')}
      foot={
        <>
          <Button onClick={onClose}>{t('common.cancel')}</Button>
          <Button look="strong" icon="store" busy={busy} disabled={!name.trim()} onClick={() => void publish()}>
            {t('publish.action')}
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-4">
        <TextField
          label={t('common.name')}
          value={name}
          maxLength={200}
          problem={problems.name}
          onChange={(event) => setName(event.target.value)}
        />
        <TextField
          label={t('publish.address')}
          about={`${username}/${shown}`}
          value={slug}
          placeholder={slugOf(name)}
          maxLength={100}
          problem={problems.slug}
          onChange={(event) => setSlug(slugOf(event.target.value))}
        />
        <TextArea
          label={t('agent.description')}
          value={description}
          problem={problems.description}
          onChange={(event) => setDescription(event.target.value)}
        />
        <TextField
          label={t('publish.categories')}
          about={t('publish.categoriesAbout')}
          value={words}
          problem={problems.categories}
          onChange={(event) => setWords(event.target.value)}
        />
        {problems[''] && (
          <Notice tone="wrong" icon="warning">
            {problems['']}
          </Notice>
        )}
        <section aria-label={t('publish.preview')} className="rounded-xl border border-line p-4">
          <p className="pb-3 text-[13px] font-medium text-quiet">{t('publish.preview')}</p>
          <ListingView listing={{ ...agent, name, description, username, slug: shown, categories }} />
        </section>
      </div>
    </Dialog>
  );
}

/** The address of a name, as the server makes it. */
function slugOf(name: string): string {
  return name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^a-z0-9\s_-]/g, '')
    .trim()
    .replace(/[\s-]+/g, '-');
}
