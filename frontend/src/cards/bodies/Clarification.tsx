import { useId, useState } from 'react';
import { useConversationActions } from '../../chat/conversationActions';
import { Button } from '../../components/Button';
import { FIELD } from '../../components/Field';
import { useT } from '../../i18n';
import { field, list, text, texts } from '../../api/looseValues';
import type { BodyProps } from './index';

type Question = { question: string; options: string[]; keyword: string };

/** Questions to the user as a form; the answers are sent as one message. */
export function Clarification({ result, active, reply }: BodyProps) {
  const questions = list(result.questions).map(readQuestion);
  return reply === undefined ? (
    <Form questions={questions} active={active} />
  ) : (
    <Answered questions={questions} reply={reply} />
  );
}

/** What was asked, and what the person said to it. */
function Answered({ questions, reply }: { questions: Question[]; reply: string }) {
  const t = useT();
  const replies = repliesTo(questions, reply);
  return (
    <dl className="flex flex-col gap-3">
      {questions.map((question, place) => (
        <div key={place}>
          <dt className="font-medium">{question.question}</dt>
          {replies[place] && (
            <dd className="pt-1 whitespace-pre-wrap text-quiet">
              <span className="sr-only">{t('card.yourAnswer')}: </span>
              {replies[place]}
            </dd>
          )}
        </div>
      ))}
    </dl>
  );
}

function Form({ questions, active }: { questions: Question[]; active: boolean }) {
  const t = useT();
  const { say } = useConversationActions();
  const [answers, setAnswers] = useState<string[]>(() => questions.map(() => ''));
  const whole = answers.every((answer) => answer.trim());
  return (
    <form
      className="flex flex-col gap-5"
      onSubmit={(event) => {
        event.preventDefault();
        if (whole) say(answered(questions, answers));
      }}
    >
      {questions.map((question, place) => (
        <OneQuestion
          key={place}
          question={question}
          answer={answers[place] ?? ''}
          disabled={!active}
          onAnswer={(answer) => setAnswers((all) => all.with(place, answer))}
        />
      ))}
      {active && (
        <Button look="strong" type="submit" disabled={!whole} className="self-start">
          {t('card.answer')}
        </Button>
      )}
    </form>
  );
}

type OneProps = { question: Question; answer: string; disabled: boolean; onAnswer: (answer: string) => void };

function OneQuestion({ question, answer, disabled, onAnswer }: OneProps) {
  const t = useT();
  const id = useId();
  const own = !question.options.includes(answer);
  return (
    <fieldset disabled={disabled} className="flex flex-col gap-2">
      <legend className="pb-2 font-medium">{question.question}</legend>
      {question.options.map((option, place) => (
        <label
          key={place}
          className="flex cursor-pointer items-center gap-2.5 rounded-lg border border-line px-3 py-2 hover:bg-hover has-checked:border-accent has-checked:bg-accent-soft"
        >
          <input
            type="radio"
            name={id}
            className="accent-accent"
            checked={answer === option}
            onChange={() => onAnswer(option)}
          />
          {option}
        </label>
      ))}
      <input
        className={FIELD}
        aria-label={question.options.length ? t('card.ownAnswer') : question.question}
        placeholder={t(question.options.length ? 'card.ownAnswer' : 'card.yourAnswer')}
        value={own ? answer : ''}
        onChange={(event) => onAnswer(event.target.value)}
      />
    </fieldset>
  );
}

function readQuestion(value: unknown): Question {
  return {
    question: text(field(value, 'question')),
    options: texts(field(value, 'options')),
    keyword: text(field(value, 'keyword')),
  };
}

/** A single answer is sent as it is; several are sent with their questions. */
export function answered(questions: Question[], answers: string[]): string {
  if (questions.length === 1) return answers[0]!.trim();
  return questions
    .map((question, place) => `${question.keyword || question.question}: ${answers[place]!.trim()}`)
    .join('\n');
}

/** The reply to each question, from a message that `answered` wrote; empty where the person wrote something else. */
export function repliesTo(questions: Question[], reply: string): string[] {
  if (questions.length === 1) return [reply];
  const starts = questions.map((question) => `${question.keyword || question.question}: `);
  const lines = reply.split('\n');
  return starts.map((start) => lines.find((line) => line.startsWith(start))?.slice(start.length) ?? '');
}
