import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Button } from '../components/Button';
import { Confirm } from '../components/Dialog';
import { TextArea } from '../components/Field';
import { Failed, Loading } from '../components/Pieces';
import { type Key, useT } from '../i18n';
import { api } from '../api/chat';
import { errorText } from '../api/errorText';
import { call } from '../api/http';
import { queryClient, useMe } from '../api/queries';
import { toast } from '../app/toasts';

type Fact = string | string[];
type Memory = { topics: string[]; facts: Record<string, { source: string; fact: Fact }> };
const LISTS = new Set(['workflows', 'pain_points', 'automation_goals', 'software', 'notes']);

const TOPICS: Record<string, Key> = {
  user_name: 'memory.user_name',
  job_title: 'memory.job_title',
  business_name: 'memory.business_name',
  industry: 'memory.industry',
  business_size: 'memory.business_size',
  workflows: 'memory.workflows',
  pain_points: 'memory.pain_points',
  automation_goals: 'memory.automation_goals',
  software: 'memory.software',
  notes: 'memory.notes',
};

/** What every answer is given about the person: what they ask for, and what the copilot remembers. */
export function Personal() {
  return (
    <div className="flex max-w-2xl flex-col gap-8">
      <Instructions />
      <Remembered />
    </div>
  );
}

function Instructions() {
  const t = useT();
  const me = useMe().data;
  const [text, setText] = useState<string | null>(null);
  const words = text ?? me?.instructions ?? '';
  const save = async () => {
    try {
      queryClient.setQueryData(['me'], await api.changeMe({ instructions: words }));
      toast(t('settings.saved'));
    } catch (error) {
      toast(errorText(error, t), 'wrong');
    }
  };
  return (
    <form
      className="flex flex-col gap-3"
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <TextArea
        label={t('personal.instructions')}
        about={t('personal.instructionsAbout')}
        maxLength={4000}
        rows={5}
        value={words}
        onChange={(event) => setText(event.target.value)}
      />
      <Button look="strong" type="submit" className="self-start">
        {t('common.save')}
      </Button>
    </form>
  );
}

function Remembered() {
  const t = useT();
  const [asking, setAsking] = useState(false);
  const { data, error, refetch } = useQuery({
    queryKey: ['memory'],
    queryFn: () => call<Memory>('GET', '/api/memory'),
  });
  if (error) return <Failed words={errorText(error, t)} onRetry={() => void refetch()} />;
  if (!data) return <Loading />;
  const forget = async () => {
    try {
      await call<void>('DELETE', '/api/memory');
      toast(t('personal.forgotten'));
    } catch (failure) {
      toast(errorText(failure, t), 'wrong');
    }
    await queryClient.invalidateQueries({ queryKey: ['memory'] });
  };
  const known = data.topics.filter((topic) => topic in data.facts);
  return (
    <section className="flex flex-col gap-4" aria-label={t('personal.memory')}>
      <h2 className="text-lg font-semibold">{t('personal.memory')}</h2>
      <p className="text-sm text-quiet">{t(known.length ? 'personal.memoryAbout' : 'personal.nothing')}</p>
      {known.map((topic) => (
        <Topic key={`${topic} ${JSON.stringify(data.facts[topic]?.fact)}`} topic={topic} memory={data} />
      ))}
      {known.length > 0 && (
        <Button look="danger" className="self-start" onClick={() => setAsking(true)}>
          {t('personal.forgetAll')}
        </Button>
      )}
      <Confirm
        open={asking}
        onClose={() => setAsking(false)}
        onConfirm={() => void forget()}
        title={t('personal.forgetAll')}
        about={t('personal.forgetAbout')}
        action={t('personal.forgetAll')}
      />
    </section>
  );
}

function Topic({ topic, memory }: { topic: string; memory: Memory }) {
  const t = useT();
  const known = memory.facts[topic];
  const before = known ? asText(known.fact) : '';
  const [text, setText] = useState(before);
  const keep = async (fact: Fact | null) => {
    try {
      queryClient.setQueryData(['memory'], await call<Memory>('PATCH', '/api/memory', { [topic]: fact }));
      toast(t(fact === null ? 'personal.forgotten' : 'settings.saved'));
    } catch (error) {
      toast(errorText(error, t), 'wrong');
    }
  };
  const name = TOPICS[topic];
  const label = name ? t(name) : topic;
  return (
    <form
      className="flex flex-col gap-2"
      aria-label={label}
      onSubmit={(event) => {
        event.preventDefault();
        void keep(fromText(topic, text));
      }}
    >
      <TextArea
        label={label}
        about={t('personal.source', { source: known?.source ?? '' })}
        rows={1}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      <span className="flex gap-2">
        <Button small type="submit" disabled={text === before || !text.trim()}>
          {t('common.save')}
        </Button>
        <Button small icon="trash" onClick={() => void keep(null)}>
          {t('personal.forget')}
        </Button>
      </span>
    </form>
  );
}

const asText = (fact: Fact) => (Array.isArray(fact) ? fact.join('\n') : fact);

/** A list has one fact per line. */
function fromText(topic: string, text: string): Fact {
  if (!LISTS.has(topic)) return text.trim();
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean);
}
