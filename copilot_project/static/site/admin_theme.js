// The admin begins with the colours chosen in the chat. What is chosen here stays until something else is chosen there.
(function () {
  try {
    const chosen = localStorage.getItem('ratchet.theme') ?? '';
    if (chosen === (localStorage.getItem('ratchet.theme.admin') ?? '')) return;
    localStorage.setItem('ratchet.theme.admin', chosen);
    localStorage.setItem('theme', chosen || 'auto');
  } catch {
    // no storage, no choice
  }
})();
