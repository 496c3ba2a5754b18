import { describe, expect, test } from 'vitest';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import type { ServiceRequest } from '../connector/support/scripted-service.ts';
import { type Forgery, type RotationWorld, startRotationWorld } from '../support/rotation-world.ts';

/** A second of 200 events. */
const SECOND = 200;

/** Forgeries that were accepted although they were signed after `moment`. There must be none among many. */
function takenAfter(forgeries: readonly Forgery[], moment: number): readonly Forgery[] {
  const after = forgeries.filter(({ signedAt }) => signedAt > moment);
  expect(after.length).toBeGreaterThan(10);
  // 503: the valid secret could not be determined in time.
  return after.filter(({ status }) => status !== 401 && status !== 503);
}

/** Forgeries accepted before are in the connector and not at the service; nothing else may be. */
const takenIds = (forgeries: readonly Forgery[]): string[] =>
  forgeries
    .filter(({ status }) => status === 200)
    .map(({ messageId }) => messageId)
    .sort();

const isRotation = ({ method, path }: ServiceRequest): boolean =>
  method === 'POST' && path === '/webhook/rotate';

/** Resolves with the time at which the service gets the `nth` call that matches. */
function callSeen(
  { service }: RotationWorld,
  nth: number,
  matches: (request: ServiceRequest) => boolean,
): Promise<number> {
  const seen = Promise.withResolvers<number>();
  const before = service.onRequest;
  let calls = 0;
  service.onRequest = (request) => {
    if (matches(request)) calls += 1;
    if (calls === nth) seen.resolve(systemClock.now());
    return before(request);
  };
  return seen.promise;
}

describe.concurrent('a rotation under 200 events a second', () => {
  test('with two processes loses no event, and accepts none signed with the old secret afterwards', async ({
    onTestFinished,
  }) => {
    const world = await startRotationWorld(2, onTestFinished);
    const [url = ''] = world.urls;
    const load = world.send(4 * SECOND);
    const forger = world.forge();
    const first = world.service.webhook?.secret;
    const { rotatedAt } = await world.rotate(url);
    expect(world.service.webhook?.secret).not.toBe(first);
    await load;
    const forgeries = await forger.stop();
    // The forgeries are valid: they are accepted until the rotation.
    expect(takenIds(forgeries)).not.toEqual([]);
    // Every event was accepted, so no poll was needed.
    expect(world.sender.sent.filter(({ acknowledged }) => !acknowledged)).toEqual([]);
    expect(takenAfter(forgeries, Date.parse(rotatedAt))).toEqual([]);
    const { missing, invented } = await world.compare(url);
    expect(missing).toEqual([]);
    expect(invented).toEqual(takenIds(forgeries));
  });

  test('whose answer is lost is repeated by one of two processes, with the same guarantees', async ({
    onTestFinished,
  }) => {
    const world = await startRotationWorld(2, onTestFinished);
    const [url = '', other = ''] = world.urls;
    let lost = 0;
    world.service.fault = (request) => {
      if (!isRotation(request) || lost > 0 || world.service.webhook === null) return undefined;
      lost += 1;
      world.service.webhook = { ...world.service.webhook, secret: 'issued and never heard of' };
      return 'reset';
    };
    const load = world.send(4 * SECOND);
    const forger = world.forge();
    const secondCall = callSeen(world, 2, isRotation);
    await world.rotate(url);
    await load;
    const forgeries = await forger.stop();
    expect(lost).toBe(1);
    expect(world.service.requests.filter(isRotation)).toHaveLength(2);
    expect(takenAfter(forgeries, await secondCall)).toEqual([]);
    for (const each of [url, other]) {
      const { missing, invented } = await world.compare(each);
      expect(missing).toEqual([]);
      expect(invented).toEqual(takenIds(forgeries));
    }
  });

  test('whose process is killed midway is repeated by the other one', async ({ onTestFinished }) => {
    const world = await startRotationWorld(1, onTestFinished);
    const [survivor = ''] = world.urls;
    const child = await world.spawn();
    const called = callSeen(world, 1, isRotation);
    const taken = callSeen(world, 1, ({ method }) => method === 'PUT');
    world.service.fault = (request) => {
      if (!isRotation(request) || world.service.webhook === null) return undefined;
      // The rotation takes effect, but the process that requested it is dead.
      world.service.webhook = { ...world.service.webhook, secret: 'issued to the dead' };
      void child.kill('SIGKILL');
      return 'hang';
    };
    const before = world.send(3 * SECOND);
    const forger = world.forge();
    const rotation = world.rotate(child.url).catch(() => 'killed');
    const rotatedAt = await called;
    expect(await rotation).toBe('killed');
    await before;
    await taken;
    await world.send(SECOND);
    const forgeries = await forger.stop();
    expect(world.sender.sent.slice(-SECOND).filter(({ acknowledged }) => !acknowledged)).toEqual([]);
    expect(takenAfter(forgeries, rotatedAt)).toEqual([]);
    const { missing, invented } = await world.compare(survivor);
    expect(missing).toEqual([]);
    expect(invented).toEqual(takenIds(forgeries));
  });
});
