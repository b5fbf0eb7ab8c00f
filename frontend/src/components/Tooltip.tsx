import * as Radix from '@radix-ui/react-tooltip';
import { type FocusEvent, type ReactNode } from 'react';

export const TooltipProvider = Radix.Provider;

export function Tooltip({ text, children }: { text: string; children: ReactNode }) {
  return (
    <Radix.Root>
      <Radix.Trigger asChild onFocus={unlessByKeyboard}>
        {children}
      </Radix.Trigger>
      <Radix.Portal>
        <Radix.Content
          sideOffset={6}
          collisionPadding={8}
          className="pop z-50 max-w-64 rounded-md bg-tip px-2 py-1 text-xs text-on-tip shadow-md"
        >
          {text}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

/** A click, or a dialog that gives the focus back, is no question what a button does. */
function unlessByKeyboard(event: FocusEvent<HTMLElement>): void {
  if (!event.currentTarget.matches(':focus-visible')) event.preventDefault();
}
