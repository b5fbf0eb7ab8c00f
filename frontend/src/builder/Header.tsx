import { useEffect, useState } from 'react';
import { Link } from 'wouter';
import { useDrawer } from '../app/menu';
import { toast } from '../app/toasts';
import { Button, IconButton } from '../components/Button';
import { Confirm, Dialog } from '../components/Dialog';
import { TextArea } from '../components/Field';
import { Icon } from '../components/icons';
import { Menu } from '../components/Menu';
import { Badge } from '../components/Pieces';
import { queryClient } from '../api/queries';
import { useT } from '../i18n';
import { libraryApi } from '../library/api';
import { useAttempt } from '../library/Screen';
import { draftApi, type Editor } from './api';
import { type Panel, useShared } from './context';
import { useBuilder } from './store';
import { type SyncStatus, useSync } from './sync';
import { useSay, type Word } from './words';

type Props = {
  editors: Editor[];
  palette: boolean;
  onPalette: () => void;
  panel: Panel | null;
  onPanel: (panel: Panel | null) => void;
  onArrange: () => void;
};

const STATUS: Record<SyncStatus, Word> = {
  saved: 'save.saved',
  unsaved: 'save.saving',
  saving: 'save.saving',
  offline: 'save.offline',
  refused: 'save.refused',
};

export function Header({ editors, palette, onPalette, panel, onPanel, onArrange }: Props) {
  const say = useSay();
  const t = useT();
  const drawer = useDrawer();
  const { agent, store, sync } = useShared();
  const { canUndo, canRedo } = useBuilder(store);
  const { draft, status } = useSync(sync);
  const [asking, setAsking] = useState<'publish' | 'discard' | null>(null);
  const locked = draft.proposal !== null;
  useEffect(() => {
    document.title = `${draft.name} · Ratchet`;
  }, [draft.name]);
  return (
    <header className="flex h-14 shrink-0 items-center gap-1.5 border-b border-line px-3">
      <IconButton icon="menu" label={t('app.openMenu')} aria-expanded={drawer.open} onClick={() => drawer.set(true)} />
      <Link
        href={`/library/agents/${agent}`}
        aria-label={say('builder.back')}
        className="flex size-9 shrink-0 items-center justify-center rounded-lg text-quiet hover:bg-hover hover:text-ink max-sm:hidden"
      >
        <Icon name="left" />
      </Link>
      <Title key={draft.name} name={draft.name} />
      <span role="status" className="shrink-0 px-1 text-xs text-quiet max-sm:hidden" data-status={status}>
        {say(STATUS[status])}
      </span>
      {editors.length > 0 && (
        <span title={editors.map((one) => one.device).join('\n')} className="max-md:hidden">
          <Badge tone="attention">
            <Icon name="user" size={13} />{' '}
            {say('editors.others', { count: editors.length, device: editors[0]!.device })}
          </Badge>
        </span>
      )}
      <span className="flex-1" />
      <span className="flex max-sm:hidden">
        <IconButton icon="back" label={say('edit.undo')} disabled={!canUndo || locked} onClick={() => store.undo()} />
        <IconButton
          icon="back"
          label={say('edit.redo')}
          disabled={!canRedo || locked}
          className="-scale-x-100"
          onClick={() => store.redo()}
        />
        <IconButton icon="graph" label={say('edit.arrange')} disabled={locked} onClick={onArrange} />
      </span>
      <IconButton icon="plus" label={say('palette.toggle')} aria-pressed={palette} onClick={onPalette} />
      <IconButton
        icon="list"
        label={say('panel.toggle')}
        aria-pressed={panel !== null}
        onClick={() => onPanel(panel ? null : 'node')}
      />
      <Button icon="play" className="max-sm:hidden" onClick={() => onPanel('test')}>
        {say('panel.test')}
      </Button>
      <Button look="strong" disabled={!draft.changed || locked} onClick={() => setAsking('publish')}>
        {say('publish.action')}
      </Button>
      <Menu
        trigger={<IconButton icon="more" label={say('builder.more')} />}
        entries={[
          { label: say('edit.undo'), icon: 'back', onSelect: () => store.undo() },
          { label: say('edit.arrange'), icon: 'graph', onSelect: onArrange },
          { label: say('builder.versions'), icon: 'clock', href: `/library/agents/${agent}/versions` },
          { label: say('builder.export'), icon: 'download', href: libraryApi.exportUrl(agent), download: true },
          'line',
          { label: say('discard.action'), icon: 'trash', danger: true, onSelect: () => setAsking('discard') },
        ]}
      />
      {asking === 'publish' && <Publish onClose={() => setAsking(null)} />}
      <Discard open={asking === 'discard'} onClose={() => setAsking(null)} />
    </header>
  );
}

/** The agent's name, changed in place. */
function Title({ name }: { name: string }) {
  const say = useSay();
  const attempt = useAttempt();
  const { agent, sync } = useShared();
  const [typed, setTyped] = useState(name);
  const keep = async () => {
    const wanted = typed.trim();
    if (!wanted || wanted === name) return setTyped(name);
    if (!(await attempt(libraryApi.changeAgent(agent, { name: wanted })))) return;
    await queryClient.invalidateQueries({ queryKey: ['agents'] });
    await sync.refresh();
  };
  return (
    <h1 className="min-w-0 shrink">
      <input
        aria-label={say('builder.name')}
        value={typed}
        maxLength={200}
        className="field-sizing-content max-w-64 min-w-20 truncate rounded-md bg-transparent px-1.5 py-1 text-[15px] font-semibold hover:bg-hover focus:bg-card max-sm:max-w-32"
        onChange={(event) => setTyped(event.target.value)}
        onBlur={() => void keep()}
        onKeyDown={(event) => event.key === 'Enter' && event.currentTarget.blur()}
      />
    </h1>
  );
}

function Publish({ onClose }: { onClose: () => void }) {
  const say = useSay();
  const attempt = useAttempt();
  const { agent, sync } = useShared();
  const { draft } = useSync(sync);
  const [note, setNote] = useState('');
  const [busy, setBusy] = useState(false);
  const publish = async () => {
    setBusy(true);
    const saved = await attempt(sync.flush());
    const made = saved && (await attempt(draftApi.publish(agent, saved.revision, note)));
    if (made) {
      toast(say('publish.done', { version: made.version }));
      onClose();
    }
    await sync.refresh();
    setBusy(false);
  };
  return (
    <Dialog open onClose={onClose} title={say('publish.title')} about={say('publish.about')}>
      <form action={publish} className="flex flex-col gap-4">
        {!draft.validation.valid && (
          <p role="alert" className="text-sm text-on-notice">
            {say('publish.problems', { count: draft.validation.errors.length })}
          </p>
        )}
        <TextArea
          label={say('publish.note')}
          maxLength={500}
          value={note}
          onChange={(event) => setNote(event.target.value)}
        />
        <Button look="strong" type="submit" busy={busy} className="self-start">
          {say('publish.action')}
        </Button>
      </form>
    </Dialog>
  );
}

function Discard({ open, onClose }: { open: boolean; onClose: () => void }) {
  const say = useSay();
  const attempt = useAttempt();
  const { agent, sync } = useShared();
  const discard = async () => {
    const draft = await attempt(draftApi.discard(agent));
    if (draft) sync.reset(draft);
  };
  return (
    <Confirm
      open={open}
      onClose={onClose}
      onConfirm={() => void discard()}
      title={say('discard.title')}
      about={say('discard.about')}
      action={say('discard.action')}
    />
  );
}
