import { z } from 'zod';
import { acknowledgement } from '../service/connections.ts';
import { dateTime } from '../service/fields.ts';
import { entriesOf } from './lists.ts';
import { defineEndpoints } from './sandbox-endpoint.ts';

/** How many snapshots are kept. */
export const MAX_SNAPSHOTS = 50;

/** Body of `POST /snapshots`. */
export const takeSnapshotRequest = z.strictObject({
  label: z.string().min(1).max(255).optional().describe('A name for people.'),
});

/** A saved state of the service, the sandbox and the attached connector. */
export const snapshot = z.object({
  id: z.string().describe('Id of the snapshot.'),
  label: z.string().nullable().describe('The name that it was given; null if none.'),
  now: dateTime.describe('Virtual time in the snapshot.'),
});
export type Snapshot = z.infer<typeof snapshot>;

/** Snapshots: a prepared state, to which tests return. */
export const SNAPSHOT_ENDPOINTS = defineEndpoints({
  listSnapshots: {
    method: 'GET',
    path: '/snapshots',
    summary: 'Lists the snapshots, oldest first.',
    answers: [{ status: 200, description: 'All snapshots.', schema: entriesOf(snapshot) }],
  },
  takeSnapshot: {
    method: 'POST',
    path: '/snapshots',
    summary:
      'Waits until nothing is in progress, and saves the state of the service, the sandbox and the attached connector: all data, virtual time, faults, calls and timing. It is kept until the sandbox stops, also through a reset.',
    body: { schema: takeSnapshotRequest, required: false },
    answers: [{ status: 201, description: 'The snapshot.', schema: snapshot }],
    errors: ['wrong_state'],
  },
  restoreSnapshot: {
    method: 'POST',
    path: '/snapshots/{id}/restore',
    summary:
      'Returns to a snapshot, with the same ids, keys and virtual time. What is in progress is interrupted, and streams end.',
    answers: [{ status: 200, description: 'The snapshot.', schema: snapshot }],
  },
  removeSnapshot: {
    method: 'DELETE',
    path: '/snapshots/{id}',
    summary: 'Removes a snapshot.',
    answers: [{ status: 200, description: 'Removed.', schema: acknowledgement }],
  },
});
