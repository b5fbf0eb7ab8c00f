import { type FormEvent, useMemo, useState } from 'react';
import { Button } from '../components/Button';
import { Checkbox, SelectField, TextArea, TextField } from '../components/Field';
import { Fold } from '../components/Pieces';
import { type Key, useT } from '../i18n';
import type { Schema } from './api';
import { type Filled, fieldsOf, type FormField, initialOf, parse, type Parsed } from './schema';

type Props = {
  schema: Schema;
  given?: Record<string, unknown>;
  action: string;
  busy?: boolean;
  problems?: Record<string, string>;
  onSubmit: (values: Record<string, unknown>) => void;
};

const WRONG: Record<Parsed['problems'][string], Key> = {
  needed: 'form.needed',
  noNumber: 'form.noNumber',
  noJson: 'form.noJson',
};

/** A form generated from the input schema of an agent or a block. */
export function SchemaForm({ schema, given, action, busy, problems = {}, onSubmit }: Props) {
  const t = useT();
  const fields = useMemo(() => fieldsOf(schema), [schema]);
  const [filled, setFilled] = useState<Filled>(() => ({ ...initialOf(fields), ...asTexts(given) }));
  const [wrong, setWrong] = useState<Parsed['problems']>({});
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const parsed = parse(fields, filled);
    setWrong(parsed.problems);
    if (Object.keys(parsed.problems).length === 0) onSubmit(parsed.values);
  };
  const shown = (one: FormField) => (
    <OneField
      key={one.name}
      one={one}
      value={filled[one.name] ?? ''}
      problem={wrong[one.name] ? t(WRONG[wrong[one.name]!]) : problems[one.name]}
      onChange={(value) => setFilled((all) => ({ ...all, [one.name]: value }))}
    />
  );
  const advanced = fields.filter((one) => one.advanced);
  return (
    <form onSubmit={submit} className="flex flex-col gap-4" noValidate>
      {fields.length === 0 && <p className="text-sm text-quiet">{t('form.nothing')}</p>}
      {fields.filter((one) => !one.advanced).map(shown)}
      {advanced.length > 0 && (
        <Fold title={t('form.advanced')}>
          <div className="flex flex-col gap-4">{advanced.map(shown)}</div>
        </Fold>
      )}
      {problems[''] && (
        <p role="alert" className="text-sm text-wrong">
          {problems['']}
        </p>
      )}
      <Button look="strong" icon="play" type="submit" busy={busy} className="self-start">
        {action}
      </Button>
    </form>
  );
}

type OneProps = { one: FormField; value: string; problem?: string; onChange: (value: string) => void };

export function OneField({ one, value, problem, onChange }: OneProps) {
  const t = useT();
  const label = one.required ? one.label : t('form.optional', { label: one.label });
  const around = { label, about: one.about || undefined, problem };
  const typed = (event: { target: { value: string } }) => onChange(event.target.value);
  switch (one.kind) {
    case 'flag':
      return (
        <Checkbox
          label={one.label}
          checked={value === 'true'}
          onChange={(event) => onChange(String(event.target.checked))}
        />
      );
    case 'choice':
      return (
        <SelectField
          {...around}
          value={value}
          choices={[
            ...(value ? [] : [{ value: '', label: t('form.choose') }]),
            ...one.choices.map((choice) => ({ value: choice, label: choice })),
          ]}
          onChange={typed}
        />
      );
    case 'text':
      return <TextArea {...around} value={value} onChange={typed} />;
    case 'json':
      return (
        <TextArea
          {...around}
          about={one.about || t('form.json')}
          className="font-mono text-xs"
          value={value}
          onChange={typed}
        />
      );
    case 'number':
      return <TextField {...around} inputMode="decimal" value={value} onChange={typed} />;
    case 'secret':
      return <TextField {...around} type="password" autoComplete="off" value={value} onChange={typed} />;
    case 'date':
    case 'time':
      return <TextField {...around} type={one.kind} value={value} onChange={typed} />;
    case 'line':
      return <TextField {...around} value={value} onChange={typed} />;
  }
}

function asTexts(given: Record<string, unknown> | undefined): Filled {
  return Object.fromEntries(
    Object.entries(given ?? {}).map(([name, value]) => [
      name,
      typeof value === 'string' ? value : JSON.stringify(value),
    ]),
  );
}
