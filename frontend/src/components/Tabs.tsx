import * as Radix from '@radix-ui/react-tabs';
import type { ReactNode } from 'react';
import { useLocation } from 'wouter';

export type Tab = { id: string; label: string; count?: number; content: ReactNode };

/** Each tab has a path below `base`; the first one has `base` itself. */
export function Tabs({ tabs, base, label }: { tabs: Tab[]; base: string; label: string }) {
  const [path, go] = useLocation();
  const first = tabs[0]?.id ?? '';
  const asked = path.slice(base.length + 1);
  return (
    <Radix.Root
      value={tabs.some((tab) => tab.id === asked) ? asked : first}
      onValueChange={(id) => go(id === first ? base : `${base}/${id}`, { replace: true })}
    >
      <Radix.List aria-label={label} className="flex gap-1 overflow-x-auto border-b border-line">
        {tabs.map((tab) => (
          <Radix.Trigger
            key={tab.id}
            value={tab.id}
            className="-mb-px cursor-pointer rounded-t-lg border-b-2 -outline-offset-2 border-transparent px-3 py-2.5 text-sm font-medium whitespace-nowrap text-quiet hover:text-ink data-[state=active]:border-accent data-[state=active]:text-ink"
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
