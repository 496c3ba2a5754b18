import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { SIGNATURE_CAUSES } from '../../../src/contract/sandbox/signatures.ts';
import { explainSignature } from '../../../src/sandbox/deliveries/explain-signature.ts';
import { useHookedSandbox } from '../hooked-sandbox.ts';
// Written from the specification with Python's hmac and json.
import vectors from './signature-causes.json' with { type: 'json' };

const { secret, old_secret: older, new_secret: newer, other_secret: other } = vectors;
const SIGNED = {
  timestamp: vectors.timestamp,
  signature: vectors.signature,
  body: Buffer.from(vectors.body),
};
const SECRETS = { own: [newer, secret, older], others: [{ owner: vectors.other_owner, secret: other }] };

interface Case {
  readonly name: string;
  readonly signature: string;
  readonly causes: readonly string[];
  readonly matches?: boolean;
  readonly says?: string;
  readonly timestamp?: string;
  readonly body?: string;
  readonly bodyDifference?: object;
}
const CASES: readonly Case[] = vectors.cases;

describe('the explanation of a signature', () => {
  it.each(CASES)('names the mistake: $name', ({ name: _, causes, matches = false, says = '', ...given }) => {
    const { bodyDifference, ...computed } = given;
    const found = explainSignature(SIGNED, computed, SECRETS);
    expect([found.cause, ...(found.furtherCauses ?? [])]).toEqual(causes);
    expect(found.matches).toBe(matches);
    expect(found.bodyDifference).toEqual(bodyDifference);
    expect(found.explanation).toContain(says);
    expect(found.expected).toBe(vectors.signature);
    for (const hidden of [secret, older, newer, other, secret.slice(6)]) {
      expect(JSON.stringify(found)).not.toContain(hidden);
    }
  });

  it('has a vector for each cause', () => {
    expect(new Set(CASES.flatMap(({ causes }) => causes))).toEqual(new Set(SIGNATURE_CAUSES));
  });

  it('of the right signature says that it matches', () => {
    expect(explainSignature(SIGNED, { signature: ` ${vectors.signature}\n` }, SECRETS)).toEqual({
      matches: true,
      expected: vectors.signature,
      explanation: 'This is the signature that was sent.',
    });
  });

  it('shows the first digit that differs, and names no cause that does not lead to the signature', () => {
    const altered = `${vectors.signature.slice(0, 20)}${vectors.signature[20] === '0' ? '1' : '0'}${vectors.signature.slice(21)}`;
    const found = explainSignature(SIGNED, { signature: altered }, SECRETS);
    expect(found).toMatchObject({
      matches: false,
      firstDifference: { index: 20, expected: vectors.signature[20], actual: altered[20] },
    });
    expect(found).not.toHaveProperty('cause');
    expect(found.explanation).toMatch(/^No known mistake produces this signature\./);
  });

  it('says if the secret of the signature is no longer known', () => {
    const found = explainSignature(
      SIGNED,
      { signature: `sha256=${'0'.repeat(64)}` },
      { own: [newer], others: [] },
    );
    expect(found.explanation).toContain('The secret that signed this delivery is no longer known.');
    const current = CASES.find(({ causes: [cause] }) => cause === 'new_secret')?.signature ?? '';
    expect(explainSignature(SIGNED, { signature: current }, { own: [newer], others: [] }).cause).toBe(
      'new_secret',
    );
  });

  it('combines the secret of another webhook with no second mistake', () => {
    const explain = (body: string) => {
      const digest = createHmac('sha256', other).update(`${SIGNED.timestamp}.${body}`).digest('hex');
      return explainSignature(SIGNED, { signature: `sha256=${digest}` }, SECRETS);
    };
    expect(explain(vectors.body)).toMatchObject({ cause: 'wrong_secret' });
    expect(explain(`${vectors.body}\n`)).not.toHaveProperty('cause');
  });

  it('finds one mistake in a body of a megabyte with a bounded number of hashes', () => {
    const body = Buffer.from(JSON.stringify({ event: 'message.received', text: 'é'.repeat(500_000) }));
    const signature = `sha256=${'a'.repeat(64)}`;
    expect(explainSignature({ ...SIGNED, body }, { signature }, SECRETS)).not.toHaveProperty('cause');
  });
});

