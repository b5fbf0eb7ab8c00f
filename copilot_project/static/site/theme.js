// The colours chosen in the chat, set before anything is painted; without a choice the system decides.
(function () {
  try {
    const theme = localStorage.getItem('ratchet.theme');
    if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
  } catch {
    // no storage, no choice
  }
})();
