#!/usr/bin/env bash
# Complete an operation of Ratchet from a shell: bash, with curl and openssl for webhooks or redis-cli for Redis.
#
#   COMPLETION_URL=… COMPLETION_SECRET=… ./ratchet-completion.sh '{"made": "it"}'     url and secret came with the work
#   REDIS_URL=… OPERATION_ID=… ./ratchet-completion.sh '{"made": "it"}'
#
# The argument is the result as JSON. Exit code 0: taken. Anything else: send it again, the first one counts.
set -euo pipefail
result="${1:?the result as JSON}"

by_webhook() {
    local body id moment key signed
    body="{\"success\": true, \"result\": $result}"
    id="msg_$(openssl rand -hex 16)"
    moment="$(date +%s)"
    key="$(printf %s "${COMPLETION_SECRET#whsec_}" | openssl base64 -d -A | od -An -tx1 | tr -d ' \n')"
    signed="$(printf '%s.%s.%s' "$id" "$moment" "$body" |
        openssl dgst -sha256 -mac HMAC -macopt "hexkey:$key" -binary | openssl base64 -A)"
    curl --silent --show-error --fail-with-body --max-time 30 --data-binary "$body" \
        -H "Content-Type: application/json" -H "webhook-id: $id" -H "webhook-timestamp: $moment" \
        -H "webhook-signature: v1,$signed" "$COMPLETION_URL"
}

by_redis() {
    local data place
    data="{\"operation_id\": \"${OPERATION_ID:?}\", \"success\": true, \"result\": $result}"
    place=(-u "$REDIS_URL")
    [[ $REDIS_URL == unix://* ]] && place=(-s "${REDIS_URL#unix://}")
    redis-cli -e "${place[@]}" XADD chat:completions '*' data "$data"
}

if [[ ${COMPLETION_URL:-} ]]; then by_webhook; else by_redis; fi