describe('POST /deliveries/{id}/explain-signature', () => {
  const bed = useHookedSandbox();

  const writeOne = async () => {
    await bed.write('Grüße');
    await bed.service.platform.delivery.settle();
    return (await bed.call('GET', '/deliveries?limit=1')).body.entries[0];
  };

  it('compares with the delivery, even after its secret was replaced', async () => {
    const { id, headers } = await writeOne();
    const signature = headers['X-Service-Signature'];
    const explain = (body: object) => bed.call('POST', `/deliveries/${id}/explain-signature`, body);
    expect(await explain({ signature })).toMatchObject({ status: 200, body: { matches: true } });
    const answer = await explain({ signature: signature.toUpperCase().replace('SHA', 'sha') });
    expect(answer.body).toMatchObject({ matches: true, cause: 'uppercase_hex' });

    await bed.api('POST', '/webhook/rotate');
    const next = await writeOne();
    const copy = await bed.call('POST', `/deliveries/${id}/copies`);
    await bed.service.platform.delivery.settle();
    expect(copy.status).toBe(201);
    const { body: resigned } = await bed.call('GET', `/deliveries/${copy.body.id}`);
    const after = await explain({
      signature: resigned.headers['X-Service-Signature'],
      timestamp: resigned.headers['X-Service-Timestamp'],
    });
    expect([after.body.cause, after.body.furtherCauses ?? []].flat()).toContain('new_secret');
    const old = await bed.call('POST', `/deliveries/${next.id}/explain-signature`, {
      signature,
      timestamp: headers['X-Service-Timestamp'],
      body: (await bed.call('GET', `/deliveries/${id}`)).body.body,
    });
    expect(old.body.matches).toBe(false);
    expect(JSON.stringify([answer.body, after.body, old.body])).not.toContain(bed.secret);
  });

  it('finds the secret of another webhook by its owner', async () => {
    const { id, headers, body } = await writeOne();
    const { body: made } = await bed.call('POST', '/workspaces', { kind: 'standalone' });
    const { body: access } = await bed.call('POST', `/workspaces/${made.workspace.id}/api-keys`);
    const put = await bed.service.call('PUT', '/webhook', {
      key: access.key,
      body: { url: 'https://crm.example.com/other' },
    });
    const hmac = createHmac('sha256', (put.body as { secret: string }).secret);
    const digest = hmac.update(`${headers['X-Service-Timestamp']}.${body}`).digest('hex');
    const answer = await bed.call('POST', `/deliveries/${id}/explain-signature`, {
      signature: `sha256=${digest}`,
    });
    expect(answer.body).toMatchObject({ matches: false, cause: 'wrong_secret' });
    expect(answer.body.explanation).toContain(made.workspace.id);
  });

  it('refuses an input that it cannot compare', async () => {
    const { id } = await writeOne();
    const explain = (of: string, body: object) =>
      bed.call('POST', `/deliveries/${of}/explain-signature`, body);
    expect(await explain(id, {})).toMatchObject({ status: 400, body: { field: 'signature' } });
    expect(await explain('999999', { signature: 'x' })).toMatchObject({ status: 404 });
    const { body: made } = await bed.call('POST', '/workspaces', { kind: 'standalone' });
    const { body: number } = await bed.call('POST', `/workspaces/${made.workspace.id}/connections`, {
      provider: 'qr',
      phoneNumber: '447700900190',
    });
    await bed.call('POST', '/contacts/491700000009/messages', {
      connectionId: number.connection.id,
      text: 'x',
    });
    await bed.service.platform.delivery.settle();
    const [unsigned] = (await bed.call('GET', '/deliveries?limit=1')).body.entries;
    expect(await explain(unsigned.id, { signature: 'x' })).toMatchObject({
      status: 409,
      body: { error: 'wrong_state' },
    });
  });
});
