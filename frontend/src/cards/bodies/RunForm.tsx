// The forms that run an agent or a block from a card.
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useCannedReplies } from '../../chat/cannedReplies';
import { useConversationActions } from '../../chat/conversationActions';
import { Icon } from '../../components/icons';
import { type Key, useT } from '../../i18n';
import { ApiError } from '../../api/http';
import { newId } from '../../browser/ids';
import { recall, remember } from '../../browser/storage';
import { errorText } from '../../api/errorText';
import { type BlockRun, libraryApi, type Schema } from '../../library/api';
import { Outputs } from '../../library/Outputs';
import { ReviewCard } from '../../library/ReviewCard';
import { problemsIn, takesSecrets } from '../../library/schema';
import { SchemaForm } from '../../library/SchemaForm';
import { LiveExecution } from './Runs';

export type Runs = { agent: string; slug: string } | { block: string };
type Props = {
  call: string;
  runs: Runs;
  name: string;
  schema: Schema;
  action: string;
  active: boolean;
  problems?: Record<string, string>;
};
type Values = Record<string, unknown>;

/** Sends the values to the model as a message; with a secret among them, directly to the server instead. */
export function RunForm(props: Props) {
  const { runs, name, schema, action, active, problems } = props;
  const { say } = useConversationActions();
  const cannedReply = useCannedReplies();
  if (takesSecrets(schema))
    return 'block' in runs ? <PrivateBlock {...props} block={runs.block} /> : <PrivateAgent {...props} {...runs} />;
  return (
    active && (
      <SchemaForm
        schema={schema}
        action={action}
        problems={problems}
        onSubmit={(values) => say(cannedReply(wordsFor(runs, name), { name, values: JSON.stringify(values) }))}
      />
    )
  );
}

function wordsFor(runs: Runs, name: string): Key {
  if (!name) return 'say.runItWith';
  return 'block' in runs ? 'say.runBlockWith' : 'say.runAgentWith';
}

const placeOf = (call: string) => `run.${call}`;

/** Whether something was run directly from the card of this call. */
export const hasRun = (call: string): boolean => recall(placeOf(call)) !== null;

/** Starts the agent directly. The run's id is stored in this browser, because the conversation does not know it. */
function PrivateAgent({ call, agent, slug, ...form }: Props & { agent: string; slug: string }) {
  const [run, setRun] = useState(() => recall(placeOf(call)));
  const { busy, problems, attempt } = useWish(form.problems);
  const start = (values: Values) =>
    attempt(async (wish) => {
      const started = await libraryApi.execute(agent || (await taken(slug)), values, wish);
      remember(placeOf(call), started.id);
      setRun(started.id);
    });
  if (run) return <LiveExecution id={run} known={{ status: 'QUEUED', outputs: {}, error: '' }} />;
  return form.active && <PrivateForm {...form} busy={busy} problems={problems} onSubmit={start} />;
}

/** The id of the user's copy of a store agent. */
async function taken(slug: string): Promise<string> {
  const [username = '', name = ''] = slug.split('/');
  return (await libraryApi.addFromStore(username, name)).id;
}

/** Runs the block directly; if a person must approve first, the request is repeated after that. */
function PrivateBlock({ block, ...form }: Props & { block: string }) {
  const [values, setValues] = useState<Values>({});
  const [outcome, setOutcome] = useState<BlockRun | null>(null);
  const { busy, problems, attempt } = useWish(form.problems);
  const run = (given: Values) =>
    attempt(async (wish) => {
      setValues(given);
      let answer = await libraryApi.runBlock(block, given, wish);
      while (answer.status === 'running') answer = await libraryApi.runBlock(block, given, wish);
      setOutcome(answer.status === 'failed' ? null : answer);
      if (answer.status === 'failed') throw new Error(answer.error ?? '');
    });
  if (outcome?.status === 'completed') return <Outputs outputs={outcome.outputs} />;
  if (outcome?.review_id) return <Asked review={outcome.review_id} onDecided={() => void run(values)} />;
  return form.active && <PrivateForm {...form} busy={busy} problems={problems} onSubmit={run} />;
}

function Asked({ review, onDecided }: { review: string; onDecided: () => void }) {
  const { data } = useQuery({ queryKey: ['review', review], queryFn: () => libraryApi.review(review) });
  return data ? <ReviewCard review={data} onDecided={onDecided} /> : null;
}

type FormProps = {
  schema: Schema;
  action: string;
  busy: boolean;
  problems: Record<string, string>;
  onSubmit: (values: Values) => Promise<void>;
};

function PrivateForm({ schema, action, busy, problems, onSubmit }: FormProps) {
  const t = useT();
  return (
    <div className="flex flex-col gap-4">
      <p className="flex items-start gap-2 text-[13px] text-quiet">
        <Icon name="key" size={15} className="mt-0.5" /> {t('card.pastTheModel')}
      </p>
      <SchemaForm
        schema={schema}
        action={action}
        busy={busy}
        problems={problems}
        onSubmit={(values) => void onSubmit(values)}
      />
    </div>
  );
}

/** Sends a request under one idempotency key until it is answered; errors are shown at their fields. */
function useWish(first: Record<string, string> = {}) {
  const t = useT();
  const [wish, setWish] = useState(newId);
  const [busy, setBusy] = useState(false);
  const [problems, setProblems] = useState(first);
  const attempt = async (work: (wish: string) => Promise<void>) => {
    setBusy(true);
    setProblems({});
    try {
      await work(wish);
    } catch (error) {
      const fields = error instanceof ApiError ? problemsIn(error.fields) : {};
      setProblems(Object.keys(fields).length ? fields : { '': errorText(error, t) });
      if (!(error instanceof ApiError && error.isOffline)) setWish(newId());
    }
    setBusy(false);
  };
  return { busy, problems, attempt };
}
