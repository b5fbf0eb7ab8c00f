import * as Radix from '@radix-ui/react-tabs';
import type { ReactNode } from 'react';

export type Tab = { id: string; label: string; count?: number; content: ReactNode };

export function Tabs({ tabs, value, onChange, label }: { tabs: Tab[]; value?: string; onChange?: (id: string) => void; label: string }) {
  return (
    <Radix.Root {...(value === undefined ? { defaultValue: tabs[0]?.id } : { value })} onValueChange={onChange}>
      <Radix.List aria-label={label} className="flex gap-1 overflow-x-auto border-b border-line">
        {tabs.map((tab) => (
          <Radix.Trigger
            key={tab.id}
            value={tab.id}
            className="-mb-px cursor-pointer border-b-2 border-transparent px-3 py-2.5 text-sm font-medium whitespace-nowrap text-quiet hover:text-ink data-[state=active]:border-accent data-[state=active]:text-ink"
          >
            {tab.label}
            {tab.count !== undefined && <span className="ml-1.5 text-xs text-quiet tabular-nums">{tab.count}</span>}
          </Radix.Trigger>
        ))}
      </Radix.List>
      {tabs.map((tab) => (
        <Radix.Content key={tab.id} value={tab.id} className="pt-5">
          {tab.content}
        </Radix.Content>
      ))}
    </Radix.Root>
  );
}
