/* Keeps the front page of the operations room up to date: its living part is asked for again every few seconds. */
'use strict';

const EVERY_MILLISECONDS = 4000;
const board = document.getElementById('board');
const news = document.getElementById('news');

async function refresh() {
  if (document.hidden || board.contains(document.activeElement)) return; // never take a button from under a finger
  const answer = await fetch(board.dataset.address, {
    headers: { 'X-Console-Refresh': '1' },
    redirect: 'error', // to the login page, when the visit is over
    signal: AbortSignal.timeout(3 * EVERY_MILLISECONDS),
  });
  if (!answer.ok) throw new Error(`The server says ${answer.status}`);
  const fresh = await answer.text();
  if (board.contains(document.activeElement)) return;
  const before = new Set(troubles().map((line) => line.dataset.key));
  board.innerHTML = fresh;
  const words = troubles().filter((line) => !before.has(line.dataset.key)).map((line) => line.innerText.trim());
  if (words.length) news.textContent = words.join(' ');
}

/* The lines about what is wrong. A screen reader hears of those that are new, and not of numbers that grow. */
function troubles() {
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
