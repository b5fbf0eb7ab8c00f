import { Button } from '../components/Button';
import { Notice } from '../components/Pieces';
import { useAttempt } from '../library/Screen';
import { libraryApi } from '../library/api';
import { draftApi } from './api';
import { useShared } from './context';
import { type Doc, setValue } from './document';
import { merge } from './merge';
import { useSync } from './sync';
import { useSay } from './words';

/** What needs a decision: a proposal, a newer version, or changes of the same thing in two places. */
export function Notices() {
  return (
    <div className="flex flex-col gap-2 empty:hidden">
      <ProposalNotice />
      <NewerVersion />
      <Conflicts />
      <Refused />
    </div>
  );
}

function ProposalNotice() {
  const say = useSay();
  const attempt = useAttempt();
  const { agent, store, sync } = useShared();
  const { draft } = useSync(sync);
  const proposal = draft.proposal;
  if (!proposal) return null;
  const close = async () => {
    const changed = await attempt(draftApi.closeProposal(agent, proposal.key));
    if (changed) sync.take(changed);
  };
  const accept = async () => {
    store.edit((doc) => merge(proposal.base, proposal.graph, doc).doc);
    await attempt(sync.flush());
    await close();
  };
  return (
    <Notice
      tone="busy"
      icon="bulb"
      action={
        <span className="flex gap-2">
          <Button small onClick={() => void close()}>
            {say('proposal.reject')}
          </Button>
          <Button small look="strong" icon="check" onClick={() => void accept()}>
            {say('proposal.accept')}
          </Button>
        </span>
      }
    >
      <strong className="block">{say('proposal.title')}</strong>
      {proposal.summary}
    </Notice>
  );
}

function NewerVersion() {
  const say = useSay();
  const attempt = useAttempt();
  const { agent, store, sync } = useShared();
  const { draft } = useSync(sync);
  if (draft.latest_version <= draft.base_version) return null;
  const take = async () => {
    const [base, newest] = await Promise.all([
      attempt(libraryApi.version(agent, draft.base_version)),
      attempt(libraryApi.version(agent, draft.latest_version)),
    ]);
    if (!base || !newest) return;
    store.edit((doc) => merge(base.graph as Doc, doc, newest.graph as Doc).doc);
    sync.rebase(draft.latest_version);
  };
  return (
    <Notice
      icon="branch"
      action={
        <Button small onClick={() => void take()}>
          {say('newer.merge')}
        </Button>
      }
    >
      {say('newer.about', { version: draft.latest_version })}
    </Notice>
  );
}

function Conflicts() {
  const say = useSay();
  const { store, sync } = useShared();
  const { conflicts } = useSync(sync);
  if (conflicts.length === 0) return null;
  const theirs = () => {
    store.edit((doc) =>
      conflicts.reduce((now, { id, field, theirs: value }) => {
        const [place, name] = field.split(/\.(.*)/s);
        return place === 'input_default' && name ? setValue(now, id, name, value) : now;
      }, doc),
    );
    sync.forgetConflicts();
  };
  return (
    <Notice
      icon="warning"
      action={
        <span className="flex gap-2">
          <Button small onClick={theirs}>
            {say('conflict.theirs')}
          </Button>
          <Button small onClick={() => sync.forgetConflicts()}>
            {say('conflict.mine')}
          </Button>
        </span>
      }
    >
      {say('conflict.about', { count: conflicts.length })}{' '}
      {[...new Set(conflicts.map((one) => one.field.replace('input_default.', '')))].slice(0, 5).join(', ')}
    </Notice>
  );
}

function Refused() {
  const { sync } = useShared();
  const { status, refusal } = useSync(sync);
  if (status !== 'refused') return null;
  return (
    <Notice tone="wrong" icon="warning">
      {refusal}
    </Notice>
  );
}
