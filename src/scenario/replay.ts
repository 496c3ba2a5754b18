import { virtualClock } from '../contract/sandbox/clock.ts';
import { webhookList } from '../contract/sandbox/deliveries.ts';
import { sandboxInfo } from '../contract/sandbox/info.ts';
import { recording as recordingShape } from '../contract/sandbox/recording.ts';
import { NAME, Namer, Resolver, UnknownName } from './names.ts';
import { compareConnector, compareObservations, type Difference, nameObserved, observe } from './observe.ts';
import type { Cause, Observation, Scenario } from './scenario.ts';
import { type CallPort, readConnector, readWorld, type World } from './world.ts';

/** A sandbox that a scenario is replayed in. */
export interface Target {
  readonly call: CallPort;
  /** Resolves when everything in progress has ended. */
  settle(): Promise<void>;
  /** Resolves after a while; for what cannot be awaited. */
  sleep(ms: number): Promise<void>;
}

/** What a scenario was made of, besides its lines. */
export interface Recorded {
  readonly scenario: Scenario;
  /** How the connector differs from the service now. */
  readonly differences: readonly Difference[];
  /** Ids in causes of which the recording does not show where they come from. */
  readonly unknownIds: readonly string[];
}

const PREFIXES = { sandbox: '/sandbox/v1', service: '/service', connector: '/connector' } as const;

/** Makes a scenario of what the flight recorder has kept. `lastMs` leaves out older causes. */
export async function record(call: CallPort, lastMs = Number.POSITIVE_INFINITY): Promise<Recorded> {
  const kept = recordingShape.parse(await call({ method: 'GET', path: `${PREFIXES.sandbox}/recording` }));
  const world = await readWorld(call, kept.hiddenWorkspaceIds);
  const startedAt = Date.parse(kept.startedAt);
  const oldest = Date.parse(kept.now) - lastMs;
  const namer = new Namer(world, startedAt, JSON.stringify(kept.causes));
  const causes: Cause[] = [];
  for (const { id, at, surface, method, path, workspaceId, body, answer } of kept.causes) {
    if (Date.parse(at) >= oldest) {
      causes.push({
        cause: id,
        at: Math.max(0, Date.parse(at) - startedAt),
        surface,
        method,
        path: namer.path(surface, path),
        ...(workspaceId === undefined ? {} : { workspace: namer.workspace(workspaceId) }),
        ...(body === undefined ? {} : { body: namer.body(body) }),
      });
      namer.learn(id, answer);
    }
  }
  const concerned = new Set(world.connections.map(({ id }) => id).filter((id) => namer.isNamed(id)));
  const scenario: Scenario = {
    scenario: 1,
    startedAt: kept.startedAt,
    endedAt: kept.now,
    frozen: kept.frozen,
    sendScale: kept.sendScale,
    connector: world.hasConnector,
    complete: kept.complete && causes.length === kept.causes.length,
    names: namer.names,
    causes,
    observations: observe(world, concerned),
  };
  const differences = world.hasConnector
    ? compareConnector(world, await readConnector(call), causeFinder(scenario))
    : [];
  return { scenario, differences, unknownIds: [...namer.unknown] };
}

/** The last cause that concerns an observed thing: one that names its connection and, for a message, its contact. */
function causeFinder({ causes, names }: Scenario): (one: Observation) => number | null {
  const texts = causes.map((cause) => {
    const text = JSON.stringify(cause);
    return { cause: cause.cause, text, named: text.match(NAME) ?? [] };
  });
  return (one) => {
    const own = Object.entries(names)
      .filter(([, what]) => 'phoneNumber' in what && what.phoneNumber === one.connection)
      .map(([name]) => name);
    return (
      texts.findLast(
        ({ text, named }) =>
          named.some((name) => own.includes(name)) &&
          (one.observed === 'connection' || text.includes(one.peer)),
      )?.cause ?? null
    );
  };
}

/** How long to wait for something that a name stands for, and for the connector to agree. */
const PATIENCE_MS = 10_000;
const LOOK_AGAIN_MS = 100;

export interface ReplayOptions {
  /** Called before each cause. */
  readonly onCause?: ((cause: Cause) => void) | undefined;
  /** Called after the reset, once the connector has registered its webhook. */
  readonly onReady?: ((call: CallPort) => Promise<void>) | undefined;
  /** Ends the replay. */
  readonly signal?: AbortSignal | undefined;
  /** How long to wait until the connector agrees with the service, in milliseconds. */
  readonly patienceMs?: number | undefined;
}

/** What a replay has shown. */
export interface Replayed {
  readonly differences: readonly Difference[];
  readonly observations: readonly Observation[];
}

/**
 * Resets the sandbox, repeats the causes of a scenario in virtual time, and compares: what the service has with what was
 * recorded, and what the connector has with the service. Before each cause, everything comes to rest. In the end all
 * faults are removed, and the connector polls.
 */
