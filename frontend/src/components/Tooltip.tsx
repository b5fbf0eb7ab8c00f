import * as Radix from '@radix-ui/react-tooltip';
import type { ReactNode } from 'react';

export const TooltipProvider = Radix.Provider;

export function Tooltip({ text, children }: { text: string; children: ReactNode }) {
  return (
    <Radix.Root>
      <Radix.Trigger asChild>{children}</Radix.Trigger>
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
