// The title of the page and its icon, with how much waits for the person.

const ICON = '/static/site/icon.svg';
const MARKED =
  'data:image/svg+xml,' +
  encodeURIComponent(
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="#3b5bdb"/>' +
      '<path d="M8 9h16v11h-8l-5 4v-4H8z" fill="#fff"/><circle cx="25" cy="7" r="7" fill="#e03131"/></svg>',
  );
let name = '';
let waiting = 0;

export function setPageName(now: string): void {
  name = now;
  draw();
}

export function setWaiting(now: number): void {
  waiting = now;
  draw();
}

function draw(): void {
  const title = name ? `${name} · Ratchet` : 'Ratchet';
  document.title = waiting > 0 ? `(${waiting}) ${title}` : title;
  const icon = document.querySelector<HTMLLinkElement>('link[rel="icon"]');
  const wanted = waiting > 0 ? MARKED : ICON;
  if (icon && icon.getAttribute('href') !== wanted) icon.href = wanted;
}
