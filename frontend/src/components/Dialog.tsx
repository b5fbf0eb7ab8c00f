import * as Radix from '@radix-ui/react-dialog';
import { type ReactNode, useRef } from 'react';
import { useT } from '../i18n';
import { Button, IconButton } from './Button';
import { classes } from './classes';

// Where one begins in a dialog: what is to be filled in, or the way back of a question.
const FIRST = 'input:not([type=hidden], [hidden]), textarea, select, [data-first]';

type Props = {
  open: boolean;
  onClose: () => void;
  title: string;
  about?: string;
  wide?: boolean;
  children?: ReactNode;
  foot?: ReactNode;
};

/** A modal dialog: focus starts at its first field (or itself), stays inside, and Escape closes it. */
export function Dialog({ open, onClose, title, about, wide, children, foot }: Props) {
  const t = useT();
  const content = useRef<HTMLDivElement>(null);
  const toFirstField = (event: Event) => {
    event.preventDefault();
    (content.current?.querySelector<HTMLElement>(FIRST) ?? content.current)?.focus();
  };
  return (
    <Radix.Root open={open} onOpenChange={(now) => !now && onClose()}>
      <Radix.Portal>
        <div className="veil fixed inset-0 z-40 bg-black/40" aria-hidden="true" />
        <Radix.Content
          {...(about ? {} : { 'aria-describedby': undefined })}
          ref={content}
          tabIndex={-1}
          onOpenAutoFocus={toFirstField}
          className={classes(
            'pop fixed top-1/2 left-1/2 z-50 flex max-h-[min(85dvh,50rem)] w-[calc(100vw-2rem)] -translate-x-1/2 -translate-y-1/2',
            'flex-col gap-4 rounded-2xl border border-line bg-card p-6 text-ink shadow-2xl outline-none',
            wide ? 'max-w-3xl' : 'max-w-md',
          )}
        >
          <div className="flex items-start gap-4">
            <Radix.Title className="min-w-0 flex-1 text-lg font-semibold break-words">{title}</Radix.Title>
            <Radix.Close asChild>
              <IconButton icon="close" label={t('common.close')} size="small" />
            </Radix.Close>
          </div>
          {about && <Radix.Description className="text-sm text-quiet">{about}</Radix.Description>}
          {children && <div className="-mx-1 min-h-0 overflow-y-auto px-1 py-0.5">{children}</div>}
          {foot && <div className="flex flex-wrap justify-end gap-2">{foot}</div>}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

type ConfirmProps = {
  open: boolean;
  onClose: () => void;
  onConfirm: () => void;
  title: string;
  about: string;
  action: string;
};

/** Asks for confirmation before something that cannot be undone. */
export function Confirm({ open, onClose, onConfirm, title, about, action }: ConfirmProps) {
  const t = useT();
  const confirmed = () => {
    onClose();
    onConfirm();
  };
  return (
    <Dialog
      open={open}
      onClose={onClose}
      title={title}
      about={about}
      foot={
        <>
          <Button onClick={onClose} data-first>
            {t('common.cancel')}
          </Button>
          <Button look="danger" onClick={confirmed}>
            {action}
          </Button>
        </>
      }
    />
  );
}
