/* Refresh the dashboard every few seconds. */
'use strict';

const EVERY_MILLISECONDS = 4000;
const board = document.getElementById('board');
const news = document.getElementById('news');

async function refresh() {
  if (document.hidden || board.contains(document.activeElement)) return; // do not replace a button that is being used
  const answer = await fetch(board.dataset.address, {
    headers: { 'X-Console-Refresh': '1' },
    redirect: 'error', // redirected to the login page: the session has expired
    signal: AbortSignal.timeout(3 * EVERY_MILLISECONDS),
  });
  if (!answer.ok) throw new Error(`The server answered ${answer.status}`);
  const fresh = await answer.text();
  if (board.contains(document.activeElement)) return;
  const before = new Set(alertLines().map((line) => line.dataset.key));
  board.innerHTML = fresh;
  const words = alertLines().filter((line) => !before.has(line.dataset.key)).map((line) => line.innerText.trim());
  if (words.length) news.textContent = words.join(' ');
}

/* The alerts. A screen reader announces new ones, not changed numbers. */
function alertLines() {
  return [...board.querySelectorAll('[data-key]')];
}

async function keepFresh() {
  try {
    await refresh();
  } catch {
    board.querySelector('.lost').hidden = false;
  }
  setTimeout(keepFresh, EVERY_MILLISECONDS);
}

setTimeout(keepFresh, EVERY_MILLISECONDS);
document.addEventListener('visibilitychange', () => refresh().catch(() => {}));
