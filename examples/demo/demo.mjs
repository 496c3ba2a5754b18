// The two steps of docker-compose.demo.yml: `prepare` runs before the connector, `show` when everything is ready.
import { readFileSync, writeFileSync } from 'node:fs';

const SERVICE = 'http://messaging-service:4000/sandbox/v1';
const CONNECTOR = 'http://proxy:4020/v1';
const CONTACT = '447700900201';

async function call(url, { method = 'GET', body, token } = {}) {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` };
  const answer = await fetch(url, { method, headers, body: body && JSON.stringify(body) });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${url} answered ${answer.status}: ${text}`);
  return JSON.parse(text);
}

/** For the person who reads the output of `docker compose run`. */
const print = (line) => process.stdout.write(`${line}\n`);

/** Asks until the answer has what is looked for, for 30 s. */
async function until(ask) {
  for (let left = 150; left > 0; left -= 1) {
    const found = await ask();
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  throw new Error('nothing arrived within 30 s');
}

const steps = {
  /** Gives the connector its API key, and the service the way to the connector. */
  async prepare() {
    const { apiKey } = await call(`${SERVICE}/info`);
    writeFileSync('/data/service_api_key', apiKey);
    const host = `${SERVICE}/hosts/hooks.demo.test`;
    await call(host, { method: 'PUT', body: { target: 'http://proxy:4020' } });
  },

  /** A contact writes, and is answered. */
  async show() {
    const token = readFileSync('/run/secrets/api_token', 'utf8');
    const { entries } = await call(`${SERVICE}/connections?phoneNumber=447700900101`);
    const connectionId = entries[0].id;
    const text = 'Is my order on its way?';
    const path = `${SERVICE}/contacts/${CONTACT}/messages`;
    const { messageId } = await call(path, { method: 'POST', body: { connectionId, text } });
    const stored = await until(async () => {
      const { messages } = await call(`${CONNECTOR}/messages?limit=20`, { token });
      return messages.find(({ id }) => id === messageId);
    });
    print(`received  "${stored.text}", by ${stored.firstSeenBy}`);
    const body = { connectionId, to: CONTACT, text: 'It arrives today.', reference: messageId };
    const { outboundId } = await call(`${CONNECTOR}/messages`, { method: 'POST', token, body });
    await until(async () => {
      const { state } = await call(`${CONNECTOR}/outbound/${outboundId}`, { token });
      return state === 'sent' ? state : undefined;
    });
    print(`sent      "${body.text}"`);
    print(`console   http://localhost:${process.env.SANDBOX_PORT}/`);
    print(`connector http://localhost:${process.env.PORT}/v1/messages, with the token "${token}"`);
  },
};

await steps[process.argv[2]]();