export async function replay(
  scenario: Scenario,
  target: Target,
  { onCause, onReady, signal, patienceMs = PATIENCE_MS }: ReplayOptions = {},
): Promise<Replayed> {
  const { call } = target;
  const post = (path: string, body?: object): Promise<unknown> =>
    call({ method: 'POST', path: PREFIXES.sandbox + path, ...(body && { body: JSON.stringify(body) }) });
  await post('/reset');
  const timing = JSON.stringify({ sendScale: scenario.sendScale });
  await call({ method: 'PUT', path: `${PREFIXES.sandbox}/timing`, body: timing });
  const { now } = virtualClock.parse(await post(scenario.frozen ? '/clock/freeze' : '/clock/run'));
  const startedAt = Date.parse(now);
  await awaitConnector();
  await onReady?.(call);
  const answers = new Map<number, unknown>();
  let world: World | undefined;
  const resolver = new Resolver({
    names: scenario.names,
    answers,
    world: async () => (world ??= await readWorld(call)),
    startedAt,
  });
  const differences: Difference[] = [];

  const moveTo = async (at: number): Promise<void> => {
    const clock = virtualClock.parse(await call({ method: 'GET', path: `${PREFIXES.sandbox}/clock` }));
    const ms = startedAt + at - Date.parse(clock.now);
    if (ms > 0) await post('/clock/advance', { ms });
  };
  const resolve = async ({ path, body, workspace }: Cause) => {
    for (let waited = 0; ; waited += LOOK_AGAIN_MS) {
      world = undefined;
      try {
        return await resolver.resolve({ path, body, workspace });
      } catch (error) {
        if (!(error instanceof UnknownName) || waited >= patienceMs) throw error;
        await target.sleep(LOOK_AGAIN_MS);
      }
    }
  };

  for (const cause of scenario.causes) {
    signal?.throwIfAborted();
    onCause?.(cause);
    await target.settle();
    await moveTo(cause.at);
    const { surface, method } = cause;
    try {
      const { path, body, workspace } = await resolve(cause);
      const answer = await call({
        method,
        path: PREFIXES[surface] + path,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        ...(workspace === undefined ? {} : { workspaceId: workspace }),
      });
      answers.set(cause.cause, answer);
    } catch (error) {
      const actual = error instanceof Error ? error.message : String(error);
      const of = `cause ${cause.cause}: ${method} ${PREFIXES[surface]}${cause.path}`;
      // A cause that could not be sent was not refused.
      const field = error instanceof UnknownName ? 'name' : 'response';
      differences.push({ of, field, expected: 'success', actual, cause: cause.cause });
    }
  }
  await target.settle();
  await moveTo(Date.parse(scenario.endedAt) - Date.parse(scenario.startedAt));
  await call({ method: 'DELETE', path: `${PREFIXES.sandbox}/faults` });
  await target.settle();

  const causeOf = causeFinder(scenario);
  const observations = observeAgain(scenario, await readWorld(call));
  // Without observations, only the connector is compared, with the service.
  if (scenario.observations.length > 0) {
    differences.push(...compareObservations(scenario.observations, observations, causeOf));
  }
  if (scenario.connector) differences.push(...(await awaitAgreement()));
  return { differences, observations };

  /**
   * After a reset, the connector registers its webhook anew and reads the list of connections. Before that, events have
   * nowhere to go, and it refuses calls about a connection.
   */
  async function awaitConnector(): Promise<void> {
    const get = (path: string): Promise<unknown> => call({ method: 'GET', path: PREFIXES.sandbox + path });
    const { workspaceId, connectorUrl } = sandboxInfo.parse(await get('/info'));
    for (let waited = 0; connectorUrl !== null && waited < patienceMs; waited += LOOK_AGAIN_MS) {
      const { entries } = webhookList.parse(await get('/webhooks'));
      if (entries.some(({ subscription }) => subscription.id === workspaceId)) {
        await syncConnector();
        return;
      }
      await target.sleep(LOOK_AGAIN_MS);
    }
  }

  async function syncConnector(): Promise<void> {
    await call({ method: 'POST', path: `${PREFIXES.connector}/v1/sync`, body: '{}' });
  }

  /** The connector polls until it agrees with the service, or for as long as the patience lasts. */
  async function awaitAgreement(): Promise<Difference[]> {
    for (let waited = 0; ; waited += LOOK_AGAIN_MS) {
      await syncConnector();
      await target.settle();
      const found = compareConnector(await readWorld(call), await readConnector(call), causeOf);
      if (found.length === 0 || waited >= patienceMs) return found;
      await target.sleep(LOOK_AGAIN_MS);
    }
  }
}

/** The same things as were recorded, and everything that was not. */
function observeAgain({ observations }: Scenario, world: World): Observation[] {
  const recorded = new Set(observations.map(nameObserved));
  const all = observe(world, new Set(world.connections.map(({ id }) => id)));
  return all.filter((one) => one.observed === 'message' || recorded.has(nameObserved(one)));
}
