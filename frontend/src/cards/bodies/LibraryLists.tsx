// Lists from the library: triggers, credentials and presets.
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { field, list, record, text } from '../../api/looseValues';
import { Icon, type IconName } from '../../components/icons';
import { Badge } from '../../components/Pieces';
import { useT } from '../../i18n';
import type { BodyProps } from './index';

export function TriggerList({ result }: BodyProps) {
  const t = useT();
  const found = result.trigger === undefined ? list(result.triggers) : [result.trigger];
  return (
    <div className="flex flex-col gap-3">
      <ul className="flex flex-col gap-2">
        {found.map((trigger, place) => (
          <Line key={place} icon="bolt" name={text(field(trigger, 'name'))} about={text(field(trigger, 'agent_name'))}>
            {field(trigger, 'enabled') === false && <Badge>{t('common.off')}</Badge>}
          </Line>
        ))}
      </ul>
      <More href="/library/triggers" label={t('library.triggers')} />
    </div>
  );
}

export function CredentialList({ result }: BodyProps) {
  const t = useT();
  return (
    <div className="flex flex-col gap-3">
      <ul className="flex flex-col gap-2">
        {list(result.stored).map((credential, place) => (
          <Line
            key={place}
            icon="key"
            name={text(field(credential, 'name'))}
            about={[text(field(credential, 'provider')), text(field(credential, 'host'))].filter(Boolean).join(' · ')}
          />
        ))}
      </ul>
      <More href="/library/credentials" label={t('library.credentials')} />
    </div>
  );
}

export function PresetList({ result }: BodyProps) {
  const found = result.preset === undefined ? list(result.presets) : [result.preset];
  return (
    <ul className="flex flex-col gap-2">
      {found.map((preset, place) => (
        <Line
          key={place}
          icon="agent"
          name={text(field(preset, 'name'))}
          about={[
            text(field(preset, 'agent_name')),
            ...Object.entries(record(field(preset, 'inputs'))).map(
              ([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`,
            ),
          ].join(' · ')}
        />
      ))}
    </ul>
  );
}

function Line({ icon, name, about, children }: { icon: IconName; name: string; about: string; children?: ReactNode }) {
  return (
    <li className="flex flex-wrap items-center gap-2">
      <Icon name={icon} size={16} className="text-quiet" />
      <span className="font-medium">{name}</span>
      <span className="min-w-0 truncate text-quiet">{about}</span>
      {children}
    </li>
  );
}

function More({ href, label }: { href: string; label: string }) {
  return (
    <Link href={href} className="link inline-flex items-center gap-1 self-start">
      {label} <Icon name="right" size={14} />
    </Link>
  );
}
