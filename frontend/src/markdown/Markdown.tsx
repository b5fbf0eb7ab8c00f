import remarkMath from 'remark-math';
import { type ReactNode, useMemo } from 'react';
import {
  type Components,
  defaultRehypePlugins,
  defaultRemarkPlugins,
  Streamdown,
  type StreamdownProps,
} from 'streamdown';
import { Link } from 'wouter';
import { Icon } from '../components/icons';
import { useT } from '../i18n';
import { Diagram } from './Diagram';
import { Formula } from './Formula';
import formulas, { FORMULA } from './formulas';
import { highlighter } from './highlight';
import { mathDelimiters } from './mathDelimiters';
import rawAsText from './rawAsText';
import { useReachableCode } from './useReachableCode';
import { workspaceLinks } from './workspaceLinks';
import { Picture } from '../chat/Attached';
import { markdownLabels } from './markdownLabels';

// HTML in an answer never becomes elements; the renderer's own sanitising still runs last.
const REHYPE = [
  rawAsText,
  workspaceLinks,
  defaultRehypePlugins.sanitize,
  defaultRehypePlugins.harden,
  formulas,
] as StreamdownProps['rehypePlugins'];
const REMARK = [
  ...Object.values(defaultRemarkPlugins),
  [remarkMath, { singleDollarTextMath: false }],
] as StreamdownProps['remarkPlugins'];
const PLUGINS = { code: highlighter, renderers: [{ language: 'mermaid', component: Diagram }] };
const CONTROLS = { code: { copy: true, download: false }, table: { copy: true, download: true, fullscreen: false } };
const OWN_PAGE = /^\/(library|store|c|account)\//;
const OWN_FILE = /^\/api\/files\/[0-9a-f-]{36}\/content$/;

/** Text of the model: Markdown that may still be streaming. */
export function Markdown({ text, live }: { text: string; live: boolean }) {
  const t = useT();
  const words = useMemo(() => markdownLabels(t), [t]);
  const box = useReachableCode();
  const readable = useMemo(() => mathDelimiters(text), [text]);
  return (
    <div className="answer" ref={box}>
      <Streamdown
        isAnimating={live}
        parseIncompleteMarkdown={live}
        components={COMPONENTS}
        remarkPlugins={REMARK}
        rehypePlugins={REHYPE}
        plugins={PLUGINS}
        controls={CONTROLS}
        lineNumbers={false}
        translations={words}
      >
        {readable}
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

/** The box of a task list. Nobody can tick it: it is what the model wrote. */
function TaskBox({ checked }: { checked?: boolean }) {
  const t = useT();
  return (
    <input
      type="checkbox"
      checked={checked === true}
      readOnly
      disabled
      aria-label={t(checked ? 'markdown.taskDone' : 'markdown.taskOpen')}
    />
  );
}

const COMPONENTS = {
  img: SafePicture,
  a: SafeLink,
  input: TaskBox,
  [FORMULA]: Formula,
} as unknown as Components;
