import { type ReactNode, useMemo } from 'react';
import { type Components, defaultRehypePlugins, Streamdown, type StreamdownProps } from 'streamdown';
import { Link } from 'wouter';
import { Icon } from '../components/icons';
import { useT } from '../i18n';
import { highlighter } from './highlight';
import rawAsText from './rawAsText';
import { workspaceLinks } from './workspaceLinks';
import { Picture } from '../chat/Attached';
import { markdownLabels } from './markdownLabels';

// HTML in an answer never becomes elements; the renderer's own sanitising still runs last.
const REHYPE = [
  rawAsText,
  workspaceLinks,
  defaultRehypePlugins.sanitize,
  defaultRehypePlugins.harden,
] as StreamdownProps['rehypePlugins'];
const PLUGINS = { code: highlighter };
const CONTROLS = { code: { copy: true, download: false }, table: { copy: true, download: true, fullscreen: false } };
const OWN_PAGE = /^\/(library|store|c|account)\//;
const OWN_FILE = /^\/api\/files\/[0-9a-f-]{36}\/content$/;

/** Text of the model: Markdown that may still be streaming. */
export function Markdown({ text, live }: { text: string; live: boolean }) {
  const t = useT();
  const words = useMemo(() => markdownLabels(t), [t]);
  return (
    <div className="answer">
      <Streamdown
        isAnimating={live}
        parseIncompleteMarkdown={live}
        components={COMPONENTS}
        rehypePlugins={REHYPE}
        plugins={PLUGINS}
        controls={CONTROLS}
        lineNumbers={false}
        translations={words}
      >
        {text}
      </Streamdown>
    </div>
  );
}

/** A remote image could tell its server what the conversation says, so it is a link until the user opens it. */
function SafePicture({ src, alt }: { src?: unknown; alt?: unknown }) {
  const t = useT();
  const address = typeof src === 'string' ? src : '';
  const name = typeof alt === 'string' ? alt : '';
  if (OWN_FILE.test(address)) return <Picture url={address} name={name} />;
  const remote = /^https?:/.test(address) ? new URL(address) : null;
  if (!remote) return <>{name}</>;
  return (
    <a
      href={remote.href}
      target="_blank"
      rel="noreferrer noopener"
      className="inline-flex max-w-full items-center gap-2 rounded-xl border border-line bg-side px-3 py-2 text-sm hover:bg-hover"
    >
      <Icon name="image" className="text-quiet" />
      <span className="min-w-0">
        <span className="block truncate">{name || t('chat.picture')}</span>
        <span className="block truncate text-xs text-quiet">{t('chat.remotePicture', { host: remote.host })}</span>
      </span>
      <Icon name="open" size={15} className="text-quiet" />
    </a>
  );
}

function SafeLink({ href, children }: { href?: unknown; children?: ReactNode }) {
  const address = typeof href === 'string' ? href : '';
  if (!/^(https?:|mailto:|tel:|\/(?!\/)|#)/.test(address)) return <>{children}</>;
  if (OWN_PAGE.test(address)) {
    return (
      <Link href={address} className="link">
        {children}
      </Link>
    );
  }
  return (
    <a
      href={address}
      target={address.startsWith('#') ? undefined : '_blank'}
      rel="noreferrer noopener"
      className="link"
    >
      {children}
    </a>
  );
}

const COMPONENTS = { img: SafePicture, a: SafeLink } as unknown as Components;
