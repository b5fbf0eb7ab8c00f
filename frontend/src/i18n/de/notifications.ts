// Notifications and unread marks.
export const notifications = {
  'nav.reviewsWaiting': '{count} Freigabe wartet|{count} Freigaben warten',
  'status.unread': 'Ungelesen',
  'notify.title': 'Benachrichtigungen',
  'notify.answer': 'Ihre Antwort ist fertig',
  'notify.review': 'Ihre Zustimmung ist gefragt',
  'notify.run': 'Ihr Agent ist fertig',
  'notify.approve': 'Zustimmen',
  'notify.reject': 'Ablehnen',
  'notify.about':
    'Erfahren Sie von Antworten und Fragen, während Sie woanders sind und auch wenn keine Seite offen ist.',
  'notify.isOn': 'In diesem Browser sind Benachrichtigungen an.',
  'notify.turnOn': 'In diesem Browser einschalten',
  'notify.renew': 'Neu einrichten',
  'notify.missing': 'Dieser Browser hat keine Benachrichtigungen. Sie brauchen eine sichere Adresse (https).',
  'notify.denied':
    'Der Browser hat Benachrichtigungen nicht erlaubt. Erlauben Sie sie in seinen Einstellungen für diese Seite und versuchen Sie es noch einmal.',
  'notify.pushOn': 'Benachrichtigungen sind an, auch wenn keine Seite offen ist.',
  'notify.pageOn':
    'Benachrichtigungen sind an, solange eine Seite offen ist. Dieser Browser nimmt keine Push-Nachrichten an.',
  'notify.kinds': 'Benachrichtigen, wenn',
  'notify.answers': 'eine Antwort fertig ist',
  'notify.questions': 'der Copilot mich etwas fragt',
  'notify.reviews': 'meine Zustimmung gefragt ist',
  'notify.runs': 'ein Lauf eines Agenten zu Ende ist',
  'notify.quietFrom': 'Ruhe von',
  'notify.quietUntil': 'bis',
  'notify.quietSave': 'Ruhezeit speichern',
  'notify.quietAbout':
    'In Ihrer Zeitzone. Was inzwischen geschieht, kommt danach, falls Sie es noch nicht gesehen haben. Ohne Ruhezeit beide leer lassen.',
  'notify.devices': 'Geräte, die Push-Nachrichten annehmen',
  'notify.allDevices': 'An alle senden, nicht nur an das zuletzt benutzte',
  'notify.test': 'Test senden',
  'notify.testSent': 'Ein Test ist unterwegs.',
  'notify.remove': '{name} entfernen',
};
