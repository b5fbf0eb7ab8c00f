import { type ComponentProps, type ReactNode, useId } from 'react';
import { classes } from './classes';

export const FIELD =
  'w-full rounded-lg border border-line-strong bg-card px-3 py-2 text-sm text-ink placeholder:text-quiet disabled:opacity-60 aria-invalid:border-wrong';

type Around = { label: string; about?: ReactNode; problem?: string };

/** A label, its control and a description, connected for screen readers. */
function Labelled({ label, about, problem, children }: Around & { children: (ids: FieldIds) => ReactNode }) {
  const id = useId();
  const said = about || problem ? `${id}-about` : undefined;
  return (
    <div className="flex flex-col gap-1.5">
      <label htmlFor={id} className="text-sm font-medium">
        {label}
      </label>
      {children({ id, 'aria-describedby': said, 'aria-invalid': problem ? true : undefined })}
      {said && (
        <p id={said} className={classes('text-[13px]', problem ? 'text-wrong' : 'text-quiet')}>
          {problem || about}
        </p>
      )}
    </div>
  );
}

type FieldIds = { id: string; 'aria-describedby': string | undefined; 'aria-invalid': true | undefined };

export function TextField({
  label,
  about,
  problem,
  className,
  ...rest
}: Around & Omit<ComponentProps<'input'>, 'about'>) {
  return (
    <Labelled label={label} about={about} problem={problem}>
      {(ids) => <input {...rest} {...ids} className={classes(FIELD, className)} />}
    </Labelled>
  );
}

export function TextArea({
  label,
  about,
  problem,
  className,
  ...rest
}: Around & Omit<ComponentProps<'textarea'>, 'about'>) {
  return (
    <Labelled label={label} about={about} problem={problem}>
      {(ids) => <textarea rows={3} {...rest} {...ids} className={classes(FIELD, 'field-sizing-content', className)} />}
    </Labelled>
  );
}

export type Choice = { value: string; label: string };

export function SelectField({
  label,
  about,
  problem,
  choices,
  className,
  ...rest
}: Around & Omit<ComponentProps<'select'>, 'about'> & { choices: Choice[] }) {
  return (
    <Labelled label={label} about={about} problem={problem}>
      {(ids) => (
        <select {...rest} {...ids} className={classes(FIELD, className)}>
          {choices.map((choice) => (
            <option key={choice.value} value={choice.value}>
              {choice.label}
            </option>
          ))}
        </select>
      )}
    </Labelled>
  );
}

export function Checkbox({ label, ...rest }: { label: string } & ComponentProps<'input'>) {
  const id = useId();
  return (
    <span className="flex items-center gap-2.5 text-sm">
      <input type="checkbox" id={id} {...rest} className="size-4 accent-accent" />
      <label htmlFor={id}>{label}</label>
    </span>
  );
}
