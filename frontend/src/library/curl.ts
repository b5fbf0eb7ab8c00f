// A shell command that calls a trigger the way its signature asks for.
import type { Trigger } from './api';

const BODY = '{"name": "Ada"}';

/** Return a command to copy; without the secret it says where to put it. The URL is complete only when it is new. */
export function curlFor(trigger: Pick<Trigger, 'url' | 'scheme'>, secret: string): string {
  const key = secret || '<secret>';
  const send = (...headers: string[]) =>
    [
      `curl -X POST '${trigger.url}'`,
      "-H 'Content-Type: application/json'",
      ...headers.map((header) => `-H "${header}"`),
      '-d "$body"',
    ].join(' \\\n  ');
  switch (trigger.scheme) {
    case 'hmac_sha256':
      return [
        `body='${BODY}'`,
        `signature=$(printf '%s' "$body" | openssl dgst -sha256 -hmac '${key}' -r | cut -d' ' -f1)`,
        send('X-Hub-Signature-256: sha256=$signature'),
      ].join('\n');
    case 'standard_webhooks':
      return [
        `body='${BODY}'`,
        'id=msg_$(date +%s) now=$(date +%s)',
        `key=$(printf '%s' '${key.replace(/^whsec_/, '')}' | base64 -d | od -An -tx1 | tr -d ' \\n')`,
        `signature=$(printf '%s.%s.%s' "$id" "$now" "$body" | openssl dgst -sha256 -mac HMAC -macopt hexkey:$key -binary | base64)`,
        send('webhook-id: $id', 'webhook-timestamp: $now', 'webhook-signature: v1,$signature'),
      ].join('\n');
    default:
      return [`body='${BODY}'`, send()].join('\n');
  }
}
