export const shell = {
  'app.skip': 'Zum Inhalt springen',
  'app.openMenu': 'Menü öffnen',
  'app.reconnecting': 'Verbindung wird wiederhergestellt …',
  'app.broken': 'Etwas ist schiefgegangen',
  'app.brokenAbout': 'Diese Seite lässt sich gerade nicht anzeigen. Was du geschrieben hast, bleibt erhalten.',
  'app.missing': 'Seite nicht gefunden',
  'app.backToStart': 'Zurück zur Startseite',

  'common.cancel': 'Abbrechen',
  'common.close': 'Schließen',
  'common.copied': 'Kopiert',
  'common.copy': 'Kopieren',
  'common.loading': 'Wird geladen …',
  'common.percent': '{percent} %',
  'common.tryAgain': 'Noch einmal versuchen',

  'palette.title': 'Springen oder suchen',
  'palette.placeholder': 'Zu einer Seite springen oder alle Nachrichten durchsuchen',
  'nav.library': 'Bibliothek',
  'nav.account': 'Konto',
  'nav.admin': 'Verwaltung',
  'nav.api': 'API-Dokumentation',
  'nav.styleguide': 'Stilübersicht',
  'nav.more': 'Mehr',
  'nav.login': 'Anmelden',
  'nav.logout': 'Abmelden',

  'sessions.title': 'Unterhaltungen',
  'sessions.new': 'Neue Unterhaltung',
  'sessions.search': 'Unterhaltungen durchsuchen',
  'sessions.none': 'Noch keine Unterhaltungen.',
  'sessions.nothingFound': 'Keine Treffer.',
  'sessions.untitled': 'Unterhaltung ohne Titel',
  'sessions.pinned': 'Angeheftet',
  'sessions.today': 'Heute',
  'sessions.yesterday': 'Gestern',
  'sessions.thisWeek': 'Letzte 7 Tage',
  'sessions.thisMonth': 'Letzte 30 Tage',
  'sessions.older': 'Älter',
  'sessions.actions': 'Aktionen für {title}',
  'sessions.rename': 'Umbenennen',
  'sessions.newTitle': 'Neuer Titel',
  'sessions.pin': 'Anheften',
  'sessions.unpin': 'Lösen',
  'sessions.exportMarkdown': 'Als Markdown exportieren',
  'sessions.exportJson': 'Als JSON exportieren',
  'sessions.delete': 'Löschen',
  'sessions.deleteTitle': 'Diese Unterhaltung löschen?',
  'sessions.deleteAbout': '„{title}“ wird mit dem gesamten Inhalt gelöscht. Das lässt sich nicht rückgängig machen.',

  'status.running': 'Läuft',
  'status.queued': 'Wartet',
  'status.needsYou': 'Wartet auf dich',
  'status.done': 'Fertig',
  'status.failed': 'Fehlgeschlagen',
  'status.cancelled': 'Abgebrochen',

  'problem.offline': 'Der Server ist nicht erreichbar. Was du geschrieben hast, bleibt erhalten.',
  'problem.unavailable': 'Der Server ist gerade nicht verfügbar. Versuche es gleich noch einmal.',
  'problem.notFound': 'Das gibt es nicht, oder du hast keinen Zugriff darauf.',
  'problem.unknown': 'Etwas ist schiefgegangen. Versuche es noch einmal.',
  'problem.session_busy': 'Eine Antwort läuft noch. Warte, bis sie fertig ist, oder halte sie zuerst an.',
  'problem.too_many_turns':
    'Zu viele deiner Nachrichten werden gleichzeitig beantwortet. Warte, bis eine Antwort fertig ist, und sende dann erneut.',
  'problem.not_queued':
    'Diese Nachricht wird schon beantwortet und lässt sich nicht mehr ändern. Halte stattdessen die Antwort an.',
  'problem.nothing_to_retry': 'Hier gibt es keine fertige Antwort, die neu erstellt werden könnte.',
  'problem.too_many_attempts': 'Zu viele Versuche. Warte einen Moment und versuche es dann noch einmal.',
  'problem.too_many_keys':
    'Du hast die Höchstzahl an API-Schlüsseln erreicht. Widerrufe einen, den du nicht mehr brauchst.',
  'problem.too_many_schedules':
    'Du hast die Höchstzahl an Zeitplänen erreicht. Lösche einen, den du nicht mehr brauchst.',
  'problem.too_many_credentials':
    'Du hast die Höchstzahl an Zugangsdaten erreicht. Lösche welche, die du nicht mehr brauchst.',
  'problem.too_many_triggers':
    'Du hast die Höchstzahl an Auslösern erreicht. Lösche einen, den du nicht mehr brauchst.',
  'problem.too_many_executions':
    'Zu viele deiner Läufe sind noch nicht fertig. Warte, bis einige fertig sind, oder halte sie an.',
  'problem.query_too_long': 'Der Suchbegriff ist zu lang.',
  'problem.version_moved':
    'Der Agent wurde inzwischen geändert. Lade die neueste Version und nimm deine Änderung dort vor.',
  'problem.slug_taken':
    'Ein anderer deiner Agenten ist bereits unter diesem Namen veröffentlicht. Wähle einen anderen Namen.',
  'problem.already_decided': 'Über diese Prüfung wurde bereits entschieden.',
  'problem.not_editable':
    'Die Daten dieser Prüfung lassen sich nicht ändern. Genehmige sie unverändert oder lehne sie ab.',
  'problem.content_gone': 'Die Datei ist aufgeführt, aber ihr Inhalt ist nicht mehr im Speicher.',
  'problem.permission_denied': 'Dazu fehlt dir die Berechtigung.',
  'problem.throttled': 'Zu viele Anfragen. Warte einen Moment und versuche es dann noch einmal.',
  'problem.internal':
    'Auf dem Server ist etwas schiefgegangen. Versuche es noch einmal. Passiert es wieder, wende dich an die Administration dieser Seite.',
};
