// Every card in every state, from example data, to check how they look.
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { Page } from '../app/Page';
import { Answer } from '../chat/Answer';
import { Queue } from '../chat/Queue';
import { UploadChips } from '../chat/UploadChips';
import { UserMessage } from '../chat/UserMessage';
import { OperationState } from '../cards/bodies/Operation';
import Game from '../cards/game/Game';
import { ToolCard } from '../cards/ToolCard';
import { Button } from '../components/Button';
import { Checkbox, SelectField, TextArea, TextField } from '../components/Field';
import { Badge, Empty, Fold, Notice, type Tone } from '../components/Pieces';
import { Progress } from '../components/Progress';
import { useT } from '../i18n';
import * as fixtures from './fixtures';

/** Answers from the example data, without requests. */
function makeClient(): QueryClient {
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity, retry: false } } });
  client.setQueryData(['session', fixtures.SESSION_ID], fixtures.SESSION);
  client.setQueryData(['session', fixtures.RUNNING_SESSION_ID], { ...fixtures.SESSION, status: 'running' });
  for (const execution of fixtures.EXECUTIONS) {
    client.setQueryData(['execution', execution.id], execution);
    client.setQueryData(['reviews', 'waiting', execution.id], { results: [fixtures.REVIEW], next: null });
  }
  for (const review of fixtures.REVIEWS) client.setQueryData(['review', review.id], review);
  for (const operation of fixtures.OPERATIONS) client.setQueryData(['operation', operation.id], operation);
  client.setQueryData(['agent', fixtures.AGENT_ID, 'version', 1], { graph: fixtures.GRAPH });
  client.setQueryData(['blocks'], fixtures.BLOCKS);
  return client;
}

export default function Styleguide() {
  const t = useT();
  const [client] = useState(makeClient);
  return (
    <QueryClientProvider client={client}>
      <Page title={t('nav.styleguide')}>
        <div className="mx-auto flex max-w-3xl flex-col gap-12">
          <Pieces />
          <Part title="What is said">
            <UserMessage message={fixtures.UNSEEN} seen={new Set()} answered />
            <UserMessage message={fixtures.QUESTION} seen={new Set()} answered />
            {fixtures.ANSWERS.map((message) => (
              <Answer key={message.id} message={message} live={false} last open />
            ))}
          </Part>
          <Part title="On their way">
            <Queue pending={fixtures.QUEUED} conversation={NOBODY} onEdit={() => undefined} />
            <div className="panel pb-2">
              <UploadChips uploads={fixtures.UPLOADS} onRemove={() => undefined} blind />
            </div>
          </Part>
          <Part title="Tool cards: states">
            <Cards examples={fixtures.STATES} />
          </Part>
          <Part title="Tool cards: results">
            <Cards examples={fixtures.RESULTS} />
          </Part>
          <Part title="Long work">
            {fixtures.OPERATIONS.map((operation) => (
              <div key={operation.id} className="panel p-4 text-sm">
                <OperationState operation={operation} />
              </div>
            ))}
            <div className="panel p-4">
              <Game onClose={() => undefined} waits />
            </div>
          </Part>
        </div>
      </Page>
    </QueryClientProvider>
  );
}

const NOBODY = { changeQueued: async () => undefined, removeQueued: async () => undefined, discard: () => undefined };

function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section className="flex flex-col gap-4">
      <h2 className="text-lg font-semibold">{title}</h2>
      {children}
    </section>
  );
}

function Cards({ examples }: { examples: fixtures.Example[] }) {
  return examples.map((example) => (
    <div key={example.part.toolCallId} data-example={example.name} className="flex flex-col gap-1.5">
      <p className="font-mono text-xs text-quiet">{example.name}</p>
      <ToolCard part={example.part} turn="" message="" live={example.live ?? false} open />
    </div>
  ));
}

const TONES: Tone[] = ['calm', 'busy', 'good', 'attention', 'wrong'];

function Pieces() {
  return (
    <Part title="Pieces">
      <div className="flex flex-wrap gap-2">
        <Button look="strong">Strong</Button>
        <Button>Plain</Button>
        <Button look="quiet">Quiet</Button>
        <Button look="danger">Danger</Button>
        <Button busy>Busy</Button>
        <Button disabled>Disabled</Button>
      </div>
      <div className="flex flex-wrap gap-2">
        {TONES.map((tone) => (
          <Badge key={tone} tone={tone}>
            {tone}
          </Badge>
        ))}
      </div>
      {TONES.map((tone) => (
        <Notice key={tone} tone={tone}>
          A notice that is {tone}.
        </Notice>
      ))}
      <div className="grid gap-4 sm:grid-cols-2">
        <TextField label="A line" placeholder="Placeholder" about="What it is for." />
        <TextField label="A line that is wrong" defaultValue="x" problem="This is too short." />
        <SelectField label="A choice" choices={[{ value: '1', label: 'One' }]} />
        <TextArea label="A text" />
        <Checkbox label="A checkbox" defaultChecked />
      </div>
      <Progress share={0.4} label="Told" />
      <Progress label="Not told" />
      <Fold title="A fold">Inside.</Fold>
      <Empty icon="folder" title="An empty place">
        What to do about it.
      </Empty>
    </Part>
  );
}
