// Line icons on a 24-unit grid. They are decorative: a button's label says what it does.
import type { SVGProps } from 'react';

const DRAWINGS = {
  plus: 'M12 5v14M5 12h14',
  search: 'M11 4a7 7 0 1 0 0 14a7 7 0 0 0 0-14M20 20l-4-4',
  menu: 'M4 7h16M4 12h16M4 17h16',
  close: 'M6 6l12 12M18 6L6 18',
  check: 'M5 12.500l4.500 4.500L19 7.500',
  copy: 'M9 9h10v11H9zM15 9V5H5v11h4',
  pencil: 'M4 20l1-4L16 5l3 3L8 19zM14 7l3 3',
  trash: 'M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13M10.500 11v5M13.500 11v5',
  pin: 'M9 4h6l-1 6l3 3v2H7v-2l3-3zM12 15v5',
  download: 'M12 4v11M7.500 11l4.500 4.500l4.500-4.500M5 20h14',
  upload: 'M12 16V5M7.500 9L12 4.500L16.500 9M5 20h14',
  send: 'M12 19V5M6 11l6-6l6 6',
  stop: 'M7.500 7.500h9v9h-9z',
  clip: 'M19 11l-7.500 7.500a4.500 4.500 0 0 1-6.400-6.400L12.600 4.600a3 3 0 0 1 4.300 4.300L9.500 16.300a1.500 1.500 0 0 1-2.100-2.100L14 7.600',
  down: 'M6 9.500l6 6l6-6',
  right: 'M9.500 6l6 6l-6 6',
  left: 'M14.500 6l-6 6l6 6',
  arrowDown: 'M12 5v14M6 13l6 6l6-6',
  file: 'M7 3.500h7l4 4V20.500H7zM14 3.500v4h4',
  image: 'M4 5h16v14H4zM4 16l4.500-4.500l4 4l3-3L20 16M9 9.500a1 1 0 1 1-2 0a1 1 0 0 1 2 0',
  folder: 'M4 6h5.500l2 2.500H20V18.500H4z',
  agent:
    'M6 9h12v9.500H6zM12 9V5.500M12 5.500a.7.7 0 1 0 0-1.400a.7.7 0 0 0 0 1.400M9.500 13v1.500M14.500 13v1.500M3.500 12.500v3M20.500 12.500v3',
  block: 'M12 3.500l7.500 4.200v8.600L12 20.500l-7.500-4.200V7.700zM12 12l7.500-4.300M12 12v8.500M12 12L4.500 7.700',
  play: 'M8 5.500l11 6.500l-11 6.500z',
  clock: 'M12 4a8 8 0 1 0 0 16a8 8 0 0 0 0-16M12 8v4.500l3 2',
  key: 'M14.500 4.500a5 5 0 1 1-3.900 8.100L4.500 18.700V20h3v-2h2v-2l1.700-1.700M15.500 8.500v.1',
  bolt: 'M13 3.500L5.500 13.500H11L10.500 20.500L18.500 10.500H13z',
  store:
    'M5 10.500V20h14v-9.500M3.500 9L5 4.500h14L20.500 9c0 1.200-1 2-2.100 2s-2.100-.8-2.100-2c0 1.200-1 2-2.100 2S12 10.200 12 9c0 1.200-1 2-2.100 2s-2.200-.8-2.200-2c0 1.200-1 2-2.100 2S3.500 10.200 3.500 9M10 20v-5h4v5',
  chart: 'M4 20h16M7 16.500v-5M12 16.500v-10M17 16.500v-7',
  user: 'M12 12a4 4 0 1 0 0-8a4 4 0 0 0 0 8M4.500 20c.8-3.600 3.700-5.500 7.500-5.500s6.700 1.900 7.500 5.500',
  sun: 'M12 8a4 4 0 1 0 0 8a4 4 0 0 0 0-8M12 2.500v2M12 19.500v2M2.500 12h2M19.500 12h2M5.300 5.300l1.400 1.400M17.300 17.300l1.400 1.400M5.300 18.700l1.400-1.400M17.300 6.700l1.400-1.400',
  moon: 'M19.500 14A8 8 0 1 1 10 4.500a6.300 6.300 0 0 0 9.500 9.500',
  screen: 'M4 5h16v11H4zM9 20h6M12 16v4',
  warning: 'M12 4.500l8.500 15h-17zM12 10v4.500M12 17v.1',
  question:
    'M12 4a8 8 0 1 0 0 16a8 8 0 0 0 0-16M9.700 9.700c.2-1.300 1.100-2.100 2.400-2.100c1.400 0 2.400.9 2.400 2.100c0 1.800-2.500 2-2.500 3.800M12 16.400v.1',
  info: 'M12 4a8 8 0 1 0 0 16a8 8 0 0 0 0-16M12 11v5M12 8v.1',
  refresh: 'M19.500 12a7.500 7.500 0 1 1-2.200-5.300L19.500 9M19.500 4.500V9H15',
  open: 'M13 5h6v6M19 5l-8.500 8.500M17 14v5H5V7h5',
  terminal: 'M4 5h16v14H4zM7.500 9.500l3 2.500l-3 2.500M12.500 15h4',
  globe: 'M12 4a8 8 0 1 0 0 16a8 8 0 0 0 0-16M4 12h16M12 4c5 4.500 5 11.500 0 16c-5-4.500-5-11.500 0-16',
  book: 'M5 5h5.500c1 0 1.500.6 1.500 1.500V20c0-.9-.7-1.500-1.600-1.500H5zM19 5h-5.500c-1 0-1.500.6-1.500 1.500M12 20c0-.9.7-1.500 1.600-1.500H19V5',
  bulb: 'M9.500 17.500h5M10.500 20.500h3M12 3.500a6 6 0 0 0-3.800 10.600c.8.700 1.300 1.500 1.300 2.400V17.500h5v-1c0-.9.500-1.700 1.300-2.400A6 6 0 0 0 12 3.500',
  list: 'M9 6.500h11M9 12h11M9 17.500h11M4.500 6.500h.1M4.500 12h.1M4.500 17.500h.1',
  graph: 'M4 5h6v5H4zM14 14h6v5h-6zM7 10v6.500h7M14 4.500h6v5h-6zM10 7.500h4',
  chat: 'M4.500 5h15v11H12l-4.500 4v-4h-3z',
  branch:
    'M7 4v10M7 14a2.500 2.500 0 1 0 0 5a2.500 2.500 0 0 0 0-5M17 5a2.500 2.500 0 1 0 0 5a2.500 2.500 0 0 0 0-5M17 10c0 3-2 4-5 4.500',
  back: 'M9 6L4.500 10.500L9 15M4.500 10.500H14a5 5 0 0 1 5 5V19',
  steer: 'M5 19c0-7 4-9 9-9h5M15 5.500l4.500 4.500l-4.500 4.500',
  shield: 'M12 3.500l7 2.500v5.500c0 4.500-3 7.500-7 9c-4-1.500-7-4.500-7-9V6zM9 12l2.200 2.200L15.200 10',
  more: 'M6 12h.1M12 12h.1M18 12h.1',
  game: 'M7 8h10a4 4 0 0 1 3.900 4.800l-.7 3.400a2.200 2.200 0 0 1-4 .7L15 15H9l-1.200 1.900a2.200 2.200 0 0 1-4-.7l-.7-3.400A4 4 0 0 1 7 8M8 10.500v3M6.500 12h3M15.500 11.500h.1M17.500 12.500h.1',
  eyeOff:
    'M4 4l16 16M10 6.200c.6-.1 1.300-.2 2-.2c4.500 0 7.500 3.300 8.500 6a10 10 0 0 1-2.600 3.700M14.500 17.600c-.8.300-1.600.4-2.500.4c-4.500 0-7.500-3.300-8.500-6a10 10 0 0 1 3-4M10 10a2.800 2.800 0 0 0 4 4',
  bell: 'M6.500 16.500V11a5.500 5.500 0 0 1 11 0v5.500l1.500 1.500H5zM10.500 20.500h3',
  gear: 'M12 9a3 3 0 1 0 0 6a3 3 0 0 0 0-6M12 3.500v2.700M12 17.800v2.700M3.500 12h2.700M17.800 12h2.700M6 6l1.900 1.900M16.100 16.100L18 18M6 18l1.900-1.900M16.100 7.900L18 6',
} as const;

export type IconName = keyof typeof DRAWINGS;

const BOLD: ReadonlySet<string> = new Set(['more', 'list']);
const FILLED: ReadonlySet<string> = new Set(['stop', 'play']);

export function Icon({ name, size = 18, ...rest }: { name: IconName; size?: number } & SVGProps<SVGSVGElement>) {
  return (
    <svg
      viewBox="0 0 24 24"
      width={size}
      height={size}
      fill={FILLED.has(name) ? 'currentColor' : 'none'}
      stroke="currentColor"
      strokeWidth={BOLD.has(name) ? 2.4 : 1.8}
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      focusable="false"
      {...rest}
      className={`shrink-0 ${rest.className ?? ''}`}
    >
      <path d={DRAWINGS[name]} />
    </svg>
  );
}

/** The logo: a ratchet wheel. */
export function Mark({ size = 28 }: { size?: number }) {
  return <img src="/static/site/icon.svg" alt="" width={size} height={size} className="shrink-0" />;
}
