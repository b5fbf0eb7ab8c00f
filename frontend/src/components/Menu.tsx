import * as Radix from '@radix-ui/react-dropdown-menu';
import { type ReactNode, useRef } from 'react';
import { classes } from './classes';
import { Icon, type IconName } from './icons';

export type MenuEntry =
  | { label: string; icon?: IconName; onSelect: () => void; danger?: boolean; checked?: boolean; takesFocus?: boolean }
  | { label: string; icon?: IconName; href: string; download?: boolean }
  | 'line';

type Props = { trigger: ReactNode; entries: MenuEntry[]; align?: 'start' | 'end'; side?: 'top' | 'bottom' };

const ROW =
  'flex w-full cursor-pointer items-center gap-2.5 rounded-md px-2.5 py-2 text-sm outline-none data-highlighted:bg-hover';

/** A menu below its trigger. Not modal: locking the page would need a style element, which the content security policy forbids. */
export function Menu({ trigger, entries, align = 'end', side = 'bottom' }: Props) {
  const taken = useRef(false); // what was chosen puts the focus somewhere itself
  return (
    <Radix.Root modal={false}>
      <Radix.Trigger asChild>{trigger}</Radix.Trigger>
      <Radix.Portal>
        <Radix.Content
          align={align}
          side={side}
          sideOffset={4}
          collisionPadding={8}
          onCloseAutoFocus={(event) => {
            if (taken.current) event.preventDefault();
            taken.current = false;
          }}
          className="pop z-50 min-w-44 rounded-xl border border-line bg-card p-1 text-ink shadow-lg"
        >
          {entries.map((entry, place) => (
            <Entry key={place} entry={entry} onTaken={() => (taken.current = true)} />
          ))}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

function Entry({ entry, onTaken }: { entry: MenuEntry; onTaken: () => void }) {
  if (entry === 'line') return <Radix.Separator className="my-1 h-px bg-line" />;
  const drawing = entry.icon && <Icon name={entry.icon} size={16} className="opacity-70" />;
  if ('href' in entry) {
    return (
      <Radix.Item asChild className={ROW}>
        <a href={entry.href} download={entry.download}>
          {drawing}
          {entry.label}
        </a>
      </Radix.Item>
    );
  }
  return (
    <Radix.Item
      className={classes(ROW, entry.danger && 'text-wrong')}
      onSelect={() => {
        if (entry.takesFocus) onTaken();
        entry.onSelect();
      }}
    >
      {drawing}
      <span className="flex-1">{entry.label}</span>
      {entry.checked && <Icon name="check" size={16} />}
    </Radix.Item>
  );
}
