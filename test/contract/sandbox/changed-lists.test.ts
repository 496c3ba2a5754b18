import { describe, expect, it } from 'vitest';
import type { z } from 'zod';
import { CHANGED_LISTS } from '../../../src/contract/sandbox/calls.ts';
import { SANDBOX_ENDPOINTS } from '../../../src/contract/sandbox/endpoints.ts';
import type { EndpointDefinition } from '../../../src/contract/schema/endpoint.ts';

/** The call that returns each list that the stream announces. */
const READ_AT: Readonly<Record<(typeof CHANGED_LISTS)[number], string | null>> = {
  everything: null,
  workspaces: '/workspaces',
  apps: '/oauth-apps',
  grants: '/grants',
  connections: '/connections',
  contacts: '/contacts',
  messages: '/messages',
  webhooks: '/webhooks',
  ledger: '/ledger',
  deliveries: '/deliveries',
  calls: '/calls',
  faults: '/faults',
  hosts: '/hosts',
  timers: '/clock/due',
  timing: '/timing',
  snapshots: '/snapshots',
  connector: null,
};

const endpoints: readonly EndpointDefinition[] = Object.values(SANDBOX_ENDPOINTS);

describe('the lists that the event stream announces', () => {
  it('are complete', () => {
    expect(Object.keys(READ_AT).toSorted()).toEqual(CHANGED_LISTS.toSorted());
    const read = endpoints.filter(({ method }) => method === 'GET').map(({ path }) => path);
    for (const path of Object.values(READ_AT)) if (path !== null) expect(read).toContain(path);
  });

  it('include every list', () => {
    const isList = ({ answers }: EndpointDefinition): boolean =>
      Object.hasOwn((answers[0]?.schema as z.ZodObject | undefined)?.shape ?? {}, 'entries');
    const ofAll = endpoints
      .filter((each) => isList(each) && !each.path.includes('{'))
      .map(({ path }) => path);
    expect(ofAll.filter((path) => !Object.values(READ_AT).includes(path))).toEqual([]);
  });
});
