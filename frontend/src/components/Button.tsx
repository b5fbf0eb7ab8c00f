import type { ComponentProps } from 'react';
import { classes } from './classes';
import { Icon, type IconName } from './icons';
import { Tooltip } from './Tooltip';

type Look = 'strong' | 'plain' | 'quiet' | 'danger';

const LOOKS: Record<Look, string> = {
  strong: 'bg-accent text-on-accent hover:bg-accent-strong shadow-xs',
  plain: 'border border-line bg-card text-ink hover:bg-hover shadow-xs',
  quiet: 'text-quiet hover:bg-hover hover:text-ink',
  danger: 'bg-wrong text-on-wrong hover:brightness-110 shadow-xs',
};

type Props = ComponentProps<'button'> & { look?: Look; icon?: IconName; small?: boolean; busy?: boolean };

export function Button({ look = 'plain', icon, small, busy, className, children, ...rest }: Props) {
  return (
    <button
      type="button"
      {...rest}
      disabled={rest.disabled || busy}
      aria-busy={busy || undefined}
      className={classes(
        'inline-flex cursor-pointer items-center justify-center gap-2 rounded-lg font-medium transition-colors',
        'disabled:cursor-default disabled:opacity-50',
        small ? 'h-8 px-3 text-[13px]' : 'h-9 px-3.5 text-sm',
        LOOKS[look],
        className,
      )}
    >
      {busy ? <Spinner /> : icon && <Icon name={icon} size={small ? 15 : 17} />}
      {children}
    </button>
  );
}

type IconProps = ComponentProps<'button'> & {
  icon: IconName;
  label: string;
  look?: Look;
  size?: 'small' | 'normal';
  round?: boolean;
};

/** An icon button; its label is read out and shown on hover and focus. */
export function IconButton({ icon, label, look = 'quiet', size = 'normal', round, className, ...rest }: IconProps) {
  return (
    <Tooltip text={label}>
      <button
        type="button"
        aria-label={label}
        {...rest}
        className={classes(
          'inline-flex shrink-0 cursor-pointer items-center justify-center transition-colors',
          round ? 'rounded-full' : 'rounded-lg',
          'disabled:cursor-default disabled:opacity-40',
          size === 'small' ? 'size-7' : 'size-9',
          LOOKS[look],
          className,
        )}
      >
        <Icon name={icon} size={size === 'small' ? 16 : 18} />
      </button>
    </Tooltip>
  );
}

export function Spinner({ size = 16 }: { size?: number }) {
  return (
    <svg viewBox="0 0 24 24" width={size} height={size} className="animate-spin" fill="none" aria-hidden="true">
      <circle cx="12" cy="12" r="9" stroke="currentColor" strokeWidth="3" opacity="0.2" />
      <path d="M12 3a9 9 0 0 1 9 9" stroke="currentColor" strokeWidth="3" strokeLinecap="round" />
    </svg>
  );
}
