import * as Radix from '@radix-ui/react-dropdown-menu';
import type { ReactNode } from 'react';
import { Icon } from '../components/icons';
import { useT } from '../i18n';
import { useFormat } from '../i18n/format';
import { type Models, useModelName } from './models';

const ROW =
  'flex w-full cursor-pointer items-start gap-2.5 rounded-md px-2.5 py-2 text-sm outline-none data-highlighted:bg-hover';

type Props = { models: Models; picked: string; onPick: (name: string) => void };

/** Which model answers from now on. Not there where there is nothing to choose. */
export function ModelPicker({ models, picked, onPick }: Props) {
  const t = useT();
  const nameOf = useModelName();
  const name = nameOf(picked || models.default);
  return (
    <ModelMenu
      models={models}
      picked={picked || models.default}
      onPick={onPick}
      trigger={
        <button
          type="button"
          aria-label={t('model.pick', { model: name })}
          className="flex min-w-0 cursor-pointer items-center gap-1 rounded-lg px-2 py-1 text-xs text-quiet hover:bg-hover hover:text-ink"
        >
          <span className="truncate">{name}</span>
          <Icon name="down" size={14} />
        </button>
      }
    />
  );
}

/** A menu of the models; `picked` is marked. Arrow keys move, Enter picks, Escape leaves. */
export function ModelMenu({ models, picked, onPick, trigger, title }: Props & { trigger: ReactNode; title?: string }) {
  const t = useT();
  const format = useFormat();
  const nameOf = useModelName();
  return (
    <Radix.Root modal={false}>
      <Radix.Trigger asChild>{trigger}</Radix.Trigger>
      <Radix.Portal>
        <Radix.Content
          align="start"
          side="top"
          sideOffset={4}
          collisionPadding={8}
          className="pop z-50 max-h-80 max-w-80 min-w-56 overflow-y-auto rounded-xl border border-line bg-card p-1 text-ink shadow-lg"
        >
          <Radix.Label className="px-2.5 py-1.5 text-xs text-quiet">{title ?? t('model.title')}</Radix.Label>
          <Radix.RadioGroup value={picked} onValueChange={onPick}>
            {models.models.map((model) => (
              <Radix.RadioItem key={model.name} value={model.name} className={ROW}>
                <span className="min-w-0 flex-1">
                  <span className="block truncate">{nameOf(model.name)}</span>
                  <span className="block truncate text-xs text-quiet">
                    {[
                      model.endpoint,
                      t('model.reads', { tokens: format.compact(model.context_tokens) }),
                      model.sees_images && t('model.sees'),
                    ]
                      .filter(Boolean)
                      .join(' · ')}
                  </span>
                </span>
                <Radix.ItemIndicator className="pt-0.5">
                  <Icon name="check" size={16} />
                </Radix.ItemIndicator>
              </Radix.RadioItem>
            ))}
          </Radix.RadioGroup>
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
